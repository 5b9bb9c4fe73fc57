"""``limite import``: models kept in other formats as directories that limite loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from limite.core.cli.groups import SuggestingGroup
from limite.core.cli.progress import weights_progress
from limite.core.cli.table import show_json, show_table

if TYPE_CHECKING:
    from limite.core.pretrained.gguf import Imported


@click.group("import", cls=SuggestingGroup)
def import_() -> None:
    """Turn a model kept in another format into a directory."""


@import_.command(short_help="Turn a GGUF file into a model directory.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The new directory."
)
@click.option(
    "--dtype",
    default="bfloat16",
    show_default=True,
    metavar="DTYPE",
    help="How weights are stored: bfloat16, float16 or float32.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gguf(file: Path, to: Path, dtype: str, as_json: bool) -> None:
    """Turn the GGUF file FILE into a model directory of the Hugging Face layout.

    Weights are dequantised; configuration, tokenizer and chat template come from the file.
    Everything that cannot be taken over is told before anything is written.
    """
    # Imported late: it needs torch.
    from limite.core.pretrained.gguf import import_gguf

    with weights_progress(quiet=as_json) as progress:
        done = import_gguf(file, to, dtype=dtype, progress=progress)
    page = {**attrs.asdict(done), "path": str(done.path)}
    if as_json:
        show_json(page)
        return
    show_table(("WHAT", "IS"), _rows(done), cut=False)
    for note in done.notes:
        click.echo(f"note: {note}")
    click.echo(f"wrote {to}")


def _rows(done: Imported) -> list[tuple[str, str]]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in done.quantisation.items())
    ends = ", ".join(f"{token} ({number})" for token, number in done.end_tokens.items())
    return [
        ("model", done.name or "not named"),
        ("family", f"{done.family}, {done.layers} layers"),
        ("parameters", f"{done.parameters:,} in {done.dtype}"),
        ("tensors", kinds),
        ("context", f"{done.context:,} tokens"),
        ("tokenizer", f"{done.tokenizer}, {done.vocabulary:,} ids"),
        ("responses end at", ends),
        ("chat template", "taken over" if done.chat_template else "none"),
    ]
