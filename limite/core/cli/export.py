"""``limite export``: what a run has trained, as a directory that other programs load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from limite.core.cli.model_place import found_model
from limite.core.cli.progress import weights_progress
from limite.core.cli.sizes import parse_bytes, shown_bytes
from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError

if TYPE_CHECKING:
    from limite.core.pretrained.export import Exported


@click.command()
@click.argument("model", metavar="RUN_OR_DIR", type=click.Path(path_type=Path))
@click.option(
    "--to", required=True, metavar="OUT", type=click.Path(path_type=Path), help="The new directory."
)
@click.option("--stage", metavar="NAME", help="Of a run: the stage whose weights are taken.")
@click.option(
    "--critic",
    is_flag=True,
    help="Of a run: the critic of the stage, or of the last that has one, and not its policy.",
)
@click.option(
    "--dtype",
    metavar="DTYPE",
    help="How weights are stored: bfloat16, float16 or float32. Left out: as they are.",
)
@click.option(
    "--shard-size",
    default="5GB",
    show_default=True,
    metavar="SIZE",
    help="The most that a file of weights holds, like 4GB, 500MB or 4GiB.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def export(
    model: Path,
    to: Path,
    stage: str | None,
    critic: bool,
    dtype: str | None,
    shard_size: str,
    as_json: bool,
) -> None:
    """Write a model as a directory that transformers and limite load.

    RUN_OR_DIR is the folder of a run, or the name of one under runs/, finished or not: the weights
    of the last stage that trained are taken, once every hash of their checkpoint was verified. Or
    it is a model's directory. Neither is changed; an existing OUT is refused. A critic is written
    as a token classifier of one label, whose scores are its values.
    """
    shard_bytes = parse_bytes(shard_size, "--shard-size")
    # Imported late: they need torch.
    from limite.core.pretrained.dtype_names import stored_dtype
    from limite.core.pretrained.export import directory_source, export_model
    from limite.core.pretrained.new_directory import refuse_existing
    from limite.core.recipe.export import critic_source, run_source
    from limite.core.recipe.trained import critic_of, only_critic, trained

    kind = None if dtype is None else stored_dtype(dtype)
    refuse_existing(to)
    path, is_run = found_model(model)
    origin: dict[str, object] | None = None
    if is_run:
        critic = critic or (stage is not None and only_critic(path, stage))
        found = critic_of(path, stage) if critic else trained(path, stage)
        origin = {
            "run": str(path),
            "stage": found.stage,
            "step": found.step,
            "steps": found.steps,
            "finished": found.finished,
            "critic": critic,
        }
        source = critic_source(found) if critic else run_source(found)
    elif stage is not None:
        raise LimiteError(f"--stage: {path} is a model's directory, which has no stages")
    elif critic:
        raise LimiteError(f"--critic: {path} is a model's directory, which has no stages")
    else:
        source = directory_source(path)
    with weights_progress(quiet=as_json) as progress:
        done = export_model(source, to, dtype=kind, shard_bytes=shard_bytes, progress=progress)
    if as_json:
        show_json({**attrs.asdict(done), "origin": origin})
        return
    show_table(("WHAT", "IS"), _rows(done, origin), cut=False)
    for note in done.notes:
        click.echo(f"note: {note}")
    click.echo(f"wrote {to}")


def _rows(done: Exported, origin: dict[str, object] | None) -> list[tuple[str, str]]:
    rows = []
    if origin is not None:
        whose = "of the critic " if origin["critic"] else ""
        told = "of stage {stage}, step {step} of {steps}".format(**origin)
        rows.append(("weights", whose + told))
    numbers = ", ".join(f"{count:,} in {kind}" for kind, count in done.dtypes.items())
    rows += [
        ("family", f"{done.family} ({done.architecture})" if done.architecture else done.family),
        ("parameters", numbers),
        ("tokenizer", "yes" if done.tokenizer else "none"),
    ]
    return rows + [(name, shown_bytes(size)) for name, size in done.files.items()]
