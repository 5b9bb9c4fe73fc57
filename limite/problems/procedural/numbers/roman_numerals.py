"""Roman numerals, read, written and added."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_DIGITS = (
    ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"),
    ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"),
    ("", "C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"),
    ("", "M", "MM", "MMM"),
)
_LETTERS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


@attrs.frozen(kw_only=True)
class RomanNumerals(Family):
    """Roman numerals read, written, added and taken away."""

    name = "roman-numerals"
    tag = "arithmetic/number-systems"
    wordings = Wordings(
        read=(
            "Which number is the Roman numeral <one:word>?",
            "A stone bears the Roman numeral <one:word>. Write this number in ordinary digits.",
        ),
        write=(
            "Write <number> as a Roman numeral.",
            "What is <number> in Roman numerals, in the usual form with signs such as IV and XC?",
        ),
        sum=(
            "Add the Roman numerals <one:word> and <two:word>. Answer with a Roman numeral.",
            "What is <one:word> plus <two:word>, as a Roman numeral?",
        ),
        difference=(
            "By how much is <two:word> larger than <one:word>? Answer with a Roman numeral.",
            "Take the Roman numeral <one:word> away from <two:word>. Answer with a Roman numeral.",
        ),
    )

    largest: Ends = dial(60, 3900, "largest number", least=20, most=3999)
    sums: Ends = dial(0, 0.8, "share of sums and differences", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        number = base.whole(rng, 4, base.slow_start(self.largest, difficulty))
        if rng.random() >= base.steady(self.sums, difficulty):
            if rng.random() < 0.5:
                return Drawn(
                    ask="read",
                    values={"one": _written(number)},
                    gold=gold.integer(number),
                    steps=f"The groups of letters from the left are {_groups(number)}.",
                )
            return Drawn(
                ask="write",
                values={"number": number},
                gold=gold.string(_written(number)),
                steps=f"Write every digit of ${number}$ with its own letters: {_groups(number)}.",
            )
        part = base.whole(rng, 2, number - 2)
        rest = number - part
        if rng.random() < 0.5:
            ask, result = "sum", number
            values = {"one": _written(part), "two": _written(rest)}
            known = f"${part} + {rest} = {number}$"
        else:
            ask, result = "difference", rest
            values = {"one": _written(part), "two": _written(number)}
            known = f"${number} - {part} = {rest}$"
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.string(_written(result)),
            steps=f"In ordinary digits that is {known}. Its digits are written {_groups(result)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "write":
            return gold.string(_greedy(values["number"]))
        one = _value(values["one"])
        if ask == "read":
            return gold.integer(one)
        two = _value(values["two"])
        result = one + two if ask == "sum" else two - one
        return gold.string(_greedy(result)) if 0 < result < 4000 else None


def _written(number: int) -> str:
    """Digit by digit from a table."""
    digits = str(number)
    return "".join(
        _DIGITS[len(digits) - 1 - place][int(digit)] for place, digit in enumerate(digits)
    )


def _groups(number: int) -> str:
    digits = str(number)
    return ", ".join(
        f"{_DIGITS[len(digits) - 1 - place][int(digit)]} for "
        f"${int(digit) * 10 ** (len(digits) - 1 - place)}$"
        for place, digit in enumerate(digits)
        if digit != "0"
    )


def _value(numeral: str) -> int:
    """A letter counts against what follows when that is larger."""
    total, largest = 0, 0
    for letter in reversed(numeral):
        size = _LETTERS[letter]
        total += size if size >= largest else -size
        largest = max(largest, size)
    return total


def _greedy(number: int) -> str:
    """The letters of ones, fives and tens repeated, and then four and nine shortened."""
    text = ""
    for letter, size in sorted(_LETTERS.items(), key=lambda pair: -pair[1]):
        text += letter * (number // size)
        number %= size
    for long, short in (("DCCCC", "CM"), ("CCCC", "CD"), ("LXXXX", "XC"), ("XXXX", "XL")):
        text = text.replace(long, short)
    return text.replace("VIIII", "IX").replace("IIII", "IV")
