"""How many different problems a family is said to have."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from limite.core.discover import load_registry
from limite.core.registry import BUILT_IN
from limite.core.types import Answer, Problem
from limite.problems.gen.families import LOOKS, family
from limite.problems.gen.space import LARGE, Space, known, space, spaces, text


class Drawn:
    """A family of ``size`` problems; the higher ``skew``, the more often the first are drawn."""

    def __init__(self, size: int, skew: int = 1) -> None:
        self.size, self.skew = size, skew

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        number = int(rng.random() ** self.skew * self.size)
        return Problem(problem=f"{number}?", answer=Answer(type="integer", value=str(number)))

    def check(self, problem: Problem) -> bool:
        return True


def test_small_spaces_are_counted() -> None:
    assert space("a", Drawn(1), 0.0) == Space(0.0, 1, True)
    assert space("a", Drawn(120), 0.0) == Space(0.0, 120, True)


@pytest.mark.parametrize("size", [2_000, 8_000])
@pytest.mark.parametrize("skew", [1, 3])
def test_large_spaces_are_bounded_from_below(size: int, skew: int) -> None:
    found = space("b", Drawn(size, skew), 0.5)
    assert not found.counted
    assert size / 400 < found.problems <= size
    if skew == 1:
        assert found.problems > size / 5


def test_what_shows_no_equals_is_called_large() -> None:
    assert space("c", Drawn(10**12), 1.0) == Space(1.0, LARGE, False)


def test_spaces_are_told_in_a_line() -> None:
    found = [Space(0.0, 1_404, True), Space(0.5, 2_500, False), Space(1.0, LARGE, False)]
    assert text(found) == "1,404; over 2,500; large"
    assert text(found[2:] * 3) == "large"
    assert text(None) == "not counted"


def built_in() -> list[str]:
    return sorted(
        entry.name
        for entry in load_registry().entries("generator")
        if entry.distribution == BUILT_IN and not entry.name.startswith("gym-")
    )


def test_the_table_holds_every_built_in_family_as_it_is_now() -> None:
    missing = [name for name in built_in() if known(name, family(name)) is None]
    assert not missing, "python -m limite.problems.gen.space counts them"


def test_the_table_says_what_is_found() -> None:
    for name in ("roman-numerals", "absolute-equation"):
        component = family(name)
        of_table = known(name, component)
        assert of_table is not None
        assert of_table[0].counted
        assert of_table[0] == space(name, component, LOOKS[0])


@pytest.mark.nightly
@pytest.mark.parametrize("name", built_in())
def test_the_whole_table_says_what_is_found(name: str) -> None:
    assert known(name, family(name)) == spaces(name, family(name))


def test_list_and_show_tell_them(gen: Callable) -> None:
    rows = {row["name"]: row for row in json.loads(gen("list", "arithmetic", "--json").out)}
    component = family("roman-numerals")
    told = known("roman-numerals", component)
    assert told is not None
    assert [Space(**each) for each in rows["roman-numerals"]["space"]] == told
    assert text(told) in gen("list", "arithmetic").out
    assert f"at difficulty 0, 0.5 and 1: {text(told)}" in gen("show", "roman-numerals").out
    anew = json.loads(gen("show", "roman-numerals", "--space", "--json").out)
    assert [Space(**each) for each in anew["space"]] == told
