"""The problems of a file that an entry of a mixture asks for, and what is wrong with the file."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import cast

from limite.core.config_faults import Fault, Rest
from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.kinds import Verifier
from limite.core.recipe.file_faults import placed_or_named
from limite.core.recipe.load import whole
from limite.core.recipe.stages import Mix, Source, file_at, is_file
from limite.core.recipe.stages.base import source_of
from limite.core.registry import Registry
from limite.core.rollout.grading import verdicts_on
from limite.core.types import Answer, Problem

FILES = "limite.problems.files"
"""Named as text: ``core`` knows nothing of what is above it."""
PROGRAM = "python"
"""The type of an answer that is a program which judges others."""
JUDGED = 10_000
"""The problems of a file whose answers are put to the verifier before anything runs."""


def problems_in(path: str, source: Source) -> Sequence[Problem]:
    """The problems of a file within the windows of its entry, in the order of its lines.

    What is wrong with the file is told all at once, by line. A line that lacks what a window is
    about is wrong: nobody knows whether it would be within.
    """
    try:
        about = file_at(path).stat()
        stamp: object = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
    except OSError:  # told when it is read
        stamp = None
    return _within(path, tuple(_windows(source).items()), stamp)


@lru_cache(maxsize=4)
def _within(
    path: str,
    wanted: tuple[tuple[str, tuple[float, float]], ...],
    _stamp: object,
) -> tuple[Problem, ...]:
    windows = dict(wanted)
    problems = read(path, lambda problem: _lacks(problem, windows))
    found = tuple(problem for problem in problems if _is_within(problem, windows))
    if not found:
        spans = []
        for name, (low, high) in windows.items():
            values = [_value(problem, name) for problem in problems]
            called = "difficulty" if name == "level" else name
            spans.append(
                f"{called!r} {low:g} to {high:g} (there: {min(values):g} to {max(values):g})"
            )
        raise LimiteError(
            f"{Path(path)}: none of {len(problems):,} problems is within {' and '.join(spans)}"
        )
    return found


Windows = Mapping[str, tuple[float, float]]
"""What a record says under ``difficulty``, to the range that is asked for."""


def _windows(source: Source) -> Windows:
    given = {"level": source.difficulty, "pass_rate": source.pass_rate}
    return {name: (pair[0], pair[1]) for name, pair in given.items() if pair is not None}


def read(path: str, refuse: Callable[[Problem], str]) -> list[Problem]:
    """All problems of a file, no two alike; a SettingsError tells lines that are wrong."""
    reader = importlib.import_module(FILES).read_problems
    return cast(list[Problem], reader(file_at(path), distinct=True, refuse=refuse))


def _value(problem: Problem, name: str) -> float:
    """What a window is about, from 0 to 1."""
    value: float = problem.difficulty[name]
    return value / 100 if name == "level" else value


def _is_within(problem: Problem, windows: Windows) -> bool:
    return all(low <= _value(problem, name) <= high for name, (low, high) in windows.items())


def _lacks(problem: Problem, windows: Windows) -> str:
    """Why a problem cannot be held against windows; empty where it can."""
    for name in windows:
        value = problem.difficulty.get(name)
        most = 100 if name == "level" else 1
        if value is None and name == "pass_rate":
            return "difficulty: has no measured 'pass_rate'; `limite-gen calibrate` adds them"
        if value is None:
            return "difficulty: has no 'level', so that 'difficulty' cannot choose by it"
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
            return f"difficulty: {name!r} must be a number from 0 to {most}, got {value!r}"
    return ""


def source_faults(
    mix: Mix,
    registry: Registry,
    files: list[Mistake],
    wrong: set[str],
    verifier: Verifier | None = None,
) -> Iterator[Fault]:
    """What is wrong with single entries of a mixture, whose names go into ``wrong``.

    Mistakes in files of problems go into ``files``. With a ``verifier`` it must find the files'
    own answers right. Of a mixture that could be read in part, which is told elsewhere, all names
    go into ``wrong``: what is drawn from the rest would say nothing of it.
    """
    for name in mix.sources:
        if is_file(name):
            continue
        try:
            registry.get("generator", name).load()
        except LimiteError as error:
            wrong.add(name)
            yield Fault(("problems", "sources", name), str(error))
    for name, entry in mix.sources.items():
        path = ("problems", "sources", name)
        source = source_of(entry)
        if not whole(source):
            wrong.add(name)
            continue
        if not source.weight:
            continue
        if not is_file(name):
            if source.pass_rate is not None and name not in wrong:
                wrong.add(name)
                yield Fault((*path, "pass_rate"), only_of_files(name))
            continue
        try:
            _look_at(name, source, verifier)
        except SettingsError as error:
            wrong.add(name)
            yield from placed_or_named(error.mistakes, path, files)
        except LimiteError as error:
            wrong.add(name)
            yield Fault(path, str(error).removeprefix(f"{Path(name)}: "))
    if not is_sound(mix):
        wrong.update(mix.sources)


def is_sound(mix: Mix) -> bool:
    """Whether a mixture could be read in full."""
    return whole(mix) and not isinstance(mix.sources, Rest)


def only_of_files(name: str) -> str:
    """Why a generator has no window of pass rates."""
    return f"has no use: problems of the generator {name!r} are made anew, and nobody measured them"


def _look_at(path: str, source: Source, verifier: Verifier | None) -> None:
    """Reads a file; a SettingsError tells all of its lines that are wrong."""
    try:
        problems = problems_in(path, source)
    except SettingsError:
        if verifier is None:
            raise
        windows = _windows(source)
        lines = importlib.import_module(FILES).read_lines(file_at(path))
        good = [found for _, found in lines if isinstance(found, Problem)]
        sound = [each for each in good if not _lacks(each, windows) and _is_within(each, windows)]
        reasons = _unjudged(sound, verifier)
        read(path, lambda each: _lacks(each, windows) or reasons.get(each.id, ""))
        raise
    reasons = {} if verifier is None else _unjudged(problems, verifier)
    if reasons:
        read(path, lambda each: reasons.get(each.id, ""))


def _unjudged(problems: Sequence[Problem], verifier: Verifier) -> Mapping[str, str]:
    """By the ids of problems, why a verifier would not find even the right answer right.

    Of a checker program no right answer is known: it is handed its own text, and need but judge it.
    """
    write: Callable[[Answer], str] | None = getattr(verifier, "write", None)
    if write is None:
        return {}
    some = problems[:JUDGED]
    verdicts = verdicts_on(verifier, [(each.answer, write(each.answer)) for each in some])
    return {
        problem.id: f"answer: {type(verifier).__name__} cannot judge it: {verdict.reason}"
        for problem, verdict in zip(some, verdicts, strict=True)
        if not (verdict.correct or (problem.answer.type == PROGRAM and verdict.outcome == "wrong"))
    }
