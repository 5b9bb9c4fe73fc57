"""Square roots of ratios as golds: simplified, with a rational factor in front."""

from __future__ import annotations

from fractions import Fraction

from limite.core.types import Answer
from limite.problems.procedural import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import ratio_text


def signed_root(square: Fraction, sign: int = 1) -> Gold:
    """``sign`` times the square root of ``square``, as an exact expression."""
    outside, inside = surds.split(square.numerator * square.denominator)
    factor = Fraction(sign * outside, square.denominator)
    if inside == 1:
        return Gold(Answer(type="expression", value=str(factor)), ratio_text(factor))
    return Gold(
        Answer(type="expression", value=surds.plain(0, factor, inside)),
        surds.latex(0, factor, inside),
    )
