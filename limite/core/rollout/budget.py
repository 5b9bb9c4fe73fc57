"""Budgets of responses, how they may end, and the checks every record must pass.

A response ends for exactly one reason. ``eos``: its last token is one of the EOS set and no earlier
one is, be it at the very last budgeted position. ``length``: the budget is used up and the last
token is not an EOS. ``repetition`` and ``stop``: something ended it before either. No EOS is ever
appended, and an exhausted budget is never called anything but ``length``.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from limite.core.errors import LimiteError, did_you_mean
from limite.core.types import FINISH_REASONS, Response

RESERVED_TOKENS = 4096
"""Of the context, for a prompt, under the budget ``reserved-prompt``."""
BUDGETS = ("fixed-response", "native-context", "reserved-prompt")


def completion_budget(
    mode: str,
    *,
    prompt_tokens: int,
    max_tokens: int,
    context: int,
    length_penalty: float = 0.0,
    unfinished_penalty: float = 0.0,
) -> int:
    """How many tokens a response to this prompt may have; a LimiteError when there are none.

    ``fixed-response`` gives every response ``max_tokens``. ``native-context`` gives it all the
    context its own tokenised prompt leaves; ``max_tokens`` then equals the context, and penalties
    on length are refused because nothing but the context ends a response. ``reserved-prompt`` keeps
    ``RESERVED_TOKENS`` of the context for prompts, however long they are: every response has the
    rest, or ``max_tokens`` if that is less.
    """
    if not 0 < prompt_tokens < context:
        raise LimiteError(
            f"a prompt needs at least 1 and fewer than {context} tokens (the context), "
            f"got {prompt_tokens}"
        )
    if mode == "fixed-response":
        if max_tokens < 1:
            raise LimiteError(f"max_tokens must be at least 1, got {max_tokens}")
        if prompt_tokens + max_tokens > context:
            raise LimiteError(
                f"a prompt of {prompt_tokens} tokens and max_tokens = {max_tokens} do not fit "
                f"the context of {context} tokens; lower max_tokens or raise model.context"
            )
        return max_tokens
    if mode == "native-context":
        if max_tokens != context:
            raise LimiteError(
                f"with budget 'native-context' max_tokens must be the context, {context}, "
                f"got {max_tokens}"
            )
        if length_penalty or unfinished_penalty:
            raise LimiteError("with budget 'native-context' length penalties must be 0")
        return context - prompt_tokens
    if mode == "reserved-prompt":
        if prompt_tokens > RESERVED_TOKENS or context <= RESERVED_TOKENS:
            raise LimiteError(
                f"budget 'reserved-prompt' keeps {RESERVED_TOKENS} tokens of the context for a "
                f"prompt; got a prompt of {prompt_tokens} and a context of {context}"
            )
        return min(max_tokens, context - RESERVED_TOKENS)
    near = did_you_mean(mode, BUDGETS) or f"; there are {', '.join(BUDGETS)}"
    raise LimiteError(f"unknown budget {mode!r}{near}")


ROUNDING_NATS = 1e-6
"""How far above 0 rounding in float32 may put the log-probability of a token that is certain."""


def check_response(
    response: Response, *, eos_ids: Collection[int], context: int | None = None
) -> None:
    """Refuses a record that breaks the rules of this page; a LimiteError says which one.

    Called when a record is made and again when it is scored. With ``context`` the budget itself is
    checked too. A broken record is a bug or a damaged file, never something to repair.
    """
    tokens, reason = response.completion_ids, response.finish_reason

    def refuse(why: str) -> LimiteError:
        return LimiteError(
            f"response {response.sample_index} to problem {response.problem_id} is refused: {why}"
        )

    if reason not in FINISH_REASONS:
        raise refuse(f"its finish reason {reason!r} is none of {', '.join(FINISH_REASONS)}")
    if response.completion_budget < 1:
        raise refuse(f"its budget is {response.completion_budget} tokens")
    if not response.prompt_ids:
        raise refuse("its prompt is empty")
    if context is not None and len(response.prompt_ids) + response.completion_budget > context:
        raise refuse(
            f"{len(response.prompt_ids)} prompt tokens and a budget of "
            f"{response.completion_budget} exceed the context of {context}"
        )
    if len(response.logprobs) != len(tokens):
        raise refuse(f"it has {len(tokens)} tokens but {len(response.logprobs)} log-probabilities")
    if not all(map(math.isfinite, response.logprobs)):
        raise refuse("a log-probability is not finite")
    if max(response.logprobs, default=0.0) > ROUNDING_NATS:
        raise refuse(f"a log-probability is {max(response.logprobs):g}, above 0")
    if len(tokens) > response.completion_budget:
        raise refuse(f"{len(tokens)} tokens exceed its budget of {response.completion_budget}")
    if not eos_ids:
        raise LimiteError("the set of end-of-sequence ids is empty; a response could never end")
    ended = bool(tokens) and tokens[-1] in eos_ids
    if not frozenset(eos_ids).isdisjoint(tokens[: len(tokens) - 1]):
        raise refuse("it goes on after an end-of-sequence token")
    if (reason == "eos") != ended:
        last = tokens[-1] if tokens else "nothing"
        raise refuse(f"its finish reason is {reason!r} but its last token is {last}")
    exhausted = len(tokens) == response.completion_budget and not ended
    if (reason == "length") != exhausted:
        raise refuse(
            f"its finish reason is {reason!r} with {len(tokens)} of "
            f"{response.completion_budget} budgeted tokens used"
        )


def reasoning_is_closed(text: str, opening: str = "<think>", closing: str = "</think>") -> bool:
    """Whether every opening tag is closed by a later closing tag of its own.

    A surplus closing tag closes nothing: it does not count towards a block that opens later.
    """
    open_blocks, at = 0, 0
    while True:
        next_opening, next_closing = text.find(opening, at), text.find(closing, at)
        if next_opening < 0 and next_closing < 0:
            return open_blocks == 0
        if next_closing < 0 or 0 <= next_opening < next_closing:
            open_blocks += 1
            at = next_opening + len(opening)
        else:
            open_blocks = max(0, open_blocks - 1)
            at = next_closing + len(closing)


def is_finished(response: Response) -> bool:
    """Whether a response came to its own end: only then can its answer earn anything.

    A right value that stands in an unfinished text earns nothing.
    """
    return response.finish_reason == "eos" and reasoning_is_closed(response.text)
