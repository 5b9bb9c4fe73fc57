"""Strings that do not contain a pattern."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_ALPHABETS = (("01", "AB", "HT", "LR", "XY", "NS", "EW", "UD"), ("012", "ABC", "RGB", "XYZ", "123"))


@attrs.frozen(kw_only=True)
class StringsAvoiding(Family):
    """How many strings of a length avoid a pattern, or contain it."""

    name = "strings-avoiding"
    tag = "combinatorics/words"
    wordings = Wordings(
        avoid=(
            "How many strings of length <length>, made of the symbols <symbols:text>, do not "
            "contain <pattern:word> as a block of consecutive symbols?",
            "A string of <length> symbols is written, each of them one of <symbols:text>. In how "
            "many of the strings does the block <pattern:word> appear nowhere?",
        ),
        contain=(
            "How many strings of length <length>, made of the symbols <symbols:text>, contain "
            "<pattern:word> as a block of consecutive symbols at least once?",
            "A string of <length> symbols is written, each of them one of <symbols:text>. In how "
            "many of the strings does the block <pattern:word> appear somewhere?",
        ),
    )

    length: Ends = dial(3, 11, "length of the strings", least=3, most=20)
    pattern: Ends = dial(2, 4, "length of the pattern", least=2, most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        long = base.whole_near(rng, base.steady(self.pattern, difficulty))
        most = base.steady(self.length, difficulty)
        length = max(base.whole(rng, int(0.75 * most), most), long + 1)
        three = rng.random() < 0.2 + 0.4 * difficulty
        symbols = base.chosen(rng, _ALPHABETS[three])
        pattern = "".join(base.chosen(rng, symbols) for _ in range(long))
        # Sorted by how much of the pattern stands at the end.
        counts = [1] + [0] * (long - 1)
        lines = [_said(counts)]
        moves = [[_next(pattern, kept, symbol) for symbol in symbols] for kept in range(long)]
        for _ in range(length):
            after = [0] * (long + 1)
            for kept, count in enumerate(counts):
                for move in moves[kept]:
                    after[move] += count
            counts = after[:long]
            lines.append(_said(counts))
        avoiding, total = sum(counts), len(symbols) ** length
        contain = rng.random() < 0.4
        steps = (
            f"Sort the strings without {pattern} by how many of their last symbols are a beginning "
            f"of {pattern}, as many as possible: 0 to {long - 1}. For the lengths 0 to {length} "
            f"the numbers are {', '.join(lines)}. The last ones add up to ${avoiding}$."
        )
        if contain:
            steps += (
                f" There are ${len(symbols)}^{{{length}}} = {total}$ strings in all, and "
                f"${total} - {avoiding} = {total - avoiding}$."
            )
        return Drawn(
            ask="contain" if contain else "avoid",
            values={"length": length, "symbols": ", ".join(symbols), "pattern": pattern},
            gold=gold.integer(total - avoiding if contain else avoiding),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Generating functions: with c(z) the overlaps of the pattern with itself, strings
        # without it have the series c / (z^m + (1 - kz) c).
        pattern, length = values["pattern"], values["length"]
        kinds = len(values["symbols"].split(", "))
        long = len(pattern)
        overlaps = [int(pattern[shift:] == pattern[: long - shift]) for shift in range(long)]
        below = [*overlaps, 1]
        for shift in range(long):
            below[shift + 1] -= kinds * overlaps[shift]
        series: list[int] = []
        for degree in range(length + 1):
            value = overlaps[degree] if degree < long else 0
            for shift in range(1, min(degree, long) + 1):
                value -= below[shift] * series[degree - shift]
            series.append(value)
        avoiding = series[length]
        return gold.integer(kinds**length - avoiding if ask == "contain" else avoiding)


def _next(pattern: str, kept: int, symbol: str) -> int:
    """How much of the pattern stands at the end after one more symbol."""
    text = pattern[:kept] + symbol
    while not pattern.startswith(text):
        text = text[1:]
    return len(text)


def _said(counts: list[int]) -> str:
    return f"$({', '.join(map(str, counts))})$"
