"""A file of golden numbers for objectives, run against those that are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import torch

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean, sentence
from limite.core.pretrained.json_files import read_object
from limite.core.registry import Registry
from limite.plugins.golden import credit, models, policy, statistics
from limite.plugins.golden.case import Case, Outcome

FORMAT = "limite-golden-objectives"
DTYPES = (torch.float64, torch.float32)
Runner = Callable[[Case, Registry], None]

KINDS: Mapping[str, Runner] = {
    "group_advantage": policy.group_advantage,
    "overlong_penalty": credit.overlong_penalty,
    "aggregate": policy.aggregate,
    "policy": policy.policy,
    "must_raise": policy.must_raise,
    "kl": policy.kl,
    "is_weights": credit.is_weights,
    "gae": credit.gae,
    "value_loss": credit.value_loss,
    "dpo": models.dpo,
    "topk_kd": models.topk_kd,
    "soup": models.soup,
    "is_health": statistics.is_health,
    "conditional_health": statistics.conditional_health,
    "mixed_group_probability": statistics.mixed_group_probability,
    "pass_at_k": statistics.pass_at_k,
    "wilson": statistics.wilson,
    "paired_bootstrap_exact": statistics.paired_bootstrap_exact,
}
"""What can be run, by the kind of a case."""

IN_FLOAT64 = {
    "group_advantage",
    "overlong_penalty",
    "mixed_group_probability",
    "pass_at_k",
    "wilson",
    "paired_bootstrap_exact",
}
"""Kinds that know one dtype: rewards, advantages and statistics are float64 everywhere."""


@attrs.frozen(kw_only=True)
class Unknown:
    """Cases of a kind that nothing here runs."""

    kind: str
    ids: tuple[str, ...]
    nearest: str


@attrs.frozen(kw_only=True)
class Report:
    """What became of a file's cases: one outcome for each case and dtype, and what was not run."""

    outcomes: Sequence[Outcome]
    unknown: Sequence[Unknown]

    @property
    def failed(self) -> list[Outcome]:
        """The outcomes that did not pass."""
        return [outcome for outcome in self.outcomes if not outcome.passed]

    def groups(self) -> Iterator[tuple[str, str, list[Outcome]]]:
        """Kind, dtype and outcomes, in the order of the file."""
        grouped: dict[tuple[str, str], list[Outcome]] = {}
        for outcome in self.outcomes:
            grouped.setdefault((outcome.kind, outcome.dtype), []).append(outcome)
        for (kind, dtype), outcomes in grouped.items():
            yield kind, dtype, outcomes


def is_vectors(about: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a file of golden numbers for objectives."""
    return about.get("format") == FORMAT or isinstance(about.get("cases"), list)


def read_vectors(path: str | Path) -> dict[str, Any]:
    """The file's content; a SettingsError tells all that is wrong with its form."""
    about = read_object(Path(path))
    if about is None:
        raise LimiteError(f"{path}: there is no such file")
    wrong = [Mistake(why, field, str(path)) for field, why in _wrong(about)]
    if wrong:
        raise SettingsError(wrong)
    return about


def run_vectors(about: Mapping[str, Any], registry: Registry) -> Report:
    """Runs every case of a file that ``read_vectors`` has read, in float64 and in float32."""
    outcomes: list[Outcome] = []
    unknown: dict[str, list[str]] = {}
    for case in about["cases"]:
        if case["kind"] not in KINDS:
            unknown.setdefault(case["kind"], []).append(case["id"])
            continue
        for dtype in DTYPES[:1] if case["kind"] in IN_FLOAT64 else DTYPES:
            outcomes.append(run_case(case, dtype, about["tolerances"], registry))
    return Report(
        outcomes=outcomes,
        unknown=[
            Unknown(kind=kind, ids=tuple(ids), nearest=did_you_mean(kind, KINDS))
            for kind, ids in unknown.items()
        ],
    )


def run_case(
    case: Mapping[str, Any],
    dtype: torch.dtype,
    tolerances: Mapping[str, Mapping[str, float]],
    registry: Registry,
) -> Outcome:
    """How one case goes in ``dtype``; whatever it raises is told as its failure."""
    running = Case(
        id=case["id"],
        kind=case["kind"],
        params=case["params"],
        inputs=case["inputs"],
        expected=case["expected"],
        dtype=dtype,
        tolerances=tolerances,
    )
    try:
        KINDS[running.kind](running, registry)
    except Exception as error:  # an objective of others may raise anything
        running.fail(sentence(error))
    # What must raise ends before all of it was read.
    return running.outcome(unread=running.kind != "must_raise")


def _wrong(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if about.get("format") != FORMAT:
        yield "format", f"expected {FORMAT!r}, got {about.get('format')!r}"
    if about.get("version") != 1:
        yield "version", f"expected 1, got {about.get('version')!r}"
    tolerances = about.get("tolerances")
    for dtype in ("float64", "float32"):
        limits = tolerances.get(dtype) if isinstance(tolerances, dict) else None
        for name in ("rtol", "atol"):
            value = limits.get(name) if isinstance(limits, dict) else None
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not value >= 0:
                place = f"tolerances.{dtype}.{name}"
                yield place, f"expected a number of at least 0, got {value!r}"
    cases = about.get("cases")
    if not isinstance(cases, list) or not cases:
        yield "cases", "expected a list of cases, not empty"
        return
    seen: set[str] = set()
    for index, case in enumerate(cases):
        place = f"cases[{index}]"
        if not isinstance(case, dict):
            yield place, f"expected an object, got {case!r}"
            continue
        for name in ("id", "kind"):
            if not isinstance(case.get(name), str):
                yield f"{place}.{name}", f"expected a string, got {case.get(name)!r}"
        for name in ("params", "inputs", "expected"):
            if not isinstance(case.get(name), dict):
                yield f"{place}.{name}", f"expected an object, got {case.get(name)!r}"
        if case.get("id") in seen:
            yield f"{place}.id", f"{case['id']!r} stands twice"
        seen.add(str(case.get("id")))
