"""Whether the files of a comparison are what they say: its own, and those of every run in it."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import attrs

from limite.core.jsonl import dumps
from limite.core.receipts import differences, recipe_hash
from limite.core.recipe.folders import without_none
from limite.core.recipe.matched.folder import COMPARISON, MATCHED, MatchedDirectory
from limite.core.recipe.rundir import RECEIPT, RECIPE
from limite.core.recipe.verify.finding import Findings
from limite.core.recipe.verify.run import Verified, digest_of, verify_run
from limite.core.recipe.verify.stage import check_seal

FOUND = "limite.evaluate.matched:comparison_of"
VERSIONS = ("limite", "limite_sha256", "python", "packages", "plugins", "tiles_sha256", "device")


def verify_comparison(path: str | Path) -> Verified:
    """Checks a comparison from its files alone; nothing in it is changed.

    Every run is held to what ``verify_run`` says, to the settings its variant and seed have here,
    and to the versions all others ran with. What was found is computed again from the runs.
    """
    folder = MatchedDirectory.open(path)
    findings = Findings(folder.path)
    counts: Counter[str] = Counter(runs=0)
    data: dict[str, Any] = {}
    with findings.around(folder.path / RECEIPT):
        data = _check_own(folder, findings)
    for name, member in folder.members().items():
        if folder.run_of(name) is None:
            findings.notes.append(f"the run {name!r} has not begun")
            continue
        counts["runs"] += 1
        found = verify_run(folder.path / name)
        counts.update(found.counts)
        findings.notes += [f"{name}: {note}" for note in found.notes]
        findings.violations += [
            attrs.evolve(each, file=f"{name}/{each.file}") for each in found.violations
        ]
        with findings.around(folder.path / name / RECIPE):
            _check_member(folder, name, member, data, findings)
    if all(folder.is_finished(name) for name in folder.members()):
        _check_found(folder, findings)
    return Verified(violations=findings.violations, notes=findings.notes, counts=dict(counts))


def _check_own(folder: MatchedDirectory, findings: Findings) -> dict[str, Any]:
    """The comparison's receipt against its settings and their source; gives the settings."""
    place = folder.path / RECEIPT
    receipt = folder.receipt()
    check_seal(place, findings)
    if recipe_hash(receipt["recipe"]) != receipt["recipe_sha256"]:
        findings.wrong(place, "'recipe' is not what 'recipe_sha256' says")
    data = folder.data()
    if data != without_none(receipt["recipe"]):
        findings.wrong(folder.path / MATCHED, f"is not the comparison in {RECEIPT}")
    if digest_of(folder.source()) != receipt["source_sha256"]:
        findings.wrong(folder.source(), f"is not what 'source_sha256' in {RECEIPT} says")
    return data


def _check_member(
    folder: MatchedDirectory,
    name: str,
    member: dict[str, Any],
    data: dict[str, Any],
    findings: Findings,
) -> None:
    run = folder.run_of(name)
    assert run is not None
    wanted = {**data["variants"][member["variant"]], "name": member["variant"]}
    for line in differences({**wanted, "seed": member["seed"]}, run.recipe(), ignore=()):
        findings.wrong(run.path / RECIPE, f"is not what {MATCHED} says: {line}")
    ours, theirs = folder.receipt(), run.receipt()
    for key in VERSIONS:
        for line in differences({key: ours.get(key)}, {key: theirs.get(key)}, ignore=()):
            findings.wrong(run.path / RECEIPT, f"ran with other versions than the rest: {line}")


def _check_found(folder: MatchedDirectory, findings: Findings) -> None:
    place = folder.path / COMPARISON
    if not place.exists():
        findings.notes.append("all runs are finished, and the comparison is not written yet")
        return
    with findings.around(place):
        module, _, function = FOUND.partition(":")
        again = getattr(importlib.import_module(module), function)(folder.path)
        if json.loads(dumps(again)) != folder.comparison():
            findings.wrong(place, "is not what the runs say")
