"""Goes through the gates of a stage and writes what they found."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from limite.core.device import deterministic, threads_for
from limite.core.errors import LimiteError, did_you_mean, sentence
from limite.core.jsonl import storage_error, write_json
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder, count_parameters
from limite.core.receipts import make_receipt
from limite.core.recipe.admit.canary import (
    JITTER,
    PROBLEMS,
    RESPONSES,
    Bench,
    canary_stage,
    starts_anew,
)
from limite.core.recipe.admit.checkpoint import checkpoint
from limite.core.recipe.admit.conditional import conditional
from limite.core.recipe.admit.first_update import first_update
from limite.core.recipe.admit.memory import memory, too_large
from limite.core.recipe.admit.migration import migration
from limite.core.recipe.admit.oracle import oracle
from limite.core.recipe.admit.report import Gate, Report
from limite.core.recipe.admit.schedule import schedule
from limite.core.recipe.check import check_file
from limite.core.recipe.context import model_of
from limite.core.recipe.kernel_checks import kernels_of
from limite.core.recipe.load import LoadedRecipe
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL
from limite.core.registry import Registry

ADMISSION = "admission.json"
FOLDER = "admissions"

Echo = Callable[[str], None]

GATES: Mapping[str, Callable[[Bench], Gate | list[Gate]]] = {
    "migration": migration,
    "schedule": schedule,
    "oracle": oracle,
    "conditional": conditional,
    "first-update": first_update,
    "memory": memory,
    "checkpoint": checkpoint,
}
"""Every gate, in the order they are held."""


def stage_to_admit(recipe: Recipe, wanted: str | None) -> str:
    """The stage that is named, or else the first that samples and learns."""
    able = [name for name, stage in recipe.stages.items() if isinstance(stage, RL)]
    if wanted is None:
        if not able:
            raise LimiteError(
                f"recipe {recipe.name!r} has no stage of type 'rl'; admission is of the path from "
                "sampling to learning"
            )
        return able[0]
    if wanted not in recipe.stages:
        near = did_you_mean(wanted, list(recipe.stages))
        raise LimiteError(f"--stage: recipe {recipe.name!r} has no stage {wanted!r}{near}")
    if wanted not in able:
        raise LimiteError(
            f"--stage: {wanted!r} is of type {recipe.stages[wanted].kind!r}; admission is of the "
            f"path from sampling to learning, which stages of type 'rl' have"
            + (f": {', '.join(able)}" if able else "; there is none")
        )
    return wanted


def admit(
    path: Path,
    registry: Registry,
    *,
    stage: str | None = None,
    out: Path | None = None,
    echo: Echo = lambda _line: None,
) -> Report:
    """The report on a stage of the recipe at ``path``.

    ``out`` is where it is going to be written: that it can be is made sure of first.
    """
    loaded, _ = check_file(path, (), registry)
    name = stage_to_admit(loaded.recipe, stage)
    refuse_taken(out)
    make_folder(Path(FOLDER) if out is None else out)
    shapes = build_decoder(model_of(loaded.recipe), device="meta")
    threads = threads_for(count_parameters(shapes))
    large = too_large(shapes, cast(RL, loaded.recipe.stages[name]))
    if large is not None:
        untried = [
            large if gate == large.name else Gate(name=gate, error=f"not tried: see {large.name}")
            for gate in GATES
        ]
        small, left_out = canary_stage(loaded.recipe, name, registry)
        about, circumstances = about_of(loaded, name, small, left_out, shapes, threads)
        return Report(about=about, gates=untried, circumstances=circumstances)
    with (
        tempfile.TemporaryDirectory(prefix="limite-admit-") as folder,
        deterministic(threads),
    ):
        bench = Bench.of(loaded, registry, name, Path(folder), threads=threads)
        return admitted(bench, GATES, echo=echo)


def admitted(bench: Bench, names: Iterable[str], *, echo: Echo = lambda _line: None) -> Report:
    """The report over some gates. An error in one is a miss, and the others are held all the same.

    Gates say how long they took among the circumstances.
    """
    found: list[Gate] = []
    times: dict[str, float] = {}
    for name in names:
        echo(f"{name} ...")
        started = time.perf_counter()
        try:
            gates = GATES[name](bench)
            found += gates if isinstance(gates, list) else [gates]
        except Exception as error:  # kernels, optimizers and objectives may be anyone's
            found.append(Gate(name=name, error=sentence(error)))
        times[name] = time.perf_counter() - started
    about, circumstances = about_of(
        bench.loaded, bench.name, bench.stage, bench.left_out, bench.decoder, bench.threads
    )
    return Report(about=about, gates=found, circumstances={**circumstances, "time_s": times})


def about_of(
    loaded: LoadedRecipe,
    name: str,
    stage: RL,
    left_out: Sequence[str],
    decoder: Decoder,
    threads: int,
) -> tuple[dict[str, object], dict[str, object]]:
    """What was admitted, and on what machine; ``stage`` is the one made small."""
    device = decoder.device.type
    receipt = make_receipt(
        recipe=loaded.data,
        kernels={op: each.name for op, each in kernels_of(loaded.recipe).choices.items()},
        dtype=str(decoder.dtype).removeprefix("torch."),
        device="cpu" if device == "meta" else device,
        threads=threads,
        seeds={"recipe": loaded.recipe.seed},
    )
    spec = decoder.spec
    shapes = {
        name: getattr(spec, name)
        for name in ("width", "layers", "heads", "kv_heads", "head_width", "mlp_width", "context")
    }
    shapes |= {"vocabulary": decoder.vocabulary, "parameters": count_parameters(decoder)}
    weights = "the model's own"
    if starts_anew(loaded.recipe):
        weights = f"new, each number moved by noise of {JITTER} so that all of them take part"
    about: dict[str, object] = {
        "recipe": loaded.recipe.name,
        "recipe_sha256": receipt["recipe_sha256"],
        "stage": name,
        "left_out": list(left_out),
        "weights": weights,
        "shapes": {
            **shapes,
            "canary_problems": PROBLEMS,
            "canary_responses": RESPONSES,
            "canary_tokens": stage.max_tokens,
        },
        **{
            key: receipt[key]
            for key in (
                "seeds", "device", "dtype", "threads", "kernels", "tiles_sha256", "limite",
                "limite_sha256", "python", "packages",
            )
        },
    }  # fmt: skip
    return about, {"hardware": receipt["hardware"]}


def write_report(report: Report, folder: Path | None) -> Path:
    """Writes ``admission.json``, which is never overwritten: failed verdicts stay.

    Without a ``folder`` into ``admissions/<recipe>-<stage>-<hash>``, with ``-2``, ``-3``...
    """
    about = report.about
    base = f"{about['recipe']}-{about['stage']}-{str(about['recipe_sha256'])[:4]}"
    refuse_taken(folder)
    if folder is None:
        make_folder(Path(FOLDER))
        names = (base if number == 1 else f"{base}-{number}" for number in itertools.count(1))
        folder = next(place for name in names if _claimed(place := Path(FOLDER) / name))
    make_folder(folder)
    write_json(folder / ADMISSION, report.plain())
    return folder / ADMISSION


def _claimed(folder: Path) -> bool:
    """Whether the folder is new, and now ours."""
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise storage_error(error, folder, "choose another folder with --out") from error
    return True


def make_folder(folder: Path) -> None:
    """Makes a folder, or says why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(error, folder, "choose another folder with --out") from error


def refuse_taken(folder: Path | None) -> None:
    """Says that a folder holds a report already."""
    if folder is not None and (folder / ADMISSION).exists():
        raise LimiteError(
            f"--out: {folder / ADMISSION} exists and is never overwritten, as verdicts are kept; "
            "choose another folder"
        )
