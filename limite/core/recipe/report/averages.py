"""What the models that a run has averaged weigh, and what a greedy soup has tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from limite.core.recipe.report import parts, words
from limite.core.recipe.report.read import StageRun
from limite.core.recipe.report.summary import interval_of
from limite.core.recipe.report.words import escape, finite


def section(stage: StageRun) -> str:
    """The tables of one average; empty without a record of it."""
    models = _objects(stage.soup.get("models"))
    if not models:
        return ""
    rows = [
        [
            parts.cell(model.get("name", "–"), "", head=True),
            parts.cell(_origin(model)),
            parts.cell(words.number(finite(model.get("weight"))), "n"),
        ]
        for model in models
    ]
    text = f"<h2>Models of {escape(stage.name)} <small>{escape(_method(stage))}</small></h2>"
    text += parts.table("What was averaged", ("Model", "From", "Weight:n"), rows)
    tried = [*_trials(stage)]
    if tried:
        columns = ("Average of", "Right:n", "Accuracy:n", "Interval:n", "Verdict")
        text += (
            '<p class="note">Models join from the best on while accuracy does not fall. The same '
            "problems chose the models: these figures say nothing of ability.</p>"
            + parts.table("What was tried", columns, tried)
        )
    return text


def verdict(stage: StageRun) -> str:
    """The average in a few words; empty without a record of it."""
    shares = [finite(model.get("weight")) for model in _objects(stage.soup.get("models"))]
    if not shares:
        return ""
    taken = sum(bool(share) for share in shares)
    of = f" of {len(shares)}" if taken != len(shares) else ""
    return f"average of {taken}{of} models, {_method(stage)}"


def _method(stage: StageRun) -> str:
    return str(stage.soup.get("method", ""))


def _origin(model: Mapping[str, Any]) -> str:
    if "stage" in model:
        return f"stage {model['stage']}, step {model.get('step', '–')}"
    return str(model.get("path", "–"))


def _trials(stage: StageRun) -> Iterator[Sequence[str]]:
    greedy = stage.soup.get("greedy")
    steps = _objects(greedy.get("steps")) if isinstance(greedy, Mapping) else []
    for step in steps:
        names = step.get("models")
        told = [str(name) for name in names] if isinstance(names, list) else []
        right, total = finite(step.get("correct")), finite(step.get("total"))
        kept = step.get("kept") is True
        yield [
            parts.cell(" + ".join(told) or "–", "", head=True),
            parts.cell(f"{words.count(right)}/{words.count(total)}", "n"),
            parts.cell(words.percent(finite(step.get("accuracy"))), "n"),
            parts.cell(words.percent_interval(interval_of(step.get("interval"))), "n"),
            parts.cell("kept" if kept else "left out", "" if kept else "soft"),
        ]


def _objects(value: Any) -> list[Mapping[str, Any]]:
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, Mapping)]
