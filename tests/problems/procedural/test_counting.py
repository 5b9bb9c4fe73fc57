"""What families of counting and of chance solve, against everything written out."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from limite.core.discover import load_registry


def solved(name, ask, **values):
    family = load_registry().get("generator", name).load()()
    return Fraction(family.solve(ask, values).answer.value)


def beside(order, one, other):
    return abs(order.index(one) - order.index(other)) == 1


def test_seatings_of_two_couples_and_others():
    people = "aAbBxy"
    couples = ("aA", "bB")
    row = Counter(
        sum(beside(order, *couple) for couple in couples)
        for order in itertools.permutations(people)
    )
    ring = Counter(
        sum(beside(order, *couple) or {order[0], order[-1]} == set(couple) for couple in couples)
        for order in (("a", *rest) for rest in itertools.permutations("AbBxy"))
    )
    for place, counts in (("row", row), ("round", ring)):
        given = {"couples": 2, "singles": 2, "beside": 1}
        assert solved("seatings", f"{place}_together", **given) == counts[2]
        assert solved("seatings", f"{place}_apart", **given) == counts[0]
        assert solved("seatings", f"{place}_exactly", **given) == counts[1]


@pytest.mark.parametrize("size", [3, 5, 6])
def test_rings_of_beads(size):
    turned, flipped = set(), set()
    for beads in itertools.product(range(3), repeat=size):
        turns = [beads[start:] + beads[:start] for start in range(size)]
        turned.add(min(turns))
        flipped.add(min(turns + [turn[::-1] for turn in turns]))
    assert solved("necklaces", "turned", size=size, colours=3) == len(turned)
    assert solved("necklaces", "flipped", size=size, colours=3) == len(flipped)
    given = {min(b[s:] + b[:s] for s in range(5)) for b in itertools.permutations("aabbc")}
    assert solved("necklaces", "given", counts="2 red, 2 blue, 1 green") == len(given)


def test_letters_in_a_row():
    orders = {"".join(each) for each in itertools.permutations("AABBBC")}
    letters = {"letters": "BACBAB", "one": "B"}
    assert solved("letter-arrangements", "all", **letters) == len(orders)
    together = sum("BBB" in each for each in orders)
    assert solved("letter-arrangements", "together", **letters) == together
    apart = sum("BB" not in each for each in orders)
    assert solved("letter-arrangements", "apart", **letters) == apart


@pytest.mark.parametrize("pattern", ["0", "010", "11", "0110"])
def test_strings_without_a_pattern(pattern):
    avoiding = sum(pattern not in "".join(each) for each in itertools.product("01", repeat=8))
    given = {"length": 8, "symbols": "0, 1", "pattern": pattern}
    assert solved("strings-avoiding", "avoid", **given) == avoiding
    assert solved("strings-avoiding", "contain", **given) == 256 - avoiding


def test_permutations_with_fixed_points():
    fixed = Counter(
        sum(place == each for place, each in enumerate(order))
        for order in itertools.permutations(range(6))
    )
    assert solved("fixed-points", "none", count=6) == fixed[0]
    assert solved("fixed-points", "exactly", count=6, fixed=2) == fixed[2]
    assert solved("fixed-points", "at_least", count=6, fixed=2) == sum(
        fixed[n] for n in (2, 3, 4, 6)
    )
    some = sum(
        all(order[place] != place for place in range(3))
        for order in itertools.permutations(range(6))
    )
    assert solved("fixed-points", "some", count=6, chosen=3) == some


def test_votes_that_keep_one_ahead():
    orders = {"".join(each) for each in itertools.permutations("UUUUUDDD")}
    leads = [
        min(each[:size].count("U") - each[:size].count("D") for size in range(1, 9))
        for each in orders
    ]
    given = {"first": 5, "second": 3}
    assert solved("ballots", "behind", **given) == sum(lead >= 0 for lead in leads)
    assert solved("ballots", "ahead", **given) == sum(lead >= 1 for lead in leads)
    assert solved("ballots", "points", **given, lead=2) == sum(lead >= -2 for lead in leads)


def test_coverings_with_dominoes():
    def coverings(free):
        if not free:
            return 1
        row, column = min(free)
        return sum(
            coverings(free - {(row, column), other})
            for other in ((row, column + 1), (row + 1, column))
            if other in free
        )

    def board(rows):
        return frozenset(itertools.product(range(1, rows + 1), range(1, 7)))

    assert solved("domino-tilings", "two", length=6) == coverings(board(2))
    assert solved("domino-tilings", "three", length=6) == coverings(board(3))
    holes = {(1, 2), (1, 5)}
    assert solved("domino-tilings", "holes", length=6, holes="(1, 2), (1, 5)") == coverings(
        board(2) - holes
    )


def test_colourings_of_a_graph():
    edges = ["AB", "BC", "CD", "DA", "AC", "DE"]
    proper = sum(
        all(colours["ABCDE".index(a)] != colours["ABCDE".index(b)] for a, b in edges)
        for colours in itertools.product(range(4), repeat=5)
    )
    given = {"vertices": "A, B, C, D, E", "edges": ", ".join(edges), "colours": 4}
    assert solved("graph-colourings", "graph", **given) == proper


def test_what_is_certain_to_be_taken():
    counts = {"red": 4, "blue": 5, "green": 3}
    balls = [colour for colour, count in counts.items() for _ in range(count)]

    def certain(good):
        return next(
            taken
            for taken in range(len(balls) + 1)
            if all(good(Counter(some)) for some in set(itertools.combinations(balls, taken)))
        )

    given = {"counts": "4 red, 5 blue and 3 green"}
    assert solved("pigeonholes", "same", **given, wanted=3) == certain(
        lambda some: max(some.values(), default=0) >= 3
    )
    assert solved("pigeonholes", "every", **given, wanted=2) == certain(
        lambda some: all(some[colour] >= 2 for colour in counts)
    )
    assert solved("pigeonholes", "pairs", **given, wanted=3) == certain(
        lambda some: sum(each // 2 for each in some.values()) >= 3
    )
    assert solved("pigeonholes", "colours", **given, wanted=3) == certain(
        lambda some: len(some) >= 3
    )


def test_draws_from_an_urn():
    balls = "rrrrbbb"
    reds = [some.count("r") for some in itertools.permutations(balls, 3)]
    given = {"red": 4, "blue": 3, "drawn": 3, "number": 2}
    for ask, good in (
        ("exactly", lambda red: red == 2),
        ("at_least", lambda red: red >= 2),
        ("same", lambda red: red in (0, 3)),
        ("mixed", lambda red: 0 < red < 3),
        ("all_red", lambda red: red == 3),
    ):
        assert solved("urn-draws", ask, **given) == Fraction(sum(map(good, reds)), len(reds))
    back = [some.count("r") for some in itertools.product(balls, repeat=3)]
    assert solved("urn-draws", "put_back", **given) == Fraction(back.count(2), len(back))


def test_means_over_all_rolls():
    rolls = list(itertools.product(range(1, 6), repeat=3))

    def mean(value):
        return Fraction(sum(map(value, rolls)), len(rolls))

    dice = {"count": 3, "faces": 5}
    assert solved("extreme-dice", "largest", **dice) == mean(max)
    assert solved("extreme-dice", "smallest", **dice) == mean(min)
    assert solved("extreme-dice", "spread", **dice) == mean(lambda roll: max(roll) - min(roll))
    boxes = {"count": 3, "boxes": 5}
    assert solved("expected-counts", "values", **boxes) == mean(lambda roll: len(set(roll)))
    assert solved("expected-counts", "same", **boxes) == mean(
        lambda roll: sum(a == b for a, b in itertools.combinations(roll, 2))
    )
    cards = set(itertools.permutations("rrbbbb"))
    assert solved("expected-counts", "changes", red=2, blue=4) == Fraction(
        sum(a != b for each in cards for a, b in itertools.pairwise(each)), len(cards)
    )
    assert solved("expected-counts", "before", red=2, blue=4) == Fraction(
        sum(each.index("r") for each in cards), len(cards)
    )
