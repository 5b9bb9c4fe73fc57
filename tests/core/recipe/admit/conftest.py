from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from limite.core.discover import load_registry
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.check import check_file

TINY = Path(__file__).parents[1] / "tiny.toml"


@cache
def checked(*overrides: str) -> Any:
    """The tiny recipe with settings changed, and the registry."""
    registry = load_registry()
    return check_file(TINY, overrides, registry)[0], registry


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[..., Bench]:
    """The tiny recipe's stage, with settings changed, ready for its gates."""
    return lambda *overrides: Bench.of(*checked(*overrides), "rl", tmp_path)


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()
