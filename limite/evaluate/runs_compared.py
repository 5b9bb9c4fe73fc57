"""``limite compare``: runs read, sorted into recipes, and compared on the problems they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import dumps, read_json
from limite.core.recipe.rundir import RunDirectory
from limite.evaluate.compare import SCOPE, wording
from limite.evaluate.exchange.files import read as read_foreign
from limite.evaluate.protocol import refuse_other_protocol
from limite.evaluate.significance import holm
from limite.evaluate.training_seeds import difference, of_recipe

RESULTS = "results.json"
FREE = ("seed", "name", "loggers")  # of a recipe: what does not make it another one
MOST_SETTINGS = 12


@attrs.frozen(kw_only=True)
class Measured:
    """One run and what its evaluation says."""

    path: Path
    recipe: Mapping[str, Any]
    receipt: Mapping[str, Any]
    stage: str
    results: Mapping[str, Any]
    before: Mapping[str, Any] | None
    weights: str = ""
    """The stage whose weights were measured, where it is not the one that has measured them."""

    @property
    def seed(self) -> int | None:
        """That of the training; None where none is known."""
        seed = self.recipe.get("seed")
        return None if seed is None else int(seed)

    @property
    def settings(self) -> dict[str, str]:
        """Every setting that makes it another recipe, by its dotted name."""
        found = _flat({key: value for key, value in self.recipe.items() if key not in FREE})
        return {**found, "weights of stage": self.weights} if self.weights else found


def read(named: Path, stage: str | None, metric: str | None = None) -> Measured:
    """The evaluation of a run: of ``stage``, or else the last one that left results.

    A folder that ``limite eval`` has left is one too, of the run whose weights were measured, and
    so is a file of lm-eval or lighteval, by its ``metric``.
    """
    path = Path("runs") / named if not named.exists() and (Path("runs") / named).is_dir() else named
    if path.is_file():
        return _of_results(path, read_foreign(path, metric).results(), stage)
    if (path / RESULTS).is_file() or any(path.glob(f"*/{RESULTS}")):
        return _of_evaluation(path, stage)
    run = RunDirectory.open(path)
    recipe = run.recipe()
    evals = [name for name in run.stage_names if recipe["stages"][name].get("type") == "eval"]
    places = {key: place for name in evals for key, place in run.evaluations(name).items()}
    done = [*places]
    if stage is not None and stage not in [*evals, *done]:
        known = [*dict.fromkeys([*evals, *done])]
        near = did_you_mean(stage, known) or f"; it has {', '.join(known) or 'none'}"
        raise LimiteError(f"--stage: {path} has no eval stage {stage!r}{near}")
    if stage in evals and stage not in done and any(each.startswith(f"{stage}/") for each in done):
        tasks = ", ".join(each for each in done if each.startswith(f"{stage}/"))
        raise LimiteError(f"--stage: {stage!r} has asked a suite; name one of its tasks: {tasks}")
    if not done or (stage is not None and stage not in done):
        which = f"the stage {stage!r} of " if stage is not None else ""
        raise LimiteError(f"{path}: {which}the run has left no results of an evaluation yet")
    chosen = stage or done[-1]
    results = read_json(places[chosen])
    if not results.get("complete"):
        raise LimiteError(f"{path}: the results of {chosen!r} are not of a complete set")
    against = results.get("against", {}).get("stage")
    before = read_json(places[against]) if against in done else None
    return Measured(
        path=path,
        recipe=recipe,
        receipt=run.receipt(),
        stage=chosen,
        results=results,
        before=before,
    )


def _of_evaluation(path: Path, stage: str | None) -> Measured:
    """What ``limite eval`` has left of one model."""
    if not (path / RESULTS).is_file():
        within = sorted(each.parent for each in path.glob(f"*/{RESULTS}"))
        if len(within) != 1:
            named = ", ".join(map(str, within)) or "none"
            raise LimiteError(f"{path}: holds results of several models; name one: {named}")
        path = within[0]
    return _of_results(path, read_json(path / RESULTS), stage)


def _of_results(path: Path, results: Any, stage: str | None) -> Measured:
    if stage is not None:
        raise LimiteError(f"--stage: {path} is an evaluation and no run, so it has no stages")
    if not isinstance(results, dict) or "protocol_id" not in results or "model" not in results:
        raise LimiteError(f"{path}: its {RESULTS} is none that limite eval has written")
    if not results.get("complete"):
        raise LimiteError(
            f"{path}: holds {results.get('recorded_samples', 0):,} of "
            f"{results.get('expected_samples', 0):,} responses, and a part has no score; repeat "
            "the command that made it"
        )
    trained = results.get("trained")
    name = str(results["model"])
    return Measured(
        path=path,
        recipe={"name": name, "model": name} if trained is None else trained["recipe"],
        receipt={} if trained is None else {"parameters": trained["parameters"]},
        stage=str(results["benchmark"]["name"]),
        results=results,
        before=None,
        weights="" if trained is None else str(trained["stage"]),
    )


def compare_runs(
    named: Sequence[Path],
    *,
    stage: str | None,
    confidence: float,
    allow_mismatch: bool,
    metric: str | None = None,
) -> dict[str, Any]:
    """Each recipe over its training seeds, and every pair of recipes; as plain data."""
    runs = [read(each, stage, metric) for each in named]
    mismatch = _mismatch(runs, allow_mismatch)
    arms = _arms(runs)
    problems = [entry["id"] for entry in runs[0].results["per_problem"]]
    samples = int(runs[0].results["samples"])
    tables = {
        name: [_counts(each.results, problems, each.path) for each in members]
        for name, members in arms.items()
    }
    recipes = [
        _recipe(name, members, tables[name], problems, samples, confidence)
        for name, members in arms.items()
    ]
    pairs = [
        {"before": old, "after": new, **difference(tables[old], tables[new], samples, confidence)}
        for old, new in combinations(arms, 2)
    ]
    for pair, adjusted in zip(pairs, holm([pair["p_value"] for pair in pairs]), strict=True):
        pair["holm_p_value"] = adjusted
        pair["wording"] = _wording(pair, 1 - confidence)
        pair["differs_in"] = _differs(arms[pair["before"]][0], arms[pair["after"]][0])
    return {
        "mismatch": mismatch,
        "problems": len(problems),
        "samples": samples,
        "confidence": confidence,
        "protocol_id": runs[0].results["protocol_id"],
        "recipes": recipes,
        "comparisons": pairs,
        "scope": SCOPE,
    }


def _mismatch(runs: Sequence[Measured], allowed: bool) -> str | None:
    first, told = runs[0], None
    for each in runs[1:]:
        try:
            refuse_other_protocol(
                each.results, first.results, our_name=str(each.path), their_name=str(first.path)
            )
        except LimiteError as error:
            if not allowed:
                raise LimiteError(
                    f"{error}{_advice(each)}; --allow-protocol-mismatch compares them all the "
                    "same, and says so"
                ) from None
            told = told or f"PROTOCOL MISMATCH: {error}"
    return told


def _advice(run: Measured) -> str:
    if "model" in run.results:  # of limite eval, whose problems follow no seed
        return ""
    return (
        ". The problems of an eval stage follow the seed of the recipe unless it has one of its "
        f"own: give stages.{run.stage}.seed, the same in all runs"
    )


def _arms(runs: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Runs by recipe, each under a name that no other has."""
    grouped: dict[str, list[Measured]] = {}
    for each in runs:
        grouped.setdefault(dumps(each.settings), []).append(each)
    names = [str(members[0].recipe["name"]) for members in grouped.values()]
    found: dict[str, list[Measured]] = {}
    for name, members in zip(names, grouped.values(), strict=True):
        seeds: dict[int | None, Path] = {}
        for each in members:
            if each.seed in seeds:
                what = "one recipe with one seed" if each.seed is not None else "one model"
                told = f" ({each.seed})" if each.seed is not None else ""
                raise LimiteError(
                    f"{seeds[each.seed]} and {each.path} are {what}{told}: another run of it is no "
                    "other training"
                )
            seeds[each.seed] = each.path
        alone = names.count(name) == 1
        found[name if alone else f"{name} ({members[0].path.name})"] = members
    return found


