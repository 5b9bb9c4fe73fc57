"""Which of several chances is the best."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_URNS = "Three urns hold balls. (A) <urn_a:text> (B) <urn_b:text> (C) <urn_c:text>"


@attrs.frozen(kw_only=True)
class LikeliestUrns(Family):
    """Which of three urns gives the best chance of what is wanted."""

    name = "likeliest-urns"
    tag = "probability/comparison"
    wordings = Wordings(
        one=(
            f"From which urn is a red ball drawn with the greatest probability? {_URNS}",
            "One ball is to be drawn at random, and a red one wins. Which urn is the best? "
            f"{_URNS}",
        ),
        two=(
            "Two balls are drawn at random from one urn, without putting the first back. With "
            "which "
            f"urn is the probability the greatest that both are red? {_URNS}",
        ),
        different=(
            "Two balls are drawn at random from one urn, without putting the first back. With "
            "which "
            f"urn is the probability the greatest that their colours differ? {_URNS}",
        ),
        least=(f"From which urn is a red ball drawn with the smallest probability? {_URNS}",),
    )

    balls: Ends = dial(6, 25, "most balls of a colour", least=4, most=200)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.balls, difficulty)
        ask = base.rising(rng, ("one", "least", "two", "different"), difficulty)
        urns: list[tuple[int, int]] = []
        scores: list[Fraction] = []
        for attempt in range(60):
            if len(urns) == 3:
                break
            red = base.whole(rng, 2, most) if attempt < 50 else 2 + attempt
            blue = base.whole(rng, 2, most)
            score = _score(ask, red, blue)
            if score not in scores:
                urns.append((red, blue))
                scores.append(score)
        best = scores.index(min(scores) if ask == "least" else max(scores))
        texts = [f"{red} red and {blue} blue balls" for red, blue in urns]
        what = {
            "one": "a red ball",
            "least": "a red ball",
            "two": "two red balls",
            "different": "two different colours",
        }[ask]
        shown = ", ".join(
            f"{label} ${_way(ask, *urn)}{_value(_way(ask, *urn), score)}$"
            for label, urn, score in zip("ABC", urns, scores, strict=True)
        )
        which = "smallest" if ask == "least" else "largest"
        return Drawn(
            ask=ask,
            values=dict(zip(("urn_a", "urn_b", "urn_c"), texts, strict=True)),
            gold=gold.choice("ABC"[best], dict(zip("ABC", texts, strict=True))),
            steps=f"The probabilities of {what} are, for {shown}. The {which} of them is "
            f"${ratio_text(scores[best])}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Counting pairs of balls, and comparing products of whole numbers instead of fractions.
        texts = [values[f"urn_{letter}"] for letter in "abc"]
        counted: list[tuple[int, int]] = []
        for text in texts:
            match = re.fullmatch(r"(\d+) red and (\d+) blue balls", text)
            if match is None:
                return None
            red, blue = int(match[1]), int(match[2])
            total = red + blue
            if ask in ("one", "least"):
                counted.append((red if ask == "one" else blue, total))
            else:
                pairs = total * (total - 1)
                same = [red * (red - 1), blue * (blue - 1)]
                counted.append((same[0] if ask == "two" else pairs - sum(same), pairs))
        best = _best(counted)
        if best is None:
            return None
        return gold.choice("ABC"[best], dict(zip("ABC", texts, strict=True)))


def _best(counted: Sequence[tuple[int, int]]) -> int | None:
    """The place that beats all the others; None where no one does."""
    for place, (good, total) in enumerate(counted):
        others = (each for at, each in enumerate(counted) if at != place)
        if all(good * all_of > some * total for some, all_of in others):
            return place
    return None


def _score(ask: str, red: int, blue: int) -> Fraction:
    total = red + blue
    if ask == "two":
        return Fraction(red * (red - 1), total * (total - 1))
    if ask == "different":
        return Fraction(2 * red * blue, total * (total - 1))
    return Fraction(red, total)


def _value(way: str, score: Fraction) -> str:
    """What a way comes to, where it does not say so itself."""
    return "" if way == ratio_text(score) else f" = {ratio_text(score)}"


def _way(ask: str, red: int, blue: int) -> str:
    total = red + blue
    if ask == "two":
        return f"\\frac{{{red}}}{{{total}}} \\cdot \\frac{{{red - 1}}}{{{total - 1}}}"
    if ask == "different":
        return f"2 \\cdot \\frac{{{red}}}{{{total}}} \\cdot \\frac{{{blue}}}{{{total - 1}}}"
    return f"\\frac{{{red}}}{{{total}}}"
