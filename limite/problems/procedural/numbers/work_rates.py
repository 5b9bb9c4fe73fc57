"""How long workers or pipes take together, alone, or one after the other."""

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

_ROLES = ("painters", "printers", "gardeners", "masons", "machines")


@attrs.frozen(kw_only=True)
class WorkRates(Family):
    """Time for a job done together, done alone, or begun by one and finished by all."""

    name = "work-rates"
    tag = "arithmetic/rates"
    wordings = Wordings(
        words={"role": _ROLES, "vessel": ("tank", "pool", "basin", "cistern")},
        together=(
            "Each working alone, the <people> <role> of a firm would need $<hours:integers>$ hours "
            "respectively for the same job. How many hours do they need when all of them work "
            "together? Give the exact number.",
            "A <vessel> has <people> taps, which alone would fill it in $<hours:integers>$ hours "
            "respectively. In how many hours is the empty <vessel> full when all taps are open? "
            "Give the exact number.",
        ),
        drain=(
            "A <vessel> has <people> taps, which alone would fill it in $<hours:integers>$ hours "
            "respectively. An open drain empties the full <vessel> in $<drain>$ hours. In how many "
            "hours is the empty <vessel> full when all taps and the drain are open? Give the exact "
            "number.",
        ),
        staged=(
            "Each working alone, <people> <role> would need $<hours:integers>$ hours respectively "
            "for the same job. The first one works alone for $<start>$ hours, then all of them "
            "finish the job together. How many hours does that last part take? Give the exact "
            "number.",
        ),
        alone=(
            "Together, <people> <role> do a job in $<together:ratio>$ hours. Of the times that "
            "each of them would need alone, in hours, all but the last are known: "
            "$<hours:integers>$. How many hours would the last one need alone?",
        ),
    )

    people: Ends = dial(2, 4, "how many work", least=2, most=6)
    hours: Ends = dial(8, 30, "longest time of one alone", least=6, most=200)
    turned: Ends = dial(0, 0.8, "share of the less direct questions", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        people = base.whole_near(rng, base.steady(self.people, difficulty))
        longest = base.steady(self.hours, difficulty)
        hours = [base.whole(rng, 2, longest) for _ in range(people)]
        rates = [Fraction(1, each) for each in hours]
        rate = sum(rates, Fraction(0))
        values: dict[str, Any] = {"people": people, "hours": hours}
        added = f"In one hour they do ${_sum(rates)} = {ratio_text(rate)}$ of the whole"
        ask = "together"
        if rng.random() < base.steady(self.turned, difficulty):
            ask = base.chosen(rng, ("drain", "staged", "alone"))
        if ask == "together":
            answer = 1 / rate
            steps = f"{added}, so the whole takes ${_inverse(rate)}$ hours."
        elif ask == "drain":
            # Slower than all taps together, so that the water rises.
            drain = base.whole(rng, min(hours) + 1, min(hours) + longest)
            net = rate - Fraction(1, drain)
            answer, values["drain"] = 1 / net, drain
            steps = (
                f"In one hour the taps and the drain together change the water by "
                f"${_sum(rates)} - \\frac{{1}}{{{drain}}} = {ratio_text(net)}$ of the whole, so "
                f"filling takes ${_inverse(net)}$ hours."
            )
        elif ask == "staged":
            hours[0] += 2
            rate += Fraction(1, hours[0]) - rates[0]
            start = base.whole(rng, 2, hours[0] - 1)
            rest = 1 - Fraction(start, hours[0])
            answer = rest / rate
            values["start"] = start
            steps = (
                f"After ${start}$ hours, $1 - \\frac{{{start}}}{{{hours[0]}}} = "
                f"{ratio_text(rest)}$ of the job is left. Together they do ${ratio_text(rate)}$ of "
                f"it in one hour, so that takes ${ratio_text(rest)} \\div {ratio_text(rate)}$ "
                f"hours."
            )
        else:
            answer = Fraction(hours[-1])
            values |= {"together": 1 / rate, "hours": hours[:-1]}
            known = rate - rates[-1]
            steps = (
                f"In one hour all of them do ${ratio_text(rate)}$ of the job, and the known ones "
                f"${_sum(rates[:-1])} = {ratio_text(known)}$. The last one does the difference, "
                f"$\\frac{{1}}{{{hours[-1]}}}$."
            )
            steps = steps.replace(f" = {ratio_text(known)}", "") if people == 2 else steps
        return Drawn(ask=ask, values=values, gold=gold.rational(answer), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The job is cut into so many pieces that all do whole numbers of them in an hour.
        hours = list(values["hours"])
        if len(hours) + (ask == "alone") != values["people"]:
            return None
        extra = [values["drain"]] if ask == "drain" else []
        pieces = 1
        for each in hours + extra:
            pieces *= each
        done = sum(pieces // each for each in hours)
        if ask == "drain":
            done -= pieces // values["drain"]
        left = pieces
        if ask == "staged":
            left -= pieces // hours[0] * values["start"]
        if ask == "alone":
            left, done = pieces, pieces / values["together"] - done
        if done <= 0 or left < 0:
            return None
        return gold.rational(Fraction(left) / done)


def _sum(rates: list[Fraction]) -> str:
    return " + ".join(map(ratio_text, rates))


def _inverse(rate: Fraction) -> str:
    return f"1 \\div {ratio_text(rate)}"
