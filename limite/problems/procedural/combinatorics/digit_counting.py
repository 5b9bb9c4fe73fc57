"""Numbers with a property of their digits."""

from __future__ import annotations

import array
import functools
import random
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import listed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_START = "How many of the integers from $1$ to $<top>$, both included,"
_STATES: Mapping[str, Callable[[Any, int, int], Any]] = {
    # What is known of the digits so far, after one more digit; None where it is too late.
    "without": lambda state, digit, wanted: None if digit == wanted else state,
    "times": lambda state, digit, wanted: state + (digit == wanted),
    "sum": lambda state, digit, wanted: state + digit if state + digit <= wanted else None,
    "different": lambda state, digit, wanted: None if state >> digit & 1 else state | 1 << digit,
}


@attrs.frozen(kw_only=True)
class DigitCounting(Family):
    """How many numbers up to a bound have a property of their digits."""

    name = "digit-counting"
    tag = "combinatorics/digits"
    wordings = Wordings(
        without=(
            f"{_START} do not have the digit $<digit>$?",
            "All integers from $1$ to $<top>$ are written down. How many of them are written "
            "without the digit $<digit>$?",
        ),
        times=(
            f"{_START} have the digit $<digit>$ exactly $<times>$ times?",
            "All integers from $1$ to $<top>$ are written down. In how many of them does the digit "
            "$<digit>$ stand exactly $<times>$ times?",
        ),
        once=(f"{_START} have the digit $<digit>$ exactly once?",),
        sum=(
            f"{_START} have digits whose sum is $<sum>$?",
            "Houses are numbered from $1$ to $<top>$. How many of the numbers have the sum of "
            "digits $<sum>$?",
        ),
        different=(f"{_START} have no digit that appears in them more than once?",),
        written=(
            "All integers from $1$ to $<top>$ are written down once. How many times is the digit "
            "$<digit>$ written?",
        ),
    )

    top: Ends = dial(60, 4000, "largest bound", least=60, most=20_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.slow_start(self.top, difficulty)
        top = base.whole(rng, int(most / 3), most)
        digit = base.whole(rng, 1, 9)
        asks = (
            "without",
            "once",
            "sum",
            "different",
            "written",
            *(("times",) if top > 300 else ()),
        )
        ask = base.chosen(rng, asks)
        values: dict[str, Any] = {"top": top, "digit": digit}
        if ask == "written":
            return _written(top, digit)
        if ask == "times":
            values["times"] = 2
        if ask == "sum":
            values["sum"] = base.whole(rng, 3, 8 if top < 200 else 9 + 6 * difficulty)
        wanted = values["sum"] if ask == "sum" else digit
        state = "times" if ask in ("times", "once") else ask
        last = {"once": 1, "times": 2, "sum": wanted}.get(ask)
        lengths = [_free(state, wanted, last, 0, size, True) for size in range(1, len(str(top)))]
        parts = [f"${count}$ with {_digits(size)}" for size, count in enumerate(lengths, 1)]
        # Those as long as the bound, by the first place where they are below it.
        kept: Any = 0
        for place, bound in enumerate(map(int, str(top))):
            count = 0
            for less in range(1 if place == 0 else 0, bound):
                after = _STATES[state](kept, less, wanted)
                if after is not None:
                    count += _free(state, wanted, last, after, len(str(top)) - place - 1, False)
            beginning = str(top)[:place]
            if count:
                parts.append(
                    f"${count}$ beginning with {beginning} and a next digit below {bound}"
                    if place
                    else f"${count}$ of the length of the bound with a first digit below {bound}"
                )
            lengths.append(count)
            kept = _STATES[state](kept, bound, wanted)
            if kept is None:
                break
        if kept is not None and (last is None or kept == last):
            lengths.append(1)
            parts.append(f"the bound ${top}$ itself")
        found = sum(lengths)
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(found),
            steps=f"Count them by length, and those as long as ${top}$ by the first digit that is "
            f"below its digit: {listed(parts)}. Together these are ${found}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By looking at the numbers one by one; how many of the first ones count is kept.
        top, key = values["top"], values["sum"] if ask == "sum" else values.get("digit", 0)
        times = values["times"] if ask == "times" else 1
        return gold.integer(_counted(ask, key, times, 1 << top.bit_length())[top])


@functools.lru_cache(maxsize=128)
def _counted(ask: str, key: int, times: int, size: int) -> array.array[int]:
    """For each number below ``size``, how many from 1 up to it count."""
    digit = str(key)
    counts, total = array.array("l", [0]), 0
    for number in map(str, range(1, size)):
        if ask == "written":
            total += number.count(digit)
        elif ask == "sum":
            total += sum(map(int, number)) == key
        elif ask == "different":
            total += len(set(number)) == len(number)
        elif ask == "without":
            total += digit not in number
        else:
            total += number.count(digit) == times
        counts.append(total)
    return counts


def _digits(size: int) -> str:
    return "1 digit" if size == 1 else f"{size} digits"


def _free(state: str, wanted: int, last: int | None, begun: Any, size: int, first: bool) -> int:
    """Ways to go on with ``size`` digits of any kind; the ``first`` of a number is not 0."""
    counts: dict[Any, int] = {begun: 1}
    for place in range(size):
        after: dict[Any, int] = {}
        for one, count in counts.items():
            if state == "without":
                choices = [(one, 9 - (first and place == 0))]
            elif state == "times":
                choices = [(one, 9 - (first and place == 0)), (one + 1, 1)]
            elif state == "different":
                # Only how many digits are taken matters: the lowest bits stand for them.
                taken = one.bit_count()
                choices = [((1 << taken + 1) - 1, 10 - taken - (first and place == 0))]
            else:
                low = int(first and place == 0)
                choices = [(one + digit, 1) for digit in range(low, min(9, wanted - one) + 1)]
            for key, times in choices:
                if times > 0:
                    after[key] = after.get(key, 0) + count * times
        counts = after
    return sum(count for one, count in counts.items() if last is None or one == last)


def _written(top: int, digit: int) -> Drawn:
    total, parts, place = 0, [], 1
    while place <= top:
        high, here, low = top // (10 * place), top // place % 10, top % place
        count = high * place + (place if here > digit else low + 1 if here == digit else 0)
        total += count
        parts.append(f"${count}$ times as the digit of value ${place}$")
        place *= 10
    return Drawn(
        ask="written",
        values={"top": top, "digit": digit},
        gold=gold.integer(total),
        steps=f"Count by places: the digit {digit} is written {listed(parts)}. Together these are "
        f"${total}$.",
    )
