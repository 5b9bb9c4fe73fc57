"""Riddles about the ages of two people, now, before and later."""

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

_OLDEST = 110


@attrs.frozen(kw_only=True)
class Ages(Family):
    """How old somebody is, from what two ages are to each other now, before and later."""

    name = "ages"
    tag = "algebra/word-problems"
    wordings = Wordings(
        words={
            "who": ("Ana", "Boris", "Chen", "Dana", "Emil", "Fatima"),
            "other": ("Goran", "Hana", "Ivo", "Jana", "Kofi", "Lena"),
        },
        later=(
            "<who> is <difference> years older than <other>. In <later> years, <who> will be "
            "<times> times as old as <other> will be then. How old is <other> now, in years?",
            "<other> is <difference> years younger than <who>. <later> years from now, the age of "
            "<who> will be <times> times that of <other>. What is the present age of <other> in "
            "years?",
        ),
        now=(
            "<who> is now <times> times as old as <other>. In <later> years their ages will add up "
            "to <total> years. How old is <who> now, in years?",
            "In <later> years, <who> and <other> will be <total> years old together. Today <who> "
            "is <times> times as old as <other>. How many years old is <who> today?",
        ),
        both=(
            "<before> years ago, <who> was <times> times as old as <other> was then. In <later> "
            "years, <who> will be <fewer> times as old as <other> will be then. How old is <who> "
            "now, in years?",
            "In <later> years <who> will be <fewer> times as old as <other>; <before> years ago "
            "<who> was <times> times as old as <other>. What is the present age of <who> in years?",
        ),
    )

    times: Ends = dial(3, 6, "largest ratio of two ages", least=3, most=12)
    years: Ends = dial(5, 15, "most years between one time and another", least=3, most=40)
    both: Ends = dial(0, 0.8, "share with a time before and a time later", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most, years = base.steady(self.times, difficulty), base.steady(self.years, difficulty)
        times, later = base.whole(rng, 2, most), base.whole(rng, 2, years)
        if rng.random() < base.steady(self.both, difficulty):
            return _both(rng, base.whole(rng, 3, most), years)
        young = base.whole(rng, 2, max(3, min(2 * years, _OLDEST // times - later)))
        if rng.random() < 0.5:
            then = young + later
            difference = (times - 1) * then
            alone = "" if times == 2 else f"${times - 1}x = {difference}$ and "
            return Drawn(
                ask="later",
                values={"difference": difference, "later": later, "times": times},
                gold=gold.integer(young),
                steps=f"Let the younger one be $x$ years old in {later} years. Then ${times}x = x "
                f"+ {difference}$, so {alone}$x = {then}$. That is {later} "
                f"years from now: ${then} - {later}$.",
            )
        total = (times + 1) * young + 2 * later
        return Drawn(
            ask="now",
            values={"times": times, "later": later, "total": total},
            gold=gold.integer(times * young),
            steps=f"Today the ages add up to ${total} - 2 \\cdot {later} = {total - 2 * later}$. "
            f"With $x$ for the younger age this is ${times + 1}x = {total - 2 * later}$, so $x = "
            f"{young}$, and the other age is ${times} \\cdot {young}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Every age of the younger one is tried.
        times, later, found = values["times"], values["later"], []
        for young in range(2 * _OLDEST):
            if ask == "later":
                if young + values["difference"] + later == times * (young + later):
                    found.append(young)
            elif ask == "now":
                if (times + 1) * young + 2 * later == values["total"]:
                    found.append(times * young)
            else:
                before = values["before"]
                old = times * (young - before) + before
                if young > before and old + later == values["fewer"] * (young + later):
                    found.append(old)
        return gold.integer(found[0]) if len(found) == 1 else None


def _both(rng: random.Random, times: int, years: float) -> Drawn:
    """Once the ratio was ``times``, and it will be ``fewer``."""
    fewer = base.whole(rng, 2, times - 1)
    # times x + T = fewer (x + T), where x is the younger age before and T the time between.
    shared = math.gcd(times - fewer, fewer - 1)
    young, between = (fewer - 1) // shared, (times - fewer) // shared
    least = -(-4 // between)  # at least two years before and two later
    most = max(_OLDEST // (times * young + between), least)
    scale = base.whole(rng, least, min(most, max(least, 2 * years // (young + between))))
    young, between = young * scale, between * scale
    before = base.whole(rng, 2, between - 2)
    later = between - before
    now = times * young + before
    return Drawn(
        ask="both",
        values={"before": before, "later": later, "times": times, "fewer": fewer},
        gold=gold.integer(now),
        steps=f"Let the younger one have been $x$ years old {before} years ago. From then to the "
        f"later time ${before} + {later} = {between}$ years pass, so ${times}x + {between} = "
        f"{fewer}(x + {between})$. This gives ${'' if times - fewer == 1 else times - fewer}x = "
        f"{(fewer - 1) * between}$"
        + (f" and $x = {young}$" if times - fewer > 1 else "")
        + f". The older one was ${times} \\cdot {young} = {times * young}$ then and is "
        f"${times * young} + {before}$ now.",
    )
