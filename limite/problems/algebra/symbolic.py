"""Proves equality with sympy, from objects built node by node out of a tree that was read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from limite.problems.reading.faults import Unreadable
from limite.problems.reading.tree import Tree

AROUND_LOADING: list[Callable[[bool], None]] = []
"""Called with True before sympy is loaded and with False after it, in a process that has not."""

_NAMES = {"abs": "Abs", "ln": "log"}


def expression(tree: Tree, *, positive: bool) -> Any:
    """The sympy expression of a tree; nothing is ever read from text."""
    import sympy

    def build(node: Tree) -> Any:
        kind = node[0]
        if kind == "num":
            return sympy.Rational(node[1].numerator, node[1].denominator)
        if kind == "sym":
            return sympy.Symbol(node[1], real=True, positive=positive or None)
        if kind == "const":
            return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I}[node[1]]
        if kind == "add":
            return sympy.Add(*(build(part) for part in node[1]))
        if kind == "mul":
            return sympy.Mul(*(build(part) for part in node[1]))
        if kind == "pow":
            return sympy.Pow(build(node[1]), build(node[2]))
        if kind == "call":
            function = getattr(sympy, _NAMES.get(str(node[1]), str(node[1])))
            return function(*(build(part) for part in node[2]))
        raise Unreadable("no expression")

    return build(tree)


def proved_equal(left: Tree, right: Tree, *, positive: bool) -> bool:
    """Whether the difference is shown to be zero by one way of rewriting or another."""
    _load()
    difference = expression(left, positive=positive) - expression(right, positive=positive)
    return any(each == 0 for each in _rewritten(difference))


def _load() -> None:
    if "sympy" in sys.modules:
        return
    for listener in AROUND_LOADING:
        listener(True)
    import sympy  # noqa: F401

    for listener in AROUND_LOADING:
        listener(False)


def _rewritten(difference: Any) -> Iterator[Any]:
    import sympy

    yield difference
    expanded = sympy.expand(difference)
    yield expanded
    if not difference.free_symbols and difference.is_algebraic:
        unknown = sympy.Dummy("x")
        # The minimal polynomial of zero is the variable itself, and of nothing else.
        yield sympy.minimal_polynomial(difference, unknown) - unknown
        return
    steps: list[Callable[[Any], Any]] = [
        sympy.expand_trig,
        lambda value: sympy.expand(value.rewrite(sympy.exp)),
        sympy.expand_log,
        sympy.sqrtdenest,
        sympy.radsimp,
        sympy.together,
        sympy.simplify,
    ]
    for step in steps:
        yield sympy.expand(step(expanded))
    yield sympy.simplify(reduce(lambda value, step: step(value), steps[:3], expanded))
