"""The folder of a comparison: what is compared, and the folder of every run in it.

::

    runs/matched-tiny-1f3a/
      matched.toml  matched.source.py  receipt.json
      ordinary-1/  simplicial-1/  ...      runs like any other
      comparison.json  report.html         written last
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import tomli_w

from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, write_atomic
from limite.core.receipts import LEFT, read_receipt, write_receipt
from limite.core.recipe.folders import make_folder, read_toml, without_none
from limite.core.recipe.rundir import RECEIPT, RECIPE, RunDirectory

MATCHED, SOURCE, COMPARISON, PAGE = (
    "matched.toml",
    "matched.source",
    "comparison.json",
    "report.html",
)


def is_comparison(path: str | Path) -> bool:
    """Whether a folder is that of a comparison."""
    return (Path(path) / MATCHED).is_file()


@attrs.frozen
class MatchedDirectory:
    """A comparison on disk."""

    path: Path

    @classmethod
    def create(
        cls,
        root: str | Path,
        *,
        data: Mapping[str, Any],
        receipt: Mapping[str, Any],
        name: str | None,
        source_text: str,
        source_suffix: str,
    ) -> MatchedDirectory:
        """Makes ``root/name``, or one after the comparison's own name, whole or not at all."""

        def fill(aside: Path) -> None:
            write_atomic(aside / MATCHED, tomli_w.dumps(without_none(data)))
            write_atomic(aside / f"{SOURCE}{source_suffix}", source_text)
            write_receipt(aside / RECEIPT, receipt)

        wanted = f"{data['name']}-{receipt['recipe_sha256'][:4]}"
        path = make_folder(Path(root), name, wanted, fill)
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> MatchedDirectory:
        """The comparison in a folder; a LimiteError where there is none."""
        if not is_comparison(path) or not (Path(path) / RECEIPT).is_file():
            raise LimiteError(f"{path}: not the folder of a comparison: it lacks {MATCHED}")
        return cls(Path(path))

    def data(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return read_toml(self.path / MATCHED)

    def receipt(self) -> dict[str, Any]:
        """What was compared: versions, hardware, plans of the variants, the runs in order."""
        return read_receipt(self.path / RECEIPT)

    def source(self) -> Path:
        """The comparison as it was given."""
        return next(iter(sorted(self.path.glob(f"{SOURCE}.*"))), self.path / MATCHED)

    def members(self) -> dict[str, dict[str, Any]]:
        """The runs by the names of their folders, in order, with ``variant`` and ``seed``."""
        found: dict[str, dict[str, Any]] = {
            each["name"]: each for each in self.receipt()["members"]
        }
        return found

    def run_of(self, member: str) -> RunDirectory | None:
        """The run of a member; None where it has not begun."""
        place = self.path / member
        return RunDirectory.open(place) if (place / RECIPE).is_file() else None

    def is_finished(self, member: str) -> bool:
        """Whether every stage of a member is finished."""
        run = self.run_of(member)
        return run is not None and all(
            run.stage_receipt(name) is not None for name in run.stage_names
        )

    def is_closed(self, member: str) -> bool:
        """Whether a member is finished, and its receipt says all that it says of a finished run.

        A process that was killed after the last stage may not have come to that.
        """
        run = self.run_of(member)
        return run is not None and self.is_finished(member) and LEFT in run.receipt()

    def comparison(self) -> dict[str, Any] | None:
        """What came of it; None before the end."""
        place = self.path / COMPARISON
        found: dict[str, Any] | None = read_json(place) if place.exists() else None
        return found
