"""A function applied to its own values again and again."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FunctionIteration(Family):
    """What a function applied many times gives, and when its values begin to repeat."""

    name = "function-iteration"
    tag = "discrete/recursion"
    wordings = Wordings(
        value=(
            "For whole numbers $x$ from $0$ to $<last>$, let $f(x)$ be the remainder of "
            "$<rule:text>$ on division by $<modulus>$. Starting from $x_0 = <start>$, let "
            "$x_{n+1} = f(x_n)$. What is $x_{<steps>}$?",
            "A counter shows $<start>$. In every step the number $x$ on it is replaced by the "
            "remainder of $<rule:text>$ on division by $<modulus>$, so that it shows a number from "
            "$0$ to $<last>$. What does it show after $<steps>$ steps?",
        ),
        cycle=(
            "For whole numbers $x$ from $0$ to $<last>$, let $f(x)$ be the remainder of "
            "$<rule:text>$ on division by $<modulus>$. Starting from $x_0 = <start>$, let "
            "$x_{n+1} = f(x_n)$. How long is the cycle in which the sequence ends, that is, what "
            "is the smallest $k \\ge 1$ with $x_{n+k} = x_n$ for all large $n$?",
        ),
        distinct=(
            "For whole numbers $x$ from $0$ to $<last>$, let $f(x)$ be the remainder of "
            "$<rule:text>$ on division by $<modulus>$. How many different numbers are there in the "
            "sequence $x_0 = <start>$, $x_{n+1} = f(x_n)$?",
        ),
    )

    modulus: Ends = dial(7, 50, "largest modulus", least=6, most=500)
    steps: Ends = dial(3, 2000, "most steps", least=3)
    turned: Ends = dial(0.1, 0.7, "share that asks about the cycle", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        for _ in range(12):  # a sequence that repeats at once says little
            rule, modulus, start, chain, here = _sequence(
                rng, base.steady(self.modulus, difficulty)
            )
            if len(chain) >= 3 + 5 * difficulty:
                break
        first, length = chain.index(here), len(chain) - chain.index(here)
        values = {"last": modulus - 1, "modulus": modulus, "rule": rule, "start": start}
        listed = f"The sequence is ${', '.join(map(str, chain))}$, and then ${here}$ comes again"
        if rng.random() >= base.steady(self.turned, difficulty):
            steps = base.whole(rng, 2, base.slow_start(self.steps, difficulty))
            place = steps if steps < first else first + (steps - first) % length
            values["steps"] = steps
            after = f", so from $x_{{{first}}}$ on it repeats with period ${length}$"
            if steps < len(chain):
                listed = f"The sequence begins ${', '.join(map(str, chain[: steps + 1]))}$"
                after = ""
            else:
                after += f" and $x_{{{steps}}} = x_{{{place}}}$"
            return Drawn(
                ask="value",
                values=values,
                gold=gold.integer(chain[place]),
                steps=f"{listed}{after}.",
            )
        if rng.random() < 0.5:
            return Drawn(
                ask="cycle",
                values=values,
                gold=gold.integer(length),
                steps=f"{listed}. That number stood at place ${first}$ before and stands at place "
                f"${len(chain)}$ now, counted from $0$.",
            )
        return Drawn(
            ask="distinct", values=values, gold=gold.integer(len(chain)), steps=f"{listed}."
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        match = re.fullmatch(r"([0-9]*)x(\^2)? \+ ([0-9]+)", values["rule"])
        if match is None or values["last"] != values["modulus"] - 1:
            return None
        factor, power, shift = int(match[1] or 1), 2 if match[2] else 1, int(match[3])
        table = [(factor * x**power + shift) % values["modulus"] for x in range(values["modulus"])]
        if ask == "value":
            # The table composed with itself, by squaring.
            found, times = values["start"], values["steps"]
            while times:
                if times % 2:
                    found = table[found]
                table, times = [table[each] for each in table], times // 2
            return gold.integer(found)
        # One runner goes one step at a time and another two until they meet on the cycle.
        slow, fast = table[values["start"]], table[table[values["start"]]]
        while slow != fast:
            slow, fast = table[slow], table[table[fast]]
        length, here = 1, table[slow]
        while here != slow:
            length, here = length + 1, table[here]
        if ask == "cycle":
            return gold.integer(length)
        before, here = 0, values["start"]
        while here != slow:
            before, here, slow = before + 1, table[here], table[slow]
        return gold.integer(before + length)


def _sequence(rng: random.Random, largest: float) -> tuple[str, int, int, list[int], int]:
    """A rule, its modulus, a start, the numbers until one comes again, and that one."""
    modulus = base.whole(rng, 5, largest)
    square = rng.random() < 0.5
    factor = 1 if square and rng.random() < 0.6 else base.whole(rng, 2, min(modulus - 1, 12))
    shift, start = base.whole(rng, 1, modulus - 1), base.whole(rng, 1, modulus - 1)
    here, chain, seen = start, [start], {start}
    while True:
        here = (factor * here * (here if square else 1) + shift) % modulus
        if here in seen:
            break
        seen.add(here)
        chain.append(here)
    front = str(factor) if factor > 1 else ""
    return f"{front}x{'^2' if square else ''} + {shift}", modulus, start, chain, here
