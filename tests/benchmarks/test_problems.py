"""The benchmark of problems runs, and its responses are right."""

from __future__ import annotations

import json

import pytest

from benchmarks import problem_peers, problems


def test_it_measures_making_and_judging(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["gcd", "sum-chain", "--count", "4", "--responses", "12", "--alone"]
    assert problems.main([*few, "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["makers"]["ours"]["families"] == 2
    assert page["makers"]["peer"]["families"] == 0
    assert all(row["per_second"] > 0 and row["here_per_second"] > 0 for row in page["judges"])
    assert page["golden"]["ours"] == page["golden"]["rows"] > 250
    assert problems.main(few) == 0
    printed = capsys.readouterr().out
    assert "limite: 2 families, median" in printed
    assert "golden rows met" in printed


def test_a_peer_judges_one_answer() -> None:
    assert problem_peers.judge()("\\frac{1}{2}", "It is \\boxed{0.5}.")
    assert (
        problem_peers.met([{"input": "answer", "gold": "42", "answer": "42", "verdict": True}]) == 1
    )
