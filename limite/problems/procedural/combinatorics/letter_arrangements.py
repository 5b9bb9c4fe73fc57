"""Arrangements of letters, some of them the same."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_LETTERS = "ABCDGHKLMNPRSTVWZ"


@attrs.frozen(kw_only=True)
class LetterArrangements(Family):
    """How many strings can be made of given letters, with repeats and wishes for one letter."""

    name = "letter-arrangements"
    tag = "combinatorics/arrangements"
    wordings = Wordings(
        all=(
            "How many different strings can be made by arranging all the letters of "
            "<letters:word>?",
            "In how many distinguishable orders can the letters of <letters:word> be written, "
            "each letter used once for every time it stands there?",
            "Tiles that spell <letters:word> are laid in a row in any order. How many different "
            "strings can appear?",
        ),
        together=(
            "How many different strings can be made by arranging all the letters of "
            "<letters:word> so that the letters <one:word> all stand next to each other?",
            "All the letters of <letters:word> are written in a row, with all the letters "
            "<one:word> side by side in one block. How many different strings are possible?",
        ),
        apart=(
            "How many different strings can be made by arranging all the letters of "
            "<letters:word> so that no two letters <one:word> stand next to each other?",
            "All the letters of <letters:word> are written in a row, and a letter <one:word> is "
            "never directly followed by another <one:word>. How many different strings are "
            "possible?",
        ),
    )

    length: Ends = dial(4, 10, "how many letters", least=3, most=12)
    wishes: Ends = dial(0, 0.8, "share with a wish for one of the letters", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        length = base.whole_near(rng, base.steady(self.length, difficulty))
        kinds = base.whole(rng, (length + 1) // 2, min(length - 1, 6))
        letters = [_LETTERS[index] for index in base.distinct(rng, kinds, 0, len(_LETTERS) - 1)]
        letters += [base.chosen(rng, letters[:3]) for _ in range(length - kinds)]
        counts = Counter(letters)
        one = max(letters, key=lambda letter: (counts[letter], letter))
        values = {"letters": "".join(base.shuffled(rng, letters)), "one": one}
        times, others = counts[one], [count for each, count in counts.items() if each != one]
        rest = length - times
        if rng.random() >= base.steady(self.wishes, difficulty):
            found = _multinomial(length, [times, *others])
            return Drawn(
                ask="all",
                values=values,
                gold=gold.integer(found),
                steps=f"The ${length}$ letters have ${length}! = {math.factorial(length)}$ orders "
                f"when all are told apart. Letters that are the same may change places, so each "
                f"string is counted {_product([times, *others])} times, and "
                f"${math.factorial(length)} : {math.factorial(length) // found} = {found}$.",
            )
        if times > rest + 1 or rng.random() < 0.5:
            found = _multinomial(rest + 1, others)
            return Drawn(
                ask="together",
                values=values,
                gold=gold.integer(found),
                steps=f"Take the ${times}$ letters {one} as one block: ${rest + 1}$ things are to "
                f"be arranged, in ${rest + 1}! = {math.factorial(rest + 1)}$ orders. Divide by "
                f"the orders of the same letters, {_product(others)}.",
            )
        frame, gaps = _multinomial(rest, others), math.comb(rest + 1, times)
        return Drawn(
            ask="apart",
            values=values,
            gold=gold.integer(frame * gaps),
            steps=f"The ${rest}$ other letters can be arranged in ${rest}! = "
            f"{math.factorial(rest)}$ divided by {_product(others)}, that is in ${frame}$ ways. "
            f"They leave ${rest + 1}$ gaps, the ends included, and the {one} go into "
            f"${times}$ different ones: $\\binom{{{rest + 1}}}{{{times}}} = {gaps}$ ways. "
            f"Together ${frame} \\cdot {gaps} = {frame * gaps}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Letter after letter: how many ways to go on with what is left.
        counts = Counter(values["letters"])
        special = counts.pop(values["one"], 0) if ask != "all" else 0
        return gold.integer(_ways(special, tuple(sorted(counts.values())), ask, False))


@functools.lru_cache(maxsize=20_000)
def _ways(special: int, others: tuple[int, ...], ask: str, after_special: bool) -> int:
    if not special and not others:
        return 1
    total = 0
    if special and not (ask == "apart" and after_special):
        total += _ways(special - 1, others, ask, True)
    if ask == "together" and after_special and special:
        return total  # the block is not finished
    for place, left in enumerate(others):
        rest = sorted((*others[:place], *((left - 1,) if left > 1 else ()), *others[place + 1 :]))
        total += _ways(special, tuple(rest), ask, False)
    return total


def _multinomial(total: int, counts: list[int]) -> int:
    return math.factorial(total) // math.prod(map(math.factorial, counts))


def _product(counts: list[int]) -> str:
    """The product of the factorials of counts above 1, as text."""
    factors = [count for count in counts if count > 1]
    if not factors:
        return "$1$"
    value = math.prod(map(math.factorial, factors))
    text = " \\cdot ".join(f"{count}!" for count in factors)
    return f"${text} = {value}$"
