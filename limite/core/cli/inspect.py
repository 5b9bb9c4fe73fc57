"""``limite inspect``: what a model is, what it takes, and where its files disagree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from limite.core.cli.model_place import found_model
from limite.core.cli.sizes import shown_bytes
from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError

if TYPE_CHECKING:
    from limite.core.pretrained.inspect import Look
    from limite.core.pretrained.inspect_tokens import Words


@click.command()
@click.argument("model", metavar="RUN_OR_DIR", type=click.Path(path_type=Path))
@click.option("--stage", metavar="NAME", help="Of a run: the stage whose weights are meant.")
@click.option(
    "--context",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    help="Prompt and response together, for the memory. Left out: the most the model reads.",
)
@click.option(
    "--batch",
    metavar="ROWS",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many texts are trained on, or sampled, at once.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def inspect(
    click_context: click.Context,
    model: Path,
    stage: str | None,
    context: int | None,
    batch: int,
    as_json: bool,
) -> None:
    """Show what a model is, what it takes, and where its files disagree.

    RUN_OR_DIR is a model's directory, or the folder of a run, or the name of one under runs/. Only
    headers of weights are read. A model with mistakes is shown as far as it can be known, and the
    command ends with 2; warnings are no mistakes.
    """
    # Imported late: they need torch.
    from limite.core.checkpoint.tensor_header import refuse_all
    from limite.core.pretrained.inspect import look_at
    from limite.core.recipe.inspect import look_at_run
    from limite.core.recipe.trained import trained

    path, is_run = found_model(model)
    if is_run:
        look = look_at_run(trained(path, stage), context=context, batch=batch)
    elif stage is not None:
        raise LimiteError(f"--stage: {path} is a model's directory, which has no stages")
    else:
        look = look_at(path, context=context, batch=batch)
    if as_json:
        page = attrs.asdict(look)
        told = zip(page["mistakes"], look.mistakes, strict=True)
        page["mistakes"] = [{**plain, "text": str(mistake)} for plain, mistake in told]
        show_json(page)
        click_context.exit(2 if look.mistakes else 0)
    show_table(("WHAT", "IS"), list(_rows(look)), cut=False)
    for warning in look.warnings:
        click.echo(f"warning: {warning}")
    refuse_all([*look.mistakes])


def _rows(look: Look) -> Iterator[tuple[str, str]]:
    yield "model", f"{look.origin} of {look.path}" if look.origin else look.path
    yield "family", _named(look)
    shape = look.shape
    if shape is not None:
        yield (
            "shape",
            f"{shape.layers} layers, {shape.width} channels, {shape.heads} heads of "
            f"{shape.head_width} ({shape.kv_heads} of keys and values), MLP {shape.mlp_width}",
        )
    if look.parameters:
        parts = ", ".join(f"{kind} {count:,}" for kind, count in look.parameters.items())
        yield "parameters", f"{sum(look.parameters.values()):,}: {parts}"
    for dtype, stored in look.stored.items():
        yield (
            f"in {dtype}",
            f"{stored.numbers:,} numbers, {stored.tensors:,} tensors, {shown_bytes(stored.bytes)}",
        )
    if shape is not None:
        yield "attention", ", ".join(f"{words} x {n}" for words, n in shape.attention.items())
        yield "context", f"{shape.context:,} tokens"
        yield "rotary", shape.rope
    yield from _token_rows(look.tokenizer, None if shape is None else shape.rows)
    yield from _memory_rows(look)
    for name, size in look.files.items():
        yield name, shown_bytes(size)


def _named(look: Look) -> str:
    if look.family is None:
        return "not known"
    family = f"{look.family} of {look.base}" if look.base else look.family
    return f"{family} ({look.architecture})" if look.architecture else family


def _token_rows(words: Words | None, rows: int | None) -> Iterator[tuple[str, str]]:
    if words is None:
        yield "tokenizer", "none that can be read"
        return
    table = ""
    if rows is not None and rows >= words.vocabulary:
        unused = rows - words.vocabulary
        table = f" in {rows:,} rows" + (f", {unused:,} of them padding" if unused else "")
    yield "tokenizer", f"{words.kind}, {words.vocabulary:,} ids{table}"
    if words.unopened:
        yield "", words.unopened
    begin = "none" if words.begin is None else f"{words.begin}"
    yield "special ids", f"begin {begin}, padding {'none' if words.pad is None else words.pad}"
    ends = ", ".join(f"{text} ({i})" if text else str(i) for i, text in words.ends.items())
    yield "responses end at", f"{ends}, from {words.ends_from}" if ends else "nothing"
    yield "chat template", ", ".join(words.templates) or "none"


def _memory_rows(look: Look) -> Iterator[tuple[str, str]]:
    memory = look.memory
    if memory is None:
        return
    rows = f"{memory.batch:,} {'row' if memory.batch == 1 else 'rows'} of {memory.context:,} tokens"
    yield (
        "to train",
        f"about {shown_bytes(memory.training_bytes)}: weights, gradients, AdamW, and what the "
        f"backward pass keeps of {rows}, in float32",
    )
    for dtype, found in memory.sampling.items():
        yield (
            f"to sample, {dtype}",
            f"{shown_bytes(found.total_bytes)}: weights {shown_bytes(found.weights_bytes)}, cache "
            f"{shown_bytes(found.cache_bytes)} for each of {rows}",
        )
