"""``limite check``: everything that is wrong with recipes, and what they will do and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from limite.core.cli.importing import importing
from limite.core.cli.sets import no_setting_twice
from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError, Mistake, SettingsError


@click.command()
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE...")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    callback=no_setting_twice,
    metavar="PATH=VALUE",
    help="Change one setting, as in stages.rl.optimizer.lr=2e-5. May be given many times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def check(
    context: click.Context, recipes: Sequence[str], overrides: tuple[str, ...], as_json: bool
) -> None:
    """List every mistake in RECIPE, each with file, line and the nearest right word.

    A sound recipe is shown as a plan: what each stage does at most, and what that takes. Nothing
    is trained and no weights are read; where the model is a directory, its files are opened and
    what their headers say must fit the model.
    """
    # Imported late: the shapes of a model need torch, and `limite --help` does not.
    with importing():
        from limite.core.discover import load_registry
        from limite.core.recipe.matched.check import LoadedComparison, check_any

    registry = load_registry()
    found: list[Mistake] = []
    cause: LimiteError | None = None
    pages: list[dict[str, Any]] = []
    for name in recipes:
        try:
            sound = check_any(Path(name), overrides, registry)
        except SettingsError as error:
            mistakes, cause = list(error.mistakes), error
        except LimiteError as error:
            mistakes, cause = [Mistake(str(error))], error
        else:
            if isinstance(sound, LoadedComparison):
                plans = {each: plan.plain() for each, plan in sound.plans.items()}
                page = {"plan": None, "variants": plans, "runs": list(sound.members)}
                pages.append({"recipe": name, "mistakes": [], **page})
            else:
                pages.append({"recipe": name, "mistakes": [], "plan": sound[1].plain()})
            continue
        found += mistakes
        told = [{**attrs.asdict(mistake), "text": str(mistake)} for mistake in mistakes]
        pages.append({"recipe": name, "mistakes": told, "plan": None})
    if as_json:
        show_json(pages)
        context.exit(2 if found else 0)
    show_pages(pages)
    if found:
        raise SettingsError(found) from cause


def show_pages(pages: Sequence[Mapping[str, Any]]) -> None:
    """The plan of every recipe that is sound, and of every variant of a comparison."""
    plans: list[tuple[str, dict[str, Any]]] = []
    for page in pages:
        if page["plan"]:
            plans.append((page["recipe"], page["plan"]))
        for variant, plan in page.get("variants", {}).items():
            plans.append((f"{page['recipe']}, variant {variant}", plan))
    for number, (title, plan) in enumerate(plans):
        if number:
            click.echo()
        show_plan(title, plan)
    for page in pages:
        if "runs" in page:
            told = ", ".join(page["runs"])
            click.echo(f"\n{page['recipe']}: matched; {len(page['runs'])} runs: {told}")


def show_plan(recipe: str, plan: dict[str, Any]) -> None:
    """A table of what every stage does at most, and what that takes."""
    click.echo(f"{recipe}: sound; {plan['parameters']:,} parameters")
    show_table(
        ("STAGE", "TYPE", "STEPS", "UPDATES", "SAMPLED", "TRAINED", "OPERATIONS", "MEMORY"),
        [
            (
                stage["name"],
                stage["type"],
                _count(stage["steps"]),
                _count(stage["updates"]),
                _amount(stage["sampled_tokens"]),
                _amount(stage["trained_tokens"]),
                _amount(stage["operations"]),
                f"{stage['memory_bytes'] / 2**20:,.0f} MiB",
            )
            for stage in plan["stages"]
        ],
    )
    click.echo(f"kernels: {plan['kernels_told']}")
    for note in plan["notes"]:
        click.echo(f"note: {note}")
    for stage in plan["stages"]:
        if stage["objective"] is not None:
            reads = stage["reads"]
            columns = "whatever the stage supplies" if reads is None else ", ".join(reads)
            columns = columns or "log-probabilities of targets alone"
            click.echo(f"{stage['name']}: objective {stage['objective']} reads {columns}")
        for note in stage["notes"]:
            click.echo(f"{stage['name']}: {note}")


def _count(number: int) -> str:
    return f"{number:,}" if number else "-"


def _amount(number: float) -> str:
    """``1.23e9``-like sizes as people say them: ``1.23 G``."""
    if not number:
        return "-"
    for unit in ("", " k", " M", " G", " T", " P"):
        if number < 999.5:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g} E"
