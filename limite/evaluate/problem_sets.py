"""The problems a model is measured on: a benchmark that is installed, or anybody's file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.kinds import Benchmark, Verifier
from limite.core.rollout.grading import verdicts_on
from limite.core.train.data.records import TOLD, first_few
from limite.core.types import Problem
from limite.evaluate.problem_rows import name_of, place_of, problems_in, sha256_of
from limite.problems import files


@attrs.frozen(kw_only=True)
class ProblemSet:
    """Problems in order, all with answers, no two alike.

    ``sha256`` is that of their file. ``questions`` has, by the id of a problem, what is asked where
    that is more than its text.
    """

    name: str
    sha256: str
    problems: Sequence[Problem]
    licence: str = ""
    questions: Mapping[str, str] = attrs.field(factory=dict)
    samples: int | None = None
    source: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The set as results name it."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "problems": len(self.problems),
            "licence": self.licence or None,
            **({"source": self.source} if self.source else {}),
        }


def installed() -> list[dict[str, Any]]:
    """The benchmarks that can be named: what each is, its size and its seal, or what is wrong."""
    registry = load_registry()
    found: list[dict[str, Any]] = []
    for entry in registry.entries("benchmark"):
        row: dict[str, Any] = {"name": registry.usable_name(entry), "what": entry.summary}
        try:
            problems = entry.load()().problems()
            row |= {"problems": len(problems), "sha256": seal_of(problems)}
        except Exception as error:  # whatever a plugin raises is the plugin's fault, told as such
            row |= {"problems": None, "sha256": None, "what": f"[broken: {error}]"}
        found.append(row)
    return found


def seal_of(problems: Iterable[Problem]) -> str:
    """SHA-256 of the file that problems make, ``limite.problems.files`` writing it."""
    total = hashlib.sha256()
    for problem in problems:
        total.update(files.line_of(files.record_of(problem)))
    return total.hexdigest()


def problem_set(named: str, verifier: Verifier) -> ProblemSet:
    """The set of this name, or in the file of this path.

    Every mistake of a file is told with its line: a problem without an answer, one that stands
    there twice, an answer that ``verifier`` would not find right.
    """
    benchmark = benchmark_named(named)
    if benchmark is not None:
        return of_benchmark(named, benchmark, verifier)
    path = place_of(named, _names())
    return ProblemSet(
        name=name_of(path),
        sha256=sha256_of(path),
        problems=checked(str(path), problems_in(path), verifier),
    )


def refuse_missing(named: str) -> None:
    """A LimiteError where nothing has this name: neither a benchmark nor a file."""
    if benchmark_named(named) is None:
        place_of(named, _names())


def benchmark_named(named: str) -> Benchmark | None:
    """The installed benchmark of a name, which ``DISTRIBUTION/NAME`` is too; None of a path."""
    registry = load_registry()
    known = {each.qualified_name for each in registry.entries("benchmark")}
    if named not in _names() and named not in known:
        return None
    found: Benchmark = registry.get("benchmark", named).load()()
    return found


def _names() -> list[str]:
    return [each.name for each in load_registry().entries("benchmark")]


def of_benchmark(name: str, benchmark: Benchmark, verifier: Verifier) -> ProblemSet:
    """The set that a component gives; one that is not what its seal says is refused."""
    problems = list(benchmark.problems())
    found, seal = seal_of(problems), getattr(benchmark, "sha256", None)
    if seal is not None and found != seal:
        raise LimiteError(
            f"benchmark {name!r}: its problems are not those that its seal {seal[:12]} names; "
            "install it again, or give a copy of yours its own name"
        )
    _refuse_unjudged(name, problems, verifier, str(getattr(benchmark, "verifier", "mathematics")))
    question: Callable[[Problem], str] | None = getattr(benchmark, "question", None)
    numbered = enumerate(problems, start=1)
    return ProblemSet(
        name=name,
        sha256=found,
        problems=checked(f"benchmark {name}", numbered, verifier),
        licence=str(getattr(benchmark, "licence", "")),
        questions={} if question is None else {each.id: question(each) for each in problems},
        samples=getattr(benchmark, "samples", None),
    )


def checked(
    place: str, numbered: Iterable[tuple[int, Problem | Mistake]], verifier: Verifier
) -> list[Problem]:
    """The problems of a place, or a SettingsError with everything that is wrong with them."""
    problems: list[Problem] = []
    numbers: list[int] = []
    lines: dict[str, int] = {}
    texts: dict[str, int] = {}
    wrong: list[Mistake] = []
    for number, found in numbered:
        if isinstance(found, Problem) and found.id in lines:
            found = Mistake(f"the problem of line {lines[found.id]} again", file=place, line=number)
        elif isinstance(found, Problem) and found.problem in texts:
            message = f"asks what line {texts[found.problem]} asks, and has another answer"
            found = Mistake(message, file=place, line=number)
        if isinstance(found, Mistake):
            wrong.append(found)
            continue
        lines[found.id] = texts[found.problem] = number
        problems.append(found)
        numbers.append(number)
    if not problems and not wrong:
        wrong.append(Mistake("expected problems, got none", file=place))
    wrong += _unjudged(place, problems, numbers, verifier)
    if wrong:
        wrong.sort(key=lambda each: each.line or 0)
        raise SettingsError(first_few(wrong[:TOLD], len(wrong), place))
    return problems


def _refuse_unjudged(
    name: str, problems: Sequence[Problem], verifier: Verifier, meant: str
) -> None:
    """Refuses the verifier, and no single line, where a benchmark is meant for another one."""
    if type(verifier) is load_registry().get("verifier", meant).load():
        return
    wrong = [*_unjudged(name, problems, range(1, len(problems) + 1), verifier)]
    if wrong:
        raise LimiteError(
            f"benchmark {name!r}: {type(verifier).__name__} cannot judge {len(wrong):,} of its "
            f"{len(problems):,} answers; it is meant for --verifier {meant}"
        )


def _unjudged(
    place: str, problems: Sequence[Problem], numbers: Sequence[int], verifier: Verifier
) -> Iterator[Mistake]:
    """Answers that the verifier would not find right where a response states them."""
    write = getattr(verifier, "write", None)
    if write is None or not problems:
        return
    pairs = [(each.answer, write(each.answer)) for each in problems]
    for number, verdict in zip(numbers, verdicts_on(verifier, pairs), strict=True):
        if not verdict.correct:
            yield Mistake(
                f"answer: {type(verifier).__name__} cannot judge it: {verdict.reason}; --verifier "
                "names another",
                file=place,
                line=number,
            )
