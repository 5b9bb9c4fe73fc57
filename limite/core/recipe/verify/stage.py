"""What every stage leaves: files by their hashes, checkpoints, where it began, and its logs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.checkpoint.manifest import MANIFEST, step_name, step_of, verify
from limite.core.checkpoint.state import decode
from limite.core.errors import LimiteError
from limite.core.health.ratios import RatioHealth
from limite.core.jsonl import dumps, read_numbered
from limite.core.receipts import SEAL, differences, is_as_written, step_handed_on
from limite.core.recipe.rundir import (
    CHECKPOINTS,
    HEALTH,
    METRICS,
    RECEIPT,
    RunDirectory,
    hashes_of,
)
from limite.core.recipe.verify.finding import Findings

SOUP = "soup"
"""The type of a stage that has steps and no log of them."""
FIGURES = frozenset(f"ratio/{each.name}" for each in attrs.fields(RatioHealth))


def check_seal(place: Path, findings: Findings) -> None:
    """A receipt's hash of itself."""
    if not is_as_written(place):
        findings.wrong(place, f"is not what its own {SEAL!r} says")


def check_files(folder: Path, receipt: Mapping[str, Any], findings: Findings) -> None:
    """Every file that the receipt of a finished stage names, and no other."""
    now = hashes_of(folder)
    kept: Mapping[str, str] = receipt.get("files", {})
    for name in sorted(now.keys() | kept.keys()):
        findings.counts["files"] += 1
        if name not in now:
            findings.wrong(folder / name, f"is gone; {RECEIPT} of its stage names it")
        elif name not in kept:
            findings.wrong(folder / name, f"{RECEIPT} of its stage does not name it")
        elif now[name] != kept[name]:
            findings.wrong(folder / name, f"is not what {RECEIPT} of its stage says")


def check_start(
    run: RunDirectory, folder: Path, receipt: Mapping[str, Any], findings: Findings
) -> None:
    """The checkpoint a stage says it began with is the one that stands there."""
    start = receipt.get("start")
    if start is None:
        return
    place = folder / RECEIPT
    if start["stage"] not in run.stage_names:
        findings.wrong(place, f"'start' names {start['stage']!r}, which is no stage")
        return
    origin = run.stage_receipt(start["stage"])
    if origin is not None and start["step"] != step_handed_on(origin):
        findings.wrong(
            place,
            f"'start' names step {start['step']} of {start['stage']!r}, which hands on step "
            f"{step_handed_on(origin)}",
        )
        return
    manifest = run.stage(start["stage"]) / CHECKPOINTS / step_name(start["step"]) / MANIFEST
    if not manifest.is_file():
        findings.wrong(manifest, f"is gone; the stage {receipt['stage']!r} began with it")
    elif hashlib.sha256(manifest.read_bytes()).hexdigest() != start["manifest_sha256"]:
        findings.wrong(manifest, f"is not what the stage {receipt['stage']!r} began with")


def check_checkpoints(
    folder: Path,
    stage: str,
    terms_at: Callable[[int], Mapping[str, Any]] | None,
    findings: Findings,
) -> None:
    """Every checkpoint is whole, is of this stage, and, unless it is taken over, of the recipe, the
    versions and the ranks that were in force at its step."""
    root = folder / CHECKPOINTS
    for entry in sorted(root.iterdir()) if root.is_dir() else ():
        if step_of(entry.name) is None:
            if not entry.name.startswith("."):
                findings.wrong(entry, "no name of a checkpoint")
            continue
        findings.counts["checkpoints"] += 1
        place = entry / MANIFEST
        with findings.around(place):
            manifest = verify(entry)
            _check_foreign(entry, manifest.files, findings)
            contract = decode(manifest.contract)
            if contract.get("stage") != stage:
                findings.wrong(place, f"belongs to the stage {contract.get('stage')!r}")
                continue
            wanted = contract if terms_at is None else terms_at(manifest.step)
            if contract.get("recipe_sha256") != wanted.get("recipe_sha256"):
                findings.wrong(place, "belongs to another recipe")
            elif dumps(contract) != dumps(wanted):
                lines = differences(contract, wanted, ignore=())
                findings.wrong(place, "was written under other terms: " + "; ".join(lines))


def _check_foreign(entry: Path, files: Collection[str], findings: Findings) -> None:
    """Loading ignores what the manifest does not list; here it is told."""
    for place in sorted(entry.rglob("*")):
        name = place.relative_to(entry).as_posix()
        if name not in files and name != MANIFEST:
            findings.wrong(place, f"{MANIFEST} of its checkpoint does not name it")


def check_logs(
    folder: Path, receipt: Mapping[str, Any] | None, logged: bool, findings: Findings
) -> None:
    """A line of metrics for each step, in order; and health that names steps there were.

    ``logged`` says that the recipe has its steps written to ``metrics.jsonl``.
    """
    made = (receipt or {}).get("steps")
    if receipt is not None and made and receipt.get("type") != SOUP:
        check_left(folder / METRICS, f"{made} steps were made", logged, findings)
    steps = _steps(folder / METRICS, findings)
    gated = _gated(folder / METRICS)
    if gated:
        check_left(folder / HEALTH, f"{METRICS} says that gates were looked at", True, findings)
    for number, (line, step) in enumerate(steps, start=1):
        if step != number:
            findings.wrong(folder / METRICS, f"step {step} where step {number} was due", line)
            break
    if receipt is not None and steps and receipt.get("steps") not in (None, steps[-1][1]):
        findings.wrong(
            folder / METRICS,
            f"ends with step {steps[-1][1]}; {RECEIPT} of its stage says {receipt['steps']}",
        )
    last = steps[-1][1] if steps else made  # without metrics it is what the receipt says, if any
    before = 0
    judged: set[int] = set()
    for line, step in _steps(folder / HEALTH, findings):
        if step < before or (last is not None and step > last):
            findings.wrong(folder / HEALTH, f"step {step} after step {before}, of {last}", line)
        before = step
        judged.add(step)
    unjudged = [step for step in gated if step not in judged]
    if unjudged and judged:
        findings.wrong(
            folder / HEALTH, f"no line of step {unjudged[0]}, whose gates {METRICS} has figures of"
        )


def check_left(place: Path, why: str, due: bool, findings: Findings) -> None:
    """What a stage wrote as it went is there and not empty; ``due`` says that it had to."""
    if not place.exists():
        if due:
            findings.wrong(place, f"is gone; {why}")
    elif not (any(place.iterdir()) if place.is_dir() else place.stat().st_size):
        findings.wrong(place, f"is empty; {why}")


def _gated(place: Path) -> list[int]:
    """The steps whose line has the figures that health gates judge."""
    try:
        return [
            int(line["step"])
            for _, line in (read_numbered(place) if place.is_file() else ())
            if isinstance(line, Mapping) and line.keys() >= FIGURES
        ]
    except (LimiteError, KeyError, TypeError, ValueError):
        return []  # told as the log is read


def _steps(place: Path, findings: Findings) -> list[tuple[int, int]]:
    """The line and the step of every record of a log."""
    found: list[tuple[int, int]] = []
    if place.is_file():
        with findings.around(place):
            for line, record in findings.records(place):
                findings.counts["log lines"] += 1
                found.append((line, int(record["step"])))
    return found
