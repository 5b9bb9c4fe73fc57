"""``limite resume``: goes on with a run that was stopped."""

from __future__ import annotations

import json
from pathlib import Path

import click

from limite.core.cli.importing import importing
from limite.core.cli.say import Say
from limite.core.cli.sets import no_setting_twice
from limite.core.errors import LimiteError
from limite.core.recipe.matched.folder import MatchedDirectory, is_comparison


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    callback=no_setting_twice,
    metavar="PATH=VALUE",
    help="Change one setting, as in stages.rl.max_tokens=96; the change must be declared.",
)
@click.option(
    "--declare",
    "declared",
    multiple=True,
    metavar="CHANGE",
    help="Go on although this differs, and record it; without it resume tells what to write here.",
)
@click.option(
    "--shard/--replicated",
    default=None,
    help="Whether each of several ranks holds a part of the weights, or all; else as begun.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def resume(
    run: Path,
    overrides: tuple[str, ...],
    declared: tuple[str, ...],
    shard: bool | None,
    as_json: bool,
) -> None:
    """Go on with RUN, the folder of a run, from its newest good checkpoint.

    The weights at the end are bit for bit those of a run that was never stopped. Refuses, and
    lists the differences, when the recipe or a version is not what it was. RUN may be a
    checkpoint instead: a damaged one is refused, where otherwise the one before it would do. Of a
    matched comparison every run goes on that is not finished.
    """
    if is_comparison(run):
        if overrides or declared:
            raise LimiteError(
                f"{run}: --set and --declare change one run, and those of a comparison are matched"
            )
        resume_comparison(run, as_json)
        return
    with importing():
        from limite.core.recipe.engine import go_on
        from limite.core.recipe.going_on import device_of, is_sharded
        from limite.core.recipe.ranks.launch import are_several, launched

    if shard is None:
        shard = are_several() and is_sharded(run)
    with launched(device_of(run), shard=shard) as ranks:
        say = Say(quiet=as_json or ranks.rank > 0)
        result = go_on(
            run, overrides=overrides, declared=declared, echo=say.line, live=say.live, ranks=ranks
        )
        if ranks.rank:
            return
        if as_json:
            click.echo(json.dumps(result.plain(), indent=2, sort_keys=True))
        else:
            say.result(result)


def resume_comparison(path: Path, as_json: bool) -> None:
    """Goes on with all runs of a comparison that are not finished."""
    with importing():
        from limite.core.recipe.matched.run import resume as go_on
        from limite.core.recipe.ranks.launch import launched

    device = str(MatchedDirectory.open(path).receipt().get("device", "cpu"))
    with launched(device) as ranks:
        say = Say(quiet=as_json or ranks.rank > 0)
        result = go_on(path, echo=say.line, live=say.live, ranks=ranks)
        if ranks.rank:
            return
        if as_json:
            click.echo(json.dumps(result.plain(), indent=2, sort_keys=True))
        else:
            say.any_result(result)
