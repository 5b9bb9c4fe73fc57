"""How TOML is read that is no recipe: each function takes the file and leaves it for commands."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

from limite.problems.author.topics import read_topics
from limite.problems.gen.request import read_mix


def topics(place: Path) -> None:
    assert read_topics(place)
    shutil.copy(place, "topics.toml")


def mix(place: Path) -> None:
    assert read_mix(place, None)
    shutil.copy(place, "mix.toml")


def entry_points(place: Path) -> None:
    data = tomllib.loads(place.read_text(encoding="utf-8"))
    assert set(data["project"]["entry-points"]) == {"limite"}
