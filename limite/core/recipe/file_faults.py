"""Mistakes in files that a recipe names: told of the file, or of the setting that names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from limite.core.config_faults import Fault, Key
from limite.core.errors import LimiteError, Mistake


def placed(
    mistakes: Iterable[Mistake], path: tuple[Key, ...], files: list[Mistake]
) -> Iterator[Fault]:
    """Mistakes that say in which file they are go into ``files``; others are of the setting."""
    for each in mistakes:
        if each.file is None:
            yield Fault(path, str(each))
        else:
            files.append(each)


def placed_or_named(
    mistakes: Sequence[Mistake], path: tuple[Key, ...], files: list[Mistake]
) -> Iterator[Fault]:
    """The same of a file that the setting at ``path`` names in full: what is wrong with it as a
    whole, and not with lines of it, is of the setting."""
    if any(each.line is not None for each in mistakes):
        yield from placed(mistakes, path, files)
    else:
        yield from placed([attrs.evolve(each, file=None) for each in mistakes], path, files)


def told_of_file(
    error: LimiteError, path: tuple[Key, ...], files: list[Mistake]
) -> Iterator[Fault]:
    """The same of an error of one file, whose lines it may tell one by one."""
    mistakes: Sequence[Mistake] = getattr(error, "mistakes", ())
    yield from placed(mistakes or [Mistake(str(error))], path, files)
