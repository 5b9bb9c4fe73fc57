"""Arrangements in alphabetical order: the one at a place, and the place of one."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_LETTERS = "ABCDEFGHIJKLMNOPRSTUVWXYZ"


@attrs.frozen(kw_only=True)
class PermutationRank(Family):
    """Which arrangement stands at a place in a list in order, and at which place one stands."""

    name = "permutation-rank"
    tag = "combinatorics/permutations"
    wordings = Wordings(
        word=(
            "All arrangements of the letters <letters:text>, each used once, are listed in "
            "alphabetical order. Which one is at place number $<place>$, counted from $1$?",
            "The arrangements of all the letters <letters:text>, without repeats, are written in "
            "alphabetical order, the first at place $1$. Which one stands at place $<place>$?",
        ),
        place=(
            "All arrangements of the letters <letters:text>, each used once, are listed in "
            "alphabetical order. At which place, counted from $1$, is <word:word>?",
        ),
        next=(
            "All arrangements of the letters <letters:text>, each used once, are listed in "
            "alphabetical order. Which one comes directly after <word:word>?",
        ),
        numbers=(
            "All orders of the numbers $1, 2, \\dots, <count>$ are listed as tuples, sorted by "
            "their first numbers, among equals by their second ones, and so on. Which tuple is at "
            "place number $<place>$, counted from $1$?",
        ),
        digits=(
            "All numbers that can be written with the digits <digits:integers>, each used exactly "
            "once, are listed from the smallest to the largest. Which number is at place "
            "$<place>$, counted from $1$?",
        ),
    )

    count: Ends = dial(3, 6, "how many letters", least=3, most=7)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        ask = base.rising(
            rng, ("next", "digits", "word", "word", "numbers", "place", "place"), difficulty
        )
        letters = sorted(_LETTERS[each] for each in base.distinct(rng, count, 0, len(_LETTERS) - 1))
        total = math.factorial(count)
        place = base.whole(rng, 3, total - 1)
        if ask in ("place", "next"):
            word = base.shuffled(rng, letters)
            if word in (letters, letters[::-1]):
                word[0], word[1] = word[1], word[0]
            if ask == "next":
                return _next(letters, word)
            return _place(letters, word)
        things = letters
        values: dict[str, Any] = {"letters": _listed(rng, letters), "place": place}
        if ask == "numbers":
            things = [str(each) for each in range(1, count + 1)]
            values = {"count": count, "place": place}
        elif ask == "digits":
            things = [str(each) for each in sorted(base.distinct(rng, count, 1, 9))]
            values = {"digits": base.shuffled(rng, list(map(int, things))), "place": place}
        left, before, picked, lines = list(things), place - 1, [], []
        for rest in range(count - 1, 0, -1):
            block = math.factorial(rest)
            at, before = divmod(before, block)
            picked.append(left.pop(at))
            lines.append(f"${at} \\cdot {rest}!$ and so {picked[-1]}")
        picked += left
        steps = (
            f"Before place ${place}$ there are ${place - 1}$ others. Each choice of the first one "
            f"begins ${count - 1}!$ of the list, then each next one ${count - 2}!$, and so on. "
            f"Taking out as many blocks as fit, and the next of what is left in order: "
            f"{', '.join(lines)}; {picked[-1]} remains."
        )
        if ask == "word":
            found = gold.string("".join(picked))
        elif ask == "digits":
            found = gold.integer(int("".join(picked)))
        else:
            found = gold.ordered(list(map(int, picked)))
        return Drawn(ask=ask, values=values, gold=found, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From the whole list, written out in order.
        if ask == "numbers":
            size = values["count"]
        elif ask == "digits":
            size = len(values["digits"])
        else:
            letters = sorted(values["letters"].split(", "))
            size = len(letters)
        orders = _orders(size)
        if ask in ("place", "next"):
            if sorted(values["word"]) != letters:
                return None
            order = tuple(letters.index(letter) for letter in values["word"])
            at = bisect.bisect_left(orders, order)
            if ask == "place":
                return gold.integer(at + 1)
            if at + 1 == len(orders):
                return None
            return gold.string("".join(letters[each] for each in orders[at + 1]))
        order = orders[values["place"] - 1]
        if ask == "numbers":
            return gold.ordered([each + 1 for each in order])
        if ask == "word":
            return gold.string("".join(letters[each] for each in order))
        digits = sorted(values["digits"])
        return gold.integer(int("".join(str(digits[each]) for each in order)))


@functools.lru_cache(maxsize=8)
def _orders(size: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(size)))


def _listed(rng: random.Random, letters: list[str]) -> str:
    return ", ".join(base.shuffled(rng, letters))


def _place(letters: list[str], word: list[str]) -> Drawn:
    left, terms, lines = list(letters), [], []
    for at, letter in enumerate(word[:-1]):
        smaller = left.index(letter)
        block = math.factorial(len(word) - at - 1)
        terms.append(smaller * block)
        lines.append(f"{letter}: ${smaller} \\cdot {len(word) - at - 1}! = {terms[-1]}$")
        left.remove(letter)
    return Drawn(
        ask="place",
        values={"letters": ", ".join(letters), "word": "".join(word)},
        gold=gold.integer(sum(terms) + 1),
        steps="For each letter, count the arrangements that have the same letters before it and "
        "an "
        f"earlier one of the remaining letters in its place: {', '.join(lines)}. So "
        f"${' + '.join(map(str, terms))} = {sum(terms)}$ arrangements come before.",
    )


def _next(letters: list[str], word: list[str]) -> Drawn:
    at = max(place for place in range(len(word) - 1) if word[place] < word[place + 1])
    tail = word[at + 1 :]
    new = min(letter for letter in tail if letter > word[at])
    rest = sorted([*(letter for letter in tail if letter != new), word[at]])
    falling = (
        f"The last letters, {', '.join(tail)}, stand in falling order"
        if len(tail) > 1
        else f"The last letter is {tail[0]}"
    )
    return Drawn(
        ask="next",
        values={"letters": ", ".join(letters), "word": "".join(word)},
        gold=gold.string("".join([*word[:at], new, *rest])),
        steps=f"{falling}, so they cannot be put later. The letter before them, {word[at]}, is "
        f"replaced by the next larger one among them, {new}, and the others follow in rising "
        f"order: {', '.join(rest)}.",
    )
