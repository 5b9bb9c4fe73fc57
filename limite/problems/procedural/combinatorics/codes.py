"""Codes and plates of letters and digits."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_PLATE = (
    "A number plate shows $<letters>$ letters, each one of $<kinds>$ allowed ones, and then "
    "$<digits>$ digits from $0$ to $9$."
)


@attrs.frozen(kw_only=True)
class Codes(Family):
    """How many codes and number plates are possible under conditions."""

    name = "codes"
    tag = "combinatorics/words"
    wordings = Wordings(
        plain=(f"{_PLATE} How many plates are possible, if letters and digits may be repeated?",),
        different=(
            f"{_PLATE} How many plates are possible, if no letter and no digit is repeated?",
        ),
        contains=(
            "A code has $<length>$ symbols, each one of $<kinds>$ symbols, one of which is a star. "
            "How many codes contain at least one star?",
        ),
        repeated=(
            "A code has $<length>$ symbols, each one of $<kinds>$ symbols. In how many codes does "
            "some symbol appear more than once?",
        ),
        neighbours=(
            "A code has $<length>$ symbols, each one of $<kinds>$ symbols, and no symbol directly "
            "follows an equal one. How many codes are possible?",
        ),
        rising=(
            "How many numbers with $<length>$ digits have digits that get larger from left to "
            "right, each larger than the one before it?",
        ),
        palindromes=(
            "How many palindromes of $<length>$ symbols, the same read backwards, can be made of "
            "$<kinds>$ symbols?",
        ),
        stars=(
            "A code has $<length>$ symbols, each one of $<kinds>$ symbols, one of which is a star. "
            "In how many codes is the number of stars exactly $<number>$?",
        ),
    )

    length: Ends = dial(3, 7, "length of the codes", least=3, most=12)
    kinds: Ends = dial(9, 25, "how many symbols there are", least=3, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.length, difficulty)
        length = base.whole(rng, max(3, int(most) - 3), most)
        top = base.steady(self.kinds, difficulty)
        kinds = base.whole(rng, max(3, int(top) - 12), top)
        ask = base.rising(
            rng,
            (
                "plain",
                "palindromes",
                "different",
                "neighbours",
                "contains",
                "stars",
                "repeated",
                "rising",
            ),
            difficulty,
        )
        values: dict[str, Any] = {"length": length, "kinds": kinds}
        total = kinds**length
        all_of = f"${kinds}^{{{length}}} = {total}$"
        if ask in ("plain", "different"):
            letters = base.whole(rng, 2, 2 + difficulty)
            digits = base.whole(rng, 2, 2 + 2 * difficulty)
            kinds = base.whole(rng, 10, 26)
            values = {"letters": letters, "digits": digits, "kinds": kinds}
            if ask == "plain":
                found = kinds**letters * 10**digits
                steps = f"Each place is free of the others: ${kinds}^{letters} \\cdot 10^{digits}$."
            else:
                found = math.perm(kinds, letters) * math.perm(10, digits)
                factors = [kinds - each for each in range(letters)]
                factors += [10 - each for each in range(digits)]
                product = " \\cdot ".join(map(str, factors))
                steps = f"Each next letter or digit has one choice fewer: ${product}$."
        elif ask == "contains":
            none = (kinds - 1) ** length
            found = total - none
            steps = (
                f"There are {all_of} codes, and ${kinds - 1}^{{{length}}} = {none}$ without a "
                f"star: ${total} - {none}$."
            )
        elif ask == "repeated":
            length = min(length, kinds)
            values["length"] = length
            total, once = kinds**length, math.perm(kinds, length)
            product = " \\cdot ".join(str(kinds - each) for each in range(length))
            found = total - once
            steps = (
                f"There are ${kinds}^{{{length}}} = {total}$ codes, and in ${product} = {once}$ of "
                f"them all symbols differ: ${total} - {once}$."
            )
        elif ask == "neighbours":
            found = kinds * (kinds - 1) ** (length - 1)
            steps = (
                f"The first symbol is free, and each next one differs from the one before: "
                f"${kinds} \\cdot {kinds - 1}^{{{length - 1}}}$."
            )
        elif ask == "rising":
            length = values["length"] = min(length, 8)
            found = math.comb(9, length)
            steps = (
                f"The digits are different and their order is given, so only which of $1, \\dots, "
                f"9$ they are counts; $0$ cannot be first and so cannot appear: "
                f"$\\binom{{9}}{{{length}}}$."
            )
        elif ask == "palindromes":
            half = (length + 1) // 2
            found = kinds**half
            steps = (
                f"The first ${half}$ symbols are free and give the others: ${kinds}^{{{half}}}$."
            )
        else:
            number = base.whole(rng, 1, length - 1)
            values["number"] = number
            found = math.comb(length, number) * (kinds - 1) ** (length - number)
            rest = length - number
            power = f"{kinds - 1}" if rest == 1 else f"{kinds - 1}^{{{rest}}}"
            steps = (
                f"The stars take ${number}$ of ${length}$ places, in "
                f"$\\binom{{{length}}}{{{number}}} = {math.comb(length, number)}$ ways, and each "
                f"other place has ${kinds - 1}$ choices: ${math.comb(length, number)} \\cdot "
                f"{power}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Symbol after symbol, by what must be known of those before.
        if ask in ("plain", "different"):
            total = 1
            for places, kinds in ((values["letters"], values["kinds"]), (values["digits"], 10)):
                used = {0: 1}  # by how many different ones were used
                for _ in range(places):
                    after: dict[int, int] = {}
                    for many, ways in used.items():
                        if ask == "plain":
                            after[many] = after.get(many, 0) + ways * many
                        after[many + 1] = after.get(many + 1, 0) + ways * (kinds - many)
                    used = after
                total *= sum(used.values())
            return gold.integer(total)
        length = values["length"]
        if ask == "rising":
            last = [0] * 10  # by the last digit
            for digit in range(1, 10):
                last[digit] = 1
            for _ in range(length - 1):
                last = [sum(last[1:digit]) for digit in range(10)]
            return gold.integer(sum(last))
        kinds = values["kinds"]
        if ask == "palindromes":  # from the middle outwards
            total = kinds if length % 2 else 1
            for _ in range(length // 2):
                total += total * (kinds - 1)
            return gold.integer(total)
        if ask == "neighbours":  # those whose last two agree are as many as shorter ones
            total = kinds
            for _ in range(length - 1):
                total = total * kinds - total
            return gold.integer(total)
        if ask == "repeated":
            fresh, again = 1, 0
            for before in range(length):
                again = again * kinds + fresh * before
                fresh *= kinds - before
            return gold.integer(again)
        stars = [1]
        for _ in range(length):
            stars = [
                left * (kinds - 1) + taken
                for left, taken in zip([*stars, 0], [0, *stars], strict=True)
            ]
        if ask == "stars":
            return gold.integer(stars[values["number"]])
        return gold.integer(sum(stars[1:]))
