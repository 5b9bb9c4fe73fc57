"""Numbers that are coprime to another."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import (
    and_list,
    factorise,
    phi,
    product_text,
)
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class EulerPhi(Family):
    """How many numbers up to another have no factor in common with it, and their sum."""

    name = "euler-phi"
    tag = "number-theory/totient"
    wordings = Wordings(
        count=(
            "How many of the integers from $1$ to $<number>$ are coprime to $<number>$?",
            "Find $\\varphi(<number>)$, the number of positive integers up to $<number>$ that have "
            "no common factor with it except 1.",
            "How many fractions $\\frac{a}{<number>}$ with a positive integer $a < <number>$ are "
            "in lowest terms?",
        ),
        sum=(
            "Find the sum of all integers from $1$ to $<number>$ that are coprime to $<number>$.",
            "Add up all positive integers below $<number>$ whose greatest common divisor with "
            "$<number>$ is 1. What is the sum?",
        ),
    )

    size: Ends = dial(30, 3000, "largest number", least=20, most=20_000)
    sums: Ends = dial(0, 0.6, "share that asks for the sum", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = "sum" if rng.random() < base.steady(self.sums, difficulty) else "count"
        number = base.whole(rng, 10, base.slow_start(self.size, difficulty))
        factors, count = factorise(number), phi(number)
        parts = " ".join(f"\\cdot \\left(1 - \\frac{{1}}{{{p}}}\\right)" for p in factors)
        primes = and_list([str(p) for p in factors])
        steps = (
            f"${number} = {product_text(factors)}$, so the numbers to leave out are the multiples "
            f"of {primes}. "
            if len(factors) > 1 or number not in factors
            else f"${number}$ is prime. "
        )
        steps += f"${number} {parts} = {count}$ of the numbers are coprime to ${number}$."
        total = number * count // 2
        if ask == "sum":
            steps += (
                f" With $a$ the number ${number} - a$ is coprime too, so they form "
                f"${count // 2}$ {'pair' if count == 2 else 'pairs'} with the sum ${number}$ each: "
                f"${count // 2} \\cdot {number} = {total}$."
            )
        return Drawn(
            ask=ask,
            values={"number": number},
            gold=gold.integer(total if ask == "sum" else count),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        if number < 2:
            return None
        free = bytearray(b"\1") * (number + 1)
        free[0] = 0
        for step in range(2, number + 1):
            if number % step == 0 and free[step]:  # the smallest of its kind that divides
                free[step::step] = bytes(number // step)
        if ask == "count":
            return gold.integer(sum(free))
        return gold.integer(sum(each for each in range(number) if free[each]))
