"""The user's mistakes: what is wrong, where, and the nearest right word."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import attrs

SHOWN_MISTAKES = 20


class LimiteError(Exception):
    """A mistake of the user's. Printed without a traceback; the process ends with code 2."""

    exit_code = 2


class RunFailed(LimiteError):
    """A run or a gate failed although the request was sound; the process ends with code 1."""

    exit_code = 1


@attrs.frozen
class Mistake:
    """One thing that is wrong, and where.

    ``path`` is the dotted setting (``stages.rl.optimizer.lr``), ``line`` counts from 1.
    """

    message: str
    path: str = ""
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = ""
        if self.file is not None:
            place = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: "
        return place + (f"{self.path}: " if self.path else "") + self.message


class SettingsError(LimiteError):
    """Every mistake found in a recipe or in settings, all at once."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes: Sequence[Mistake] = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


@attrs.define
class Gathered:
    """Mistakes of several questions, so that a person is told all of them at once."""

    mistakes: list[Mistake] = attrs.field(factory=list)

    @contextmanager
    def mistake(self) -> Iterator[None]:
        """Takes down the mistake that a question within it raises, and goes on behind it."""
        try:
            yield
        except RunFailed:
            raise
        except LimiteError as error:
            self.mistakes += mistakes_of(error)

    def add(self, message: str) -> None:
        self.mistakes.append(Mistake(message))

    def refuse(self) -> None:
        """Raises what was taken down, if anything was, each mistake once."""
        if self.mistakes:
            raise SettingsError(dict.fromkeys(self.mistakes))


def mistakes_of(error: LimiteError) -> list[Mistake]:
    """What an error tells, one mistake at a time."""
    return [*error.mistakes] if isinstance(error, SettingsError) else [Mistake(str(error))]


def shortened(wrong: Sequence[Mistake]) -> list[Mistake]:
    """A list that a person can read: the first mistakes, and how many more there are."""
    more = len(wrong) - SHOWN_MISTAKES
    if more <= 1:  # one more takes no more lines than to say so: what was shortened stays as it is
        return [*wrong]
    last = attrs.evolve(wrong[SHOWN_MISTAKES], path="", message=f"and {more} more mistakes")
    return [*wrong[:SHOWN_MISTAKES], last]


def sentence(error: BaseException) -> str:
    """What an exception says. One that was not raised to explain a mistake is named as well."""
    said = str(error)
    if isinstance(error, (LimiteError, ValueError)) and said:
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """``"; did you mean 'x'?"`` for the nearest known word, or an empty string."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=cutoff)
    if not near:
        folded = {name.lower().replace("_", "-"): name for name in names}
        near = difflib.get_close_matches(word.lower().replace("_", "-"), folded, n=1, cutoff=cutoff)
        near = [folded[name] for name in near]
    return f"; did you mean {near[0]!r}?" if near else ""
