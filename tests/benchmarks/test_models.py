"""The benchmark of whole models runs from end to end, and both sides compute the same."""

from __future__ import annotations

import json

import pytest

from benchmarks import models


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("models") / "models.json"
    assert models.main(["--tiny", "--json", str(file)]) == 0
    return json.loads(file.read_text())


def test_every_case_is_measured_beside_transformers(page):
    rows = [row for row in page["rows"] if row["model"] == "llama"]
    assert [row["case"] for row in rows] == ["load", "prefill 1 x 16", "decode 2 rows, a token"]
    for row in rows:
        assert row["ms"] > 0
        assert row["other_ms"] > 0
        assert row["ratio"] > 0
    assert rows[0]["peak_mib"] is not None
    assert rows[0]["other_peak_mib"] is not None
    assert rows[1]["difference"] < 1e-4


def test_limite_is_measured_alone(page):
    rows = [row for row in page["rows"] if row["model"] == "limite"]
    assert len(rows) == 3
    assert {row["ratio"] for row in rows} == {row["other_ms"] for row in rows} == {None}


def test_a_directory_may_be_named(tmp_path, capsys):
    ((_, path), *_) = models.models(tmp_path, None, tiny=True)
    assert models.main(["--tiny", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "model", "case", "limite", "ms", "transformers", "ms", "ratio", "peak", "MiB", "theirs",
    ]  # fmt: skip
    assert [line.split()[0] for line in lines[1:]] == ["llama"] * 3


def test_a_turn_is_taken_by_each_in_every_round():
    calls = []
    timings = models.turns([lambda: calls.append("a"), lambda: calls.append("b")], 3)
    assert calls == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert [len(each.rounds) for each in timings] == [3, 3]
