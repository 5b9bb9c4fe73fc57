"""The hands of a clock."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ClockHands(Family):
    """The angle between the hands of a clock, and when it has a given size."""

    name = "clock-hands"
    tag = "arithmetic/time"
    wordings = Wordings(
        angle=(
            "What is the smaller angle between the hour hand and the minute hand of a clock at "
            "<time:text>, in degrees? Both hands move steadily.",
            "A clock with steadily moving hands shows <time:text>. How many degrees is the smaller "
            "angle between its hour hand and its minute hand?",
        ),
        after=(
            "How many minutes after <hour> o'clock do the hour hand and the minute hand of a clock "
            "first form an angle of $<degrees>^\\circ$ (the smaller of the two angles between "
            "them)? Both hands move steadily; give the exact number, greater than $0$.",
            "At <hour> o'clock somebody looks at a clock with steadily moving hands. After how "
            "many minutes, more than $0$, is the smaller angle between hour hand and minute hand "
            "$<degrees>^\\circ$ for the first time? Give the exact number.",
        ),
        count=(
            "How often between <hour> o'clock and <end> o'clock on the same half of the day is the "
            "smaller angle between the hour hand and the minute hand of a clock "
            "$<degrees>^\\circ$? Moments at the two full hours count as well; both hands move "
            "steadily.",
        ),
    )

    minutes: Ends = dial(0.1, 1, "share of times that are not whole or half hours", least=0, most=1)
    turned: Ends = dial(0, 0.8, "share that asks for a time", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        hour = base.whole(rng, 1, 12)
        if rng.random() >= base.steady(self.turned, difficulty):
            minute = 30 * int(rng.random() * 2)
            if rng.random() < base.steady(self.minutes, difficulty):
                minute = base.whole(rng, 1, 59)
            elif hour % 6 == 0 and not minute:
                minute = 30
            short, long = Fraction(60 * hour + minute, 2) % 360, 6 * minute
            apart = abs(short - long)
            smaller = min(apart, 360 - apart)
            other = f", and the smaller angle is $360 - {ratio_text(apart)}$"
            turned = other if apart > 180 else ""
            return Drawn(
                ask="angle",
                values={"time": f"{hour}:{minute:02d}"},
                gold=gold.rational(smaller),
                steps=f"From the top, the minute hand has turned ${minute} \\cdot 6 = {long}$ "
                f"degrees and the hour hand ${hour % 12} \\cdot 30 + {minute} \\cdot \\frac{{1}}"
                f"{{2}} = {ratio_text(short)}$ degrees. The difference is ${ratio_text(apart)}$"
                f"{turned}.",
            )
        degrees = base.chosen(rng, (0, 90, 180)) if rng.random() < 0.4 else base.whole(rng, 1, 179)
        if rng.random() < 0.35:
            hour, end = sorted(base.distinct(rng, 2, 1, 12))
            # The minute hand gains on the hour hand half a degree eleven times in a minute.
            begin, gained = 30 * hour, 330 * (end - hour)
            meant = sorted({degrees, 360 - degrees} if degrees else {0})
            # Of each angle, the multiples of 360 from one end of the stretch to the other.
            places = sum(
                (gained - begin - each) // 360 - (-begin - each - 1) // 360 for each in meant
            )
            said = " or ".join(f"${each}$" for each in meant)
            return Drawn(
                ask="count",
                values={"hour": hour, "end": end, "degrees": degrees},
                gold=gold.integer(places),
                steps=f"In the ${60 * (end - hour)}$ minutes the minute hand gains "
                f"${gained}$ degrees on the hour hand, from ${-begin}$ to ${gained - begin}$. The "
                f"angle fits where it is ahead by {said} degrees, whole turns aside. The number "
                f"of such places is ${places}$.",
            )
        ahead = 30 * (hour % 12)
        gain = min(gain % 360 or 360 for gain in (ahead - degrees, ahead + degrees))
        return Drawn(
            ask="after",
            values={"hour": hour, "degrees": degrees},
            gold=gold.rational(Fraction(2 * gain, 11)),
            steps=f"At first the hour hand is ${ahead}$ degrees ahead, and the minute hand gains "
            f"$\\frac{{11}}{{2}}$ degrees a minute. The angle is right for the first time when it "
            f"has gained ${gain}$ degrees, and that takes ${gain} \\div \\frac{{11}}{{2}}$ "
            f"minutes.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "angle":
            hour, _, minute = values["time"].partition(":")
            return gold.rational(Fraction(_apart(22 * (60 * int(hour) + int(minute))), 4))
        # Step by step, each of them two elevenths of a minute, in which the angle changes by one.
        hour, wanted = values["hour"], 4 * values["degrees"]
        if ask == "after":
            for step in range(1, 721):
                if _apart(22 * 60 * hour + 4 * step) == wanted:
                    return gold.rational(Fraction(2 * step, 11))
            return None
        steps = range(330 * (values["end"] - hour) + 1)
        fits = [_apart(22 * 60 * hour + 4 * step) == wanted for step in steps]
        return gold.integer(sum(fits))


def _apart(quarters: int) -> int:
    """The smaller angle in quarters of a degree, when the minute hand has gained so many since
    both stood at the top."""
    gained = quarters % 1440
    return min(gained, 1440 - gained)
