"""Long numbers made of repeated digits."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import factorise, phi
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RepeatedBlocks(Family):
    """The remainder of a long number that repeats its digits, or counts up in its digits."""

    name = "repeated-blocks"
    tag = "number-theory/divisibility"
    wordings = Wordings(
        block=(
            "The block <block:word> is written $<times>$ times in a row, which gives one long "
            "number. What remainder does it leave on division by $<modulus>$?",
            "A number is written by repeating the block <block:word> exactly $<times>$ "
            "times. Find its remainder on division by $<modulus>$.",
        ),
        counting=(
            "The integers from $1$ to $<last>$ are written one after the other, which gives the "
            "number $123\\ldots$. What remainder does it leave on division by $<modulus>$?",
            "Writing $1, 2, 3, \\dots, <last>$ side by side without gaps gives one long number. "
            "Find its remainder on division by $<modulus>$.",
        ),
        shortest=(
            "A number consists of $n$ digits <digit> and no others. What is the smallest positive "
            "$n$ for which it is divisible by $<modulus>$?",
            "What is the smallest number of digits that a positive multiple of $<modulus>$ can "
            "have, if all its digits are <digit>?",
        ),
    )

    times: Ends = dial(5, 120, "how often digits are repeated, at most", least=4, most=600)
    moduli: Ends = dial(2, 9, "how many moduli are in use: 9, 11, 7, 13 and others", most=9)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        room = base.whole_near(rng, base.steady(self.moduli, difficulty))
        modulus = base.chosen(rng, (9, 11, 7, 13, 37, 8, 12, 17, 41)[:room])
        top = base.slow_start(self.times, difficulty)
        ask = base.chosen(rng, ("block", "counting", "shortest"))
        if ask == "shortest":
            return self._shortest(rng, modulus, difficulty)
        if ask == "counting":
            last = base.whole(rng, 5, top * 2)
            rest = 0
            marks = []
            for number in range(1, last + 1):
                rest = (rest * 10 ** len(str(number)) + number) % modulus
                if number % max(3, last // 4) == 0 or number == last:
                    marks.append(f"${rest}$ after ${number}$")
            if modulus == 9:
                steps = (
                    "A number leaves the same remainder on division by 9 as the sum of its digits, "
                    f"and so as the sum $1 + 2 + \\dots + {last} = \\frac{{{last} \\cdot "
                    f"{last + 1}}}{{2}} = {last * (last + 1) // 2}$."
                )
            else:
                steps = (
                    "Append one number after the other: multiply the remainder by 10 for each of "
                    f"its digits, add the number, and reduce modulo ${modulus}$. This gives the "
                    f"remainders {', '.join(marks)}."
                )
            return Drawn(
                ask=ask,
                values={"last": last, "modulus": modulus},
                gold=gold.integer(rest),
                steps=steps,
            )
        width = base.whole(rng, 1, 3)
        block = base.whole(rng, 10 ** (width - 1) + 1, 10**width - 1)
        times = base.whole(rng, 4, top)
        shift, rests, rest = 10**width % modulus, [0], 0
        while True:
            rest = (rest * shift + block) % modulus
            if rest in rests or len(rests) > times:
                break
            rests.append(rest)
        start = rests.index(rest) if rest in rests else 0
        period = len(rests) - start
        place = times if times < len(rests) else start + (times - start) % period
        listing = ", ".join(map(str, rests[1:]))
        return Drawn(
            ask=ask,
            values={"block": str(block), "times": times, "modulus": modulus},
            gold=gold.integer(rests[place]),
            steps=f"Modulo ${modulus}$ one more block multiplies by "
            f"${_reduced(10**width, modulus)}$ and adds ${_reduced(block, modulus)}$. "
            f"From nothing this gives ${listing}$"
            + (
                f", and then ${rest}$ again, so it repeats with period ${period}$, and "
                f"${times}$ blocks leave what {place} leave."
                if times >= len(rests)
                else "."
            ),
        )

    def _shortest(self, rng: random.Random, modulus: int, difficulty: float) -> Drawn:
        modulus = base.whole(rng, 3, 20 + 180 * difficulty * difficulty)
        while modulus % 2 == 0 or modulus % 5 == 0:
            modulus += 1
        digit = base.whole(rng, 1, 9)
        reduced = modulus // math.gcd(digit, modulus)
        if reduced == 1:
            digit = 1
            reduced = modulus
        # n digits: digit * (10^n - 1) / 9, so the order of 10 modulo nine times what is left.
        exponent = phi(9 * reduced)
        for prime in factorise(exponent):
            while exponent % prime == 0 and pow(10, exponent // prime, 9 * reduced) == 1:
                exponent //= prime
        dot = "\\cdot "
        return Drawn(
            ask="shortest",
            values={"digit": digit, "modulus": modulus},
            gold=gold.integer(exponent),
            steps=f"The number is ${f'{digit} ' + dot if digit > 1 else ''}"
            f"\\frac{{10^n - 1}}{{9}}$, so $10^n - 1$ must be "
            f"divisible by $9 \\cdot {reduced} = {9 * reduced}$"
            + (f" (a factor ${modulus // reduced}$ is in the digit)" if reduced < modulus else "")
            + f". The order of 10 modulo ${9 * reduced}$ divides $\\varphi({9 * reduced}) = "
            f"{phi(9 * reduced)}$, and trying its divisors gives $10^{{{exponent}}} \\equiv 1$ as "
            "the first.".replace("^{1}", ""),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        modulus = values["modulus"]
        if ask == "block":  # the number itself
            return gold.integer(int(values["block"] * values["times"]) % modulus)
        if ask == "counting":
            return gold.integer(int("".join(map(str, range(1, values["last"] + 1)))) % modulus)
        digit, rest = values["digit"], 0
        for length in range(1, 10 * modulus):
            rest = (10 * rest + digit) % modulus
            if rest == 0:
                return gold.integer(length)
        return None


def _reduced(number: int, modulus: int) -> str:
    rest = number % modulus
    return str(number) if rest == number else f"{number} \\equiv {rest}"
