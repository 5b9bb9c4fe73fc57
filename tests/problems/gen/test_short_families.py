"""Families that have fewer problems than a file wants of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.errors import RunFailed
from limite.problems import files
from limite.problems.gen import fill, make, supply
from limite.problems.gen.families import Share
from limite.problems.gen.make import write
from limite.problems.gen.merge import merge
from limite.problems.gen.output import beside
from limite.problems.gen.request import Request

# 2 and 3: four sums, and the differences that are not negative.
SEVEN = Share(
    name="sum-chain", difficulty=(0.0, 0.0), settings={"terms": [2, 2], "largest": [3, 3]}
)
REQUEST = Request(shares=[SEVEN, Share(name="gcd")], count=60, seed=1)
TOPPED_UP = attrs.evolve(REQUEST, top_up=True)


def manifest_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(beside(out, "manifest.json").read_text())
    return found


def test_their_places_go_to_others_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.jsonl"
    write(TOPPED_UP, out)
    told = capsys.readouterr().err
    assert "note: sum-chain at difficulty 0 to 0: space exhausted after 7 distinct prob" in told
    assert "other families fill the rest" in told
    problems = files.read_problems(out, distinct=True)
    names = [each.source["generator"] for each in problems]
    assert (names.count("sum-chain"), names.count("gcd")) == (7, 53)
    counts = manifest_of(out)["counts"]
    assert (counts["written"], counts["unfilled"]) == (60, 0)
    assert counts["families"]["sum-chain"]["unfilled"] == 23
    assert manifest_of(out)["state"] == "complete"
    write(TOPPED_UP, out)  # is there already
    assert capsys.readouterr().err == told


def test_what_is_topped_up_depends_on_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "p.jsonl"
    write(TOPPED_UP, whole)
    write(TOPPED_UP, out, workers=2)
    assert out.read_bytes() == whole.read_bytes()
    for number in (1, 2):
        write(attrs.evolve(TOPPED_UP, shard=(number, 2)), tmp_path / f"{number}.jsonl")
    shards = [str(tmp_path / f"{number}.jsonl") for number in (1, 2)]
    merge([*shards, "-o", str(tmp_path / "merged.jsonl")], standalone_mode=False)
    assert (tmp_path / "merged.jsonl").read_bytes() == whole.read_bytes()

    def stopping(*arguments: Any) -> Any:
        for number, made in enumerate(fill.fill(*arguments)):
            if number == 30:
                raise KeyboardInterrupt
            yield made

    out.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(make, "fill", stopping)
        with pytest.raises(KeyboardInterrupt):
            write(TOPPED_UP, out, force=True)
    assert not out.exists()
    write(TOPPED_UP, out)
    assert out.read_bytes() == whole.read_bytes()


def test_where_no_family_has_more_the_file_is_short(tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    with pytest.raises(RunFailed, match="holds the 7 there are"):
        write(attrs.evolve(TOPPED_UP, shares=[SEVEN]), out)
    assert len(files.read_problems(out)) == 7


def test_a_family_that_gives_hardly_anything_new_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (fill, make):
        monkeypatch.setattr(module, "WINDOW", 200)
    told = "space nearly exhausted after 7 distinct problems: of the last 200 candidates 0 gave"
    out, other = tmp_path / "p.jsonl", tmp_path / "q.jsonl"
    for _ in range(2):  # the second time it is there already
        with pytest.raises(RunFailed, match=told):
            write(REQUEST, out)
    counts = manifest_of(out)["counts"]
    assert counts["families"]["sum-chain"]["made"] == 400
    assert counts["families"]["sum-chain"]["last_new"] == 0
    assert counts["families"]["gcd"]["written"] == 30
    monkeypatch.setattr(supply, "BATCH", 16)
    with pytest.raises(RunFailed, match=told):
        write(REQUEST, other, workers=2)
    assert other.read_bytes() == out.read_bytes()
