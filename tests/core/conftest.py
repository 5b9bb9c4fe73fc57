"""Installed-looking plugins in a temporary folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from textwrap import dedent

import pytest

from limite.core import sources

Install = Callable[..., list[EntryPoint]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install("limite-a", code)`` adds a distribution; gives the entry points of all so far.

    The module's name is the distribution's with underscores. ``more`` are further modules.
    """
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def add(distribution: str, code: str, /, **more: str) -> list[EntryPoint]:
        module = distribution.replace("-", "_")
        for name, text in {module: code, **more}.items():
            (tmp_path / f"{name}.py").write_text(dedent(text))
        info = tmp_path / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[limite]\n{module} = {module}\n")
        return [
            point
            for found in distributions(path=[str(tmp_path)])
            for point in found.entry_points.select(group="limite")
        ]

    sources.forget()
    yield add
    sources.forget()
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) is not None:
            origin = Path(str(sys.modules[name].__file__))
            if tmp_path in origin.parents:
                del sys.modules[name]
