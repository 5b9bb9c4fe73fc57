"""Sums of digits."""

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


@attrs.frozen(kw_only=True)
class DigitSums(Family):
    """Sums of decimal digits of large numbers, and how many numbers have a given sum."""

    name = "digit-sums"
    tag = "number-theory/digits"
    wordings = Wordings(
        less=(
            "What is the sum of the decimal digits of $10^{<exponent>} - <number>$?",
            "The number $10^{<exponent>} - <number>$ is written in decimal. Find the sum of its "
            "digits.",
        ),
        nines=(
            "The number with $<exponent>$ digits 9 and no others is multiplied by $<number>$. What "
            "is the sum of the decimal digits of the product?",
            "Find the sum of the decimal digits of $<number> \\cdot 99\\ldots9$, where the second "
            "factor has $<exponent>$ digits 9 and no others.",
        ),
        all=(
            "All integers from $1$ to $<number>$ are written down. What is the sum of all their "
            "digits?",
            "Find the sum of the decimal digits of all integers from $1$ to $<number>$, each "
            "number taken by itself.",
        ),
        count=(
            "How many positive integers below $10^{<exponent>}$ have the digit sum $<number>$?",
            "How many integers $n$ with $1 \\le n < 10^{<exponent>}$ have decimal digits that add "
            "up to $<number>$?",
        ),
        smallest=(
            "What is the smallest positive integer whose decimal digits add up to $<number>$?",
            "Find the smallest positive integer with the digit sum $<number>$.",
        ),
        occurrences=(
            "All integers from $1$ to $<number>$ are written down. How often is the digit "
            "$<digit>$ written?",
            "How many times does the digit $<digit>$ occur in the decimal numbers from $1$ to "
            "$<number>$, all digits of all numbers counted?",
        ),
    )

    exponent: Ends = dial(8, 100, "largest exponent of 10", least=6, most=900)
    number: Ends = dial(
        40, 1500, "largest number up to which digits are added", least=30, most=9000
    )

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("less", "nines", "all", "count", "smallest", "occurrences"))
        size = base.slow_start(self.number, difficulty)
        exponent = base.whole(rng, 5, base.slow_start(self.exponent, difficulty))
        if ask in ("less", "nines"):
            number = base.whole(rng, 2, min(size, 900))
            if ask == "less":
                rest = str(1000 - number).rjust(3, "0")
                total = 9 * (exponent - 3) + sum(map(int, rest))
                steps = (
                    f"Split off the last three digits: the number is $10^{{{exponent}}} - 1000$, "
                    f"with ${exponent - 3}$ digits 9 before three zeros, plus $1000 - {number} = "
                    f"{1000 - number}$. The digits add up to "
                    f"${exponent - 3} \\cdot 9 + {sum(map(int, rest))}$."
                )
            else:
                width = len(str(number))
                total = 9 * exponent
                exponent = max(exponent, width)
                total = 9 * exponent
                steps = (
                    f"The product is ${number} \\cdot 10^{{{exponent}}} - {number} = "
                    f"{number - 1} \\cdot 10^{{{exponent}}} + (10^{{{exponent}}} - {number})$. "
                    f"As $10^{{{exponent}}} - {number}$ is $10^{{{exponent}}} - 1$ less "
                    f"${number - 1}$, its digits are 9 less those of ${number - 1}$, and together "
                    f"with the digits of ${number - 1}$ in front they add up to "
                    f"${exponent} \\cdot 9$."
                )
            return Drawn(
                ask=ask,
                values={"exponent": exponent, "number": number},
                gold=gold.integer(total),
                steps=steps,
            )
        if ask == "smallest":
            number = base.whole(rng, 11, min(20 + size / 25, 90))
            nines, first = divmod(number, 9)
            text = (str(first) if first else "") + "9" * nines
            return Drawn(
                ask=ask,
                values={"number": number},
                gold=gold.integer(int(text)),
                steps=f"It has as few digits as possible, so as many nines as possible: "
                f"${number} = {nines} \\cdot 9 + {first}$. The rest goes to the front.",
            )
        if ask == "count":
            exponent, number = base.whole(rng, 2, min(2 + size / 400, 6)), base.whole(rng, 3, 12)
            total, rows = 0, []
            for tens in range(number // 10 + 1):
                ways = math.comb(exponent, tens) * math.comb(
                    number - 10 * tens + exponent - 1, exponent - 1
                )
                total += -ways if tens % 2 else ways
                rows.append(str(ways))
            steps = (
                f"Fill up with zeros to {exponent} digits. Without an upper limit for the digits "
                f"there are $\\binom{{{number + exponent - 1}}}{{{exponent - 1}}} = {rows[0]}$ "
                "choices."
            )
            if len(rows) > 1:
                steps += (
                    f" Those with a digit above 9, one of ${exponent}$, number ${rows[1]}$ and are "
                    "taken away."
                )
            return Drawn(
                ask=ask,
                values={"exponent": exponent, "number": number},
                gold=gold.integer(total),
                steps=steps,
            )
        number = base.whole(rng, 30, size)
        counts = [_written(number, digit) for digit in range(10)]
        if ask == "all":
            total = sum(digit * count for digit, count in enumerate(counts))
            terms = " + ".join(f"{digit} \\cdot {counts[digit]}" for digit in range(1, 10))
            return Drawn(
                ask=ask,
                values={"number": number},
                gold=gold.integer(total),
                steps="Counted by the places of ones, tens and so on, the digits 1 to 9 are "
                f"written ${', '.join(map(str, counts[1:]))}$ times. So the sum is ${terms}$.",
            )
        digit = base.whole(rng, 1, 9)
        rows = []
        place = 1
        while place <= number:
            rows.append(str(_at_place(number, digit, place)))
            place *= 10
        return Drawn(
            ask=ask,
            values={"number": number, "digit": digit},
            gold=gold.integer(counts[digit]),
            steps=f"Place by place, from the ones on, it is written ${', '.join(rows)}$ times: "
            f"${' + '.join(rows)}$ in all.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        if ask in ("less", "nines"):
            power = 10 ** values["exponent"]
            whole = power - number if ask == "less" else number * (power - 1)
            return gold.integer(sum(map(int, str(whole)))) if whole > 0 else None
        if ask == "smallest":
            # The next digit from the right is the largest that is left.
            found, place = 0, 1
            while number:
                digit = min(9, number)
                found, place, number = found + digit * place, place * 10, number - digit
            return gold.integer(found)
        if ask == "count":
            ways = [1]  # ways[s]: how many rows of digits add up to s
            for _ in range(values["exponent"]):
                ways = [
                    sum(ways[max(0, s - 9) : s + 1]) for s in range(min(len(ways) + 9, number + 1))
                ]
            return gold.integer(ways[number] if number < len(ways) else 0)
        row = "".join(map(str, range(1, number + 1)))
        if ask == "occurrences":
            return gold.integer(row.count(str(values["digit"])))
        return gold.integer(sum(digit * row.count(str(digit)) for digit in range(1, 10)))


def _at_place(number: int, digit: int, place: int) -> int:
    """How often a digit from 1 to 9 stands at the place of 1, 10, 100, ... in 1 to ``number``."""
    full, rest = divmod(number, 10 * place)
    return full * place + min(max(rest - digit * place + 1, 0), place)


def _written(number: int, digit: int) -> int:
    total, place = 0, 1
    while digit and place <= number:
        total += _at_place(number, digit, place)
        place *= 10
    return total
