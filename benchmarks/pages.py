"""What a benchmark measured, as a page of JSON: to a file, to a folder, or to the screen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from benchmarks.machine import describe, file_name


def page_of(rows: Iterable[Any], device: str = "cpu", **more: Any) -> dict[str, Any]:
    """Where and with what it was measured, and every row."""
    about, versions = describe(device)
    plain = [each if isinstance(each, Mapping) else attrs.asdict(each) for each in rows]
    return {"device": about, "versions": versions, **more, "rows": plain}


def write(page: Mapping[str, Any], where: str | None, name: str) -> None:
    """To ``where``: a file, a folder for one called by ``name`` and the device, or ``-``."""
    if where is None:
        return
    text = json.dumps(page, indent=1) + "\n"
    if where == "-":
        print(text, end="")
        return
    path = Path(where)
    if where.endswith("/") or path.is_dir():
        path = path / f"{name}-{file_name(page['device'], page['versions'])}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
