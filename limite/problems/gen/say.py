"""What the smaller commands share: where they may write, and how they tell what they did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import dumps
from limite.problems.files import suffixed


class Real(click.FloatRange):
    """A number within a range; one that is none is in no range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


class Word(click.Choice[str]):
    """One of some words; of another one the nearest of them is told."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            near = did_you_mean(str(value), self.choices)
            self.fail(f"{value!r} is none of {', '.join(self.choices)}{near}", param, ctx)
        return str(value)


def new_file(path: Path, *, force: bool, problems: bool = True) -> None:
    """Refuses a place that cannot be written to, or that holds something already."""
    if problems:
        suffixed(path)
    if not path.parent.is_dir():
        raise LimiteError(f"{path.parent}: no such folder")
    if path.exists() and not force:
        raise LimiteError(f"{path} exists; --force replaces it")


def cut(text: str, most: int) -> str:
    """A text as it is shown: a very long one is cut, and says how long it is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def report(as_json: bool, out: Path, counts: Mapping[str, Any]) -> None:
    """One line: the file, and the counts under their names."""
    if as_json:
        click.echo(dumps({"file": str(out), **counts}))
        return
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    click.echo(f"{out}: {words}")
