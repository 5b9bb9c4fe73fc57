"""Digits of numbers written side by side."""

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
class ConcatenatedDigits(Family):
    """A digit at some place when numbers are written side by side, and how many digits that is."""

    name = "concatenated-digits"
    tag = "sequences/digits"
    wordings = Wordings(
        digit=(
            "The positive integers are written side by side: $123456789101112\\ldots$. Which "
            "digit stands at place $<place>$? (The first digit, 1, stands at place 1.)",
            "Which digit is number $<place>$ in the sequence $1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 1, "
            "1, 1, 2, \\dots$ of the digits of all positive integers, one after the other?",
        ),
        multiples=(
            "The positive multiples $<step>, <double>, <triple>, \\dots$ of $<step>$ are written "
            "side by side without gaps. Which digit stands at place $<place>$, counted from the "
            "left with the first digit at place 1?",
            "Someone writes down $<step>$, $<double>$, $<triple>$ and all further multiples of "
            "$<step>$ as one long row of digits. What is the digit at place $<place>$ of the row, "
            "where the first digit has place 1?",
        ),
        total=(
            "How many digits are written when all integers from $1$ to $<last>$ are written down?",
            "The pages of a book are numbered from $1$ to $<last>$. How many digits are printed "
            "for this?",
        ),
        pages=(
            "The pages of a book are numbered from $1$ on, for which $<digits>$ digits are "
            "printed. How many pages does the book have?",
            "All integers from $1$ to $n$ are written down, with $<digits>$ digits altogether. "
            "Find $n$.",
        ),
    )

    place: Ends = dial(40, 3000, "largest place or number of digits", least=30, most=30_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("digit", "multiples", "total", "pages"))
        top = base.slow_start(self.place, difficulty)
        place = base.whole(rng, 20, top)
        if ask in ("total", "pages"):
            last = base.whole(rng, 15, max(20.0, top / 3))
            rows, digits, width = [], 0, 1
            while 10 ** (width - 1) <= last:
                count = min(last, 10**width - 1) - 10 ** (width - 1) + 1
                digits += width * count
                rows.append(f"${count}$ numbers of {_digits(width)}")
                width += 1
            if ask == "total":
                return Drawn(
                    ask=ask,
                    values={"last": last},
                    gold=gold.integer(digits),
                    steps=f"There are {', '.join(rows)}, which makes ${digits}$ digits.",
                )
            width -= 1
            rest = digits - width * (last - 10 ** (width - 1) + 1)
            return Drawn(
                ask=ask,
                values={"digits": digits},
                gold=gold.integer(last),
                steps=f"The numbers with fewer than {width} digits take ${rest}$ digits. The other "
                f"${digits - rest}$ digits make ${(digits - rest) // width}$ numbers from "
                f"${10 ** (width - 1)}$ on.",
            )
        step = base.whole(rng, 2, 12) if ask == "multiples" else 1
        rest, number, width, rows = place, 0, 1, []
        while True:
            low = -(-(10 ** (width - 1)) // step)
            high = (10**width - 1) // step
            size = width * max(0, high - low + 1)
            if rest <= size:
                break
            if size:
                rows.append(f"those of {_digits(width)} end at place ${place - rest + size}$")
            rest -= size
            width += 1
        number = step * (low + (rest - 1) // width)
        inside = (rest - 1) % width + 1
        steps = f"Of the numbers, {', '.join(rows)}. " if rows else ""
        steps += (
            f"The place is number ${rest}$ among the digits of the numbers of {_digits(width)}, "
            f"the first of which is ${step * low}$. It falls on digit {inside} of ${number}$."
        )
        values = {"place": place}
        if step > 1:
            values |= {"step": step, "double": 2 * step, "triple": 3 * step}
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(int(str(number)[inside - 1])),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "total":
            return gold.integer(len("".join(map(str, range(1, values["last"] + 1)))))
        if ask == "pages":
            left, page = values["digits"], 0
            while left > 0:
                page += 1
                left -= len(str(page))
            return gold.integer(page) if left == 0 else None
        step, place = values.get("step", 1), values["place"]
        if step > 1 and (values["double"], values["triple"]) != (2 * step, 3 * step):
            return None
        row = "".join(map(str, range(step, step * place + 1, step)))
        return gold.integer(int(row[place - 1]))


def _digits(count: int) -> str:
    return "1 digit" if count == 1 else f"{count} digits"
