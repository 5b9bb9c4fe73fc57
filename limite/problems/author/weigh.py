"""Topics by measured failure: what a model solves least is asked for most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import read_json
from limite.problems import files
from limite.problems.author.topics import Topic

LEAST = 0.05
"""Of the weight of a topic that a model always solves."""

Measured = Iterable[tuple[Sequence[str], float]]
"""Of each problem its labels and its pass rate."""


def calibrated(path: Path) -> Measured:
    """Of a file that ``limite-gen calibrate`` wrote."""
    for problem in files.iterate(path):
        rate = problem.difficulty.get("pass_rate")
        if isinstance(rate, (int, float)) and not isinstance(rate, bool):
            generator = problem.source.get("generator")
            yield (*problem.tags, *([generator] if isinstance(generator, str) else [])), float(rate)


def evaluated(path: Path) -> Measured:
    """Of the ``results.json`` of an evaluation, whose arms are the labels."""
    found = read_json(path)
    try:
        samples = found["samples"]
        for each in found["per_problem"]:
            yield (str(each["arm"]),), each["correct"] / samples
    except (KeyError, TypeError, ZeroDivisionError):
        raise LimiteError(f"{path}: expected the results.json of an eval stage") from None


def weighed(topics: Sequence[Topic], measured: Measured, source: Path) -> list[Topic]:
    """The topics with each weight times its share of failures; of at least one there must be some.

    A problem belongs to a topic by a label that is its name or one of its tags, or lies below one
    (``algebra/roots`` below ``algebra``). A topic without problems keeps its weight times the mean.
    """
    rates: dict[str, list[float]] = defaultdict(list)
    for labels, rate in measured:
        for topic in topics:
            own = (topic.name, *topic.tags)
            if any(
                label == each or label.startswith(f"{each}/") for label in labels for each in own
            ):
                rates[topic.name].append(rate)
    if not rates:
        names = ", ".join(topic.name for topic in topics)
        raise LimiteError(
            f"{source}: none of its measured problems has the name or a tag of a topic ({names})"
        )
    failure = {name: 1 - sum(each) / len(each) for name, each in rates.items()}
    mean = sum(failure.values()) / len(failure)
    return [
        attrs.evolve(topic, weight=topic.weight * max(LEAST, failure.get(topic.name, mean)))
        for topic in topics
    ]
