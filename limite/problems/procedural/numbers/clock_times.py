"""Times of day: how long something lasts, and when it begins or ends."""

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
class ClockTimes(Family):
    """When something begins or ends, and how long it lasts, on a clock of 24 hours."""

    name = "clock-times"
    tag = "arithmetic/time"
    wordings = Wordings(
        words={"thing": ("film", "concert", "journey", "match", "meeting", "flight")},
        end=(
            "A <thing> begins at <begin:text> and takes <parts:text>. At what "
            "time does it end? Write the time on the 24-hour clock, as in 09:05.",
        ),
        begin=(
            "A <thing> ends at <end:text>. It has taken <parts:text>. At what "
            "time did it begin? Write the time on the 24-hour clock, as in 09:05.",
        ),
        lasts=(
            "A <thing> begins at <begin:text> and ends at <end:text>, less than a day later. How "
            "many minutes does it last?",
            "How many minutes are there from <begin:text> to the next <end:text> on a clock of 24 "
            "hours?",
        ),
        times=(
            "A bell rings every $<every>$ minutes, and at <begin:text> it rings. How often does it "
            "ring from then until <end:text> on the same day, both times included?",
        ),
    )

    parts: Ends = dial(1, 4, "how many stretches of time are added", most=10)
    minutes: Ends = dial(90, 500, "longest stretch in minutes", least=60, most=700)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.parts, difficulty))
        most = base.steady(self.minutes, difficulty)
        begin = base.whole(rng, 0, 1439)
        kind = rng.random()
        if kind < 0.25:
            lasts = base.whole(rng, 20, min(1400.0, 2 * most))
            end = (begin + lasts) % 1440
            late = end < begin
            to_hour = -begin % 60
            whole, rest = divmod(lasts - to_hour, 60) if lasts >= to_hour else (0, 0)
            night = " (past midnight)" if late else ""
            steps = (
                f"To the next full hour it is ${to_hour}$ min, then ${whole} \\cdot "
                f"60$ min, and ${rest}$ min are left{night}: ${to_hour} + {whole} \\cdot 60 + "
                f"{rest}$."
                if lasts >= to_hour
                else f"Both times lie in one hour, and the minutes differ by ${lasts}$."
            )
            return Drawn(
                ask="lasts",
                values={"begin": _clock(begin), "end": _clock(end)},
                gold=gold.integer(lasts, unit="minutes"),
                steps=steps,
            )
        if kind < 0.45:
            begin = base.whole(rng, 60, 700)
            every = base.whole(rng, 4, 15 + 40 * difficulty)
            span = base.whole(rng, 2 * every, 2 * every + most)
            return Drawn(
                ask="times",
                values={"every": every, "begin": _clock(begin), "end": _clock(begin + span)},
                gold=gold.integer(span // every + 1),
                steps=f"There are ${span}$ minutes between, and ${span} = {span // every} \\cdot "
                f"{every} + {span % every}$. So it rings ${span // every}$ times after the first "
                f"time.",
            )
        parts = [base.whole(rng, 61, most) for _ in range(count)]
        total = sum(parts)
        said = [_span(each) for each in parts]
        listed = said[0]
        if count > 1:
            listed = f"{', '.join(said[:-1])} and {said[-1]}, one after the other"
        end = (begin + total) % 1440
        hours, minutes = divmod(total, 60)
        first, last = _clock(begin), _clock(end)
        values = {"begin": first, "end": last, "parts": listed}
        added = " + ".join(map(str, parts))
        steps = f"In minutes it takes ${added}{f' = {total}' if count > 1 else ''}$, which is "
        steps += f"${hours}$ h ${minutes}$ min. "
        if rng.random() < 0.6:
            steps += f"From {first} that leads to ${begin} + {total} = {begin + total}$ minutes "
            steps += f"after midnight, and ${begin + total} = "
            steps += f"{(begin + total) // 1440} \\cdot 1440 + {end // 60} \\cdot 60 + {end % 60}$."
            return Drawn(ask="end", values=values, gold=gold.string(last), steps=steps)
        days = -((end - total) // 1440)
        steps += f"Back from {last}, which is ${end}$ min after midnight, "
        steps += f"{f'and ${days * 1440}$ for {_days(days)} before ' if days else ''}that leads to "
        steps += f"${end + days * 1440} - {total} = {begin}$ minutes after midnight."
        return Drawn(ask="begin", values=values, gold=gold.string(first), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Hours and minutes are kept apart, as on a clock with two wheels.
        if ask in ("end", "begin"):
            hour, minute = map(int, values["begin" if ask == "end" else "end"].split(":"))
            sign = 1 if ask == "end" else -1
            for hours, minutes in re.findall(r"\$(\d+)\$ h \$(\d+)\$ min", values["parts"]):
                minute += sign * int(minutes)
                hour += sign * int(hours)
                while minute >= 60:
                    hour, minute = hour + 1, minute - 60
                while minute < 0:
                    hour, minute = hour - 1, minute + 60
            return gold.string(f"{hour % 24:02d}:{minute:02d}")
        one, other = values["begin"].split(":"), values["end"].split(":")
        now, end = (int(one[0]), int(one[1])), (int(other[0]), int(other[1]))
        minutes, rings = 0, 1
        while now != end:
            now = (now[0], now[1] + 1) if now[1] < 59 else ((now[0] + 1) % 24, 0)
            minutes += 1
            rings += minutes % values.get("every", 1) == 0
        return gold.integer(rings) if ask == "times" else gold.integer(minutes, unit="minutes")


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _span(minutes: int) -> str:
    return f"${minutes // 60}$ h ${minutes % 60}$ min"


def _days(days: int) -> str:
    return "the day" if days == 1 else f"${days}$ days"
