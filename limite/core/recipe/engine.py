"""Runs the stages of a recipe in order, each from what one before left, and resumes them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.device import deterministic
from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json
from limite.core.receipts import BEGUN, time_now
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped, StageContext
from limite.core.recipe.cost import Plan
from limite.core.recipe.declared import RANKS, Declaration, compare, refuse_undeclared
from limite.core.recipe.going_on import (
    change_run,
    named_checkpoint,
    place_of,
    refuse_foreign_checkpoint,
    refuse_other_than_newest,
)
from limite.core.recipe.kernel_checks import kernels_of
from limite.core.recipe.load import LoadedRecipe, load_recipe
from limite.core.recipe.one_stage import run_stage
from limite.core.recipe.only import (
    chosen_stages,
    refuse_missing_starts,
    refuse_other_settings,
    take_over,
    untouched,
)
from limite.core.recipe.ranks.agreement import (
    refuse_different_ranks,
    refuse_unequal_shares,
    refuse_unsharded,
    run_for_all,
    written_by_one,
)
from limite.core.recipe.ranks.ranks import OneRank, RankLost, Ranks
from limite.core.recipe.report import REPORT, write_report
from limite.core.recipe.run_plugins import naming_plugins
from limite.core.recipe.run_receipt import receipt_of, tell_circumstances
from limite.core.recipe.rundir import LOG, RECIPE, RunDirectory
from limite.core.registry import Registry
from limite.core.rollout.stop import StopRequest

Echo = Callable[[str], None]
STOPPING = "stopping where nothing is lost; press Ctrl-C again to stop at once"
TERMINATED = (
    "asked to end (SIGTERM): stopping where nothing is lost; another such signal stops at once"
)


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
    ranks: Ranks | None = None,
) -> RunResult:
    """Runs a recipe in a new folder under ``out``; of several ``ranks`` the first makes it.

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
    with contextlib.nullcontext() if earlier is None else naming_plugins(earlier, registry):
        source = recipe if earlier is None else recipe / RECIPE
        loaded, plan = check_file(source, overrides, registry)
    chosen = chosen_stages(loaded.recipe, only)
    if earlier is not None:
        refuse_other_settings(loaded, earlier, chosen)
    else:
        refuse_missing_starts(loaded.recipe, chosen)
    parts = tuple(stage for stage in plan.stages if stage.name in chosen)
    return begin(
        loaded,
        registry,
        chosen,
        out=out,
        name=name,
        echo=echo,
        live=live,
        ranks=ranks or OneRank(),
        earlier=earlier,
        show=lambda: show_plan and show_plan(str(recipe), attrs.evolve(plan, stages=parts)),
    )


def begin(
    loaded: LoadedRecipe,
    registry: Registry,
    chosen: Sequence[str],
    *,
    out: Path,
    name: str | None,
    echo: Echo,
    live: bool,
    ranks: Ranks,
    earlier: RunDirectory | None = None,
    show: Callable[[], object] = lambda: None,
    stop: StopRequest | None = None,
    known: Mapping[str, Any] | None = None,
) -> RunResult:
    """Makes the folder of a run whose recipe was checked, and runs the chosen stages.

    ``earlier`` has those that are taken over; ``show`` is called before the first stage. Somebody
    who runs several has one ``stop`` for all, and says what is ``known`` for their receipts.
    """
    kernels = kernels_of(loaded.recipe, ranks.device)
    receipt = {**receipt_of(loaded, registry, chosen, kernels, ranks), **(known or {})}
    refuse_different_ranks(ranks, receipt)
    refuse_unequal_shares(ranks, loaded.recipe, chosen)
    refuse_unsharded(ranks, loaded.recipe, chosen)
    run = run_for_all(
        ranks,
        lambda: RunDirectory.create(
            out,
            recipe=loaded.data,
            receipt={**receipt, BEGUN: time_now()},
            name=name,
            source_text=loaded.source_text,
            source_suffix=loaded.path.suffix,
        ),
    )
    show()
    with written_by_one(ranks, run):
        if ranks.rank == 0:
            if earlier is not None:
                take_over(earlier, run, untouched(loaded.recipe, chosen))
            run.log(f"kernels: {kernels}")
        return execute(run, loaded, registry, chosen, echo, live, ranks, stop)


