"""The benchmark of evaluations measures all of one, on responses that are what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import evaluations


def test_it_measures_grading_and_reporting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "found.json"
    few = ["--problems", "12", "--samples", "3", "--again", "--json", str(out)]
    assert evaluations.main(few) == 0
    assert "again: 36 responses: " in capsys.readouterr().out
    found = json.loads(out.read_text(encoding="utf-8"))
    assert [row["run"] for row in found["rows"]] == ["first", "again"]
    assert all(row["cpu_s"] > 0 for row in found["rows"])
    assert 0.3 < found["score"] < 0.9
    assert {Path(name).name for name in found["bytes"]} == {
        "report.html", "responses.jsonl.zst", "results.json", "summary.json", "table.txt",
    }  # fmt: skip
    assert found["target_cpu_s"] == pytest.approx(240 * 36 / 100_000)
