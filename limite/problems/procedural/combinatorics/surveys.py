"""Groups that overlap: how many belong to none, to one, to several."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.probability.linear import solved
from limite.problems.procedural.wording import Wordings

_TWO = "Of $<all>$ <people>, $<a>$ like <one>, $<b>$ like <other> and $<ab>$ like both."
_THREE = (
    "Of $<all>$ <people>, $<a>$ like <one>, $<b>$ like <other> and $<c>$ like <third>. $<ab>$ like "
    "<one> and <other>, $<ac>$ like <one> and <third>, $<bc>$ like <other> and <third>, and "
    "$<abc>$ like all three (these are among those named before)."
)


@attrs.frozen(kw_only=True)
class Surveys(Family):
    """How many of a group like none, one or exactly two of several things."""

    name = "surveys"
    tag = "combinatorics/inclusion-exclusion"
    wordings = Wordings(
        words={
            "people": ("pupils", "guests", "members of a club", "people asked"),
            "one": ("chess", "swimming", "cycling"),
            "other": ("singing", "reading", "hiking"),
            "third": ("dancing", "painting", "sailing"),
        },
        neither=(f"{_TWO} How many like neither?",),
        only=(f"{_TWO} How many like <one> but not <other>?",),
        single=(f"{_TWO} How many like exactly one of the two?",),
        overlap=(
            "Of $<all>$ <people>, $<a>$ like <one>, $<b>$ like <other> and $<none>$ like neither. "
            "How many like both?",
        ),
        none_of_three=(f"{_THREE} How many like none of the three?",),
        exactly_one=(f"{_THREE} How many like exactly one of the three?",),
        exactly_two=(f"{_THREE} How many like exactly two of the three?",),
        all_three=(
            "Of $<all>$ <people>, $<a>$ like <one>, $<b>$ like <other> and $<c>$ like <third>. "
            "$<ab>$ like <one> and <other>, $<ac>$ like <one> and <third>, and $<bc>$ like <other> "
            "and <third> (those who like all three are among them). $<none>$ like none of the "
            "three. How many like all three?",
        ),
        least=(
            "Of $<all>$ <people>, $<a>$ like <one> and $<b>$ like <other>. What is the smallest "
            "number that can like both?",
        ),
    )

    most: Ends = dial(12, 60, "most in a part", least=8, most=1000)
    three: Ends = dial(0, 0.9, "share about three groups", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.most, difficulty)
        # Parts by who likes what: bit 0 the first thing, bit 1 the second, bit 2 the third.
        part = [base.whole(rng, 2, most) for _ in range(8)]
        three = rng.random() < base.steady(self.three, difficulty)
        if not three:
            part[4:] = [0] * 4
        total = sum(part)
        with_all = [
            sum(part[each] for each in range(8) if each & mask == mask) for mask in range(8)
        ]
        values: dict[str, Any] = {
            "all": total,
            "a": with_all[1],
            "b": with_all[2],
            "ab": with_all[3],
            "c": with_all[4],
            "ac": with_all[5],
            "bc": with_all[6],
            "abc": with_all[7],
            "none": part[0],
        }
        a, b, ab, c, ac, bc, abc = with_all[1:]
        if not three:
            ask = base.chosen(rng, ("neither", "only", "single", "overlap", "least"))
            any_of = a + b - ab
            if ask == "least" and a + b <= total and rng.random() < 0.8:
                values["all"] = total = max(a, b) + base.whole(rng, 1, min(a, b) - 1)
            found, steps = {
                "neither": (
                    part[0],
                    f"At least one thing is liked by ${a} + {b} - {ab} = {any_of}$, since those "
                    "who "
                    f"like both are counted twice in the sum. The others: ${total} - {any_of}$.",
                ),
                "only": (part[1], f"Of the ${a}$, those who like both drop out: ${a} - {ab}$."),
                "single": (
                    part[1] + part[2],
                    f"Only the first: ${a} - {ab} = {part[1]}$. Only the second: ${b} - {ab} = "
                    f"{part[2]}$. Together ${part[1]} + {part[2]}$.",
                ),
                "overlap": (
                    part[3],
                    f"At least one thing is liked by ${total} - {part[0]} = {any_of}$. The sum "
                    f"${a} + {b} = {a + b}$ counts those who like both twice: "
                    f"${a + b} - {any_of}$.",
                ),
                "least": (
                    max(0, a + b - total),
                    f"Together they are ${a} + {b} = {a + b}$, and there are ${total}$ people. "
                    + (
                        f"At least ${a + b} - {total}$ are counted twice, and that few are enough "
                        "if everyone likes something."
                        if a + b > total
                        else "That is not more, so it may be that nobody likes both."
                    ),
                ),
            }[ask]
            return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)
        ask = base.chosen(rng, ("none_of_three", "exactly_one", "exactly_two", "all_three"))
        pairs = ab + ac + bc
        sums = f"{a} + {b} + {c} = {a + b + c}"
        any_of = total - part[0]
        if ask == "none_of_three":
            found = part[0]
            steps = (
                f"At least one is liked by the sum of the three less the pairs plus all three: "
                f"${a} + {b} + {c} - {ab} - {ac} - {bc} + {abc} = {any_of}$. The others: "
                f"${total} - {any_of}$."
            )
        elif ask == "exactly_one":
            found = part[1] + part[2] + part[4]
            steps = (
                f"The sum ${sums}$ counts those with exactly two likes twice and those with three "
                f"three times. The pairs, ${ab} + {ac} + {bc} = {pairs}$, count them once and "
                "three "
                f"times. So take the pairs away twice and add all three back three times: "
                f"${a + b + c} - 2 \\cdot {pairs} + 3 \\cdot {abc}$."
            )
        elif ask == "exactly_two":
            found = part[3] + part[5] + part[6]
            steps = (
                f"The pairs, ${ab} + {ac} + {bc} = {pairs}$, count those who like all three three "
                f"times: ${pairs} - 3 \\cdot {abc}$."
            )
        else:
            found = part[7]
            steps = (
                f"At least one is liked by ${total} - {part[0]} = {any_of}$, and this is the sum "
                f"less the pairs plus all three: ${sums}$, ${ab} + {ac} + {bc} = {pairs}$, so "
                f"${any_of} - {a + b + c} + {pairs}$ like all three."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Unknown parts, one equation for each number that is given.
        if ask == "least":
            # All numbers that both may have, tried from none up.
            a, b, total = values["a"], values["b"], values["all"]
            both = next((n for n in range(min(a, b) + 1) if a + b - n <= total), None)
            return None if both is None else gold.integer(both)
        names = {"a": 1, "b": 2, "ab": 3, "c": 4, "ac": 5, "bc": 6, "abc": 7, "all": 0}
        size = 8 if "c" in values else 4
        rows = [
            [int(each & mask == mask) for each in range(size)] + [values[name]]
            for name, mask in names.items()
            if name in values
        ]
        if "none" in values:
            rows.append([1] + [0] * (size - 1) + [values["none"]])
        if len(rows) != size:
            return None
        parts = solved(rows)
        if parts is None or any(part < 0 or part.denominator > 1 for part in parts):
            return None
        wanted = {
            "neither": [0],
            "only": [1],
            "single": [1, 2],
            "overlap": [3],
            "none_of_three": [0],
            "exactly_one": [1, 2, 4],
            "exactly_two": [3, 5, 6],
            "all_three": [7],
        }[ask]
        return gold.integer(sum(int(parts[each]) for each in wanted))
