"""A matched comparison in lines: the claim, the way to it, what each variant took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from limite.evaluate.compare_cli import lines as of_runs

Row = tuple[str, ...]
WORDS = {"improved": "higher", "regressed": "lower"}
"""Of one variant against another, neither of which came first."""


def claim(found: Mapping[str, Any]) -> Iterator[str]:
    """What may be said, a line for each pair of variants, and what it is about."""
    for pair in found["measured"][found["stage"]]["comparisons"]:
        low, high = pair["over_both"] or pair["over_problems"]
        yield (
            f"{pair['after']} against {pair['before']}, {found['stage']}: "
            f"{100 * pair['estimate']:+.1f} points, interval [{100 * low:+.1f}, {100 * high:+.1f}]:"
            f" {word(pair)}; about {pair['about']}"
        )


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The last evaluation as ``limite compare`` tells it, then what was matched and what not."""
    yield from of_runs(found["measured"][found["stage"]])
    yield ""
    yield "the same for all:"
    yield from (f"  {each}" for each in found["matched"])
    yield "not matched:"
    yield from (f"  {each}" for each in not_matched(found))


def not_matched(found: Mapping[str, Any]) -> list[str]:
    """What differed between variants beside what is compared, time among it."""
    clock = [(name, found["took"][name]["time_s"]["training"]) for name in found["variants"]]
    told = ", ".join(f"{spread['mean']:,.1f} s ({name})" for name, spread in clock)
    return [*found["not_matched"], f"time of training per run: {told}"]


def score_rows(found: Mapping[str, Any]) -> list[Row]:
    """One row for each evaluation and variant, the headings first."""
    rows: list[Row] = [("HELD OUT", "VARIANT", "ACCURACY", "INTERVAL", "SEEDS", "RUNS")]
    for stage in found["stages"]:
        measured = found["measured"][stage]
        for each in measured["recipes"]:
            runs = ", ".join(f"{100 * score:.1f}" for score in each["runs"])
            rows.append(
                (
                    stage,
                    each["name"],
                    f"{100 * each['estimate']:.1f}%",
                    span(each["over_both"] or each["over_problems"]),
                    str(each["training_seeds"]),
                    runs,
                )
            )
    return rows


def pair_rows(found: Mapping[str, Any]) -> list[Row]:
    """One row for each evaluation and pair of variants, the headings first."""
    rows: list[Row] = [("HELD OUT", "VARIANT", "AGAINST", "POINTS", "PAIRED INTERVAL", "")]
    for stage in found["stages"]:
        measured = found["measured"][stage]
        for pair in measured["comparisons"]:
            rows.append(
                (
                    stage,
                    pair["after"],
                    pair["before"],
                    f"{100 * pair['estimate']:+.1f}",
                    span(pair["over_both"] or pair["over_problems"], signed=True),
                    word(pair),
                )
            )
    return rows


def cost_rows(found: Mapping[str, Any]) -> list[Row]:
    """One row for each variant: what it is and what a run of it took."""
    rows: list[Row] = [
        ("VARIANT", "PARAMETERS", "OPERATIONS", "LEARNED", "REINFORCED", "TRAINING", "EVALUATION")
    ]
    for name in found["variants"]:
        took = found["took"][name]
        tokens, clock = took["tokens"], took["time_s"]
        rows.append(
            (
                name,
                f"{took['parameters']:,}",
                f"{took['operations_at_most']:.3g}",
                f"{tokens['train']:,}",
                f"{tokens['rl']:,}",
                seconds(clock["training"]),
                seconds(clock["evaluation"]),
            )
        )
    return rows


def word(pair: Mapping[str, Any]) -> str:
    """What the interval of a pair of variants allows to be said."""
    said = str(pair["wording"])
    return WORDS.get(said, said)


def seconds(spread: Mapping[str, float]) -> str:
    """The mean, and how far runs lie apart."""
    text = f"{spread['mean']:,.1f} s"
    if spread["least"] == spread["most"]:
        return text
    return f"{text} ({spread['least']:,.1f} to {spread['most']:,.1f})"


def span(interval: Sequence[float], *, signed: bool = False) -> str:
    """An interval in per cent, or in points."""
    low, high = (100 * end for end in interval)
    return f"[{low:+.1f}, {high:+.1f}]" if signed else f"[{low:.1f}, {high:.1f}]"
