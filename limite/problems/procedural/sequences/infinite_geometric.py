"""Infinite geometric series."""

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
class InfiniteGeometric(Family):
    """Sums of infinite geometric series, what they say about their terms, and bouncing balls."""

    name = "infinite-geometric"
    tag = "sequences/geometric"
    wordings = Wordings(
        words={"ball": ("A rubber ball", "A tennis ball", "A golf ball", "A marble")},
        sum=(
            "Find the sum of the infinite geometric series with the first term $<first:ratio>$ and "
            "the common ratio $<ratio:ratio>$.",
            "The first term of an infinite geometric series is $<first:ratio>$, and every further "
            "term is $<ratio:ratio>$ times the one before. What is the sum of the series?",
        ),
        start=(
            "The terms of an infinite geometric series begin with $<first:ratio>$ and "
            "$<second:ratio>$. What is its sum?",
            "Find the sum of the infinite geometric series whose first two terms are "
            "$<first:ratio>$ and $<second:ratio>$, in this order.",
        ),
        ratio=(
            "An infinite geometric series with the first term $<first:ratio>$ has the sum "
            "$<sum:ratio>$. Find its common ratio.",
            "The sum of an infinite geometric series is $<sum:ratio>$, and its first term is "
            "$<first:ratio>$. What is the common ratio?",
        ),
        ball=(
            "<ball> falls from a height of $<first:ratio>$ metres. After every bounce it rises to "
            "$<ratio:ratio>$ of the height from which it fell. What is the total distance, up and "
            "down, in metres, that it travels if it bounces forever?",
            "<ball> is dropped from $<first:ratio>$ metres above the floor, and each bounce takes "
            "it to $<ratio:ratio>$ of the height before. How many metres does it travel "
            "altogether, falling and rising, if it never stops bouncing?",
        ),
        even=(
            "An infinite geometric series has the first term $<first:ratio>$ and the common ratio "
            "$<ratio:ratio>$. Find the sum of its second, fourth, sixth and all further terms with "
            "an even number.",
            "In the infinite geometric series with the first term $<first:ratio>$ and the common "
            "ratio $<ratio:ratio>$, every other term is kept, beginning with the second. What is "
            "the sum of the terms that are kept?",
        ),
        squares=(
            "An infinite geometric series has the sum $<sum:ratio>$, and the squares of its terms "
            "have the sum $<squares:ratio>$. Find its first term.",
            "The terms of an infinite geometric series add up to $<sum:ratio>$, and their squares "
            "add up to $<squares:ratio>$. What is the first term?",
        ),
    )

    size: Ends = dial(4, 12, "largest denominator of the ratio", least=3, most=60)
    kinds: Ends = dial(3, 6, "how many kinds of question are asked", most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("sum", "start", "ball", "ratio", "even", "squares")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        below = base.whole(rng, 2, base.steady(self.size, difficulty))
        ratio = Fraction(base.whole(rng, 1, below - 1), below)
        if ask != "ball" and rng.random() < 0.4:
            ratio = -ratio
        first = Fraction(base.whole(rng, 2, 40))
        if ask != "ball" and rng.random() < difficulty / 2:
            first /= base.whole(rng, 2, 9)
        total = first / (1 - ratio)
        f, r, s = ratio_text(first), ratio_text(ratio), ratio_text(total)
        one_less = ratio_text(1 - ratio)
        whole = f"$S = {f} {'-' if ratio < 0 else '+'} {ratio_text(abs(ratio))}S$"
        if ask in ("sum", "start"):
            return Drawn(
                ask=ask,
                values={"first": first, "ratio": ratio, "second": first * ratio},
                gold=gold.rational(total),
                steps=(f"The ratio is ${r}$. " if ask == "start" else "")
                + f"After the first term the series is ${r}$ times itself: {whole}, so "
                f"${one_less}S = {f}$.",
            )
        if ask == "ball":
            answer = first * (1 + ratio) / (1 - ratio)
            up = first * ratio / (1 - ratio)
            return Drawn(
                ask=ask,
                values={"first": first, "ratio": ratio},
                gold=gold.rational(answer),
                steps=f"The heights of the bounces, from ${ratio_text(first * ratio)}$ on with the "
                f"ratio ${r}$, add up to ${ratio_text(up)}$, since this sum times ${one_less}$ is "
                f"${ratio_text(first * ratio)}$. Each is travelled up and down, after the first "
                f"fall: ${f} + 2 \\cdot {ratio_text(up)}$.",
            )
        if ask == "ratio":
            return Drawn(
                ask=ask,
                values={"first": first, "sum": total},
                gold=gold.rational(ratio),
                steps=f"The sum times $1 - r$ is the first term: $1 - r = {f} : "
                f"{s} = {one_less}$ with the ratio $r$.",
            )
        square = ratio * ratio
        if ask == "even":
            answer = first * ratio / (1 - square)
            return Drawn(
                ask=ask,
                values={"first": first, "ratio": ratio},
                gold=gold.rational(answer),
                steps=f"These terms begin with ${ratio_text(first * ratio)}$ and have the ratio "
                f"${ratio_text(square)}$, so their sum $E$ satisfies "
                f"${ratio_text(1 - square)}E = {ratio_text(first * ratio)}$.",
            )
        squares = first * first / (1 - square)
        quotient = squares / total
        return Drawn(
            ask=ask,
            values={"sum": total, "squares": squares},
            gold=gold.rational(first),
            steps=f"With first term $a$ and ratio $r$, $\\frac{{a}}{{1 - r}} = {s}$ and "
            f"$\\frac{{a^2}}{{1 - r^2}} = {ratio_text(squares)}$. Their quotient is "
            f"$\\frac{{a}}{{1 + r}} = {ratio_text(quotient)}$. So $a = {s}(1 - r)$ and "
            f"$a = {_with(quotient)}(1 + r)$, which gives $r = {r}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "squares":
            # From a = s(1-r) and a*a = q(1-r)(1+r): s*s(1-r) = q(1+r).
            total, squares = Fraction(values["sum"]), Fraction(values["squares"])
            ratio = (total * total - squares) / (total * total + squares)
            first = total - total * ratio
            return gold.rational(first) if abs(ratio) < 1 else None
        first = Fraction(values["first"])
        if ask == "ratio":
            # What is left without the first term is the ratio times the whole.
            total = Fraction(values["sum"])
            if total == 0:
                return None
            found = (total - first) / total
            return gold.rational(found) if abs(found) < 1 else None
        second = values.get("second")
        ratio = Fraction(values["ratio"]) if second is None else second / first
        if abs(ratio) >= 1:
            return None
        terms = [first]
        for _ in range(5):
            terms.append(terms[-1] * ratio)
        if ask == "ball":
            terms = [first, 2 * terms[1], 2 * terms[2], 2 * terms[3]]
            return gold.rational(first + _limit(terms[1:]))
        return gold.rational(_limit(terms[:3] if ask in ("sum", "start") else terms[1::2]))


def _with(value: Fraction) -> str:
    return "" if value == 1 else ratio_text(value)


def _limit(terms: list[Fraction]) -> Fraction:
    """Aitken's limit of three partial sums, which is exact where errors shrink geometrically."""
    one = terms[0]
    two = one + terms[1]
    three = two + terms[2]
    return (one * three - two * two) / (one + three - 2 * two)