def go_on(
    path: Path,
    *,
    overrides: Sequence[str] = (),
    declared: Sequence[str] = (),
    echo: Echo = print,
    live: bool = False,
    ranks: Ranks | None = None,
    stop: StopRequest | None = None,
) -> RunResult:
    """Goes on with the run in ``path``; refuses when recipe or versions are not what they were.

    ``path`` may be a checkpoint of the run, which must be good, and the newest. What ``overrides``
    change, and other versions, must be ``declared``: as ``protocol=rl@40/1f3a9c22``, which the
    refusal tells.
    """
    registry = load_registry()
    declarations = [Declaration.read(text) for text in declared]
    path, checkpoint = named_checkpoint(path)
    ranks = ranks or OneRank()
    run = run_for_all(ranks, lambda: RunDirectory.open(path))
    with written_by_one(ranks, run):
        if checkpoint is not None:
            refuse_other_than_newest(run, checkpoint)
        if ranks.rank == 0:
            run.settle()
        ranks.host.arrive("the recipe of the run")
        with naming_plugins(run, registry):
            loaded = wanted = load_recipe(run.path / RECIPE, (), registry)
            if overrides:
                wanted, _ = check_file(run.path / RECIPE, overrides, registry)
        was = run.receipt()
        chosen = [name for name in loaded.recipe.stages if name in was["only"]]
        kernels = kernels_of(loaded.recipe, ranks.device)
        now = receipt_of(loaded, registry, chosen, kernels, ranks)
        refuse_different_ranks(ranks, now)
        refuse_unequal_shares(ranks, loaded.recipe, chosen)
        refuse_unsharded(ranks, loaded.recipe, chosen)
        finished = [name for name in chosen if run.stage_receipt(name) is not None]
        changed = compare(was, now, wanted.recipe, wanted.data, finished)
        place = place_of(run, chosen) if changed.lines or declarations else None
        refuse_undeclared(path, was, changed, place, declarations)
        under_way = next((name for name in chosen if name not in finished), None)
        if under_way is not None:
            refuse_foreign_checkpoint(
                StageContext.of(run, loaded.recipe, registry, under_way, StopRequest(), echo, live)
            )
        # Another number of ranks was declared by here, and is no mere circumstance.
        elsewhere = tell_circumstances(was, now, echo, ranks=RANKS not in changed.kinds)
        ranks.host.arrive("what has changed since the run began")
        if place is not None:
            kernels = kernels_of(wanted.recipe, ranks.device)
        if ranks.rank == 0:
            if place is not None:
                context = StageContext.of(
                    run, loaded.recipe, registry, place.stage, StopRequest(), echo, live
                )
                now = receipt_of(wanted, registry, chosen, kernels, ranks)
                change_run(context, was, now, wanted.data, changed, place)
            run.bind_finished()
            run.note_resumption(elsewhere)
            run.log(f"kernels: {kernels}")
        ranks.host.arrive("the receipt of the run")
        return execute(run, wanted, registry, chosen, echo, live, ranks, stop)


def _kept(run: RunDirectory, chosen: Sequence[str]) -> str:
    """What is left of a run that lost a rank, and how to go on with it."""
    place = place_of(run, chosen)
    if place is None:
        kept = "All stages are finished, and kept"
    elif place.step:
        kept = f"Step {place.step} of stage {place.stage!r} is kept"
    else:
        kept = f"Stage {place.stage!r} has kept no step yet, and begins anew"
    return f"{kept}. Go on, under the same torchrun, with:\n  limite resume {run.path}"


def execute(
    run: RunDirectory,
    loaded: LoadedRecipe,
    registry: Registry,
    chosen: Sequence[str],
    echo: Echo,
    live: bool,
    ranks: Ranks,
    stop: StopRequest | None = None,
) -> RunResult:
    """Runs the chosen stages that are not finished yet; the report is written in any case."""

    def say(text: str) -> None:
        if ranks.rank == 0:
            run.log(text)
            echo(text)

    receipt = run.receipt()
    with contextlib.nullcontext(stop) if stop else StopRequest(STOPPING, TERMINATED) as stop:
        try:
            with deterministic(receipt["threads"]):
                for name in chosen:
                    if ranks.any(stop.requested, f"the beginning of stage {name!r}"):
                        raise RunStopped(
                            f"stopped before stage {name!r}; nothing is lost", run.path
                        )
                    context = StageContext.of(
                        run, loaded.recipe, registry, name, stop, say, live, ranks
                    )
                    run_stage(context)
        except KeyboardInterrupt:
            with contextlib.suppress(LimiteError):
                say("stopped at once")
            raise RunStopped.at_once(run.path) from None
        except LimiteError as error:
            # The disk may be full: why the run ended matters more than that nobody could note it.
            with contextlib.suppress(LimiteError):
                run.log(f"ended: {error}")
            if isinstance(error, RankLost) and ranks.rank == 0:
                raise RankLost(f"{error}.\n{_kept(run, chosen)}") from error
            raise
        finally:
            # A run that failed has a report too, unless that fails as well or is interrupted.
            ended_early = sys.exception() is not None
            with (
                contextlib.suppress(LimiteError, KeyboardInterrupt)
                if ended_early
                else contextlib.nullcontext()
            ):
                report = write_report(run.path) if ranks.rank == 0 else run.path / REPORT
                if ranks.rank == 0 and not ended_early:
                    run.bind_words([LOG, report.name, report.with_suffix(".png").name])
    return RunResult(
        path=run.path,
        report=report,
        stages={
            name: found
            for name in loaded.recipe.stages
            if (found := run.stage_receipt(name)) is not None
        },
        results={
            label: read_json(place)
            for name in loaded.recipe.stages
            for label, place in run.evaluations(name).items()
        },
    )
