"""What the benchmarks that ship with limite have in common: a file, and the seal that it bears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from limite.core.types import Problem
from limite.evaluate.shipped import FOLDER, shipped
from limite.problems import files


@attrs.frozen(kw_only=True)
class Sealed:
    """Problems in a file beside their manifest, which says where they come from."""

    name: ClassVar[str]

    def _told(self, what: str) -> Any:
        return shipped()[self.name][what]

    @property
    def sha256(self) -> str:
        """The seal: SHA-256 of the file that the problems make."""
        return str(self._told("sha256"))

    @property
    def licence(self) -> str:
        return str(self._told("licence"))

    def problems(self) -> Sequence[Problem]:
        """All problems, in the order of the file."""
        return files.read_problems(FOLDER / self._told("file"), distinct=True)
