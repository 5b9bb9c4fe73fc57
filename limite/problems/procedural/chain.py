"""Composed problems: the answer to one question stands in the next one.

A chain begins with a question that has a whole answer N. The next question is drawn as its family
draws it, and one of its numbers v is then written ``N + c`` with c = v - N. Solving goes the same
way from the text alone: the first question is solved, its answer is put into the second, and so on.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_MARK = "\x00"
_TRIES = 12
_SMALL = 200
"""An answer up to this size is taken at once; of larger ones the smallest drawn."""

CHAINS = Wordings(
    # First, for a text of three questions could be read as one of two.
    three=(
        "<first:text> Call the answer $N$. <second:text> Call the answer $M$. <third:text>",
        "Let $N$ be the answer to this question: <first:text> Let $M$ be the answer to the "
        "following one: <second:text> Now answer the last question: <third:text>",
        "Question 1: <first:text> Question 2, where $N$ is the answer to question 1: "
        "<second:text> Question 3, where $M$ is the answer to question 2: <third:text> Give the "
        "answer to question 3.",
    ),
    two=(
        "<first:text> Call the answer $N$. <second:text>",
        "Let $N$ be the answer to this question: <first:text> Now answer the following question: "
        "<second:text>",
        "Question 1: <first:text> Question 2, where $N$ is the answer to question 1: "
        "<second:text> Give the answer to question 2.",
    ),
)


@attrs.frozen
class Link:
    """A family whose questions take an answer in: for each ask the slots that may hold it."""

    family: Family
    slots: Mapping[str, Sequence[str]]


@attrs.frozen(kw_only=True)
class Composed(Family):
    """Base of the composed families.

    ``givers`` open a chain, ``middles`` carry it on with whole answers, and ``lasts`` end it. The
    first of each never fails: every question of it has a whole answer, or a slot.
    """

    wordings = CHAINS
    givers: ClassVar[Sequence[Family]]
    middles: ClassVar[Sequence[Link]]
    lasts: ClassVar[Sequence[Link]]

    links: Ends = dial(2, 3, "how many questions hang together", least=2, most=3)
    single: Ends = dial(0, 0.9, "difficulty of each of the questions", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        links = base.whole_near(rng, base.steady(self.links, difficulty))
        each = base.steady(self.single, difficulty)
        family, drawn = _giver(rng, self.givers, each)
        texts = [family.wordings.say(rng, drawn.values, drawn.ask)]
        answer = int(drawn.gold.answer.value)
        steps = f"First question: {drawn.steps} So $N = {answer}$."
        for place, letter in enumerate("NM"[: links - 1], 2):
            last = place == links
            if last:
                link, drawn = _linked(rng, self.lasts, each)
            else:
                link, drawn = _middle(rng, self.middles, each)
            slot = base.chosen(rng, link.slots[drawn.ask])
            number = drawn.values[slot]
            written = _written(letter, number - answer)
            said = link.family.wordings.say(rng, {**drawn.values, slot: _MARK}, drawn.ask)
            texts.append(_placed(said, written))
            which = "Second" if place == 2 else "Third"
            with_number = f", with ${written} = {number}$" if written != letter else ""
            steps += f" {which} question{with_number}: {drawn.steps}"
            if not last:
                answer = int(drawn.gold.answer.value)
                steps += f" So $M = {answer}$."
        return Drawn(
            ask="two" if links == 2 else "three",
            values=dict(zip(("first", "second", "third"), texts, strict=False)),
            gold=drawn.gold,
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        found = _solved(values["first"], self.givers)
        names = ("second",) if ask == "two" else ("second", "third")
        for name, letter in zip(names, "NM", strict=False):
            if found is None or found.answer.type != "integer":
                return None
            links = self.lasts if name == names[-1] else self.middles
            families = [link.family for link in links]
            answer, found = int(found.answer.value), None
            for text in _filled(values[name], letter, answer):
                found = _solved(text, families)
                if found is not None:
                    break
        return found


def _giver(rng: random.Random, givers: Sequence[Family], difficulty: float) -> tuple[Family, Drawn]:
    """A question with a whole answer, if possible a small one."""
    best: tuple[Family, Drawn] | None = None
    for _ in range(_TRIES):
        family = base.chosen(rng, givers)
        drawn = family.draw(rng, difficulty)
        if drawn.gold.answer.type == "integer":
            if best is None or _size(drawn) < _size(best[1]):
                best = family, drawn
            if _size(drawn) <= _SMALL:
                break
    return best or (givers[0], givers[0].draw(rng, difficulty))


def _middle(rng: random.Random, links: Sequence[Link], difficulty: float) -> tuple[Link, Drawn]:
    """A question with a slot for an answer and a whole answer, if possible a small one."""
    best = _linked(rng, links, difficulty)
    for _ in range(_TRIES):
        if _size(best[1]) <= _SMALL:
            break
        other = _linked(rng, links, difficulty)
        if _size(other[1]) < _size(best[1]):
            best = other
    return best


def _linked(rng: random.Random, links: Sequence[Link], difficulty: float) -> tuple[Link, Drawn]:
    """A question with a slot for an answer."""
    for _ in range(_TRIES):
        link = base.chosen(rng, links)
        drawn = link.family.draw(rng, difficulty)
        if drawn.ask in link.slots:
            return link, drawn
    return links[0], links[0].family.draw(rng, difficulty)


def _size(drawn: Drawn) -> int:
    return abs(int(drawn.gold.answer.value))


def _written(letter: str, offset: int) -> str:
    return f"{letter} {'-' if offset < 0 else '+'} {abs(offset)}" if offset else letter


def _placed(text: str, written: str) -> str:
    """The text with the marked number written as a sum: in brackets where it is part of more."""
    before, *rest = text.split(_MARK)
    for after in rest:
        if before.count("$") % 2 == 0:
            shown = f"${written}$"
        elif _OPEN.search(before) and _CLOSED.match(after):
            shown = written
        else:
            shown = f"({written})"
        before += shown + after
    return before


_OPEN = re.compile(r"(?:[$\[{(=]|[<>=,] |\\(?:[lg]e|equiv) )$")
_CLOSED = re.compile(r"[$\]})]|,| \\(?:[lg]e|pmod)\b")


def _filled(text: str, letter: str, answer: int) -> Iterator[str]:
    """The text with the number back in the place of the sum, in every way it can be read."""
    cuts: list[list[tuple[int, int, str]]] = []
    for match in _SUMS[letter].finditer(text):
        start, end = match.span()
        if text.count("$", 0, start) % 2 == 0:
            continue
        number = str(answer + int(f"{match[1]}{match[2]}" if match[1] else 0))
        ways = [(start, end, number)]
        if text[start - 1 : start] + text[end : end + 1] in ("()", "$$"):
            ways.append((start - 1, end + 1, number))
        cuts.append(ways)
    for chosen in itertools.product(*cuts) if cuts else ():
        found, at = "", 0
        for start, end, number in chosen:
            found += text[at:start] + number
            at = end
        yield found + text[at:]


_SUMS = {
    letter: re.compile(rf"(?<![A-Za-z\\]){letter}(?![A-Za-z])(?: ([-+]) ([0-9]+))?")
    for letter in "NM"
}


def _solved(text: str, families: Sequence[Family]) -> Gold | None:
    for family in families:
        said = family.wordings.read(text)
        if said is not None:
            found = family.solve(*said)
            if found is not None:
                return found
    return None
