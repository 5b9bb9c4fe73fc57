"""People in a circle who leave it one after the other."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class CountingOut(Family):
    """Who is left, or leaves at a given turn, when people in a circle are counted out."""

    name = "counting-out"
    tag = "discrete/recursion"
    wordings = Wordings(
        words={"who": ("children", "soldiers", "sailors", "players", "guests")},
        last=(
            "$<people>$ <who>, numbered from $1$ in a circle, are counted out: counting begins "
            "with number $1$, every <step:word> one still there leaves, and counting goes on with "
            "the next. Who is left at the end?",
            "In a circle stand $<people>$ <who> with the numbers $1$ to $<people>$. Starting with "
            "number $1$ and going round, every <step:word> one who is still in the circle is sent "
            "away. What is the number of the last one who remains?",
        ),
        turn=(
            "$<people>$ <who>, numbered from $1$ in a circle, are counted out: counting begins "
            "with number $1$, every <step:word> one still there leaves, and counting goes on with "
            "the next, until nobody is left. Who leaves as number $<turn>$ in this order?",
        ),
        order=(
            "$<people>$ <who>, numbered from $1$ in a circle, are counted out: counting begins "
            "with number $1$, every <step:word> one still there leaves, and counting goes on with "
            "the next. Give the numbers of those who leave first, second and third, as a tuple in "
            "this order.",
        ),
    )

    people: Ends = dial(6, 120, "how many people", least=5, most=2000)
    steps: Ends = dial(2.5, 7, "largest number counted to", least=2, most=7)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.slow_start(self.people, difficulty)
        people = base.whole(rng, max(5, int(most / 4)), most)
        step = base.whole(rng, 2, base.steady(self.steps, difficulty))
        kind = rng.random()
        if kind < 0.25:  # so few that counting goes round before the third one leaves
            step = max(step, min(2 + round(2 * difficulty), int(self.steps[1])))
            people = base.whole(rng, 5, 2 + 2 * step)
        values = {"people": people, "step": _ORDINALS[step - 2]}
        if kind < 0.25:
            leaving: list[int] = []
            circle, here = list(range(1, people + 1)), 0
            while len(leaving) < 3:
                here = (here + step - 1) % len(circle)
                leaving.append(circle.pop(here))
            left = ", ".join(map(str, leaving[:2]))
            return Drawn(
                ask="order",
                values=values,
                gold=gold.ordered(leaving),
                steps=f"Counting ${step}$ at a time, with those gone left out: after ${left}$ have "
                f"left, the next ${step}$ counted end at ${leaving[2]}$.",
            )
        turn = people if kind < 0.6 else base.whole(rng, 4, people - 1)
        # Where the one who leaves at this turn stands, seen from smaller and smaller circles.
        place = (step - 1) % (people - turn + 1)
        rows = [f"${place}$"]
        for size in range(people - turn + 2, people + 1):
            place = (place + step) % size
            rows.append(f"${place}$")
        shown = rows if len(rows) <= 14 else [*rows[:6], "and so on to", *rows[-4:]]
        listed = ", ".join(shown).replace("to, ", "to ")
        steps = (
            f"Number the places from $0$. In a circle of ${people - turn + 1}$ the one who leaves "
            f"at the turn in question leaves next, at place ${rows[0][1:-1]}$. In a circle of one "
            f"more it is ${step}$ places on, with the size as modulus. Up to a circle of "
            f"${people}$ the places are {listed}; the number is one more than the last."
        )
        if turn == people:
            steps = steps.replace(
                "In a circle of $1$ the one who leaves at the turn in question leaves next, at "
                "place $0$.",
                "In a circle of $1$ the one who is left stands at place $0$.",
            )
            return Drawn(ask="last", values=values, gold=gold.integer(place + 1), steps=steps)
        values["turn"] = turn
        return Drawn(ask="turn", values=values, gold=gold.integer(place + 1), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The circle itself, turned by one person at a time.
        step = _ORDINALS.index(values["step"]) + 2
        waiting, leaving = list(range(1, values["people"] + 1)), []
        counted, front = 0, 0
        while front < len(waiting):
            counted += 1
            if counted == step:
                leaving.append(waiting[front])
                counted = 0
            else:
                waiting.append(waiting[front])
            front += 1
        if ask == "order":
            return gold.ordered(leaving[:3])
        return gold.integer(leaving[-1] if ask == "last" else leaving[values["turn"] - 1])


_ORDINALS = ("second", "third", "fourth", "fifth", "sixth", "seventh")
