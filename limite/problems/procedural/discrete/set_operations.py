"""Unions, intersections and differences of listed sets."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_SIGNS = {"or": "\\cup", "and": "\\cap", "less": "\\setminus", "one": "\\triangle"}
_TOKEN = re.compile(r"\\[a-z]+|[()A-E]")
_NAMES = "ABCDE"
Bits = int
"""A set as the bits of a number: bit ``k`` is the element ``k``."""


@attrs.frozen(kw_only=True)
class SetOperations(Family):
    """The elements of a set made from others by union, intersection and differences."""

    name = "set-operations"
    tag = "discrete/sets"
    wordings = Wordings(
        elements=(
            "Let <sets:text>. List the elements of $<expression:text>$ as a set.",
            "Given the sets <sets:text>, find the set $<expression:text>$.",
        ),
        count=(
            "Let <sets:text>. How many elements does $<expression:text>$ have?",
            "How many elements does $<expression:text>$ have, if <sets:text>?",
        ),
        subset=(
            "Let <sets:text>. Is every element of $<expression:text>$ also an element of "
            "$<other:text>$?",
        ),
    )

    operations: Ends = dial(1, 6, "how many operations", most=12)
    largest: Ends = dial(9, 20, "largest element", least=6, most=40)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        operations = base.whole_near(rng, base.steady(self.operations, difficulty))
        largest = base.whole_near(rng, base.steady(self.largest, difficulty))
        count = min(operations + 1, 2 + (operations > 2) + (operations > 4))
        sets = [_some(rng, largest) for _ in range(count)]
        leaves = [(_NAMES[place], bits) for place, bits in enumerate(sets)]
        parts = base.shuffled(rng, leaves)
        while len(parts) <= operations:  # never the same set twice in a row
            parts.append(base.chosen(rng, [leaf for leaf in leaves if leaf != parts[-1]]))
        steps = []
        while len(parts) > 1:
            place = int(rng.random() * (len(parts) - 1))
            joined, step = _joined(rng, parts[place], parts[place + 1])
            parts[place : place + 2] = [joined]
            steps.append(step)
        text, found = parts[0]
        said = [f"${_NAMES[place]} = {_listed(bits)}$" for place, bits in enumerate(sets)]
        named = f"{', '.join(said[:-1])} and {said[-1]}"
        if "triangle" in text:
            named += ", with $X \\triangle Y$ for what lies in exactly one of $X$ and $Y$"
        values = {"sets": named, "expression": text[1:-1]}
        shown = f"From the inside out: {', '.join(steps)}."
        kind = rng.random()
        if kind < 0.55:
            answer = gold.finite_set(_members(found))
            return Drawn(ask="elements", values=values, gold=answer, steps=shown)
        # A set, or the union of some but not all, that holds all of it or not.
        wanted = rng.random() < (0.6 if count == 2 else 0.55)
        size = base.whole(rng, 1, count - 1)
        unions = [
            (places, functools.reduce(lambda one, other: one | other, (sets[k] for k in places)))
            for length in range(size, count)
            for places in itertools.combinations(range(count), length)
        ]
        fitting = [each for each in unions if (found & ~each[1] == 0) == wanted]
        if kind < 0.75 or not found or not fitting:
            answer = gold.integer(found.bit_count())
            return Drawn(ask="count", values=values, gold=answer, steps=shown)
        places, bits = base.chosen(rng, fitting)
        values["other"] = " \\cup ".join(_NAMES[place] for place in places)
        extra = found & ~bits
        end = f"${_members(extra)[0]}$ is not in" if extra else "All of it lies in"
        return Drawn(
            ask="subset",
            values=values,
            gold=gold.boolean(not extra),
            steps=f"{shown} {end} ${values['other']}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        known = {
            name: {int(each) for each in inside.split(", ")}
            for name, inside in re.findall(r"\$([A-E]) = \\\{(.*?)\\\}\$", values["sets"])
        }
        found = _evaluated(_TOKEN.findall(values["expression"]), known)
        if ask == "elements":
            return gold.finite_set(found)
        if ask == "count":
            return gold.integer(len(found))
        return gold.boolean(found <= _evaluated(_TOKEN.findall(values["other"]), known))


def _some(rng: random.Random, largest: int) -> Bits:
    """About half of the numbers from 1 on, and at least three."""
    bits = 0
    for number in range(1, largest + 1):
        bits |= (rng.random() < 0.45) << number
    for number in base.distinct(rng, 3, 1, largest):
        bits |= 1 << number if bits.bit_count() < 3 else 0
    return bits


def _members(bits: Bits) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _listed(bits: Bits) -> str:
    return f"\\{{{', '.join(map(str, _members(bits)))}\\}}" if bits else "\\varnothing"


def _joined(
    rng: random.Random, left: tuple[str, Bits], right: tuple[str, Bits]
) -> tuple[tuple[str, Bits], str]:
    """Two parts with an operation between them, which gives nothing empty if it can."""
    one, other = left[1], right[1]
    results = {"or": one | other, "and": one & other, "less": one & ~other, "one": one ^ other}
    kind = "or"
    for kind in base.shuffled(rng, tuple(results)):
        if results[kind]:
            break
    text = f"{left[0]} {_SIGNS[kind]} {right[0]}"
    return (f"({text})", results[kind]), f"${text} = {_listed(results[kind])}$"


def _evaluated(tokens: Sequence[str], known: Mapping[str, set[int]]) -> set[int]:
    """Element by element, each with its own run over the expression."""
    every = set().union(*known.values())
    return {element for element in every if _inside(element, list(tokens), known)}


def _inside(element: int, tokens: list[str], known: Mapping[str, set[int]]) -> bool:
    stack: list[list[Any]] = [[]]
    for token in (*tokens, ")"):
        if token == "(":
            stack.append([])
            continue
        if token == ")":
            row = stack.pop()
            value = row[0]
            for sign, later in zip(row[1::2], row[2::2], strict=True):
                value = {
                    "\\cup": value or later,
                    "\\cap": value and later,
                    "\\setminus": value and not later,
                    "\\triangle": value != later,
                }[sign]
            if not stack:
                return bool(value)
            stack[-1].append(value)
        else:
            stack[-1].append(element in known[token] if token in known else token)
    raise AssertionError("the last parenthesis ends the expression")