def _recipe(
    name: str,
    members: Sequence[Measured],
    table: Sequence[Sequence[int]],
    problems: Sequence[Any],
    samples: int,
    confidence: float,
) -> dict[str, Any]:
    change = None
    befores = [each.before for each in members]
    if all(before is not None for before in befores):
        earlier = [
            _counts(before, problems, each.path)
            for each, before in zip(members, befores, strict=True)
            if before is not None
        ]
        rows = [
            [now - was for now, was in zip(after, before, strict=True)]
            for after, before in zip(table, earlier, strict=True)
        ]
        change = of_recipe(rows, samples, confidence, change=True)
        low, high = change["over_both"] or change["over_problems"]
        change["against"] = members[0].results["against"]["stage"]
        change["wording"] = wording(low, high)
    return {
        "name": name,
        "stage": members[0].stage,
        "run_names": [str(each.path) for each in members],
        "seeds": [each.seed for each in members],
        "parameters": members[0].receipt.get("parameters"),
        **of_recipe(table, samples, confidence),
        "change": change,
    }


def _counts(results: Mapping[str, Any], problems: Sequence[Any], path: Path) -> list[int]:
    found = {entry["id"]: int(entry["correct"]) for entry in results["per_problem"]}
    if found.keys() != set(problems) or len(found) != len(problems):
        raise LimiteError(
            f"{path}: was measured on other problems than the first run; sets that differ are "
            "never compared"
        )
    return [found[problem] for problem in problems]


def _wording(pair: Mapping[str, Any], level: float) -> str:
    low, high = pair["over_both"] or pair["over_problems"]
    said = wording(low, high)
    if said != "no observed difference" and pair["holm_p_value"] != pair["p_value"]:
        return said if pair["holm_p_value"] <= level else "no observed difference (Holm)"
    return said


def _differs(first: Measured, second: Measured) -> list[str]:
    ours, theirs = first.settings, second.settings
    keys = [key for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]
    told = [f"{key} ({ours.get(key, '-')} -> {theirs.get(key, '-')})" for key in keys]
    sizes = [each.receipt.get("parameters") for each in (first, second)]
    if None not in sizes and sizes[0] != sizes[1]:
        told.insert(0, f"parameters ({sizes[0]:,} -> {sizes[1]:,})")
    more = len(told) - MOST_SETTINGS
    return [*told[:MOST_SETTINGS], *([f"and {more} more settings"] if more > 0 else [])]


def _flat(value: Any, place: str = "") -> dict[str, str]:
    if isinstance(value, Mapping):
        found: dict[str, str] = {}
        for key, item in value.items():
            found |= _flat(item, f"{place}.{key}" if place else str(key))
        return found
    return {place: dumps(value)}
