"""Expressions as trees of tuples, with rational arithmetic done as the tree is built.

``("num", Fraction)``, ``("sym", name)``, ``("const", "pi" | "e" | "i" | "oo")``,
``("add", terms)``, ``("mul", factors)``, ``("pow", base, exponent)``,
``("call", name, arguments)``; and of what is no number: ``("group", opening, closing, items)``,
``("list", items, joints)``, ``("matrix", rows)``,
``("relation", (side, sign, side, ...))``,
``("union", items)``, ``("minus", set, set)``, ``("modulo", value, modulus)``, ``("reals",)``,
``("empty",)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.numbers import BITS, bits_of, power_of, root_of

Tree = tuple[Any, ...]

ZERO: Tree = ("num", Fraction(0))
ONE: Tree = ("num", Fraction(1))
MINUS_ONE: Tree = ("num", Fraction(-1))
INFINITY: Tree = ("const", "oo")
PLUS_MINUS: Tree = ("sym", "±")
_LEAVES = frozenset(("num", "sym", "const"))
ARITHMETIC = frozenset(("num", "sym", "const", "add", "mul", "pow", "call"))


def number(value: Fraction | int) -> Tree:
    return ("num", _sized(value if type(value) is Fraction else Fraction(value)))


def _sized(value: Fraction) -> Fraction:
    if bits_of(value) > BITS:
        raise TooLarge("a number of too many digits")
    return value


def add(terms: list[Tree]) -> Tree:
    """The sum, with its numbers added up and sums inside it opened."""
    total, rest = None, []
    for term in terms:
        for part in term[1] if term[0] == "add" else (term,):
            if part[0] == "num":
                total = part[1] if total is None else _sized(total + part[1])
            else:
                rest.append(part)
    if not rest:
        return number(total or 0)
    if total:
        rest.append(("num", total))
    return rest[0] if len(rest) == 1 else ("add", tuple(rest))


def mul(factors: list[Tree]) -> Tree:
    """The product, with its numbers multiplied and products inside it opened."""
    product, rest = None, []
    for factor in factors:
        for part in factor[1] if factor[0] == "mul" else (factor,):
            if part[0] == "num":
                product = part[1] if product is None else _sized(product * part[1])
            else:
                rest.append(part)
    total = Fraction(1) if product is None else product
    if not rest or (total == 0 and all(part[0] in ("sym", "const") for part in rest)):
        if any(part == INFINITY for part in rest):
            raise Unreadable("zero times infinity is no number")
        return ("num", total)
    if total != 1:
        rest.insert(0, ("num", total))
    return rest[0] if len(rest) == 1 else ("mul", tuple(rest))


def negative(tree: Tree) -> Tree:
    return mul([MINUS_ONE, tree])


def divide(top: Tree, bottom: Tree) -> Tree:
    if bottom == ZERO:
        raise Unreadable("a division by zero is no number")
    return mul([top, power(bottom, MINUS_ONE)])


def power(base: Tree, exponent: Tree) -> Tree:
    """The power; a number where base and exponent are, and the result is rational and not huge."""
    if exponent == ONE:
        return base
    if base[0] != "num" or exponent[0] != "num":
        if exponent[0] == "num" and base[0] == "const" and base[1] == "i":
            whole = exponent[1]
            if whole.denominator == 1:
                return (ONE, base, MINUS_ONE, negative(base))[int(whole) % 4]
        return ("pow", base, exponent)
    value, by = base[1], exponent[1]
    if value == 0 and by <= 0:
        raise Unreadable("zero to a power that is not positive is no number")
    if by.denominator == 1:
        exact = power_of(value, by.numerator)
    else:
        root = root_of(value, by.denominator)
        exact = None if root is None else power_of(root, by.numerator)
    return ("pow", base, exponent) if exact is None else number(exact)


def factorial(tree: Tree) -> Tree:
    if tree[0] != "num":
        raise Unreadable("a factorial of what is no number")
    value = tree[1]
    if value.denominator != 1 or value < 0:
        raise Unreadable("a factorial of what is no natural number")
    if value > 3_000:
        raise TooLarge("a factorial of more than 3000")
    product = 1
    for each in range(2, int(value) + 1):
        product *= each
    return number(product)


def binomial(top: Tree, bottom: Tree) -> Tree:
    if top[0] != "num" or bottom[0] != "num":
        raise Unreadable("a binomial coefficient of what is no number")
    above, below = top[1], bottom[1]
    if above.denominator != 1 or below.denominator != 1 or above < 0 or below < 0:
        raise Unreadable("a binomial coefficient of what is no natural number")
    if below > above:
        return ZERO
    below = min(below, above - below)
    if below > 3_000 or below * bits_of(above) > BITS:
        raise TooLarge("a binomial coefficient of too many digits")
    value = 1
    for each in range(int(below)):
        value = value * (int(above) - each) // (each + 1)
    return number(value)


def children(tree: Tree) -> Iterator[Tree]:
    for part in tree[1:]:
        if isinstance(part, tuple):
            if part and isinstance(part[0], str):
                yield part
            else:
                for inner in part:
                    if isinstance(inner, tuple):
                        yield from (inner,) if inner and isinstance(inner[0], str) else inner


def nodes(tree: Tree) -> Iterator[Tree]:
    """Every node of the tree, itself first."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        kind = node[0]
        if kind in _LEAVES:
            continue
        if kind == "add" or kind == "mul":
            waiting.extend(node[1])
        elif kind == "pow":
            waiting += node[1:]
        else:
            waiting.extend(children(node))


def names_in(tree: Tree) -> set[str]:
    return {node[1] for node in nodes(tree) if node[0] == "sym"}


def is_arithmetic(tree: Tree) -> bool:
    """Whether it is an expression and nothing else: no brackets that mean pairs, no relations."""
    return all(node[0] in ARITHMETIC for node in nodes(tree))


def substitute(tree: Tree, values: Mapping[str, Tree]) -> Tree:
    """The tree with names replaced, and its arithmetic done again."""
    return rebuild(tree, lambda node: values.get(node[1], node) if node[0] == "sym" else node)


def rebuild(tree: Tree, leaf: Callable[[Tree], Tree]) -> Tree:
    kind = tree[0]
    if kind == "add":
        return add([rebuild(part, leaf) for part in tree[1]])
    if kind == "mul":
        return mul([rebuild(part, leaf) for part in tree[1]])
    if kind == "pow":
        return power(rebuild(tree[1], leaf), rebuild(tree[2], leaf))
    if kind == "call":
        return ("call", tree[1], tuple(rebuild(part, leaf) for part in tree[2]))
    if kind == "group":
        return (*tree[:3], tuple(rebuild(part, leaf) for part in tree[3]))
    return leaf(tree)
