"""Whether what a server says of a response can be learned from: all that is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from limite.core.errors import LimiteError
from limite.core.rollout.budget import check_response
from limite.core.rollout_kinds import EngineContext, Request
from limite.core.tokenizer import Tokenizer
from limite.core.types import FinishReason, Response
from limite.plugins.engines.dialects import Ask, Told

IMPOSSIBLE_NATS = -500.0
"""Below this no token is ever drawn: a server says so of one that has no probability at all."""
ROUNDING_NATS = 1e-3
"""A log-probability of 0 may come out above it by so much."""


Lists = tuple[tuple[tuple[int, ...], ...], tuple[tuple[float, ...], ...]]
"""Of every position ids, and their nats."""


def wrongs(told: Told, ask: Ask, tokenizer: Tokenizer) -> Iterator[str]:
    """Everything about a reply that breaks what a record of a sample promises."""
    unused = frozenset(tokenizer.unused_ids)
    strange = [each for each in told.ids if not 0 <= each < tokenizer.vocabulary or each in unused]
    if told.prompt_ids is not None and told.prompt_ids != tuple(ask.prompt_ids):
        yield "it has read another prompt than it was sent (prompt_token_ids)"
    if strange:
        yield (
            f"it gives token id {strange[0]}, which the tokenizer of {tokenizer.vocabulary} ids "
            "does not have"
        )
    if not told.ids:
        yield "it gives a response without a token"
    if len(told.logprobs) != len(told.ids):
        yield f"it gives {len(told.ids)} tokens and {len(told.logprobs)} log-probabilities"
    yield from _of_numbers(told.logprobs)
    yield from _of_ending(told, ask)


def _of_numbers(logprobs: Sequence[float | None]) -> Iterator[str]:
    for place, nats in enumerate(logprobs):
        if nats is None or not math.isfinite(nats):
            yield f"token {place} of its response has no log-probability"
        elif nats > ROUNDING_NATS:
            yield f"token {place} of its response has log-probability {nats:g}, which is above 0"
        elif nats < IMPOSSIBLE_NATS:
            yield f"token {place} of its response was drawn with probability 0"
        else:
            continue
        return


def _of_ending(told: Told, ask: Ask) -> Iterator[str]:
    ended = bool(told.ids) and told.ids[-1] in ask.eos_ids
    if not set(told.ids[:-1]).isdisjoint(ask.eos_ids):
        yield "its response goes on after an end-of-sequence token"
    if len(told.ids) > ask.budget_tokens:
        yield f"its response has {len(told.ids)} tokens, more than the {ask.budget_tokens} allowed"
    elif told.ending == "eos" and not ended and told.ids:
        ends = ", ".join(map(str, ask.eos_ids))
        yield (
            f"its response ended with token {told.ids[-1]}, and nothing but {ends} may end one: it "
            "stops at more than it was told to, or leaves out the token that ended it"
        )
    elif told.ending == "length" and not ended and len(told.ids) < ask.budget_tokens:
        yield (
            f"its response was cut after {len(told.ids)} of {ask.budget_tokens} tokens: its "
            "context is shorter than the stage's"
        )
    elif told.ending not in ("eos", "length"):
        yield f"its response ended by {told.ending!r}"


def listed(told: Told, count: int) -> Lists:
    """The ``count`` likeliest tokens of each position, the drawn one in place of the last where it
    is not among them; a LimiteError where a server lists fewer."""
    ids, nats = [], []
    for place, token in enumerate(told.ids):
        given = told.listed[place] if place < len(told.listed) else ()
        rows = sorted(given, key=lambda row: (-row[1], row[0]))[:count]
        if len(rows) < count:
            raise LimiteError(
                f"it lists {len(rows)} of the {count} likeliest tokens that the objective reads"
            )
        if all(row[0] != token for row in rows):
            own = told.logprobs[place]
            assert own is not None
            rows[-1] = (token, own)
        ids.append(tuple(row[0] for row in rows))
        nats.append(tuple(row[1] for row in rows))
    return tuple(ids), tuple(nats)


def response_of(
    told: Told, ask: Ask, request: Request, version: int, context: EngineContext
) -> Response:
    """The record of a reply in which nothing is wrong.

    With a detector it ends where the sampler would have ended it: at the first check that finds it
    repetitive.
    """
    tokens = told.ids
    cut = _repetition(tokens, ask, context)
    natural = tokens[-1] in ask.eos_ids and cut is None
    reason: FinishReason = "repetition" if cut is not None else "eos" if natural else "length"
    length = len(tokens) if cut is None else cut
    ids, nats = ((), ()) if context.listed_tokens is None else listed(told, context.listed_tokens)
    response = Response(
        problem_id=request.problem.id,
        sample_index=request.sample_index,
        prompt_ids=request.prompt_ids,
        completion_ids=tokens[:length],
        logprobs=tuple(each for each in told.logprobs[:length] if each is not None),
        finish_reason=reason,
        completion_budget=request.budget_tokens,
        policy_version=version,
        text=context.tokenizer.decode(tokens[: length - natural]),
        topk_ids=ids[:length],
        topk_logprobs=nats[:length],
    )
    check_response(response, eos_ids=ask.eos_ids)
    return response


def _repetition(tokens: Sequence[int], ask: Ask, context: EngineContext) -> int | None:
    """After how many tokens the detector finds a response repetitive, None if it never does."""
    if context.detector is None:
        return None
    from limite.core.rollout.repetition import Texts

    texts = Texts(context.detector, 1)
    for length in range(1, len(tokens)):
        if context.detector.due(length) and texts.repetitive(
            {0: tokens[:length]}, context.tokenizer.decode
        ):
            return length
    return None
