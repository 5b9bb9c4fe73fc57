"""``limite run``: runs a recipe, or some stages of an earlier run again."""

from __future__ import annotations

import json
from pathlib import Path

import click

from limite.core.cli.importing import importing
from limite.core.cli.say import Say
from limite.core.cli.sets import no_setting_twice


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    callback=no_setting_twice,
    metavar="PATH=VALUE",
    help="Change one setting, as in stages.rl.optimizer.lr=2e-5. May be given many times.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="The folder that holds run folders.",
)
@click.option("--name", help="The name of the run folder; it must not exist yet.")
@click.option(
    "--only",
    multiple=True,
    metavar="STAGE",
    help="Run this stage alone; RECIPE is then an earlier run, whose other stages are kept.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="Where to compute: cpu, or cuda for a GPU, which has not been tried yet.",
)
@click.option(
    "--shard",
    is_flag=True,
    help="Of several ranks, let each hold a part of weights, gradients and moments.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def run(
    recipe: Path,
    overrides: tuple[str, ...],
    out: Path,
    name: str | None,
    only: tuple[str, ...],
    device: str,
    shard: bool,
    as_json: bool,
) -> None:
    """Run RECIPE, a .py or .toml file, and leave everything it did in a new folder.

    A matched comparison is a run of each variant at each seed, in one folder; --set then changes
    all variants. With --only, RECIPE may be the folder of an earlier run: the stages named run
    again from what their predecessors left there, in a new folder.
    """
    with importing():
        from limite.core.recipe.matched.run import start
        from limite.core.recipe.ranks.launch import launched

    with launched(device, shard=shard) as ranks:
        say = Say(quiet=as_json or ranks.rank > 0)
        result = start(
            recipe,
            overrides=overrides,
            out=out,
            name=name,
            only=only,
            echo=say.line,
            show_plan=say.plan,
            live=say.live,
            ranks=ranks,
        )
        if ranks.rank:
            return
        if as_json:
            click.echo(json.dumps(result.plain(), indent=2, sort_keys=True))
        else:
            say.any_result(result)
