"""What a matched comparison found: paired differences, what was the same for all, and what was not.

Everything is read from the files of the runs. That settings are equal was checked before; here it
is looked at what came of them: which problems were asked, how many tokens were learned from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import read_jsonl, write_json
from limite.core.recipe.matched.folder import COMPARISON, MatchedDirectory
from limite.core.recipe.rundir import ROLLOUTS, RunDirectory
from limite.evaluate.runs_compared import compare_runs

OWN_DATA = ("own", "taught", "sampled", "rollouts")
"""Settings of stages that train on what models of the run have written."""
DIGITS = 3


@attrs.frozen(kw_only=True)
class Arm:
    """A variant and its runs, in the order of their seeds."""

    name: str
    runs: Sequence[RunDirectory]

    def receipts(self) -> Iterator[Mapping[str, Any]]:
        """Those of finished stages, of all runs."""
        for run in self.runs:
            for stage in run.stage_names:
                receipt = run.stage_receipt(stage)
                if receipt is not None:
                    yield receipt


def comparison_of(path: str | Path) -> dict[str, Any]:
    """What came of a comparison all of whose runs are finished, as plain data.

    ``measured`` holds for each evaluation what ``limite compare`` finds; the claim is that of the
    last. ``took`` is what each variant is and took, per run, with seconds as means of the runs;
    ``matched`` and ``not_matched`` say in sentences what was the same for all, time aside.
    """
    folder = MatchedDirectory.open(path)
    wanting = [name for name in folder.members() if not folder.is_finished(name)]
    if wanting:
        raise LimiteError(
            f"{path}: not finished: {', '.join(wanting)}; go on with it: limite resume {path}"
        )
    data, receipt = folder.data(), folder.receipt()
    arms = _arms(folder)
    first = next(iter(data["variants"].values()))
    asking = [name for name, stage in first["stages"].items() if stage["type"] == "eval"]
    evals = [label for name in asking for label in arms[0].runs[0].evaluations(name)]
    places = [run.path for arm in arms for run in arm.runs]
    confidence = first["stages"][asking[-1]].get("confidence", 0.95)
    measured = {
        stage: compare_runs(places, stage=stage, confidence=confidence, allow_mismatch=False)
        for stage in evals
    }
    for found in measured.values():
        for each in found["recipes"]:
            each["run_names"] = [Path(name).name for name in each["run_names"]]
    took = {arm.name: _took(arm, receipt["plans"][arm.name]) for arm in arms}
    same: list[str] = []
    other: list[str] = []
    for about, alike in _facts(arms, first["stages"], took):
        (same if alike else other).append(about)
    return {
        "name": data["name"],
        "varies": data.get("varies", ["model"]),
        "variants": [arm.name for arm in arms],
        "seeds": sorted({each["seed"] for each in folder.members().values()}),
        "stages": evals,
        "stage": evals[-1],
        "measured": measured,
        "took": took,
        "matched": same,
        "not_matched": other,
    }


def write_comparison(path: str | Path) -> Path:
    """Writes ``comparison.json`` and the page of a finished comparison; gives the page's path."""
    from limite.evaluate.matched_page import write_page

    folder = Path(path)
    found = comparison_of(folder)
    write_json(folder / COMPARISON, found)
    return write_page(folder, found)


def _arms(folder: MatchedDirectory) -> list[Arm]:
    runs: dict[str, list[RunDirectory]] = {}
    for name, member in folder.members().items():
        runs.setdefault(member["variant"], []).append(RunDirectory.open(folder.path / name))
    return [Arm(name=name, runs=members) for name, members in runs.items()]


def _took(arm: Arm, plan: Mapping[str, Any]) -> dict[str, Any]:
    """What a variant is and took. Operations are those planned, with responses at full length."""
    receipt = arm.runs[0].receipt()
    return {
        "parameters": receipt["parameters"],
        "operations_at_most": sum(stage["operations"] for stage in plan["stages"]),
        "memory_bytes_at_most": max(stage["memory_bytes"] for stage in plan["stages"]),
        "kernels": receipt["kernels"],
        "tokens": {
            kind: round(fmean(_sums(arm, kind, "tokens"))) for kind in ("train", "rl", "eval")
        },
        "time_s": {
            "training": _spread([a + b for a, b in _pairs(arm)]),
            "evaluation": _spread(_sums(arm, "eval", "time_s")),
        },
    }


def _pairs(arm: Arm) -> Iterator[tuple[float, float]]:
    yield from zip(_sums(arm, "train", "time_s"), _sums(arm, "rl", "time_s"), strict=True)


