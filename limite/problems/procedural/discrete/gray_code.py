"""The reflected Gray code and places in it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_LIST = (
    "The list $L_1$ is $0, 1$. For every $n$, the list $L_{n+1}$ has first the words of $L_n$ with "
    "a $0$ put in front, then the words of $L_n$ from the last to the first with a $1$ put in "
    "front. "
)


@attrs.frozen(kw_only=True)
class GrayCode(Family):
    """Words and their places in the reflected Gray code."""

    name = "gray-code"
    tag = "discrete/codes"
    wordings = Wordings(
        word=(
            f"{_LIST}Which word stands at place $<place>$ of $L_{{<bits>}}$, counted from $1$?",
            "The reflected binary Gray code with $<bits>$ bits begins with the word of $<bits>$ "
            "zeros. Which word stands at place $<place>$, counted from $1$?",
        ),
        place=(
            f"{_LIST}At which place of $L_{{<bits>}}$, counted from $1$, does the word "
            "$<word:word>$ stand?",
            "At which place does the word $<word:word>$ stand in the reflected binary Gray code "
            "with $<bits>$ bits, when the word of $<bits>$ zeros has place $1$?",
        ),
        apart=(
            f"{_LIST}How many words stand in $L_{{<bits>}}$ between $<word:word>$ and "
            f"$<other:word>$, "
            "without these two?",
        ),
    )

    bits: Ends = dial(4, 14, "how many bits", least=2, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        bits = base.whole_near(rng, base.steady(self.bits, difficulty))
        place, other = base.distinct(rng, 2, 2, 2**bits - 1)
        word = format(place ^ place >> 1, f"0{bits}b")
        values: dict[str, Any] = {"bits": bits, "word": word, "place": place + 1}
        if rng.random() < 0.4:
            binary = format(place, f"0{bits}b")
            return Drawn(
                ask="word",
                values=values,
                gold=gold.string(word),
                steps=f"Counted from zero the place is ${place}$, in binary ${binary}$. Every "
                f"digit of the word says whether the binary digit there differs from the one on "
                f"its left (from $0$ for the first).",
            )
        if rng.random() < 0.7 or abs(place - other) < 2:
            return Drawn(
                ask="place",
                values=values,
                gold=gold.integer(place + 1),
                steps=f"{_undone(word, place)}, and counted from $1$ it is one more.",
            )
        values["other"] = last = format(other ^ other >> 1, f"0{bits}b")
        low, high = sorted((place, other))
        return Drawn(
            ask="apart",
            values=values,
            gold=gold.integer(high - low - 1),
            steps=f"{_undone(word, place)}. {_undone(last, other)}. Between them there are "
            f"${high} - {low} - 1$ words.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "word":
            # Down through the lists: the second half is read backwards.
            place, word = values["place"] - 1, ""
            for bit in range(values["bits"] - 1, -1, -1):
                half = 1 << bit
                word += "1" if place >= half else "0"
                place = 2 * half - 1 - place if place >= half else place
            return gold.string(word)
        if len(values["word"]) != values["bits"]:
            return None
        place = _place(values["word"])
        if ask == "place":
            return gold.integer(place + 1)
        return gold.integer(abs(place - _place(values["other"])) - 1)


def _place(word: str) -> int:
    """Up through the lists, from the last letter."""
    place, size = 0, 1
    for letter in reversed(word):
        place = 2 * size - 1 - place if letter == "1" else place
        size *= 2
    return place


def _undone(word: str, place: int) -> str:
    binary = format(place, f"0{len(word)}b")
    return (
        f"In the word ${word}$, each digit of the place in binary says whether an odd number of "
        f"ones stands up to there, which gives ${binary}$: counted from zero it is ${place}$"
    )
