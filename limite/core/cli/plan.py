"""``limite plan``: what the stages of a recipe take of each GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from limite.core.cli.sets import no_setting_twice
from limite.core.cli.sizes import parse_bytes, shown_bytes
from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from limite.core.recipe.exchange_plan import Exchange
    from limite.core.recipe.memory_parts import MemoryPlan, StageMemory
    from limite.core.recipe.time_plan import StageTime

MB, GB = 1000**2, 1000**3
KINDS = "a100-40, a100-80, h100, h200, b200, l4, l40s, rtx-3090, rtx-4090, t4"


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--gpus", type=click.IntRange(1, 100_000), default=1, help="How many there are.")
@click.option("--gpu", help=f"Which: {KINDS}.")
@click.option("--gpu-memory", metavar="SIZE", help="Or what each holds, as 80GB.")
@click.option(
    "--dtype",
    type=click.Choice(["bfloat16", "float32"]),
    default="bfloat16",
    help="Of weights; narrower ones have float32 masters.",
)
@click.option("--replicated", is_flag=True, help="Every GPU holds everything, nothing is shared.")
@click.option(
    "--set", "overrides", multiple=True, callback=no_setting_twice, metavar="PATH=VALUE",
    help="Change a setting.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    recipe: Path,
    gpus: int,
    gpu: str | None,
    gpu_memory: str | None,
    dtype: str,
    replicated: bool,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Tell what each stage of RECIPE takes of every GPU, part by part.

    Weights, gradients and moments are shared out over the GPUs, as FSDP does. Nothing is trained
    and no weights are read. These are estimates: runtimes and allocators need something besides.
    Where several share a stage: what each sends the others in an update. With --gpu, times as
    well that no stage can fall below.
    """
    size = _memory(gpu, gpu_memory)
    # Imported late: the shapes of a model need torch, and `limite --help` does not.
    from limite.core.discover import load_registry
    from limite.core.recipe.check import plans_of_file
    from limite.core.recipe.exchange_plan import exchanges_of
    from limite.core.recipe.gpus import GPUS
    from limite.core.recipe.memory_parts import Machine
    from limite.core.recipe.time_plan import times_of

    machine = Machine(gpus=gpus, gpu_bytes=size, dtype=dtype, sharded=not replicated)
    found, cost = plans_of_file(recipe, overrides, load_registry(), machine)
    kind = None if gpu is None else GPUS[gpu.lower()]
    times = None if kind is None else times_of(found, cost, kind)
    exchanged = exchanges_of(found, cost, kind)
    if as_json:
        told = None if times is None else [attrs.asdict(each) for each in times]
        sent = [attrs.asdict(each) for each in exchanged]
        show_json({**found.plain(), "exchanged": sent, "times": told})
    else:
        show(str(recipe), found)
        show_exchanged(exchanged, found)
        show_times(times)


def _memory(gpu: str | None, gpu_memory: str | None) -> int:
    if (gpu is None) == (gpu_memory is None):
        raise LimiteError(
            "name the GPU with --gpu, or what it holds with --gpu-memory; one of both"
        )
    if gpu_memory is not None:
        size = parse_bytes(gpu_memory, "--gpu-memory")
        if size < MB and gpu_memory.strip().isdigit():
            raise LimiteError(
                f"--gpu-memory: {gpu_memory} without a unit are bytes; did you mean "
                f"{gpu_memory.strip()}GB?"
            )
        return size
    assert gpu is not None
    from limite.core.recipe.gpus import GPUS

    if gpu.lower() not in GPUS:
        near = did_you_mean(gpu.lower(), GPUS) or f"; there are {', '.join(GPUS)}."
        raise LimiteError(f"--gpu: unknown GPU {gpu!r}{near} For others give --gpu-memory")
    return GPUS[gpu.lower()].memory_gb * GB


def show(recipe: str, plan: MemoryPlan) -> None:
    """A line for each stage, then its parts, and what there is to say."""
    machine = plan.machine
    how = "shared out" if machine.sharded else "replicated"
    click.echo(
        f"{recipe}: {plan.parameters:,} parameters in {machine.dtype}, {how} over "
        f"{machine.gpus} GPU{'s' * (machine.gpus > 1)} of {shown_bytes(machine.gpu_bytes)}"
    )
    show_table(
        ("STAGE", "TYPE", "LEARNING", "SAMPLING", "OF A GPU", "RESPONSES AT ONCE", "FITS"),
        [
            (
                stage.name,
                stage.type,
                _size(stage.at("learning") if _learns(stage) else 0),
                _size(stage.at("sampling") if stage.wanted else 0),
                f"{stage.bytes / machine.gpu_bytes:.0%}",
                f"{stage.at_once:,} of {stage.wanted:,}" if stage.wanted else "-",
                "yes" if stage.bytes <= machine.gpu_bytes else "no",
            )
            for stage in plan.stages
        ],
    )
    for stage in plan.stages:
        parts = ", ".join(f"{part.name} {shown_bytes(part.bytes)}" for part in stage.parts)
        click.echo(f"{stage.name}: {parts}")
        if _learns(stage):
            click.echo(
                f"{stage.name}: activations {shown_bytes(stage.activations_kept)} kept, "
                f"{shown_bytes(stage.activations_recomputed)} with recompute; at most "
                f"{stage.most_tokens:,} tokens fit at once"
            )
        for note in stage.notes:
            click.echo(f"{stage.name}: {note}")


def show_exchanged(exchanged: Sequence[Exchange], plan: MemoryPlan) -> None:
    """What travels between GPUs in an update."""
    if not exchanged:
        return
    show_table(
        ("STAGE", "MICRO-BATCHES OF AN UPDATE", "EACH GPU SENDS", "AT LEAST"),
        [
            (
                each.name,
                f"{each.micro_batches:,}",
                shown_bytes(each.sent_bytes),
                shown_seconds(each.seconds or 0.0),
            )
            for each in exchanged
        ],
    )
    if plan.machine.sharded and any(each.micro_batches > 1 for each in exchanged):
        click.echo(
            "weights and gradients travel in every micro-batch: twice the 'microbatch_tokens' "
            "send about half of it, and keep twice the activations"
        )


def show_times(times: Sequence[StageTime] | None) -> None:
    """At least how long the stages take, and on what that rests."""
    if times is None:
        click.echo("no time is told: name the GPU with --gpu, whose peaks are known")
        return
    show_table(
        ("STAGE", "AT LEAST", "LEARNING", "SAMPLING", "BOUND BY"),
        [
            (
                each.name,
                shown_seconds(each.seconds),
                shown_seconds(each.learning_s),
                shown_seconds(each.sampling_s),
                each.bound_by,
            )
            for each in times
        ],
    )
    click.echo(
        "times are what the published peaks of arithmetic, memory and links allow, all responses "
        "at their full budget, nothing lost and nothing waited for; expect a few times as long"
    )


def shown_seconds(seconds: float) -> str:
    """A time as people say it."""
    if not seconds:
        return "-"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1000:.3g} ms"


def _learns(stage: StageMemory) -> bool:
    return any(part.at == "learning" for part in stage.parts)


def _size(size: int) -> str:
    return shown_bytes(size) if size else "-"
