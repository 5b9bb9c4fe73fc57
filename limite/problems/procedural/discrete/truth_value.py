"""Whether a formula is true for given truth values."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.discrete import formulas
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class TruthValue(Family):
    """Whether a formula of propositional logic is true for given truth values."""

    name = "truth-value"
    tag = "discrete/logic"
    wordings = Wordings(
        "If <truths:text>, is $<formula:text>$ true?",
        "Suppose that <truths:text>. Is the formula $<formula:text>$ then true? Answer with yes or "
        "no.",
        "Given that <truths:text>, is $<formula:text>$ a true statement?",
    )

    letters: Ends = dial(2, 5, "how many letters", least=2, most=5)
    connectives: Ends = dial(2, 9, "how many connectives of two parts", most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        letters = base.whole_near(rng, base.steady(self.letters, difficulty))
        connectives = base.whole_near(rng, base.steady(self.connectives, difficulty))
        formula = formulas.drawn(rng, letters, connectives)
        row = int(rng.random() * (1 << letters))
        said = [
            f"${formulas.LETTERS[place]}$ is {'true' if row >> place & 1 else 'false'}"
            for place in range(letters)
        ]
        tables = formulas.tables(formula, letters)
        steps = ", ".join(
            f"${text}$ is {'true' if bits >> row & 1 else 'false'}" for text, bits in tables.items()
        )
        return Drawn(
            values={
                "truths": f"{', '.join(said[:-1])} and {said[-1]}",
                "formula": formulas.text_of(formula),
            },
            gold=gold.boolean(bool(formulas.column(formula, letters) >> row & 1)),
            steps=f"From the inside out: {steps}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        truths = [value == "true" for value in re.findall("true|false", values["truths"])]
        return gold.boolean(formulas.holds(formulas.read(values["formula"]), truths))
