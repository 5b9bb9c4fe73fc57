"""Whole areas of families: made together, rehearsed, and counted by area."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from limite.core.discover import load_registry
from limite.problems import files
from limite.problems.gen.families import area_of, names_by_area
from limite.problems.gen.request import Request, read_families
from limite.problems.gen.supply import Supply


def test_every_family_stands_in_the_area_its_problems_name() -> None:
    areas = names_by_area()
    assert {"arithmetic", "number-theory"} <= set(areas)
    assert sorted(name for names in areas.values() for name in names) == sorted(
        load_registry().names("generator")
    )


def test_areas_are_made_whole_by_any_number_of_workers(gen: Callable, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    names = names_by_area()
    areas = "number-theory,arithmetic"
    count = 2 * (len(names["number-theory"]) + len(names["arithmetic"]))
    common = ("make", "--area", areas, "--count", count, "--difficulty", "0.5")
    assert gen(*common, "-o", one).code == 0
    assert gen(*common, "--workers", 2, "-o", two).code == 0
    assert one.read_bytes() == two.read_bytes()
    problems = files.read_problems(one)
    assert {area_of(each.tags) for each in problems} == set(areas.split(","))
    made = {each.source["generator"] for each in problems}
    assert made == {*names["number-theory"], *names["arithmetic"]}


def test_an_area_that_does_not_exist_is_told(gen: Callable, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    ended = gen("make", "--area", "number-theory,aritmetic", "--count", 9, "-o", out)
    assert ended.code == 2
    assert "no area 'aritmetic'; did you mean 'arithmetic'?" in ended.err
    assert gen("make", "gcd", "--area", "algebra", "--count", 9, "-o", out).code == 2


def test_repeats_are_kept_where_they_are_allowed(gen: Callable, tmp_path: Path) -> None:
    files_made = []
    for workers in (1, 2):
        out = tmp_path / f"{workers}.jsonl"
        ended = gen(
            "make", "sum-chain", "--difficulty", "0", "--count", 3000, "--allow-repeats",
            "--workers", workers, "-o", out,
        )  # fmt: skip
        assert ended.code == 0
        files_made.append(out.read_bytes())
    assert files_made[0] == files_made[1]
    problems = [each.id for each in files.iterate(out)]
    assert len(problems) == 3000
    assert len(set(problems)) < 2000


def test_shards_with_repeats_make_the_whole(gen: Callable, tmp_path: Path) -> None:
    common = ("sum-chain", "--difficulty", "0", "--count", 500, "--allow-repeats")
    whole, merged = tmp_path / "whole.jsonl", tmp_path / "merged.jsonl"
    gen("make", *common, "-o", whole)
    parts = [tmp_path / f"{number}.jsonl" for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        assert gen("make", *common, "--shard", f"{number}/2", "-o", part).code == 0
    assert gen("merge", *parts, "-o", merged).code == 0
    assert merged.read_bytes() == whole.read_bytes()


def test_a_rehearsal_tells_the_plan_and_makes_nothing(gen: Callable, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    common = ("make", "gcd,sum-chain:2", "--count", 30, "--difficulty", "0.1:0.2", "-o", out)
    told = gen(*common, "--dry-run", "--json")
    assert told.code == 0
    plan = json.loads(told.out)
    assert [(row["family"], row["places"]) for row in plan["families"]] == [
        ("gcd", 10),
        ("sum-chain", 20),
    ]
    assert not list(tmp_path.iterdir())
    assert plan["first"]["problem"] in gen(*common, "--dry-run").out
    gen(*common)
    first = next(each for each in files.iterate(out) if each.source["generator"] == "gcd")
    assert first.id == plan["first"]["id"]


def test_difficulty_is_counted_by_area(gen: Callable, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    gen("make", "gcd,sum-chain", "--count", 40, "--difficulty", "0.55", "-o", out)
    page = json.loads(gen("inspect", out, "--json").out)
    assert page["difficulty_by_area"] == {
        "arithmetic": {"50-59": 20},
        "number-theory": {"50-59": 20},
    }
    assert "DIFFICULTY BY AREA" in gen("inspect", out).out


def test_no_more_candidates_are_made_than_have_places() -> None:
    shares = read_families("gcd,sum-chain", (0.5, 0.5))
    request = Request(shares=shares, count=6, seed=1)
    supply = Supply(request, wanted=[3, 3], start=[0, 0], workers=1)
    made = [supply.take(0, frozenset()) for _ in range(3)]
    assert [each[0] for each in made] == [
        Supply(request, wanted=[3, 3], start=[at, 0]).take(0, frozenset())[0] for at in range(3)
    ]
