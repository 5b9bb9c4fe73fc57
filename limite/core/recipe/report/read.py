"""A run folder as plain data, whatever state the run left it in.

A run may have been stopped, killed in the middle of a line, or never have reached a stage. What is
missing is simply absent here; what cannot be read is listed in ``Run.notes`` and stops nothing.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core import jsonl
from limite.core.errors import LimiteError
from limite.core.recipe.report.words import as_number
from limite.core.recipe.rundir import RunDirectory

UPDATES = "optim/updates"  # optimizer steps applied so far
_LARGEST = 1e300
_MOST_LINES = 1_000_000  # of one file: a guard of memory, far above any run's steps


@attrs.frozen(kw_only=True)
class StageRun:
    """What one stage left, or an empty record of a stage that was not reached."""

    name: str
    number: int
    kind: str
    settings: Mapping[str, Any]
    begun: bool
    receipt: Mapping[str, Any] = attrs.field(factory=dict)
    metrics: Sequence[Mapping[str, Any]] = ()
    health: Sequence[Mapping[str, Any]] = ()
    results: Mapping[str, Any] | None = None
    soup: Mapping[str, Any] = attrs.field(factory=dict)
    rollout_files: Sequence[Path] = ()
    chosen: bool = True

    @property
    def status(self) -> str:
        """``finished`` or ``failed`` as its receipt says, else what its files say."""
        said = self.receipt.get("status")
        if isinstance(said, str) and said:
            return said
        if not self.begun:
            return "not reached" if self.chosen else "left out"
        return "unfinished"

    @property
    def error(self) -> str:
        """Why the stage failed; empty when it did not."""
        return str(self.receipt.get("error", "")) if self.status == "failed" else ""

    @property
    def steps(self) -> int | None:
        """Steps done."""
        said = as_number(self.receipt.get("steps"))
        if said is not None and math.isfinite(said):
            return int(said)
        return int(self.step_axis()[-1]) if self.metrics else None

    @property
    def updates(self) -> float | None:
        """Optimizer steps applied, where a line or the receipt tells."""
        counts = [*self.column(UPDATES), as_number(self.receipt.get("updates"))]
        told = [count for count in counts if count is not None and math.isfinite(count)]
        return told[-1] if told else None

    def step_axis(self) -> list[float]:
        """The step of each line of ``metrics``."""
        return [as_number(line.get("step")) or 0.0 for line in self.metrics]

    def column(self, name: str) -> list[float]:
        """One number per line of ``metrics``; what is absent is ``nan``.

        Finite numbers are held within what a chart can draw.
        """
        numbers = (as_number(line.get(name)) for line in self.metrics)
        return [math.nan if number is None else _drawable(number) for number in numbers]

    def has(self, name: str) -> bool:
        """Whether any line carries a number of this name."""
        return any(as_number(line.get(name)) is not None for line in self.metrics)

    def not_finite(self, name: str) -> list[float]:
        """The steps at which ``name`` was written but was not a finite number."""
        found = []
        for line in self.metrics:
            value = as_number(line.get(name))
            if value is not None and not math.isfinite(value):
                found.append(as_number(line.get("step")) or 0.0)
        return found


@attrs.frozen(kw_only=True)
class Run:
    """A whole run folder."""

    name: str
    path: Path
    recipe_text: str
    recipe: Mapping[str, Any]
    receipt: Mapping[str, Any]
    stages: Sequence[StageRun]
    notes: Sequence[str]


def read_run(path: Path | str) -> Run:
    """Everything the report needs from the run folder ``path``."""
    folder = Path(path)
    if not any((folder / name).exists() for name in ("recipe.toml", "receipt.json", "stages")):
        RunDirectory.open(folder)  # raises, and knows which run may have been meant
    notes: list[str] = []
    recipe_text, recipe = _read_recipe(folder, notes)
    receipt = _read_object(folder, "receipt.json", notes) or {}
    stages = _read_stages(folder, recipe, notes)
    only = receipt.get("only")
    if isinstance(only, list):
        stages = tuple(attrs.evolve(stage, chosen=stage.name in only) for stage in stages)
    return Run(
        name=folder.resolve().name,
        path=folder,
        recipe_text=recipe_text,
        recipe=recipe,
        receipt=receipt,
        stages=stages,
        notes=notes,
    )


def read_responses(path: Path) -> list[dict[str, Any]]:
    """The first responses of a rollout file, in file order; a torn end is left out."""
    return _records(path, [])


def _drawable(number: float) -> float:
    return max(-_LARGEST, min(_LARGEST, number)) if math.isfinite(number) else number


def _read_recipe(folder: Path, notes: list[str]) -> tuple[str, dict[str, Any]]:
    path = folder / "recipe.toml"
    if not path.is_file():
        notes.append("recipe.toml is missing")
        return "", {}
    text = path.read_bytes().decode("utf-8", errors="replace")
    try:
        return text, tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        notes.append(f"recipe.toml: {error}")
        return text, {}


def _read_stages(folder: Path, recipe: Mapping[str, Any], notes: list[str]) -> tuple[StageRun, ...]:
    found: dict[str, tuple[int, Path]] = {}
    root = folder / "stages"
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        match = re.fullmatch(r"(\d+)-(.+)", path.name)
        if match and path.is_dir():
            found[match[2]] = (int(match[1]), path)
    planned = recipe.get("stages")
    planned = planned if isinstance(planned, Mapping) else {}
    stages = []
    for number, (name, settings) in enumerate(planned.items(), start=1):
        number_and_path = found.pop(name, None)
        settings = settings if isinstance(settings, Mapping) else {}
        if number_and_path is None:
            kind = str(settings.get("type", ""))
            stages.append(
                StageRun(name=name, number=number, kind=kind, settings=settings, begun=False)
            )
        else:
            stages += _with_tasks(
                _read_stage(folder, name, *number_and_path, settings, notes),
                folder,
                number_and_path[1],
                notes,
            )
    for name, (number, path) in found.items():
        stages.append(_read_stage(folder, name, number, path, {}, notes))
    return tuple(sorted(stages, key=lambda stage: stage.number))


def _with_tasks(stage: StageRun, folder: Path, path: Path, notes: list[str]) -> Iterator[StageRun]:
    """A stage, and behind it the tasks of the suite it has asked: evaluations of their own."""
    if stage.results is None or "tasks" not in stage.results:
        yield stage
        return
    yield attrs.evolve(stage, results=None, rollout_files=[])
    for place in sorted(path.glob("*/results.json")):
        within = place.parent.relative_to(folder).as_posix()
        responses = place.parent / "responses.jsonl.zst"
        yield StageRun(
            name=f"{stage.name}/{place.parent.name}",
            number=stage.number,
            kind=stage.kind,
            settings=stage.settings,
            begun=True,
            receipt={"status": stage.status},
            results=_read_object(folder, f"{within}/results.json", notes),
            rollout_files=[responses] if responses.is_file() else [],
        )


def _read_stage(
    folder: Path,
    name: str,
    number: int,
    path: Path,
    settings: Mapping[str, Any],
    notes: list[str],
) -> StageRun:
    place = path.relative_to(folder).as_posix()
    receipt = _read_object(folder, f"{place}/receipt.json", notes) or {}
    results = _read_object(folder, f"{place}/results.json", notes)
    by_step: dict[float, dict[str, Any]] = {}
    for line in _read_lines(folder, f"{place}/metrics.jsonl", notes):
        step = as_number(line.get("step"))
        if step is not None and math.isfinite(step):
            by_step[step] = line  # a step done again after a resume counts once, as last written
    metrics = [by_step[step] for step in sorted(by_step)]
    rollouts = path / "rollouts"
    files = sorted(rollouts.iterdir()) if rollouts.is_dir() else [path / "responses.jsonl.zst"]
    return StageRun(
        name=name,
        number=number,
        kind=str(receipt.get("type") or settings.get("type") or _guess_kind(results, metrics)),
        settings=settings,
        begun=True,
        receipt=receipt,
        metrics=metrics,
        health=_read_lines(folder, f"{place}/health.jsonl", notes),
        results=results,
        soup=_read_object(folder, f"{place}/soup.json", notes) or {},
        rollout_files=[
            f for f in files if f.name.endswith((".jsonl", ".jsonl.zst")) and f.is_file()
        ],
    )


def _guess_kind(results: Mapping[str, Any] | None, metrics: Sequence[Mapping[str, Any]]) -> str:
    if results is not None:
        return "eval"
    if any("reward/mean" in line for line in metrics):
        return "rl"
    return "sft" if metrics else ""


def _read_object(folder: Path, name: str, notes: list[str]) -> dict[str, Any] | None:
    path = folder / name
    if not path.is_file():
        return None
    try:
        value = jsonl.read_json(path)
    except (LimiteError, RecursionError):
        value = None
    if not isinstance(value, dict):
        notes.append(f"{name} does not hold a JSON object")
        return None
    return value


def _read_lines(folder: Path, name: str, notes: list[str]) -> list[dict[str, Any]]:
    path = folder / name
    if not path.is_file():
        return []
    problems: list[str] = []
    records = _records(path, problems)
    notes.extend(f"{name}: {problem}" for problem in problems)
    return records


def _records(path: Path, problems: list[str]) -> list[dict[str, Any]]:
    """The JSON objects of a file, up to where it breaks off."""
    records: list[dict[str, Any]] = []
    others = 0
    try:
        for value in jsonl.read_jsonl(path):
            if isinstance(value, dict):
                records.append(value)
            else:
                others += 1
            if len(records) >= _MOST_LINES:
                problems.append(f"only the first {_MOST_LINES:,} lines were read")
                break
    except jsonl.UnfinishedFile:
        problems.append(f"its end is cut short; {len(records):,} lines were read")
    except (LimiteError, RecursionError):
        problems.append(f"damaged; {len(records):,} lines were read before the damage")
    if others:
        problems.append(f"{others:,} lines are not JSON objects")
    return records
