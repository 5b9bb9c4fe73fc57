"""Two sequences in one."""

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
class InterleavedSequences(Family):
    """The next terms of a sequence in which two simple sequences take turns."""

    name = "interleaved-sequences"
    tag = "sequences/patterns"
    wordings = Wordings(
        both=(
            "In the sequence $<terms:integers>, \\dots$ the terms with odd numbers form "
            "<first:text> sequence, and those with even numbers form <second:text> sequence. Give "
            "the next two terms in order, as a pair.",
            "Two sequences take turns in $<terms:integers>, \\dots$: the first, third, fifth and "
            "further odd-numbered terms are <first:text> sequence, the others <second:text> "
            "sequence. What are the next two terms? Answer with a pair in order.",
        ),
        later=(
            "In the sequence $<terms:integers>, \\dots$ the terms with odd numbers form "
            "<first:text> sequence, and those with even numbers form <second:text> sequence. The "
            "first term has number 1. Find term number $<place>$.",
            "Two sequences take turns in $<terms:integers>, \\dots$: the first, third, fifth and "
            "further odd-numbered terms are <first:text> sequence, the others <second:text> "
            "sequence. What is term number $<place>$, when the first is number 1?",
        ),
    )

    size: Ends = dial(6, 30, "largest difference", least=4, most=300)
    ahead: Ends = dial(4, 14, "how far ahead a term may be asked for", least=3, most=40)
    later: Ends = dial(0.2, 0.7, "share that asks for a later term", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        later = rng.random() < base.steady(self.later, difficulty)
        size = base.steady(self.size, difficulty)
        rules = [_rule(rng, size) for _ in "12"]
        terms = [_term(rules[k % 2], k // 2) for k in range(6)]
        while terms[0] == terms[1]:
            kind, first, step = rules[1]
            rules[1] = (kind, first + 1, step)
            terms = [_term(rules[k % 2], k // 2) for k in range(6)]
        names = [f"{'an' if kind == 'arithmetic' else 'a'} {kind}" for kind, _, _ in rules]
        said = " and ".join(
            f"the {which} one {'grows by' if step > 0 else 'falls by'} ${abs(step)}$"
            if kind == "arithmetic"
            else f"the {which} one is multiplied by ${step}$"
            for which, (kind, _, step) in zip(("first", "second"), rules, strict=True)
        )
        values: dict[str, Any] = {"terms": terms, "first": names[0], "second": names[1]}
        if not later:
            following = [_term(rules[k % 2], k // 2) for k in (6, 7)]
            return Drawn(
                ask="both",
                values=values,
                gold=gold.ordered(following),
                steps=f"Taken apart, the sequences are ${', '.join(map(str, terms[::2]))}$ and "
                f"${', '.join(map(str, terms[1::2]))}$: {said}. They go on with ${following[0]}$ "
                f"and ${following[1]}$.",
            )
        place = 8 + base.whole(rng, 1, base.steady(self.ahead, difficulty))
        rule, index = rules[(place - 1) % 2], (place - 1) // 2
        row = [_term(rule, k) for k in range(index + 1)]
        return Drawn(
            ask="later",
            values=values | {"place": place},
            gold=gold.integer(row[-1]),
            steps=f"Term number ${place}$ is number ${index + 1}$ of the "
            f"{'first' if place % 2 else 'second'} sequence; {said}. That sequence goes "
            f"${', '.join(map(str, row))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        terms = list(values["terms"])
        count = values["place"] if ask == "later" else len(terms) + 2
        kinds = (values["first"], values["second"])
        for index in range(2, count):
            kind = kinds[index % 2]
            if kind == "an arithmetic":
                term = 2 * terms[index - 2] - terms[index - 4] if index > 3 else None
            elif kind == "a geometric":
                term = terms[index - 2] ** 2 // terms[index - 4] if index > 3 else None
            else:
                return None
            if index >= len(terms):
                assert term is not None
                terms.append(term)
            elif term is not None and term != terms[index]:
                return None
        return gold.integer(terms[-1]) if ask == "later" else gold.ordered(terms[-2:])


def _rule(rng: random.Random, size: float) -> tuple[str, int, int]:
    """The kind of a sequence, its first term, and its difference or ratio."""
    if rng.random() < 0.6:
        step = base.whole(rng, 2, size)
        return "arithmetic", base.whole(rng, 1, 2 * size), -step if rng.random() < 0.4 else step
    ratio = base.chosen(rng, (2, 3, 2, -2, 4, 5))
    return "geometric", base.whole(rng, 1, 6), ratio


def _term(rule: tuple[str, int, int], index: int) -> int:
    kind, first, step = rule
    if kind == "arithmetic":
        return first + index * step
    power: int = step**index
    return first * power
