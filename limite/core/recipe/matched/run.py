"""Runs what is compared: every variant at every seed, each a run that can be resumed by itself."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.receipts import differences
from limite.core.recipe import engine
from limite.core.recipe.context import RunStopped
from limite.core.recipe.cost import Plan
from limite.core.recipe.engine import RunResult, begin, go_on
from limite.core.recipe.matched.check import LoadedComparison, check_any
from limite.core.recipe.matched.folder import COMPARISON, MATCHED, PAGE, MatchedDirectory
from limite.core.recipe.ranks.ranks import OneRank, Ranks
from limite.core.recipe.run_receipt import begun_receipt, distributions_of, tell_circumstances
from limite.core.recipe.runlock import hold
from limite.core.registry import Registry
from limite.core.rollout.stop import StopRequest

Echo = Callable[[str], None]
TOLD = "limite.evaluate.matched:write_comparison"


@attrs.frozen(kw_only=True)
class MatchedResult:
    """What a comparison left: its folder, its page, and what came of it."""

    path: Path
    report: Path
    comparison: dict[str, Any]

    def plain(self) -> dict[str, Any]:
        """The same as JSON-able data."""
        return {"path": str(self.path), "report": str(self.report), "comparison": self.comparison}


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
) -> RunResult | MatchedResult:
    """Runs a recipe or a comparison in a new folder under ``out``; see ``engine.start``."""
    options: dict[str, Any] = {"echo": echo, "live": live, "ranks": ranks or OneRank()}
    if recipe.is_dir() or only:
        return engine.start(
            recipe, overrides=overrides, out=out, name=name, only=only, show_plan=show_plan,
            **options,
        )  # fmt: skip
    registry = load_registry()
    found = check_any(recipe, overrides, registry)
    if isinstance(found, LoadedComparison):
        return _compare(found, registry, out, name, show_plan, **options)
    loaded, plan = found
    return begin(
        loaded,
        registry,
        list(loaded.recipe.stages),
        out=out,
        name=name,
        show=lambda: show_plan and show_plan(str(recipe), plan),
        **options,
    )


def _compare(
    found: LoadedComparison,
    registry: Registry,
    out: Path,
    name: str | None,
    show_plan: Callable[[str, Plan], None] | None,
    *,
    echo: Echo,
    live: bool,
    ranks: Ranks,
) -> MatchedResult:
    receipt = _receipt(found, registry, ranks)
    made = None
    if ranks.rank == 0:
        made = MatchedDirectory.create(
            out,
            data=found.data,
            receipt=receipt,
            name=name,
            source_text=found.source_text,
            source_suffix=found.path.suffix,
        )
    here = "" if made is None else os.fspath(made.path.absolute())
    told = ranks.host.gather(here, "the folder of the runs")
    folder = made or MatchedDirectory(Path(told[0]))
    if show_plan is not None:
        for variant, plan in found.plans.items():
            show_plan(f"{found.path}, variant {variant}", plan)
    return _run(folder, found, registry, echo=echo, live=live, ranks=ranks)


def resume(path: Path, *, echo: Echo, live: bool, ranks: Ranks | None = None) -> MatchedResult:
    """Goes on with a comparison: finished runs are kept, one that was stopped goes on.

    Refuses where a version is not what it was: runs of two versions are not matched.
    """
    folder = MatchedDirectory.open(path)
    registry = load_registry()
    ranks = ranks or OneRank()
    found = check_any(folder.path / MATCHED, (), registry)
    assert isinstance(found, LoadedComparison)
    source = folder.source()
    text = source.read_text(encoding="utf-8")
    found = attrs.evolve(
        found,
        members={
            name: (member, attrs.evolve(loaded, source_text=text, path=source))
            for name, (member, loaded) in found.members.items()
        },
    )
    was, now = folder.receipt(), _receipt(found, registry, ranks)
    changed = differences(was, now)
    if changed:
        raise LimiteError(
            f"{path} was begun with other settings or versions, and its runs would not be matched "
            "(then -> now):\n  " + "\n  ".join(changed)
        )
    tell_circumstances(was, now, echo)
    return _run(folder, found, registry, echo=echo, live=live, ranks=ranks)


def _run(
    folder: MatchedDirectory,
    found: LoadedComparison,
    registry: Registry,
    *,
    echo: Echo,
    live: bool,
    ranks: Ranks,
) -> MatchedResult:
    options: dict[str, Any] = {"echo": echo, "live": live, "ranks": ranks}
    known = {key: folder.receipt()[key] for key in ("git", "source_sha256")}
    total = len(found.members)
    with (
        hold(folder.path) if ranks.rank == 0 else contextlib.nullcontext(),
        StopRequest(engine.STOPPING, engine.TERMINATED) as stop,
    ):
        try:
            for number, (name, (member, loaded)) in enumerate(found.members.items(), start=1):
                about = f"run {number} of {total}: {member.variant}, seed {member.seed}"
                if ranks.any(folder.is_closed(name), f"a look for {name}"):
                    echo(f"{about}: finished before")
                    continue
                if ranks.any(stop.requested, f"the beginning of {name}"):
                    raise RunStopped(f"stopped before {about}; nothing is lost", folder.path)
                echo(about)
                if ranks.any(folder.run_of(name) is not None, f"a look into {name}"):
                    go_on(folder.path / name, stop=stop, **options)
                else:
                    stages = list(loaded.recipe.stages)
                    begin(
                        loaded, registry, stages, out=folder.path, name=name, stop=stop,
                        known=known, **options,
                    )  # fmt: skip
        except RunStopped as stopped:
            raise RunStopped(stopped.told, folder.path) from stopped
        except KeyboardInterrupt:
            raise RunStopped.at_once(folder.path) from None
        if ranks.rank == 0:
            module, _, function = TOLD.partition(":")
            getattr(importlib.import_module(module), function)(folder.path)
    comparison = folder.comparison() if ranks.rank == 0 else None
    return MatchedResult(
        path=folder.path, report=folder.path / PAGE, comparison=comparison or {"of": COMPARISON}
    )


def _receipt(found: LoadedComparison, registry: Registry, ranks: Ranks) -> dict[str, Any]:
    receipt = begun_receipt(
        found,
        ranks,
        plugins=distributions_of(list(found.matched.variants.values()), registry),
        seeds={name: member.seed for name, (member, _) in found.members.items()},
    )
    return {
        **receipt,
        "members": [
            {"name": name, "variant": member.variant, "seed": member.seed}
            for name, (member, _) in found.members.items()
        ],
        "plans": {variant: plan.plain() for variant, plan in found.plans.items()},
    }
