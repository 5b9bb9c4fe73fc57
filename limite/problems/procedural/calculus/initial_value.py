"""Solutions of linear differential equations with given values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_RATES = [(u, v) for u in range(-5, 6) for v in range(-5, u) if u and v and u + v]


@attrs.frozen(kw_only=True)
class InitialValue(Family):
    """The solution of a differential equation with given initial values."""

    name = "initial-value"
    tag = "calculus/differential-equations"
    wordings = Wordings(
        growth=(
            "A function satisfies $y' = <a>y$ and $y(0) = <c>$. Find $y(x)$.",
            "Solve the initial value problem $\\frac{dy}{dx} = <a>y$, $y(0) = <c>$ for $y$ as a "
            "function of $x$.",
        ),
        shifted=(
            "A function satisfies $y' = <a>y + <b>$ and $y(0) = <c>$. Find $y(x)$.",
            "Solve the initial value problem $\\frac{dy}{dx} = <a>y + <b>$, $y(0) = <c>$ for $y$ "
            "as a function of $x$.",
        ),
        forced=(
            "A function satisfies $y' - <a>y = <f:polynomial>$ and $y(0) = <c>$. Find $y(x)$.",
            "Solve the initial value problem $\\frac{dy}{dx} - <a>y = <f:polynomial>$, "
            "$y(0) = <c>$ for $y$ as a function of $x$.",
        ),
        second=(
            "A function satisfies $y''<rest:text> = 0$, $y(0) = <c>$ and $y'(0) = <d>$. Find "
            "$y(x)$.",
            "Solve the initial value problem $y''<rest:text> = 0$, $y(0) = <c>$, $y'(0) = <d>$ for "
            "$y$ as a function of $x$.",
        ),
    )

    size: Ends = dial(6, 9, "largest number", least=3, most=50)
    hard: Ends = dial(0, 0.9, "share with more than plain growth", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a = base.whole(rng, 2, min(size, 9))
        if rng.random() >= base.steady(self.hard, difficulty):
            c = exact.nonzero(rng, 4 * size)
            c = c if abs(c) > 1 else 2
            a = -a if rng.random() < 0.5 else a
            return Drawn(
                ask="growth",
                values={"a": a, "c": c},
                gold=_said((), [(c, a)]),
                steps=f"A function whose derivative is ${a}$ times itself is a multiple of "
                f"$e^{{{a}x}}$. At $x = 0$ this is $1$, so the factor is ${c}$.",
            )
        kind = base.chosen(rng, ("shifted", "forced", "second"))
        if kind == "shifted":
            k, rest = base.whole(rng, 1, size), exact.nonzero(rng, size)
            return Drawn(
                ask=kind,
                values={"a": a, "b": a * k, "c": rest - k},
                gold=_said((-k,), [(rest, a)]),
                steps=f"The constant $y = {-k}$ is a solution: ${a} \\cdot ({-k}) + {a * k} = 0$. "
                f"All others differ from it by a multiple of $e^{{{a}x}}$, and at $x = 0$ the "
                f"difference must be ${rest - k} - ({-k}) = {rest}$.",
            )
        if kind == "forced":
            q = exact.some(rng, 1, min(size, 6))
            f = p.minus(p.derivative(q), p.scaled(q, a))
            rest = exact.nonzero(rng, size)
            start = rest + q[0]
            return Drawn(
                ask=kind,
                values={"a": a, "f": f, "c": start},
                gold=_said(q, [(rest, a)]),
                steps=f"A linear function $q$ with $q' - {a}q = {p.latex(f)}$ is "
                f"$q(x) = {p.latex(q)}$, by comparing coefficients. All solutions differ from it "
                f"by a multiple of $e^{{{a}x}}$. At $x = 0$ it is ${q[0]}$ and ${start}$ is asked "
                f"for, so the factor is ${rest}$.",
            )
        first, second = base.chosen(rng, _RATES)
        m, n = exact.nonzero(rng, size), exact.nonzero(rng, size)
        whole = (first * second, -(first + second), 1)
        return Drawn(
            ask=kind,
            values={"rest": _rest(whole[1], whole[0]), "c": m + n, "d": m * first + n * second},
            gold=_said((), [(m, first), (n, second)]),
            steps=f"$e^{{rx}}$ is a solution if ${p.latex(whole, 'r')} = 0$, "
            f"so for $r = {first}$ and $r = {second}$. With factors $m$ and $n$ of the two, "
            f"$m + n = {m + n}$ and ${_sum(first, second)} = {m * first + n * second}$, so "
            f"$m = {m}$ and $n = {n}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        c = values["c"]
        if ask == "second":
            b, e = _read(values["rest"])
            roots = exact.rational_roots((e, b, 1))
            if roots is None or len(roots) != 2:
                return None
            u, v = roots
            n = (values["d"] - c * u) / (v - u)
            return _said((), [(c - n, u), (n, v)])
        # By the integrating factor: y = e^(ax) (c + the integral from 0 of f e^(-at)), by parts.
        a = values["a"]
        f: p.Polynomial = {"growth": (), "shifted": (values.get("b", 0),)}.get(
            ask, values.get("f", ())
        )
        part: p.Polynomial = ()
        turn = Fraction(-1, a)
        while f:
            part, f, turn = p.plus(part, p.scaled(f, turn)), exact.slopes(f), -turn / -a
        start = part[0] if part else 0
        return _said(part, [(c - start, a)])


def _said(rest: p.Polynomial, waves: list[tuple[p.Number, p.Number]]) -> Gold:
    """A polynomial and multiples of exponentials."""
    plain = latex = ""
    for factor, rate in sorted(waves, key=lambda wave: -wave[1]):
        if factor:
            size = abs(factor)
            sign = "-" if factor < 0 else "+" if plain else ""
            plain += f"{sign}{'' if size == 1 else f'{size}*'}e^{_tight(rate)}"
            sign = f" {sign} " if latex else sign
            latex += f"{sign}{'' if size == 1 else size}e^{{{_rate(rate)}}}"
    if rest:
        text = p.plain(rest)
        plain += text if text.startswith("-") or not plain else f"+{text}"
        text = p.latex(rest)
        latex += f" - {text[1:]}" if text.startswith("-") else f" + {text}"
    return gold.expression(plain or "0", latex or "0", ["x"])


def _tight(rate: p.Number) -> str:
    return "x" if rate == 1 else f"({'-x' if rate == -1 else f'{rate}*x'})"


def _rate(rate: p.Number) -> str:
    return {1: "x", -1: "-x"}.get(int(rate), f"{rate}x")


def _rest(b: int, e: int) -> str:
    """`` - 3y' + 2y``."""
    return "".join(
        f" {'-' if c < 0 else '+'} {'' if abs(c) == 1 else abs(c)}{what}"
        for c, what in ((b, "y'"), (e, "y"))
        if c
    )


def _read(text: str) -> tuple[int, int]:
    found = {"y'": 0, "y": 0}
    for part in text.replace("- ", "-").replace("+ ", "+").split():
        what = "y'" if part.endswith("y'") else "y"
        size = part.removesuffix(what)
        found[what] = int(f"{size}1" if size in "+-" else size)
    return found["y'"], found["y"]


def _sum(first: int, second: int) -> str:
    text = base.term(first, "m", first=True)
    return f"{text} {'-' if second < 0 else '+'} {base.term(abs(second), 'n', first=True)}"
