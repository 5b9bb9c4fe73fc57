"""``limite compare``: several training runs, and which claim they support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from limite.core.cli.table import show_json
from limite.problems.gen.say import Real


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--stage", metavar="EVAL", help="Of runs: the eval stage to compare.  [the last of each]"
)
@click.option(
    "--confidence", type=Real(0.5, 1, min_open=True, max_open=True), default=0.95,
    show_default=True, help="Of the intervals.",
)  # fmt: skip
@click.option("--allow-protocol-mismatch", is_flag=True, help="Compare all the same, and say so.")
@click.option(
    "--metric", metavar="NAME[,FILTER]", help="Of files of lm-eval and lighteval: what is compared."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(
    runs: tuple[Path, ...],
    stage: str | None,
    confidence: float,
    allow_protocol_mismatch: bool,
    metric: str | None,
    as_json: bool,
) -> None:
    """Compare training runs: over problems, and over training seeds.

    RUN is a run with an eval stage, a folder that limite eval has left, or a file of samples of
    lm-eval or of details of lighteval. Runs whose recipes differ in nothing but their seed are one
    recipe. With several seeds of it the claim is about the recipe, with one about its weights
    alone. Recipes are compared in pairs.
    """
    from limite.evaluate.runs_compared import compare_runs

    found = compare_runs(
        runs,
        stage=stage,
        confidence=confidence,
        allow_mismatch=allow_protocol_mismatch,
        metric=metric,
    )
    if as_json:
        show_json(found)
        return
    for line in lines(found):
        click.echo(line)


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The comparison as text."""
    if found["mismatch"]:
        yield found["mismatch"]
    level = f"{100 * found['confidence']:g}%"
    yield f"{found['problems']:,} problems x {found['samples']} responses, {level} intervals"
    for each in found["recipes"]:
        yield ""
        yield from _recipe(each)
    for each in found["comparisons"]:
        yield ""
        yield from _pair(each, len(found["comparisons"]))
    yield ""
    if all(each["training_seeds"] == 1 for each in found["recipes"]):
        yield f"Every interval {found['scope']}."
    else:
        yield (
            "Intervals over problems are about these weights; those over both cover training seeds "
            "as well. None covers graders or prompts."
        )


def _recipe(each: Mapping[str, Any]) -> Iterator[str]:
    seeds = each["training_seeds"]
    runs = "single run" if seeds == 1 else f"{seeds} training seeds"
    yield f"{each['name']}, stage {each['stage']}: {100 * each['estimate']:.2f}%, {runs}"
    if seeds > 1:
        scores = ", ".join(
            f"{100 * score:.2f}% (seed {seed})"
            for score, seed in zip(each["runs"], each["seeds"], strict=True)
        )
        noise = each["sampling_deviation"]
        explained = "" if noise is None else f"; sampling responses alone makes {100 * noise:.2f}"
        yield f"  runs: {scores}"
        yield (
            f"  between seeds: standard deviation {100 * each['between_seed_deviation']:.2f} "
            f"points of {seeds} seeds{explained}"
        )
    yield f"  over problems: {_percent(each['over_problems'])}"
    if each["over_both"] is not None:
        yield f"  over problems and training seeds: {_percent(each['over_both'])}"
    change = each["change"]
    if change is not None:
        low_high = change["over_both"] or change["over_problems"]
        yield (
            f"  against {change['against']}: {100 * change['estimate']:+.2f} points "
            f"{_points(low_high)}: {change['wording']}; about {change['about']}"
        )


def _pair(each: Mapping[str, Any], comparisons: int) -> Iterator[str]:
    claim = each["over_both"] or each["over_problems"]
    yield (
        f"{each['after']} against {each['before']}: {100 * each['estimate']:+.2f} points "
        f"{_points(claim)}: {each['wording']}"
    )
    single = min(each["training_seeds"]) == 1
    yield f"  about {each['about']}" + (
        "; single run: how far training seeds differ is not known" if single else ""
    )
    if each["over_both"] is not None:
        yield f"  over problems alone, for these weights: {_points(each['over_problems'])}"
    holm = f", {each['holm_p_value']:.4g} after Holm for {comparisons} comparisons"
    yield f"  p = {each['p_value']:.4g}{holm if comparisons > 1 else ''}"
    yield f"  differs in {', '.join(each['differs_in']) or 'nothing but the seed'}"


def _percent(interval: list[float]) -> str:
    return f"[{100 * interval[0]:.2f}%, {100 * interval[1]:.2f}%]"


def _points(interval: list[float]) -> str:
    return f"[{100 * interval[0]:+.2f}, {100 * interval[1]:+.2f}]"
