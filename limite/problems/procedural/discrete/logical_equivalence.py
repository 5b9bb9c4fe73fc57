"""Whether two formulas say the same, or one implies the other."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.discrete import formulas
from limite.problems.procedural.discrete.formulas import Formula
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class LogicalEquivalence(Family):
    """Whether two formulas are equivalent, or one of them implies the other."""

    name = "logical-equivalence"
    tag = "discrete/logic"
    wordings = Wordings(
        equivalent=(
            "Are the formulas $<one:text>$ and $<other:text>$ logically equivalent?",
            "Do $<one:text>$ and $<other:text>$ have the same truth value for all truth values of "
            "their letters?",
        ),
        implies=(
            "Does $<one:text>$ logically imply $<other:text>$?",
            "Is $<other:text>$ true for all truth values of the letters for which $<one:text>$ is "
            "true?",
        ),
    )

    letters: Ends = dial(2, 4, "how many letters", least=2, most=5)
    connectives: Ends = dial(1, 5, "how many connectives of two parts", most=12)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        letters = base.whole_near(rng, base.steady(self.letters, difficulty))
        connectives = base.whole_near(rng, base.steady(self.connectives, difficulty))
        one = formulas.drawn(rng, letters, connectives)
        other = _rewritten(rng, one)
        ask = "equivalent" if rng.random() < 0.6 else "implies"
        if ask == "implies":
            # One part weaker or stronger, which may or may not be enough for an implication.
            wanted, begin, turned = rng.random() < 0.5, one, other
            for _ in range(4):
                more = Formula(base.chosen(rng, formulas.LETTERS[:letters]))
                pair = Formula(base.chosen(rng, ("and", "or")), (turned, more))
                one, other = (begin, pair) if rng.random() < 0.5 else (pair, begin)
                fails = formulas.column(one, letters) & ~formulas.column(other, letters)
                if (fails == 0) == wanted:
                    break
        elif rng.random() < 0.5:
            for _ in range(4):
                spoilt = _spoilt(rng, other)
                if formulas.column(spoilt, letters) != formulas.column(one, letters):
                    break
            other = spoilt
        first, second = formulas.column(one, letters), formulas.column(other, letters)
        differ = first ^ second if ask == "equivalent" else first & ~second
        return Drawn(
            ask=ask,
            values={"one": formulas.text_of(one), "other": formulas.text_of(other)},
            gold=gold.boolean(differ == 0),
            steps=_reason(ask, differ, letters, first.bit_count()),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        one, other = formulas.read(values["one"]), formulas.read(values["other"])
        count = 1 + max(
            place
            for place, letter in enumerate(formulas.LETTERS)
            if re.search(rf"(?<![a-z\\]){letter}(?![a-z])", f"{values['one']} {values['other']}")
        )
        for row in itertools.product((False, True), repeat=count):
            first, second = formulas.holds(one, row), formulas.holds(other, row)
            if first != second if ask == "equivalent" else first and not second:
                return gold.boolean(False)
        return gold.boolean(True)


def _reason(ask: str, differ: int, letters: int, true: int) -> str:
    if differ:
        row = (differ & -differ).bit_length() - 1
        values = ", ".join(
            f"${formulas.LETTERS[place]}$ {'true' if row >> place & 1 else 'false'}"
            for place in range(letters)
        )
        end = "have different values" if ask == "equivalent" else "are true and false in this order"
        return f"With {values}, the two formulas {end}."
    if ask == "equivalent":
        return (
            f"In all ${1 << letters}$ rows of the truth table both have the same value: the number "
            f"of rows in which both are true is ${true}$."
        )
    return (
        f"The first is true in this many rows of the truth table: ${true}$. Wherever it is true, "
        "the second is true as well."
    )


def _rewritten(rng: random.Random, formula: Formula) -> Formula:
    """An equivalent formula, by the laws of De Morgan, of contraposition and of exchange."""
    if not formula.parts:
        return formula
    parts = tuple(_rewritten(rng, part) for part in formula.parts)
    kind = formula.kind
    if kind == "not":
        inner = parts[0]
        if inner.kind in ("and", "or") and rng.random() < 0.7:
            turned = tuple(_not(part) for part in inner.parts)
            return Formula("or" if inner.kind == "and" else "and", turned)
        return _not(inner)
    if kind == "if":
        left, right = parts
        if rng.random() < 0.5:
            return Formula("if", (_not(right), _not(left)))
        return Formula("or", (_not(left), right))
    if rng.random() < 0.6 or kind == "same":
        return Formula(kind, parts[::-1])
    return _not(Formula("or" if kind == "and" else "and", tuple(_not(part) for part in parts)))


def _not(formula: Formula) -> Formula:
    return formula.parts[0] if formula.kind == "not" else Formula("not", (formula,))


def _spoilt(rng: random.Random, formula: Formula) -> Formula:
    """One connective or letter changed somewhere."""
    if not formula.parts:
        return _not(formula)
    if rng.random() < 0.4 and formula.kind != "not":
        left, right = formula.parts
        if formula.kind == "if":
            return Formula("if", (right, left))
        return Formula({"and": "or", "or": "and", "same": "if"}[formula.kind], (left, right))
    place = int(rng.random() * len(formula.parts))
    parts = [*formula.parts]
    parts[place] = _spoilt(rng, parts[place])
    return Formula(formula.kind, tuple(parts))
