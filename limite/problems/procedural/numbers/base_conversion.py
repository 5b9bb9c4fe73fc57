"""Numbers written in one base, asked for in another."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold, digits_in
from limite.problems.procedural.wording import Wordings

_NAMES = "ABCDEF"
_BASES = (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16)


@attrs.frozen(kw_only=True)
class BaseConversion(Family):
    """A whole number of one base written in another."""

    name = "base-conversion"
    tag = "arithmetic/number-bases"
    wordings = Wordings(
        decimal=(
            "A number is written with the digits $<number:word>$ in base <known:text>. Write it in "
            "the usual base ten.",
            "Read in base <known:text>, which number do the digits $<number:word>$ stand for? "
            "Answer in base ten.",
        ),
        other=(
            "Write $<number>$ in base <target:text>.",
            "The decimal number $<number>$ is to be written in base <target:text>. What are its "
            "digits?",
        ),
        between=(
            "The number $<number:word>_{<base>}$ is given in base <known:text>. Write it in base "
            "<target:text>.",
            "Convert $<number:word>_{<base>}$ from base <known:text> to base <target:text>.",
        ),
    )

    largest: Ends = dial(60, 30_000, "largest number, in base ten", least=10)
    between: Ends = dial(0, 0.7, "share with neither base ten", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        number = base.whole(rng, 12, base.slow_start(self.largest, difficulty))
        between = rng.random() < base.steady(self.between, difficulty)
        known = base.chosen(rng, _BASES)
        number = max(number, known)  # at least two digits
        written = digits_in(number, known).upper()
        if not between and rng.random() < 0.5:
            return Drawn(
                ask="decimal",
                values={"number": written, "known": _said(known)},
                gold=gold.integer(number),
                steps=_expanded(number, known),
            )
        if not between:
            return Drawn(
                ask="other",
                values={"number": number, "target": _said(known)},
                gold=gold.in_base(number, known),
                steps=_divided(number, known),
            )
        target = base.chosen(rng, [other for other in _BASES if other != known])
        return Drawn(
            ask="between",
            values={
                "number": written,
                "base": known,
                "known": _said(known),
                "target": _said(target),
            },
            gold=gold.in_base(number, target),
            steps=f"{_expanded(number, known)} {_divided(number, target)}",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "other":
            return _greedy(values["number"], _base_of(values["target"]))
        known = _base_of(values["known"])
        number = int(values["number"], known)
        if ask == "decimal":
            return gold.integer(number)
        if known != values["base"]:
            return None
        return _greedy(number, _base_of(values["target"]))


def _said(number: int) -> str:
    """A base as the text names it, with the digits that are no figures."""
    if number <= 10:
        return f"${number}$"
    joint = "and" if number == 12 else "to"
    last = f" {joint} {_NAMES[number - 11]} for {number - 1}" if number > 11 else ""
    return f"${number}$ (with {'digits' if last else 'the digit'} A for 10{last})"


def _base_of(text: str) -> int:
    found = re.match(r"\$([0-9]+)\$", text)
    return int(found[1]) if found else 10


def _greedy(number: int, target: int) -> Gold:
    """The digits from the highest power down, as often as each fits; read back as one value."""
    power = 1
    while power * target <= number:
        power *= target
    rest, value = number, 0
    while power:
        times = 0
        while rest >= power:
            rest -= power
            times += 1
        value = value * target + times
        power //= target
    return gold.in_base(value, target)


def _expanded(number: int, known: int) -> str:
    """The sum of digits times powers of the base."""
    digits = [int(digit, 36) for digit in digits_in(number, known)]
    terms = []
    for place, digit in enumerate(digits):
        power = known ** (len(digits) - 1 - place)
        if digit:
            terms.append(f"{digit} \\cdot {power}" if power > 1 else str(digit))
    return f"Each digit counts a power of ${known}$: ${' + '.join(terms)} = {number}$."


def _divided(number: int, target: int) -> str:
    """Divisions with remainder down to zero."""
    steps, rest = [], number
    while rest:
        quotient, digit = divmod(rest, target)
        steps.append(f"${rest} = {quotient} \\cdot {target} + {digit}$")
        rest = quotient
    return (
        f"Divide by ${target}$ with remainder again and again: {', '.join(steps)}. The remainders, "
        "from the last to the first, are the digits."
    )
