"""What the options of ``limite eval`` name: models, earlier results, problems, and who judges.

Whatever is wrong with several of them is told at once. Importing this module reaches torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.errors import Gathered, LimiteError
from limite.core.jsonl import read_json
from limite.core.kinds import Benchmark, Verifier
from limite.evaluate.grading.protocols import Grading
from limite.evaluate.measured import RESULTS
from limite.evaluate.models import LocalModel, Model, Terms
from limite.evaluate.problem_sets import ProblemSet, benchmark_named, problem_set, refuse_missing

SUMMARY = "summary.json"


@attrs.frozen(kw_only=True)
class Wanted:
    """The options of the command, as they were given."""

    models: Sequence[str]
    against: str | None
    stage: str | None
    benchmark: str
    terms: Terms
    profile: str | None
    instruction: str | None
    system: str | None
    thinking: bool
    shots: Path | None
    expect: Path | None
    stops: Sequence[str]
    verifier: str | None
    grading: str | None
    exact: str | None
    natural_end: bool
    training: Sequence[Path]
    confidence: float
    out: Path | None
    exports: Sequence[str]
    allow_mismatch: bool


def named_models(
    wanted: Wanted, more: Callable[[], Sequence[Model]], wrong: Gathered
) -> tuple[Wanted, dict[str, Any] | None, list[LocalModel], Sequence[Model]]:
    """Earlier results, the models that are here and those that are served."""
    earlier: dict[str, Any] | None = None
    named = [*wanted.models]
    with wrong.mistake():
        wanted = attrs.evolve(wanted, against=_folder(wanted.against))
        earlier = _earlier(wanted.against)
        if wanted.against is not None and earlier is None:
            named.append(wanted.against)
    local = []
    for each in named:
        with wrong.mistake():
            local.append(LocalModel(each, stage=wanted.stage, terms=wanted.terms))
    served: Sequence[Model] = ()
    with wrong.mistake():
        served = more()
    return wanted, earlier, local, served


def named_problems(
    wanted: Wanted,
    local: Sequence[LocalModel],
    read: Callable[[Verifier], ProblemSet] | None,
    wrong: Gathered,
) -> tuple[Verifier | None, ProblemSet | None]:
    """What judges, and the problems as far as they can be judged; both None where they cannot."""
    unopened = bool(wrong.mistakes)
    benchmark: Benchmark | None = None
    verifier: Verifier | None = None
    with wrong.mistake():
        if read is None:
            benchmark = benchmark_named(wanted.benchmark)
        verifier = _judge(wanted, local, benchmark)
    problems: ProblemSet | None = None
    with wrong.mistake():
        if read is None and wanted.benchmark and (verifier is None or unopened):
            # A model that cannot be opened may judge in its own way: the file is not held to that.
            refuse_missing(wanted.benchmark)
        elif verifier is not None and (read is not None or wanted.benchmark):
            problems = problem_set(wanted.benchmark, verifier) if read is None else read(verifier)
    return verifier, problems


def _folder(against: str | None) -> str | None:
    """Of what an evaluation has left as a whole, the folder of its only model."""
    if against is None or not (Path(against) / SUMMARY).is_file():
        return against
    within = sorted(str(each.parent) for each in Path(against).glob(f"*/{RESULTS}"))
    if len(within) != 1:
        raise LimiteError(
            f"--against: {against} holds the results of several models; name one: "
            f"{', '.join(within) or 'there are none'}"
        )
    return within[0]


def _earlier(against: str | None) -> dict[str, Any] | None:
    """The results in a folder of an earlier evaluation; None where no such folder is named."""
    if against is None or not (Path(against) / RESULTS).is_file():
        return None
    found: dict[str, Any] = read_json(Path(against) / RESULTS)
    if not found.get("complete"):
        raise LimiteError(
            f"--against: {against} holds an unfinished set of responses, which has no score; "
            "repeat the command that made it"
        )
    if "profile" not in found:
        raise LimiteError(f"--against: {against} holds no results of limite eval")
    return found


def _judge(wanted: Wanted, local: Sequence[LocalModel], benchmark: Benchmark | None) -> Verifier:
    """The grading protocols where one is asked for, else a verifier."""
    if wanted.grading is None:
        if wanted.exact is not None:
            raise LimiteError("--exact: belongs to --grading, which says what is called correct")
        return _verifier(wanted.verifier, local, benchmark)
    if wanted.verifier is not None:
        raise LimiteError(
            "--verifier: --grading judges by published protocols; give one of the two, or name "
            "the grader of the benchmark's publisher by --exact"
        )
    name = wanted.exact or getattr(benchmark, "exact", None)
    exact = None if name is None else load_registry().get("verifier", name).load()()
    return Grading.of(wanted.grading, exact, name)


def _verifier(
    named: str | None, local: Sequence[LocalModel], benchmark: Benchmark | None
) -> Verifier:
    """The verifier that was named, else that of the runs or of the benchmark, else mathematics."""
    judges = [each.verifier for each in local if each.verifier is not None]
    if named is None and judges:
        if any(each != judges[0] for each in judges):
            raise LimiteError(
                "--verifier: the runs judge answers differently; say by which one all are judged"
            )
        own: Verifier = judges[0]
        return own
    name = named or str(getattr(benchmark, "verifier", "mathematics"))
    found: Verifier = load_registry().get("verifier", name).load()()
    return found
