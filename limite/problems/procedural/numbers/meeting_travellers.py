"""Travellers who meet, or one who catches up with another."""

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
class MeetingTravellers(Family):
    """When and where two travellers meet, who come towards each other or follow one another."""

    name = "meeting-travellers"
    tag = "arithmetic/speed"
    wordings = Wordings(
        words={
            "vehicle": ("train", "bus", "lorry", "car"),
            "start": ("Arden", "Brome", "Calder", "Dunmore"),
            "goal": ("Elmsby", "Farley", "Grafton", "Hexton"),
        },
        towards_time=(
            "<start> and <goal> are $<distance:ratio>$ km apart. A <vehicle> leaves <start> for "
            "<goal> at $<first>$ km/h, and $<wait>$ minutes later another one leaves <goal> for "
            "<start> at $<second>$ km/h. How many hours after the second departure do they meet?",
            "Two motorcycles drive towards each other on a road of $<distance:ratio>$ km, one at "
            "$<first>$ km/h, the other at $<second>$ km/h. The second one starts $<wait>$ minutes "
            "after the first. How many hours after the second start do they meet?",
        ),
        towards_place=(
            "<start> and <goal> are $<distance:ratio>$ km apart. A <vehicle> leaves <start> for "
            "<goal> at $<first>$ km/h, and $<wait>$ minutes later another one leaves <goal> for "
            "<start> at $<second>$ km/h. How many kilometres from <start> do they meet?",
        ),
        chase_time=(
            "A <vehicle> leaves <start> at $<first>$ km/h. $<wait>$ minutes later a faster one "
            "follows on the same road from a place $<distance:ratio>$ km behind <start>, at "
            "$<second>$ km/h. How many hours after its own departure does it catch up?",
            "A lorry sets out at $<first>$ km/h. $<wait>$ minutes later a motorcycle sets out "
            "after it from a place $<distance:ratio>$ km further back, at $<second>$ km/h. How "
            "many hours does the motorcycle need to catch up?",
        ),
        chase_place=(
            "A <vehicle> leaves <start> at $<first>$ km/h. $<wait>$ minutes later a faster one "
            "follows on the same road from a place $<distance:ratio>$ km behind <start>, at "
            "$<second>$ km/h. How many kilometres from <start> does it catch up?",
        ),
    )

    speed: Ends = dial(40, 110, "speed of the slower one in km/h", least=30, most=300)
    parts: Ends = dial(1, 6, "largest denominator of the hours until they meet", most=12)
    place: Ends = dial(0.1, 0.6, "share that asks for the place", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        first = base.whole(rng, 24, base.steady(self.speed, difficulty))
        bottom = base.whole(rng, 1, base.steady(self.parts, difficulty))
        time = Fraction(base.whole(rng, 2, 6 * bottom), bottom)
        wait = base.chosen(rng, (30, 60) if difficulty < 0.3 else (10, 12, 15, 20, 24, 36, 40, 45))
        ahead = first * Fraction(wait, 60)
        chase = rng.random() < 0.5
        if chase:
            # Fast enough to start from behind: the distance is what is left over.
            second = first + base.whole(rng, 2, 6 + 20 * difficulty)
            while time * (second - first) <= ahead:
                second += 1 + int(ahead / time)
            speed, distance = second - first, time * (second - first) - ahead
        else:
            second = base.whole(rng, 24, base.steady(self.speed, difficulty))
            speed, distance = first + second, time * (first + second) + ahead
        place = rng.random() < base.steady(self.place, difficulty)
        gap = distance + ahead if chase else distance - ahead
        where = ahead + time * first
        sign = "+" if chase else "-"
        steps = (
            f"In ${wait}$ minutes the first one goes ${first} \\cdot "
            f"{ratio_text(Fraction(wait, 60))} = {ratio_text(ahead)}$ km, so the gap is then "
            f"${ratio_text(distance)} {sign} {ratio_text(ahead)} = {ratio_text(gap)}$ km. It "
            f"closes at ${second} {'-' if chase else '+'} {first} = {speed}$ km/h, which takes, "
            f"in hours, ${ratio_text(gap)} \\div {speed} = {ratio_text(time)}$."
        )
        if place:
            steps += (
                f" By then the first one has gone ${ratio_text(ahead)} + {ratio_text(time)} \\cdot "
                f"{first} = {ratio_text(where)}$ km."
            )
        return Drawn(
            ask=f"{'chase' if chase else 'towards'}_{'place' if place else 'time'}",
            values={"distance": distance, "first": first, "second": second, "wait": wait},
            gold=gold.rational(where if place else time),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Places on a line at two times; the gap between them changes evenly.
        kind, _, wanted = ask.partition("_")

        def places(hours: int) -> tuple[Fraction, Fraction]:
            one = values["first"] * (hours + Fraction(values["wait"], 60))
            if kind == "chase":
                return one, values["second"] * hours - Fraction(values["distance"])
            return one, values["distance"] - Fraction(values["second"] * hours)

        begin, later = places(0), places(1)
        gap, change = begin[0] - begin[1], later[0] - later[1] - begin[0] + begin[1]
        if not change or -gap / change < 0:
            return None
        time = -gap / change
        if wanted == "time":
            return gold.rational(time)
        return gold.rational(begin[0] + (later[0] - begin[0]) * time)
