"""Means that change, and values that are missing."""

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
class MeanChanges(Family):
    """A missing value from a mean, or a mean after values come, go or change."""

    name = "mean-changes"
    tag = "probability/data"
    wordings = Wordings(
        words={"who": ("Ana", "Luc", "Mara", "Tom", "Noor", "Ravi")},
        missing=(
            "The mean of the numbers <data:integers> and one more number is $<mean:ratio>$. What "
            "is "
            "that number?",
            "<who> has these points in some tests: <data:integers>. How many points must <who> get "
            "in one more test so that the mean of all is $<mean:ratio>$?",
        ),
        joined=(
            "The mean of $<count>$ numbers is $<mean:ratio>$. One more number, $<new>$, joins "
            "them. What is the mean of all the numbers then?",
            "The mean age of the $<count>$ members of a club is $<mean:ratio>$ years. Someone "
            "aged $<new>$ joins. What is the mean age then, in years?",
        ),
        left=(
            "The mean of $<count>$ numbers is $<mean:ratio>$. When one of them is taken away, the "
            "mean of the others is $<after:ratio>$. Which number was taken away?",
        ),
        mistake=(
            "The mean of $<count>$ numbers was found to be $<mean:ratio>$, but one number had been "
            "read as $<new>$ instead of $<old>$. What is the right mean?",
        ),
        overlap=(
            "Of $<count>$ numbers in a row, the first $<first>$ have the mean $<mean:ratio>$ and "
            "the last $<last>$ have the mean $<after:ratio>$. All of them have the mean "
            "$<all:ratio>$. Exactly one number belongs to the first $<first>$ and to the last "
            "$<last>$. Which number is it?",
        ),
    )

    count: Ends = dial(3, 12, "how many numbers", least=3, most=60)
    most: Ends = dial(20, 90, "largest number", least=10, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        top = base.steady(self.count, difficulty)
        count = base.whole(rng, max(3, int(top / 2)), top)
        most = base.steady(self.most, difficulty)
        ask = base.rising(rng, ("joined", "missing", "left", "mistake", "overlap"), difficulty)
        data = [base.whole(rng, 2, most) for _ in range(count)]
        if rng.random() < 0.7:
            data[0] += -sum(data) % count
        total, new = sum(data), base.whole(rng, 2, most)
        mean = Fraction(total, count)
        if ask == "missing":
            *others, last = data
            others, last = others[:7], last
            size = len(others) + 1
            last += -(sum(others) + last) % size
            mean = Fraction(sum(others) + last, size)
            return Drawn(
                ask=ask,
                values={"data": others, "mean": mean},
                gold=gold.rational(last),
                steps=f"All ${size}$ numbers must add up to ${size} \\cdot {ratio_text(mean)} = "
                f"{ratio_text(size * mean)}$. The known ones add up to ${sum(others)}$, which "
                f"leaves ${sum(others) + last} - {sum(others)}$.",
            )
        start = f"The numbers add up to ${count} \\cdot {ratio_text(mean)} = {total}$. "
        values: dict[str, Any] = {"count": count, "mean": mean, "new": new}
        if ask == "joined":
            found = Fraction(total + new, count + 1)
            steps = (
                f"{start}With the new one the sum is ${total + new}$, to be divided by "
                f"${count + 1}$."
            )
        elif ask == "left":
            found = Fraction(base.chosen(rng, data))
            after = (total - found) / (count - 1)
            values["after"] = after
            steps = (
                f"{start}The others add up to ${count - 1} \\cdot {ratio_text(after)} = "
                f"{ratio_text(total - found)}$. The number taken away is the difference, "
                f"${total} - {ratio_text(total - found)}$."
            )
        elif ask == "mistake":
            old = base.whole(rng, 2, most)
            if old == new:
                old += count
            values["old"] = old
            found = Fraction(total - new + old, count)
            steps = (
                f"The wrong sum was ${count} \\cdot {ratio_text(mean)} = {total}$. The right one "
                "is "
                f"${total} - {new} + {old} = {total - new + old}$, to be divided by ${count}$."
            )
        else:
            if count < 4:
                data.append(base.whole(rng, 2, most))
                count += 1
            first = base.whole(rng, 2, count - 1)
            last = count - first + 1
            total = sum(data)
            left, right = sum(data[:first]), sum(data[first - 1 :])
            found = Fraction(data[first - 1])
            values = {
                "count": count,
                "first": first,
                "last": last,
                "mean": Fraction(left, first),
                "after": Fraction(right, last),
                "all": Fraction(total, count),
            }
            steps = (
                f"The first ${first}$ add up to ${left}$, the last ${last}$ to ${right}$ and all "
                "to "
                f"${total}$ (each time the mean times how many there are). In ${left} + {right} = "
                f"{left + right}$ the common number is counted twice: ${left + right} - {total}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.rational(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By deviations from a mean, which balance: no sum of all the numbers is formed.
        mean = values["mean"]
        if ask == "missing":
            return gold.rational(mean + sum((mean - each for each in values["data"]), Fraction(0)))
        count = values["count"]
        if ask == "joined":
            return gold.rational(mean + (values["new"] - mean) / (count + 1))
        if ask == "left":
            return gold.rational(mean + (count - 1) * (mean - values["after"]))
        if ask == "mistake":
            return gold.rational(mean + Fraction(values["old"] - values["new"], count))
        first, last, whole = values["first"], values["last"], values["all"]
        if first + last != count + 1:
            return None
        return gold.rational(whole + first * (mean - whole) + last * (values["after"] - whole))
