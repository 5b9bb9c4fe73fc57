"""Runs the stages of a recipe in order, each from what one before left, and resumes them."""

from __future__ import annotations

import contextlib
import importlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.device import deterministic, threads_for
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, RunFailed, did_you_mean
from limite.core.jsonl import read_json
from limite.core.model.init import build_decoder, count_parameters
from limite.core.receipts import differences, make_receipt
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped, StageContext, earlier_training, model_of
from limite.core.recipe.cost import Plan
from limite.core.recipe.load import LoadedRecipe, load_recipe
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.report import write_report
from limite.core.recipe.rundir import RECIPE, RunDirectory
from limite.core.registry import Registry
from limite.core.rollout.stop import StopRequest

Echo = Callable[[str], None]
RESULTS = "results.json"


@attrs.frozen(kw_only=True)
class RunResult:
    """What a run left: its folder, its report, the receipt of every stage, what was measured."""

    path: Path
    report: Path
    stages: Mapping[str, Mapping[str, Any]]
    results: Mapping[str, Mapping[str, Any]]

    def plain(self) -> dict[str, Any]:
        """The same as JSON-able data."""
        return {
            "path": str(self.path),
            "report": str(self.report),
            "stages": dict(self.stages),
            "results": dict(self.results),
        }


def start(
    recipe: Path,
    *,
    overrides: Sequence[str] = (),
    out: Path = Path("runs"),
    name: str | None = None,
    only: Sequence[str] = (),
    echo: Echo = print,
    show_plan: Callable[[str, Plan], None] | None = None,
    live: bool = False,
) -> RunResult:
    """Runs a recipe in a new folder under ``out``.

    With ``only``, stages not named are left out; ``recipe`` may then be the folder of an earlier
    run, whose finished stages are taken over (they must be settled the same way).
    """
    registry = load_registry()
    earlier = RunDirectory.open(recipe) if recipe.is_dir() else None
    if earlier is not None and not only:
        raise LimiteError(
            f"{recipe} is the folder of a run; say which stages to run again with --only, "
            f"or go on with it: limite resume {recipe}"
        )
    loaded, plan = check_file(recipe if earlier is None else recipe / RECIPE, overrides, registry)
    chosen = chosen_stages(loaded.recipe, only)
    if earlier is not None:
        refuse_other_settings(loaded, earlier, chosen)
    else:
        refuse_missing_starts(loaded.recipe, chosen)
    run = RunDirectory.create(
        out,
        recipe=loaded.data,
        receipt=receipt_of(loaded, registry, chosen),
        name=name,
        source_text=loaded.source_text,
        source_suffix=loaded.path.suffix,
    )
    if show_plan is not None:
        show_plan(str(recipe), plan)
    with run.lock():
        if earlier is not None:
            take_over(
                earlier, run, [stage for stage in loaded.recipe.stages if stage not in chosen]
            )
        return execute(run, loaded, registry, chosen, echo, live)


def go_on(path: Path, *, echo: Echo = print, live: bool = False) -> RunResult:
    """Goes on with the run in ``path``; refuses when recipe or versions are not what they were."""
    registry = load_registry()
    run = RunDirectory.open(path)
    with run.lock():
        loaded = load_recipe(run.path / RECIPE, (), registry)
        was = run.receipt()
        chosen = [name for name in loaded.recipe.stages if name in was["only"]]
        now = receipt_of(loaded, registry, chosen)
        changed = differences(was, now)
        if changed:
            raise LimiteError(
                f"{path}: this run cannot go on as it was, because something differs "
                "(then -> now):\n  " + "\n  ".join(changed)
            )
        return execute(run, loaded, registry, chosen, echo, live)


def receipt_of(loaded: LoadedRecipe, registry: Registry, chosen: Sequence[str]) -> dict[str, Any]:
    """What ran, for the run's ``receipt.json``."""
    parameters = count_parameters(build_decoder(model_of(loaded.recipe), device="meta"))
    receipt = make_receipt(
        recipe=loaded.data,
        source_text=loaded.source_text,
        source_path=loaded.path,
        plugins=distributions_of(loaded.recipe, registry),
        threads=threads_for(parameters),
        seeds={"recipe": loaded.recipe.seed},
    )
    return {**receipt, "parameters": parameters, "only": list(chosen)}


def distributions_of(value: Any, registry: Registry) -> dict[str, str]:
    """The distributions that components of a recipe come from, with their versions."""
    found: dict[str, str] = {}
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, (list, tuple)):
        inner = list(value)
    elif attrs.has(type(value)):
        inner = [getattr(value, field.name) for field in attrs.fields(type(value))]
        if registry.is_component(type(value)):
            entry = registry.entry_of(type(value))
            found[entry.distribution] = entry.version
    else:
        inner = []
    for each in inner:
        found |= distributions_of(each, registry)
    return found


