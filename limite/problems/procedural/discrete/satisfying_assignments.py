"""How many truth assignments make a formula true."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.discrete import formulas
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class SatisfyingAssignments(Family):
    """How many assignments of truth values make a formula true."""

    name = "satisfying-assignments"
    tag = "discrete/logic"
    wordings = Wordings(
        "How many assignments of truth values to $<letters:text>$ make $<formula:text>$ true?",
        "Each of the letters $<letters:text>$ is true or false. In how many of all cases is "
        "$<formula:text>$ true?",
        "The truth table of $<formula:text>$ in the letters $<letters:text>$ has one row for each "
        "assignment. In how many rows is the formula true?",
    )

    letters: Ends = dial(2, 5, "how many letters", least=2, most=5)
    connectives: Ends = dial(1.6, 9, "how many connectives of two parts", most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        letters = base.whole_near(rng, base.steady(self.letters, difficulty))
        connectives = base.whole_near(rng, base.steady(self.connectives, difficulty))
        formula = formulas.drawn(rng, letters, connectives)
        tables = formulas.tables(formula, letters)
        steps = ", ".join(f"${text}$ in ${bits.bit_count()}$" for text, bits in tables.items())
        return Drawn(
            values={
                "letters": ", ".join(formulas.LETTERS[:letters]),
                "formula": formulas.text_of(formula),
            },
            gold=gold.integer(formulas.column(formula, letters).bit_count()),
            steps=f"Of the ${1 << letters}$ rows of the truth table, these parts are true: "
            f"{steps}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        tree = formulas.read(values["formula"])
        count = values["letters"].count(",") + 1
        rows = itertools.product((False, True), repeat=count)
        return gold.integer(sum(formulas.holds(tree, row) for row in rows))