def _sums(arm: Arm, kind: str, entry: str) -> list[float]:
    """Of each run, an entry of the receipts of stages of a kind, added up."""
    found = []
    for run in arm.runs:
        receipts = [receipt for name in run.stage_names if (receipt := run.stage_receipt(name))]
        found.append(sum(each.get(entry, 0) for each in receipts if _kind(each["type"]) == kind))
    return found


def _kind(type_name: str) -> str:
    return type_name if type_name in ("rl", "eval") else "train"


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"mean": fmean(values), "least": min(values), "most": max(values)}


def _facts(
    arms: Sequence[Arm], stages: Mapping[str, Any], took: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, bool]]:
    """Sentences about what was the same for all variants, or was not."""
    yield from _fact("parameters", {name: each["parameters"] for name, each in took.items()})
    arithmetic = {name: each["operations_at_most"] for name, each in took.items()}
    yield from _fact("arithmetic, as planned at most, in operations", arithmetic)
    for stage, settings in stages.items():
        if settings["type"] == "eval":
            continue
        steps = _of_stage(arms, stage, "steps")
        yield _told(f"steps of {stage!r}", steps), _alike(steps)
        if settings["type"] == "rl":
            yield _asked_fact(arms, stage)
            lengths = _of_stage(arms, stage, "tokens")
            yield (
                _told(f"tokens of {stage!r}, whose responses are each one's own", lengths),
                (_alike(lengths)),
            )
            continue
        tokens = _of_stage(arms, stage, "tokens")
        yield _told(f"tokens learned from in {stage!r}", tokens), _alike(tokens)
        own = [name for name in OWN_DATA if settings.get(name) is not None]
        if own:
            yield f"texts of {stage!r}: each learns from what its own run has written", False
    yield "held-out problems and the terms of their evaluation: the same for all", True
    yield from _kernel_facts({name: each["kernels"] for name, each in took.items()})


def _kernel_facts(kernels: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, bool]]:
    chosen = {
        op: {name: each.get(op, "none") for name, each in kernels.items()}
        for op in sorted({op for each in kernels.values() for op in each})
    }
    same = [op for op, each in chosen.items() if len(set(each.values())) == 1]
    if same:
        yield f"kernels of {', '.join(same)}", True
    for op in sorted(chosen.keys() - set(same)):
        yield from _fact(f"kernel of {op}", chosen[op])


def _fact(about: str, values: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    yield (
        _told(about, {name: [value] for name, value in values.items()}),
        (len(set(values.values())) == 1),
    )


def _of_stage(arms: Sequence[Arm], stage: str, entry: str) -> dict[str, list[Any]]:
    return {
        arm.name: [(run.stage_receipt(stage) or {}).get(entry) for run in arm.runs] for arm in arms
    }


def _alike(values: Mapping[str, Sequence[Any]]) -> bool:
    first, *others = values.values()
    return all(list(each) == list(first) for each in others)


def _told(about: str, values: Mapping[str, Sequence[Any]]) -> str:
    if _alike(values):
        return f"{about}: {_values(next(iter(values.values())))}"
    told = ", ".join(f"{_values(each)} ({name})" for name, each in values.items())
    return f"{about}: {told}"


def _values(values: Sequence[Any]) -> str:
    """Several runs as their mean, where they differ."""
    if all(isinstance(each, (int, float)) for each in values) and len(set(values)) > 1:
        return f"{_number(fmean(values))} on average"
    return _number(values[0])


def _number(value: Any) -> str:
    if isinstance(value, float) and abs(value) >= 1e6:
        return f"{value:.{DIGITS}g}"
    if isinstance(value, (int, float)):
        return f"{value:,.0f}"
    return "nothing" if value is None else str(value)


def _asked_fact(arms: Sequence[Arm], stage: str) -> tuple[str, bool]:
    """Whether the variants were asked the same problems in the same steps, at every seed."""
    first, *others = arms
    steps = 0
    for arm in others:
        for ours, theirs in zip(arm.runs, first.runs, strict=True):
            mine, base = asked(ours, stage), asked(theirs, stage)
            steps += len(base)
            for step in sorted({*mine, *base}):
                if mine.get(step) != base.get(step):
                    about = f"{ours.path.name} from {theirs.path.name}"
                    return f"problems asked in {stage!r}: {about} from step {step} on", False
    return f"problems asked in {stage!r}: the same in each of {steps:,} steps", True


def asked(run: RunDirectory, stage: str) -> dict[int, list[str]]:
    """The problems of each step of a stage, in the order of their groups."""
    found: dict[int, list[str]] = {}
    for place in sorted((run.stage(stage) / ROLLOUTS).glob("*.jsonl.zst")):
        groups = {int(line["group"]): str(line["problem_id"]) for line in read_jsonl(place)}
        found[int(place.name.partition(".")[0])] = [groups[number] for number in sorted(groups)]
    return found