def chosen_stages(recipe: Recipe, only: Sequence[str]) -> list[str]:
    """The stages to run, in the recipe's order."""
    for name in only:
        if name not in recipe.stages:
            known = ", ".join(recipe.stages)
            raise LimiteError(
                f"--only: there is no stage {name!r}{did_you_mean(name, recipe.stages)}; "
                f"the stages are {known}"
            )
    return [name for name in recipe.stages if not only or name in only]


def needed_by(recipe: Recipe, name: str) -> list[str]:
    """The earlier stages that a stage takes something from."""
    stage = recipe.stages[name]
    needed = [stage.start] if stage.start is not None else earlier_training(recipe, name)[-1:]
    against = getattr(stage, "against", None)
    return [*needed, against] if against is not None else needed


def refuse_missing_starts(recipe: Recipe, chosen: Sequence[str]) -> None:
    """With ``--only`` on a recipe file, what the chosen stages need must be chosen too."""
    for name in chosen:
        for needed in needed_by(recipe, name):
            if needed not in chosen:
                raise LimiteError(
                    f"--only: stage {name!r} goes on from {needed!r}, which would not run; "
                    "name the folder of a run that has it instead of the recipe, "
                    f"or add --only {needed}"
                )


def refuse_other_settings(
    loaded: LoadedRecipe, earlier: RunDirectory, chosen: Sequence[str]
) -> None:
    """Stages taken over from an earlier run must be finished there and settled the same way."""
    was, now = earlier.recipe(), loaded.data
    kept = [name for name in loaded.recipe.stages if name not in chosen]
    changed = []
    for part in ("seed", "model", "tokenizer"):
        changed += differences({part: was.get(part)}, {part: now.get(part)})
    for name in kept:
        changed += differences(
            {f"stages.{name}": was["stages"].get(name)}, {f"stages.{name}": now["stages"][name]}
        )
    if changed:
        raise LimiteError(
            f"--only takes the other stages over from {earlier.path}, where they ran with other "
            "settings (then -> now):\n  " + "\n  ".join(changed)
        )
    for name in chosen:
        for needed in needed_by(loaded.recipe, name):
            if needed not in chosen and earlier.stage_receipt(needed) is None:
                raise LimiteError(
                    f"--only: stage {name!r} goes on from {needed!r}, which {earlier.path} has "
                    f"not finished; finish it first: limite resume {earlier.path}"
                )


def take_over(earlier: RunDirectory, run: RunDirectory, stages: Sequence[str]) -> None:
    """Copies the finished stages of an earlier run, so that the new folder stands alone."""
    for name in stages:
        if earlier.stage_receipt(name) is not None:
            shutil.copytree(earlier.stage(name), run.stage(name))


def execute(
    run: RunDirectory,
    loaded: LoadedRecipe,
    registry: Registry,
    chosen: Sequence[str],
    echo: Echo,
    live: bool,
) -> RunResult:
    """Runs the chosen stages that are not finished yet; the report is written in any case."""

    def say(text: str) -> None:
        run.log(text)
        echo(text)

    receipt = run.receipt()
    message = "stopping after this update; press Ctrl-C again to stop at once"
    try:
        with deterministic(receipt["threads"]), StopRequest(message) as stop:
            for name in chosen:
                context = StageContext(
                    run=run,
                    recipe=loaded.recipe,
                    name=name,
                    registry=registry,
                    stop=stop,
                    echo=say,
                    contract={"recipe_sha256": receipt["recipe_sha256"], "stage": name},
                    live=live,
                )
                run_stage(context)
    except KeyboardInterrupt:
        run.log("stopped at once")
        raise RunStopped(
            f"stopped at once; what the last checkpoint holds is kept. "
            f"Go on with: limite resume {run.path}"
        ) from None
    except LimiteError as error:
        run.log(f"ended: {error}")
        raise
    finally:
        # Also of a run that failed; but why it failed matters more than that it has no report.
        with contextlib.suppress(LimiteError) if sys.exception() else contextlib.nullcontext():
            report = write_report(run.path)
    return RunResult(
        path=run.path,
        report=report,
        stages={
            name: found
            for name in loaded.recipe.stages
            if (found := run.stage_receipt(name)) is not None
        },
        results={
            name: read_json(run.stage(name) / RESULTS)
            for name in loaded.recipe.stages
            if (run.stage(name) / RESULTS).exists()
        },
    )


def run_stage(context: StageContext) -> None:
    """Runs one stage unless its receipt says that it is finished."""
    if context.run.stage_receipt(context.name) is not None:
        context.echo(f"{context.name}: finished before")
        return
    context.run.start_stage(context.name)
    module, _, function = context.stage.runner.partition(":")
    about = {"stage": context.name, "type": context.stage.kind}
    try:
        outcome = getattr(importlib.import_module(module), function)(context)
    except RunStopped:
        raise
    except RunFailed as error:
        context.run.fail_stage(context.name, {**about, "error": str(error)})
        raise
    context.run.finish_stage(
        context.name,
        {
            **about,
            "health": context.health(),
            "start": context.origin(),
            **outcome,
        },
    )
