"""Where the parts of a verification put what they find, and count what they looked at."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, Mistake
from limite.core.jsonl import NotJSON, read_numbered

_NUMBERED = re.compile(r"(.+):([0-9]+)")


@attrs.define
class Findings:
    """Violations in the order they were found, and how much was looked at."""

    root: Path
    violations: list[Mistake] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    counts: Counter[str] = attrs.field(factory=Counter)

    def wrong(self, place: Path, message: str, line: int | None = None) -> None:
        """A violation in a file, of which ``line`` is the record."""
        name = place.relative_to(self.root).as_posix() if place != self.root else "."
        found = Mistake(message, file=name, line=line)
        if found not in self.violations:
            self.violations.append(found)

    def unseen(self, what: str, why: LimiteError) -> None:
        """Takes note, once, of what cannot be looked at here."""
        note = f"{what}: {str(why).splitlines()[0]}"
        if note not in self.notes:
            self.notes.append(note)

    def records(self, place: Path) -> Iterator[tuple[int, Any]]:
        """The records of a file with the numbers of their lines; lines that hold none are
        violations."""
        for number, line in read_numbered(place):
            if isinstance(line, NotJSON):
                self.wrong(place, f"not JSON: {line}", number)
            elif not isinstance(line, Mapping):
                self.wrong(place, "not what limite writes there: no JSON object", number)
            else:
                yield number, line

    @contextlib.contextmanager
    def around(self, place: Path) -> Iterator[None]:
        """What cannot be read within it is a violation in ``place``, and no end."""
        try:
            yield
        except LimiteError as error:
            # An error that begins with a file is about that one, if it is of this run.
            text = str(error).replace(f"{self.root}/", "")
            name, _, message = text.partition(": ")
            at = _NUMBERED.fullmatch(name)
            if at is not None and (self.root / at[1]).is_file():
                self.wrong(self.root / at[1], message, int(at[2]))
            elif message and (self.root / name).exists():
                self.wrong(self.root / name, message)
            else:
                self.wrong(place, text)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            self.wrong(place, f"not what limite writes there: {type(error).__name__}: {error}")
