"""Sample responses: right and wrong ones, from the first and the last batch of a stage.

They are the first of each in file order, one per problem: nothing is picked for its looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.recipe.report import words
from limite.core.recipe.report.read import Run, StageRun, read_responses
from limite.core.recipe.report.words import escape, finite

EACH = 2  # right and wrong ones, of each batch
MOST_CHARACTERS = 1500

ENDINGS = {
    "eos": "ended itself",
    "length": "cut at the budget",
    "repetition": "stopped for repetition",
    "stop": "stopped at a stop text",
}
GRADER = {"no_answer": "unreadable", "error": "grader failed", "timeout": "timed out"}


@attrs.frozen(kw_only=True)
class Batch:
    """The responses shown of one rollout file."""

    title: str
    seen: int
    right: int
    samples: Sequence[Mapping[str, Any]]


def of_run(run: Run) -> list[tuple[str, list[Batch]]]:
    """What the page shows: batches of each stage that trains, then held-out responses."""
    judged = [s for s in run.stages if s.kind not in ("eval", "distill") and s.rollout_files]
    shown = [(s.name, batches(s)) for s in judged]
    measured = [s for s in run.stages if s.kind == "eval" and s.rollout_files]
    ends = measured if len(measured) < 2 else [measured[0], measured[-1]]
    held_out = [batch for s in ends for batch in _batch(s.rollout_files[0], s.name)]
    return [(name, found) for name, found in [*shown, ("Held-out problems", held_out)] if found]


def batches(stage: StageRun) -> list[Batch]:
    """The first and the last batch that hold responses."""
    files = list(stage.rollout_files)
    found: list[Batch] = []
    while files and not found:
        found.extend(_batch(files.pop(0), "First batch"))
    while files and len(found) == 1:
        found.extend(_batch(files.pop(), "Last batch"))
    return found


def _batch(path: Any, name: str) -> list[Batch]:
    responses = read_responses(path)
    if not responses:
        return []
    right = [response for response in responses if _is_right(response)]
    wrong = [response for response in responses if not _is_right(response)]
    number = path.name.split(".")[0]
    return [
        Batch(
            title=f"{name}, step {int(number)}" if number.isdecimal() else name,
            seen=len(responses),
            right=len(right),
            samples=_first_of_each_problem(right) + _first_of_each_problem(wrong),
        )
    ]


def _is_right(response: Mapping[str, Any]) -> bool:
    return response.get("correct") is True


def _first_of_each_problem(responses: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    by_problem: dict[str, Mapping[str, Any]] = {}
    for index, response in enumerate(responses):
        by_problem.setdefault(str(response.get("problem_id", index)), response)
    return list(by_problem.values())[:EACH]


def render(found: Sequence[Batch]) -> str:
    """The batches side by side, as HTML."""
    columns = []
    for batch in found:
        share = words.percent(batch.right / batch.seen)
        cards = "".join(_card(sample) for sample in batch.samples)
        columns.append(
            f'<section class="batch"><h4>{escape(batch.title)}</h4>'
            f'<p class="note">{words.count(batch.right)} of '
            f"{words.plural(batch.seen, 'response')} right ({share})</p>{cards}</section>"
        )
    return f'<div class="batches">{"".join(columns)}</div>'


def _card(sample: Mapping[str, Any]) -> str:
    right = _is_right(sample)
    verdict = _table(sample, "verdict")
    outcome = verdict.get("outcome", GRADER.get(str(sample.get("grader_status"))))
    mark = "✓ right" if right else f"✗ {'wrong' if outcome in (None, 'right') else outcome}"
    told = " · ".join(escape(words.shorten(fact, 160)[0]) for fact in _facts(sample, verdict))
    problem = _table(sample, "problem")
    prompt = problem.get("problem", sample.get("problem"))
    rows = [("prompt", prompt), ("response", sample.get("text"))]
    gold = sample.get("answer", _table(problem, "answer").get("value"))
    if not right and gold is not None:
        rows.append(("expected", gold))
    said = "".join(
        f'<div class="says"><span>{name}</span>{_text(text)}</div>' for name, text in rows
    )
    return (
        f'<article class="sample {"right" if right else "wrong"}">'
        f'<p class="facts"><strong>{escape(mark)}</strong> <span>{told}</span></p>{said}</article>'
    )


def _facts(sample: Mapping[str, Any], verdict: Mapping[str, Any]) -> list[str]:
    facts = []
    if "reward" in sample:
        reward = words.as_number(sample["reward"])
        facts.append("not scored" if reward is None else f"reward {words.number(reward)}")
    reason = sample.get("finish_reason")
    if reason is not None:
        facts.append(ENDINGS.get(str(reason), str(reason)))
    length = _tokens(sample)
    if length is not None:
        facts.append(words.plural(length, "token"))
    reason = verdict.get("reason", sample.get("grader_reason"))
    if reason and not _is_right(sample):
        facts.append(str(reason))
    return facts


def _table(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def _tokens(sample: Mapping[str, Any]) -> int | None:
    for name in ("completion_ids", "generated_tokens"):
        value = sample.get(name)
        if isinstance(value, list):
            return len(value)
        number = finite(value)
        if number is not None:
            return int(number)
    return None


def _text(value: Any) -> str:
    if value is None or value == "":
        return '<p class="empty">empty</p>'
    text, left_out = words.shorten(str(value).strip("\n"), MOST_CHARACTERS)
    more = f'<span class="more">… {left_out:,} more characters</span>' if left_out else ""
    return f'<pre dir="auto">{escape(text)}{more}</pre>'
