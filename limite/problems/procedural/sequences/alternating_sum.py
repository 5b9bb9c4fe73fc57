"""Sums with changing signs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class AlternatingSum(Family):
    """A long sum whose signs change in a pattern."""

    name = "alternating-sum"
    tag = "sequences/sums"
    wordings = Wordings(
        plain=(
            "Compute $<a> - <b> + <c> - <d> + \\dots$, a sum of $<count>$ terms with alternating "
            "signs, whose sizes grow by $<step>$ each time.",
            "The numbers $<a>, <b>, <c>, <d>, \\dots$ form an arithmetic sequence. The first "
            "$<count>$ of them are combined with alternating signs: $<a> - <b> + <c> - <d> + "
            "\\dots$. The common difference is $<step>$. What is the result?",
        ),
        squares=(
            "Compute $1^2 - 2^2 + 3^2 - 4^2 + \\dots$ with $<count>$ terms, that is, "
            "$\\sum_{k=1}^{<count>} (-1)^{k+1} k^2$.",
            "The squares of the integers from $1$ to $<count>$ are added and subtracted in turn: "
            "$1^2 - 2^2 + 3^2 - 4^2 + \\dots$. What is the result, when all of them are used?",
        ),
        blocks=(
            "The integers from $1$ to $<count>$ are written down in order. The first gets the "
            "sign $+$, and every $<period>$-th of them (the numbers divisible by $<period>$) gets "
            "the sign $-$, all others the sign $+$. What is the sum of these signed numbers?",
            "All integers from $1$ to $<count>$ are added, except that the multiples of $<period>$ "
            "are subtracted instead. What is the result?",
        ),
        pairs=(
            "Compute $1 + 2 - 3 - 4 + 5 + 6 - 7 - 8 + \\dots$, where two plus signs and two minus "
            "signs take turns and the last number is $<count>$.",
            "The integers from $1$ to $<count>$ get the signs $+, +, -, -, +, +, -, -, \\dots$ in "
            "order. What is the sum of these signed numbers?",
        ),
        digits=(
            "Find $\\sum_{k=1}^{<count>} (-1)^k (<a>k + <b>)$.",
            "Compute the value of $\\sum_{k=1}^{<count>} (-1)^k (<a>k + <b>)$.",
        ),
    )

    count: Ends = dial(10, 300, "most terms of a sum", least=8, most=3000)
    kinds: Ends = dial(3, 5, "how many kinds of sum are asked for", most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("plain", "digits", "pairs", "squares", "blocks")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        n = base.whole(rng, 7, base.steady(self.count, difficulty))
        half = n // 2
        values: dict[str, Any] = {"count": n}
        if ask == "plain":
            a, step = base.whole(rng, 1, 20), base.whole(rng, 2, 12)
            values |= {"a": a, "b": a + step, "c": a + 2 * step, "d": a + 3 * step, "step": step}
            total = -half * step + (a + (n - 1) * step if n % 2 else 0)
            steps = (
                f"The terms make ${half}$ pairs, each with the value ${a} - {a + step} = {-step}$, "
                f"together ${-half * step}$."
            )
            if n % 2:
                steps += f" The last term, ${a + (n - 1) * step}$, is left over and added."
        elif ask == "digits":
            a, b = base.whole(rng, 2, 9), base.whole(rng, 1, 20)
            values |= {"a": a, "b": b}
            total = half * a - (a * n + b if n % 2 else 0)
            steps = (
                f"Terms $1$ and $2$, $3$ and $4$ and so on give ${a}$ together, and there are "
                f"${half}$ such pairs: ${half * a}$."
            )
            if n % 2:
                steps += f" The last term, $-({a} \\cdot {n} + {b}) = {-a * n - b}$, is left over."
        elif ask == "squares":
            triangle = n * (n + 1) // 2
            total = triangle if n % 2 else -triangle
            steps = (
                "$k^2 - (k+1)^2 = -(k + (k+1))$, so the terms in pairs give the negative sum of "
                f"the integers from $1$ to ${2 * half}$, which is ${-half * (2 * half + 1)}$."
            )
            if n % 2:
                steps += f" The last term, ${n}^2 = {n * n}$, is left over and added."
        elif ask == "blocks":
            period = base.whole(rng, 3, 9)
            values["period"] = period
            every, multiples = n * (n + 1) // 2, n // period
            inner = period * multiples * (multiples + 1) // 2
            total = every - 2 * inner
            steps = (
                f"All integers from $1$ to ${n}$ add up to ${every}$. The multiples of ${period}$ "
                f"among them add up to ${inner}$, and changing their signs lowers the sum twice by "
                f"that: ${every} - 2 \\cdot {inner}$."
            )
        else:
            n += -n % 4 + base.whole(rng, 0, 1) * 2
            values["count"] = n
            fours, rest = divmod(n, 4)
            total = -4 * fours + (2 * n - 1 if rest else 0)
            steps = (
                f"Four numbers at a time give $-4$, as $1 + 2 - 3 - 4$ does, and there are "
                f"${fours}$ such groups: ${-4 * fours}$."
            )
            if rest:
                steps += f" The numbers ${n - 1}$ and ${n}$ are left over and added."
        return Drawn(ask=ask, values=values, gold=gold.integer(total), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        n, total = values["count"], 0
        if ask == "plain":
            term, step, sign = values["a"], values["step"], 1
            terms = [values[name] for name in ("a", "b", "c", "d")]
            if [right - left for left, right in itertools.pairwise(terms)] != [step] * 3:
                return None
            for _ in range(n):
                total += sign * term
                term, sign = term + step, -sign
            return gold.integer(total)
        for k in range(1, n + 1):
            if ask == "digits":
                term = values["a"] * k + values["b"]
                total += -term if k % 2 else term
            elif ask == "squares":
                total += k * k if k % 2 else -k * k
            elif ask == "blocks":
                total += k if k % values["period"] else -k
            else:
                total += k if k % 4 in (1, 2) else -k
        return gold.integer(total)
