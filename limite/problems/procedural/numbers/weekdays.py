"""The day of the week of another date."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@attrs.frozen(kw_only=True)
class Weekdays(Family):
    """The day of the week some days later, or on another date."""

    name = "weekdays"
    tag = "arithmetic/calendar"
    wordings = Wordings(
        days=(
            "Today is <day:word>. Which day of the week is it $<count>$ days from now?",
            "Which day of the week comes $<count>$ days after a <day:word>?",
        ),
        ago=(
            "Today is <day:word>. Which day of the week was it $<count>$ days ago?",
            "Which day of the week comes $<count>$ days before a <day:word>?",
        ),
        date=(
            "In the Gregorian calendar, <known:text> is a <day:word>. Which day of the week is "
            "<asked:text>?",
            "<known:text> is a <day:word>. On which day of the week does <asked:text> fall in the "
            "Gregorian calendar?",
        ),
    )

    days: Ends = dial(20, 3000, "largest number of days counted", least=8)
    dates: Ends = dial(0, 1, "share that counts between two dates", least=0, most=1)
    years: Ends = dial(0.4, 40, "how many years apart dates are at most", least=0, most=400)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        if rng.random() >= base.steady(self.dates, difficulty):
            count = base.whole(rng, 8, base.slow_start(self.days, difficulty))
            day = int(rng.random() * 7)
            ago = rng.random() < 0.5
            count += count % 7 == 0  # whole weeks would give the day away
            rest = count % 7
            return Drawn(
                ask="ago" if ago else "days",
                values={"day": _DAYS[day], "count": count},
                gold=gold.string(_DAYS[(day - rest if ago else day + rest) % 7]),
                steps=f"${count} = {count // 7} \\cdot 7 + {rest}$, and whole weeks change "
                f"nothing. Count ${rest}$ {'back' if ago else 'on'} from {_DAYS[day]}.",
            )
        year = base.whole(rng, 1900, 2060)
        known = _date(rng, year)
        asked = _date(rng, year + base.whole(rng, 0, base.slow_start(self.years, difficulty)))
        if asked[0] == known[0] and asked[1] == known[1]:
            asked = (asked[0], asked[1] % 12 + 1, asked[2] if asked[2] < 29 else 28)
        before, after = _number(*known), _number(*asked)
        day = _on(*known)
        apart = after - before
        later = "after" if apart > 0 else "before"
        return Drawn(
            ask="date",
            values={"known": _said(known), "asked": _said(asked), "day": _DAYS[day]},
            gold=gold.string(_DAYS[(day + apart) % 7]),
            steps=f"{_counted(known, asked)} The date asked for lies ${abs(apart)} = "
            f"{abs(apart) // 7} \\cdot 7 + {abs(apart) % 7}$ days {later} the one known, so count "
            f"${abs(apart) % 7}$ {'on' if apart > 0 else 'back'} from {_DAYS[day]}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if values["day"] not in _DAYS:
            return None
        place = _DAYS.index(values["day"])
        if ask != "date":
            shift = datetime.timedelta(days=values["count"])
            monday = datetime.date(3001, 1, 5) + datetime.timedelta(days=place)
            found = monday + shift if ask == "days" else monday - shift
            return gold.string(_DAYS[found.weekday()])
        dates = []
        for text in (values["known"], values["asked"]):
            day, month, year = text.split(" ")
            dates.append(datetime.date(int(year), _MONTHS.index(month) + 1, int(day)))
        if dates[0].weekday() != place:
            return None
        return gold.string(_DAYS[dates[1].weekday()])


Date = tuple[int, int, int]


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _date(rng: random.Random, year: int) -> Date:
    month = base.whole(rng, 1, 12)
    return year, month, base.whole(rng, 1, _LENGTHS[month - 1])


def _said(date: Date) -> str:
    return f"{date[2]} {_MONTHS[date[1] - 1]} {date[0]}"


def _in_year(year: int, month: int, day: int) -> int:
    """Which day of its year a date is."""
    return sum(_LENGTHS[: month - 1]) + day + (month > 2 and _leap(year))


def _number(year: int, month: int, day: int) -> int:
    """Days since the end of the year 0."""
    past = year - 1
    return 365 * past + past // 4 - past // 100 + past // 400 + _in_year(year, month, day)


def _on(year: int, month: int, day: int) -> int:
    """1 January of the year 1 would have been a Monday."""
    return (_number(year, month, day) - 1) % 7


def _counted(known: Date, asked: Date) -> str:
    first = f"{_said(known)} is day ${_in_year(*known)}$ of its year"
    second = f"{_said(asked)} day ${_in_year(*asked)}$ of its own"
    low, high = sorted((known[0], asked[0]))
    leaps = sum(map(_leap, range(low, high)))
    if low == high:
        return f"{first} and {_said(asked)} is day ${_in_year(*asked)}$ of the same year."
    return (
        f"{first} and {second}. From the beginning of {low} to the beginning of {high} it is "
        f"${high - low} \\cdot 365 + {leaps} = {365 * (high - low) + leaps}$ days, with "
        f"${leaps}$ for the leap years."
    )
