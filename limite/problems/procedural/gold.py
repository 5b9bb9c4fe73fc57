"""Answers from Python values: in canonical form for the record, in LaTeX for the solution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.core.types import Answer
from limite.problems.answers import canonical
from limite.problems.procedural import polynomials
from limite.problems.procedural.wording import decimal_text, matrix_text, ratio_text

Number = Fraction | int
_ONES: dict[Number, str] = {1: "i", -1: "-i"}


@attrs.frozen
class Gold:
    """An answer, and how a solution writes it in its box."""

    answer: Answer
    latex: str


def _plain(value: Number) -> str:
    return str(value)  # of a Fraction: p/q in lowest terms, or an integer


def integer(value: int, unit: str | None = None) -> Gold:
    """A whole number; with ``unit`` its unit may be written or not."""
    params = {"unit": unit} if unit else {}
    return Gold(Answer(type="integer", value=str(value), params=params), str(value))


def in_base(value: int, base: int) -> Gold:
    """A whole number that must be written in ``base`` (from 2 to 36), as the question says."""
    digits = digits_in(value, base)
    return Gold(
        Answer(type="integer", value=digits, params={"base": base}), f"{digits.upper()}_{{{base}}}"
    )


def digits_in(value: int, base: int) -> str:
    """The digits of a whole number in ``base``; those above 9 are a, b, c and so on."""
    digits, rest = "", abs(value)
    while rest:
        rest, digit = divmod(rest, base)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return ("-" if value < 0 else "") + (digits or "0")


def rational(value: Number, *, lowest: bool = False) -> Gold:
    """An exact ratio. With ``lowest`` the question must ask for lowest terms."""
    params = {"form": "lowest"} if lowest else {}
    return Gold(Answer(type="rational", value=_plain(value), params=params), ratio_text(value))


def terminating(value: Number) -> Gold:
    """An exact ratio whose decimals end, and which solutions write as a decimal number."""
    return Gold(Answer(type="rational", value=_plain(value)), decimal_text(Fraction(value)))


def decimal(value: str, *, decimals: int) -> Gold:
    """A decimal number, right within half of the last of ``decimals`` places.

    The question must ask for a rounded value; an expression does not answer it.
    """
    plain = value.rstrip("0").removesuffix(".") if "." in value else value
    return Gold(
        Answer(type="real", value=plain, params={"decimals": decimals, "form": "decimal"}), value
    )


def modular(value: int, modulus: int) -> Gold:
    """A residue class."""
    value %= modulus
    return Gold(Answer(type="modular", value=str(value), params={"modulus": modulus}), str(value))


def boolean(value: bool) -> Gold:
    """Yes or no."""
    return Gold(
        Answer(type="boolean", value="true" if value else "false"),
        f"\\text{{{'yes' if value else 'no'}}}",
    )


def choice(label: str, options: Mapping[str, str]) -> Gold:
    """One of several lettered options, which the question lists."""
    return Gold(
        Answer(type="choice", value=label, params={"options": dict(options)}),
        f"\\text{{{label}}}",
    )


def string(value: str) -> Gold:
    """A word, or letters in an order; capitals do not count."""
    return Gold(Answer(type="string", value=value), f"\\text{{{value}}}")


def finite_set(values: Iterable[Number]) -> Gold:
    """Numbers in no order, without repeats."""
    ordered = sorted(set(values))
    return Gold(
        Answer(type="set", value=f"{{{','.join(map(_plain, ordered))}}}"),
        f"\\{{{', '.join(map(ratio_text, ordered))}\\}}" if ordered else "\\varnothing",
    )


def ordered(values: Sequence[Number], names: Sequence[str] = ()) -> Gold:
    """Numbers in an order; ``names`` of the coordinates let ``x=1, y=2`` count as well."""
    params = {"variables": list(names)} if names else {}
    return Gold(
        Answer(type="tuple", value=f"({','.join(map(_plain, values))})", params=params),
        f"({', '.join(map(ratio_text, values))})",
    )


def matrix(rows: Sequence[Sequence[Number]]) -> Gold:
    """A matrix of exact numbers."""
    body = ",".join(f"[{','.join(map(_plain, row))}]" for row in rows)
    return Gold(Answer(type="matrix", value=f"[{body}]"), matrix_text(rows))


def complex_number(real: Number, imaginary: Number) -> Gold:
    """A complex number with exact parts."""
    return _canonical("complex", complex_text(real, imaginary), complex_latex(real, imaginary), {})


def complex_set(values: Iterable[tuple[Number, Number]]) -> Gold:
    """Complex numbers (real part, imaginary part) in no order, none of them real."""
    pairs = list(dict.fromkeys(values))
    plain = []
    for real, imaginary in pairs:  # as answers of type set write them
        tail = f"{'+' if real > 0 else ''}{real}" if real else ""
        plain.append((_ONES.get(imaginary) or f"{imaginary}*i") + tail)
    latex = ", ".join(complex_latex(*each) for each in pairs)
    return Gold(Answer(type="set", value=f"{{{','.join(sorted(plain))}}}"), f"\\{{{latex}\\}}")


def complex_text(real: Number, imaginary: Number) -> str:
    """``a+b*i`` in plain notation."""
    if not imaginary:
        return _plain(real)
    size = _ONES.get(imaginary) or f"{_plain(imaginary)}*i"
    if not real:
        return size
    return f"{_plain(real)}{'' if size.startswith('-') else '+'}{size}"


def complex_latex(real: Number, imaginary: Number) -> str:
    """``a+bi`` in LaTeX."""
    if not imaginary:
        return ratio_text(real)
    size = _ONES.get(imaginary) or f"{ratio_text(imaginary)}i"
    if not real:
        return size
    return f"{ratio_text(real)}{'' if size.startswith('-') else '+'}{size}"


def expression(text: str, latex: str, variables: Sequence[str] = (), **params: Any) -> Gold:
    """An expression in plain notation (``3*x^2-sqrt(2)``), equal by value in its variables.

    ``params`` are the type's own: ``domain="positive"``, ``up_to="constant"``.
    """
    if variables:
        params["variables"] = list(variables)
    return _canonical("expression", text, latex, params)


def polynomial(terms: polynomials.Polynomial, letter: str = "x") -> Gold:
    """A polynomial in one letter."""
    text = polynomials.plain(terms, letter)  # is canonical
    return Gold(
        Answer(type="expression", value=text, params={"variables": [letter]}),
        polynomials.latex(terms, letter),
    )


def equation(text: str, latex: str, variables: Sequence[str]) -> Gold:
    """An equation of a curve, equal up to a factor and moved terms."""
    return _canonical("equation", text, latex, {"variables": list(variables)})


def interval(text: str, latex: str, variable: str = "x") -> Gold:
    """An interval or a union, in plain notation: ``(-oo,2)U[3,5]``."""
    return _canonical("interval", text, latex, {"variable": variable})


def _canonical(kind: str, text: str, latex: str, params: dict[str, Any]) -> Gold:
    return Gold(canonical(Answer(type=kind, value=text, params=params)), latex)
