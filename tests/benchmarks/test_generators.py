"""The benchmark of families runs, over all of them or those that are named."""

from __future__ import annotations

import json

import pytest

from benchmarks import generators
from limite.core.discover import load_registry


def test_it_runs_over_all_families(capsys: pytest.CaptureFixture[str]) -> None:
    assert generators.main(["--count", "3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["family"] for row in rows} == set(load_registry().names("generator"))
    assert all(row["per_second"] > 0 and row["slowest_ms"] > 0 for row in rows)
    assert generators.main(["gcd", "--count", "3"]) == 0
    assert "median" in capsys.readouterr().out
