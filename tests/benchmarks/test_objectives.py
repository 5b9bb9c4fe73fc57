"""The benchmark of objectives runs, for every objective, and tells what it says it tells."""

from __future__ import annotations

import json

import pytest

from benchmarks import objectives
from limite.core.discover import load_registry


def test_it_measures_every_objective(capsys: pytest.CaptureFixture[str]) -> None:
    assert objectives.main(["--tiny", "--json", "-"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["device"]["type"] == "cpu"
    assert page["versions"]["torch"]
    found = page["rows"]
    assert [each["objective"] for each in found] == list(objectives.CONTENDERS)
    for each in found:
        numbers = ("expression_ms", "objective_ms", "times", "times_bare", "checks_ms")
        assert min(each[name] for name in numbers) > 0
    assert objectives.main(["--tiny", "--only", "gspo"]) == 0
    assert "gspo" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        objectives.main(["--only", "gpso"])


def test_no_objective_is_left_out() -> None:
    registered = {entry.name for entry in load_registry().entries("objective")}
    assert {name.split()[0] for name in objectives.CONTENDERS} == registered
