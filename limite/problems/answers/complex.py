"""Complex numbers, compared exactly."""

from __future__ import annotations

from limite.problems.algebra.normal import Forms
from limite.problems.answers.kind import SCALAR, Params, constant, equal_constants, scalar
from limite.problems.reading.faults import TooLarge
from limite.problems.reading.numbers import ratio_text
from limite.problems.reading.printer import text_of
from limite.problems.reading.tree import Tree


def read(text: str, params: Params) -> Tree:
    return constant(scalar(text, params, SCALAR))


def show(value: Tree, params: Params) -> str:
    """``a+b*i`` where both are rational; else the expression as it was read."""
    forms = Forms()
    try:
        above, below = forms.form(value)
    except TooLarge:
        return text_of(value)
    imaginary = ((forms.kernels.get("i", -1), 1),)
    if list(below) != [()] or not set(above) <= {(), imaginary}:
        return text_of(value)
    real, turned = above.get((), 0) / below[()], above.get(imaginary, 0) / below[()]
    if not turned:
        return ratio_text(real + 0 * below[()])
    part = {1: "i", -1: "-i"}.get(int(turned) if turned.denominator == 1 else 0)
    part = part or f"{ratio_text(turned)}*i"
    if not real:
        return part
    return ratio_text(real) + (part if part.startswith("-") else f"+{part}")


def equal(gold: Tree, given: Tree, params: Params) -> bool:
    return equal_constants(gold, given)
