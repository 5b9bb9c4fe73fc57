"""The benchmark of updates runs, and both ways make the same update, which it checks itself."""

from __future__ import annotations

import json
from statistics import median

import pytest

from benchmarks import update_ways, updates


def test_it_measures_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert updates.main(["--tiny", "--json", "-"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["device"]["type"] == "cpu"
    assert [each["way"] for each in page["rows"]] == ["limite", "once a group"]
    for each in page["rows"]:
        assert set(each["seconds"]) == {"sample", "weigh", "learn"} == set(each["shares"])
        assert min(each["share"], *each["seconds"].values(), *each["shares"].values()) > 0
        told = "\n".join(updates.shown(updates.Measured(**each)))
        assert each["against"] in told


def test_the_lengths_are_as_they_are_told() -> None:
    lengths = update_ways.heavy_tailed(64)
    assert len(lengths) == 64
    assert median(lengths) == 16
    assert max(lengths) == 256
    flat = [job.flat / job.groups for job in update_ways.jobs(tiny=False)]
    assert sum(flat) / len(flat) == pytest.approx(0.7, abs=0.02)
