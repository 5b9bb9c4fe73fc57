"""A whole run: its recipe and receipt, then stage by stage what each left."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

import limite
from limite.core.errors import LimiteError, Mistake
from limite.core.jsonl import storage_error
from limite.core.receipts import FINISHED, LEFT, own_code_hash, recipe_hash
from limite.core.recipe.declared import CHANGES, terms_at, terms_of
from limite.core.recipe.folders import without_none
from limite.core.recipe.load import load_recipe, recipe_of
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import RECEIPT, RECIPE, STAGES, RunDirectory
from limite.core.recipe.stages import Stage
from limite.core.recipe.verify.finding import Findings
from limite.core.recipe.verify.responses import check_rollouts
from limite.core.recipe.verify.results import check_changes, check_left_by_eval, check_results
from limite.core.recipe.verify.stability import check_stability
from limite.core.recipe.verify.stage import (
    check_checkpoints,
    check_files,
    check_logs,
    check_seal,
    check_start,
)
from limite.core.recipe.verify.written import check_sampled

LOGGER = "jsonl"


@attrs.frozen(kw_only=True)
class Verified:
    """What was found: nothing is wrong where ``violations`` is empty.

    ``counts`` says how many stages, files, checkpoints, responses and log lines were looked at;
    ``notes`` what could not be looked at, and why.
    """

    violations: Sequence[Mistake]
    notes: Sequence[str]
    counts: Mapping[str, int]


def verify_run(path: str | Path) -> Verified:
    """Checks a run's folder from its files alone; nothing in it is changed.

    Recomputed are the hash of the recipe, that of its source, those of every file in the receipts
    of stages, those of every checkpoint and of where a stage began. Kept must be what is promised
    of responses (endings, budgets, log-probabilities, no reward for what did not end), of the
    versions of the policy that sampled them, of logs (a line for each step) and of results
    (recounted). A LimiteError if there is no run.
    """
    run = RunDirectory.open(path)
    findings = Findings(run.path)
    recipe = _recipe(run, findings)
    hash_of_recipe = _check_receipt(run, findings)
    _check_folders(run, findings)
    with findings.around(run.path / RECEIPT):
        _check_bound(run, findings)
    for name in run.stage_names:
        folder = run.stage(name)
        if not folder.is_dir():
            continue
        with findings.around(folder / RECEIPT):
            _check_stage(run, name, recipe, hash_of_recipe, findings)
    return Verified(
        violations=findings.violations, notes=findings.notes, counts=dict(findings.counts)
    )


def _recipe(run: RunDirectory, findings: Findings) -> Recipe | None:
    """The run's recipe as components; without one, a note says what cannot be checked."""
    try:
        return load_recipe(run.path / RECIPE).recipe
    except LimiteError as error:
        findings.notes.append(
            "how responses end is not checked, because the recipe cannot be loaded here: "
            + str(error).splitlines()[0]
        )
        return None


def _check_receipt(run: RunDirectory, findings: Findings) -> str | None:
    """The run's own receipt against the recipe and its source; gives the hash it states."""
    place = run.path / RECEIPT
    stated: str | None = None
    with findings.around(place):
        receipt = run.receipt()
        check_seal(place, findings)
        if receipt.get("limite_sha256") != own_code_hash():
            findings.notes.append(
                f"the run was made by limite {receipt.get('limite')} with other code than this "
                f"{limite.__version__}, which computes verdicts and rewards again"
            )
        stated = receipt["recipe_sha256"]
        if recipe_hash(receipt["recipe"]) != stated:
            findings.wrong(place, "'recipe' is not what 'recipe_sha256' says")
        for change in receipt.get(CHANGES, ()):
            if recipe_hash(change["recipe"]) != change["recipe_sha256"]:
                findings.wrong(place, "a recipe before a change is not what its hash says")
        with findings.around(run.path / RECIPE):
            if run.recipe() != without_none(receipt["recipe"]):
                findings.wrong(run.path / RECIPE, f"is not the recipe in {RECEIPT}")
        source, kept = run.source(), receipt.get("source_sha256")
        if kept is not None:
            if source is None:
                findings.wrong(place, "the recipe as it was given is gone")
            elif digest_of(source) != kept:
                findings.wrong(source, f"is not what 'source_sha256' in {RECEIPT} says")
    return stated


def _check_folders(run: RunDirectory, findings: Findings) -> None:
    """Nothing stands among the stages that is none, and none is finished before its turn."""
    known = {run.stage(name).name for name in run.stage_names}
    stages = run.path / STAGES
    for entry in sorted(stages.iterdir()) if stages.is_dir() else ():
        if entry.name not in known and not entry.name.startswith("."):
            findings.wrong(entry, "the recipe has no such stage")


