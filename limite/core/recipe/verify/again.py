"""What a record of a response says, computed again: tokens, text, prompt, verdict and reward."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from limite.core.errors import LimiteError
from limite.core.recipe.runners.rollouts import arm_metrics, sample_metrics, scored
from limite.core.recipe.stages import RL
from limite.core.rollout.budget import completion_budget
from limite.core.tokenizer import Tokenizer
from limite.core.types import Group, Problem, Response

Fault = tuple[int, str]
"""The index of a response in its file, from 0, and what is wrong with it."""

ROUNDING = 1e-9
"""Of figures of a batch, relative: Pythons add up long lists with different care."""
_SHOWN = 40


def token_faults(response: Response, tokenizer: Tokenizer) -> Iterator[str]:
    """What its tokens do not bear out: each is one of the vocabulary, and they say its text."""
    vocabulary, unused = tokenizer.vocabulary, frozenset(tokenizer.unused_ids)
    for what, ids in (("prompt", response.prompt_ids), ("response", response.completion_ids)):
        outside = [each for each in ids if not 0 <= each < vocabulary]
        if outside:
            yield f"its {what} has the token {outside[0]}, with a vocabulary of {vocabulary}"
            return
    undrawn = unused.intersection(response.completion_ids)
    if undrawn:
        yield f"its response has the token {min(undrawn)}, which is never drawn"
    natural = response.finish_reason == "eos"
    said = tokenizer.decode(response.completion_ids[: len(response.completion_ids) - natural])
    if said != response.text:
        yield f"its text is {short(response.text)}, and its tokens say {short(said)}"
    yield from _list_faults(response)


def _list_faults(response: Response) -> Iterator[str]:
    """Where likeliest tokens were listed, the drawn one is there with its own probability."""
    if not response.topk_ids:
        return
    if not len(response.topk_ids) == len(response.topk_logprobs) == len(response.completion_ids):
        yield f"it lists the likeliest of {len(response.topk_ids)} tokens"
        return
    drawn = zip(response.completion_ids, response.logprobs, strict=True)
    for place, (token, nats) in enumerate(drawn):
        listed = dict(zip(response.topk_ids[place], response.topk_logprobs[place], strict=True))
        if listed.get(token) != nats:
            yield f"token {place} has log-probability {nats:g}, and {listed.get(token)} in its list"
            return


def prompt_faults(problem: Problem, response: Response, tokenizer: Tokenizer) -> Iterator[str]:
    """The prompt is what the tokenizer makes of the problem."""
    try:
        wanted = tokenizer.render_prompt(problem)
    except LimiteError as error:
        yield f"its problem cannot be asked: {error}"
        return
    if tuple(wanted) != tuple(response.prompt_ids):
        yield "its prompt is not that of its problem"


def budget_faults(stage: RL, response: Response, context: int) -> Iterator[str]:
    """The budget is the one its stage gives; and only a stage that looks ends by repetition."""
    try:
        wanted = completion_budget(
            stage.budget,
            prompt_tokens=len(response.prompt_ids),
            max_tokens=stage.max_tokens,
            context=context,
        )
    except LimiteError as error:
        yield str(error)
        return
    if response.completion_budget != wanted:
        yield f"its budget is {response.completion_budget} tokens, and its stage gives {wanted}"
    if response.finish_reason == "repetition":
        rule = stage.repetition
        if rule is None or not rule.due(len(response.completion_ids)):
            yield f"ended by repetition after {len(response.completion_ids)} tokens: nobody looked"
        elif not rule.repetitive(response.text):
            yield "ended by repetition, and does not repeat itself"


def reward_faults(stage: RL, groups: Sequence[Group]) -> list[Fault]:
    """What verifier and reward of a stage say now, where it is not what was recorded.

    A verdict that was out of time, then or now, says nothing of the other.
    """
    again = scored(stage, [(group.problem, group.responses) for group in groups])
    return regraded(groups, again)


def regraded(groups: Sequence[Group], again: Sequence[Group]) -> list[Fault]:
    """Where two gradings of the same responses differ."""
    found: list[Fault] = []
    number = -1
    for old, new in zip(groups, again, strict=True):
        for place in range(len(old.responses)):
            number += 1
            if len(old.verdicts) != len(old.responses):
                found.append((number, "it has no verdict"))
                continue
            was, now = old.verdicts[place], new.verdicts[place]
            if "timed-out" in (was.outcome, now.outcome) and was.outcome != now.outcome:
                continue
            pairs: list[tuple[str, Any, Any]] = [
                ("verdict", was.outcome, now.outcome),
                ("answer", was.extracted, now.extracted),
                ("right", old.correct[place], new.correct[place]),
                ("reward", old.rewards[place], new.rewards[place]),
                ("penalty", _at(old.penalties, place), _at(new.penalties, place)),
            ]
            said = [f"{what} {then}, not {here}" for what, then, here in pairs if then != here]
            if said:
                found.append((number, "graded again it has " + ", ".join(said)))
    return found


def figure_faults(stage: RL, groups: Sequence[Group], line: Mapping[str, Any]) -> Iterator[str]:
    """Figures of a batch in its line of ``metrics.jsonl``, counted again from its responses."""
    told: dict[str, float | None] = {
        **sample_metrics(groups, detected=stage.repetition is not None),
        **(arm_metrics(groups) if all("arm" in each.problem.meta for each in groups) else {}),
    }
    for name, value in told.items():
        there = line.get(name)
        if value is None or not isinstance(there, (int, float)):
            same = there == value
        else:
            same = math.isclose(there, value, rel_tol=ROUNDING, abs_tol=ROUNDING)
        if not same:
            yield f"{name} is {there}, and the responses of its batch give {value}"


def _at(values: Sequence[float], place: int) -> float | None:
    return values[place] if values else None


def short(text: str) -> str:
    """A text as it is quoted in a message."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
