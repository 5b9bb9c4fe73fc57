"""Digits that make a number divisible."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import and_list
from limite.problems.procedural.wording import Wordings

_RULES = {
    2: "its last digit is even",
    3: "the sum of its digits is divisible by 3",
    4: "the number of its last two digits is divisible by 4",
    5: "it ends in 0 or 5",
    6: "it is even and the sum of its digits is divisible by 3",
    8: "the number of its last three digits is divisible by 8",
    9: "the sum of its digits is divisible by 9",
    11: "the sum of its digits with alternating signs is divisible by 11",
}


_DIVISORS = (3, 9, 4, 6, 11, 8, 7)


@attrs.frozen(kw_only=True)
class MissingDigits(Family):
    """The digits that can fill gaps of a number so that it is divisible by another."""

    name = "missing-digits"
    tag = "number-theory/divisibility"
    wordings = Wordings(
        one=(
            "For which digits $d$ is the number $\\overline{<before:word>d<after:word>}$ divisible "
            "by $<divisor>$? (The line marks a number given by its decimal digits.) Give the set "
            "of all such digits.",
            "In a number with the decimal digits $\\overline{<before:word>d<after:word>}$ the "
            "digit $d$ cannot be read. The number is divisible by $<divisor>$. Find the set of all "
            "values that $d$ can have.",
        ),
        pairs=(
            "How many pairs of digits $(a, b)$ make the number "
            "$\\overline{<before:word>a<middle:word>b}$ divisible by $<divisor>$? (The line marks "
            "a number given by its decimal digits; digits may be equal, and 0 is allowed.)",
            "In a number with the decimal digits $\\overline{<before:word>a<middle:word>b}$ the "
            "digits $a$ and $b$, each from 0 to 9, cannot be read. The number is divisible by "
            "$<divisor>$. How many pairs $(a, b)$ are possible?",
        ),
        largest=(
            "Digits $a$ and $b$ are chosen so that the number "
            "$\\overline{<before:word>a<middle:word>b}$, given by its decimal digits, is divisible "
            "by $<divisor>$. What is the largest possible value of this number?",
        ),
    )

    digits: Ends = dial(2, 5, "how many digits are given", least=2, most=9)
    divisors: Ends = dial(3, 7, "how many divisors are in use: 3, 9, 4, 6, 11, 8, 7", most=7)
    pairs: Ends = dial(0, 0.8, "share with two digits missing", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        digits = base.whole_near(rng, base.steady(self.digits, difficulty))
        if rng.random() < base.steady(self.pairs, difficulty):
            return _two(rng, max(3, digits))
        divisor = base.chosen(
            rng, _DIVISORS[: base.whole_near(rng, base.steady(self.divisors, difficulty))]
        )
        cut = base.whole(rng, 1, digits - 1)
        if divisor in (4, 8):
            cut = digits - 1
        known = [base.whole(rng, 1, 9) for _ in range(digits)]
        if divisor in (4, 6, 8):
            known[-1] = 2 * base.whole(rng, 0, 4)
        remainders: list[int] = []
        while not remainders:  # a digit is changed until some digit fits
            before, after = _text(known[:cut]), _text(known[cut:])
            remainders = [int(f"{before}{d}{after}") % divisor for d in range(10)]
            if 0 not in remainders:
                known[0], remainders = known[0] % 9 + 1, []
                if divisor in (4, 8) or rng.random() < 0.2:
                    known[-1] = (known[-1] + 2) % 10
        found = [d for d in range(10) if remainders[d] == 0]
        number = f"\\overline{{{before}d{after}}}"
        rest = sum(known)
        if divisor in (3, 9, 6):
            rule = 3 if divisor == 6 else divisor
            steps = (
                ("The last digit is even, so the number is even. " if divisor == 6 else "")
                + f"The digits add up to ${rest} + d$, and this must be divisible by ${rule}$: "
                f"${rest}$ leaves the remainder ${rest % rule}$, so $d$ must leave the remainder "
                f"${-rest % rule}$."
            )
        elif divisor in (4, 8):
            steps = (
                f"The number is divisible by ${divisor}$ when {_RULES[divisor]}, so try the ten "
                f"digits in these places: {and_list([str(d) for d in found])} "
                f"{'fits' if len(found) == 1 else 'fit'}."
            )
        else:
            zero, place = int(f"{before}0{after}"), 10 ** len(after)
            steps = (
                f"${number} = {zero} + {place}d$. Modulo ${divisor}$ this is "
                f"${zero % divisor} + {_coefficient(place % divisor)}d$, and it must be $0$: among "
                f"the digits only {and_list([str(d) for d in found])} "
                f"{'does' if len(found) == 1 else 'do'} this."
            )
        return Drawn(
            ask="one",
            values={"before": before, "after": after, "divisor": divisor},
            gold=gold.finite_set(found),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        before, divisor = values["before"], values["divisor"]
        if ask == "one":
            after = values["after"]
            if not (before + after).isdigit():
                return None
            numbers = {d: int(f"{before}{d}{after}") for d in range(10)}
            return gold.finite_set(d for d, each in numbers.items() if each % divisor == 0)
        middle = values["middle"]
        if not (before + middle).isdigit():
            return None
        found = [
            number
            for a in range(10)
            for b in range(10)
            if (number := int(f"{before}{a}{middle}{b}")) % divisor == 0
        ]
        return gold.integer(max(found) if ask == "largest" else len(found))


def _two(rng: random.Random, digits: int) -> Drawn:
    """Two digits missing; the divisor has a part that decides the last one."""
    last, other = base.chosen(rng, ((2, 9), (4, 9), (5, 9), (5, 11), (4, 11), (8, 9), (4, 3)))
    divisor = last * other
    cut = base.whole(rng, 1, digits - 1)
    before = _text([base.whole(rng, 1, 9) for _ in range(cut)])
    middle = _text([base.whole(rng, 0, 9) for _ in range(digits - cut)])
    if last == 8 and len(middle) < 2:
        middle += str(base.whole(rng, 0, 9))
    ends = [b for b in range(10) if int(f"{middle}{b}") % last == 0]
    if not ends:  # as for 4 after no digit: one more makes the tens even
        middle = middle[:-1] + str((int(middle[-1]) + 1) % 10)
        ends = [b for b in range(10) if int(f"{middle}{b}") % last == 0]
    rows, total, highest = [], 0, -1
    for b in ends:
        fit = [a for a in range(10) if int(f"{before}{a}{middle}{b}") % other == 0]
        rows.append(
            f"for $b = {b}$ it allows " + (f"$a = {', '.join(map(str, fit))}$" if fit else "no $a$")
        )
        total += len(fit)
        if fit:
            highest = max(highest, int(f"{before}{max(fit)}{middle}{b}"))
    ask = "largest" if highest >= 0 and rng.random() < 0.5 else "pairs"
    steps = (
        f"${divisor} = {last} \\cdot {other}$. Divisible by ${last}$ means that {_RULES[last]}, "
        f"so $b$ is one of ${', '.join(map(str, ends))}$. Divisible by ${other}$ means that "
        f"{_RULES[other]}: {', '.join(rows)}."
    )
    return Drawn(
        ask=ask,
        values={"before": before, "middle": middle, "divisor": divisor},
        gold=gold.integer(highest if ask == "largest" else total),
        steps=steps,
    )


def _text(digits: list[int]) -> str:
    return "".join(map(str, digits))


def _coefficient(value: int) -> str:
    return "" if value == 1 else str(value)