def _check_bound(run: RunDirectory, findings: Findings) -> None:
    """What the run's receipt says is finished is there, as it was; and what is there, it says."""
    receipt = run.receipt()
    bound: Mapping[str, Mapping[str, Any]] = receipt.get(FINISHED, {})
    for name, told in bound.items():
        if name not in run.stage_names:
            findings.wrong(run.path / RECEIPT, f"says that {name!r} is finished, which is no stage")
            continue
        place = run.stage(name) / RECEIPT
        if not place.is_file():
            findings.wrong(place, f"is gone; {RECEIPT} of the run says that its stage is finished")
        elif digest_of(place) != told["sha256"]:
            findings.wrong(place, f"is not what {RECEIPT} of the run says")
    begun = [name for name in run.stage_names if run.stage(name).is_dir()]
    for name in begun:
        with findings.around(run.stage(name) / RECEIPT):
            if name in bound or run.stage_receipt(name) is None:
                continue
            if name != begun[-1]:
                findings.wrong(
                    run.path / RECEIPT, f"does not say that the stage {name!r} is finished"
                )
            else:
                findings.notes.append(
                    f"stage {name!r} is finished, and {RECEIPT} of the run does not say so yet: "
                    "limite resume adds it"
                )
    ended = [name for name in run.stage_names if name in bound or _left_receipt(run, name)]
    if len(ended) < len(run.stage_names):
        findings.notes.append(f"{len(ended)} of {len(run.stage_names)} stages are finished")
    for name in receipt.get(LEFT, ()):
        if not (run.path / name).is_file():
            findings.wrong(run.path / name, f"is gone; {RECEIPT} names it")


def _left_receipt(run: RunDirectory, name: str) -> bool:
    return (run.stage(name) / RECEIPT).is_file()


def _check_stage(
    run: RunDirectory,
    name: str,
    recipe: Recipe | None,
    hash_of_recipe: str | None,
    findings: Findings,
) -> None:
    folder = run.stage(name)
    receipt = run.stage_receipt(name)
    findings.counts["stages"] += 1
    if receipt is None:
        if not _bound(run, name):
            findings.notes.append(
                f"stage {name!r} is not finished: what it has left so far is checked"
            )
    else:
        check_seal(folder / RECEIPT, findings)
        check_files(folder, receipt, findings)
        check_start(run, folder, receipt, findings)
    ran_here = hash_of_recipe is not None and name in _chosen(run)

    def terms(step: int) -> Mapping[str, Any]:
        told = run.receipt()
        return terms_at(terms_of(told, name), told.get(CHANGES, ()), run.stage_names, name, step)

    check_checkpoints(folder, name, terms if ran_here else None, findings)
    check_logs(folder, receipt, ran_here and _logs(run), findings)
    check_stability(folder, name, recipe, receipt, findings)

    def stage_at(step: int) -> Stage:
        assert recipe is not None
        changes = run.receipt().get(CHANGES, ()) if ran_here else _bound(run, name).get(CHANGES, ())
        for change in changes:
            if change["stage"] == name and step <= change["step"]:
                return recipe_of(change["recipe"]).stages[name]
        return recipe.stages[name]

    check_rollouts(folder, name, recipe, stage_at, receipt, findings)
    check_sampled(folder, name, recipe, receipt, findings)
    if receipt is not None and receipt.get("type") == "eval":
        check_left_by_eval(folder, findings)
    told = run.receipt()
    same_code = ran_here and told.get("limite_sha256") == own_code_hash() and CHANGES not in told
    check_results(folder, name, recipe, same_code, findings)
    if recipe is not None:
        check_changes(run, name, recipe, same_code, findings)


def _bound(run: RunDirectory, name: str) -> Mapping[str, Any]:
    """What the run's receipt says of a finished stage; nothing of another."""
    found: Mapping[str, Any] = run.receipt().get(FINISHED, {}).get(name, {})
    return found


def _logs(run: RunDirectory) -> bool:
    """Whether the recipe has steps written to ``metrics.jsonl``: another logger may be all."""
    loggers = run.receipt()["recipe"].get("loggers", (LOGGER,))
    return any(
        (each.get("type") if isinstance(each, Mapping) else each) == LOGGER for each in loggers
    )


def _chosen(run: RunDirectory) -> Collection[str]:
    """The stages that ran with this recipe: others were taken over from an earlier run."""
    only = run.receipt().get("only")
    return only if isinstance(only, list) else run.stage_names


def digest_of(place: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    try:
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise storage_error(error, place) from error


def as_data(found: Verified) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "ok": not found.violations,
        "violations": [attrs.asdict(each) for each in found.violations],
        "notes": list(found.notes),
        "counts": dict(found.counts),
    }
