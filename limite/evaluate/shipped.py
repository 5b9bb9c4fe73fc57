"""The manifest of the benchmarks that ship with limite: their files, seals, and what they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limite.core.jsonl import read_json

FOLDER = Path(__file__).parent / "benchmarks"
MANIFEST = "manifest.json"


def shipped() -> Mapping[str, Mapping[str, Any]]:
    """The benchmarks that come with limite, by name: file, sha256, problems, what they are."""
    found: Mapping[str, Mapping[str, Any]] = read_json(FOLDER / MANIFEST)
    return found
