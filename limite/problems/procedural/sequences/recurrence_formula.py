"""Formulas for recurrences."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RecurrenceFormula(Family):
    """A formula in n for the terms of a sequence that is given by a recurrence."""

    name = "recurrence-formula"
    tag = "sequences/recurrences"
    wordings = Wordings(
        first=(
            "A sequence has $a_0 = <start>$ and $a_{n+1} = <p>a_n <plus:text> <q>$ for "
            "$n \\ge 0$. Find a formula for $a_n$ in terms of $n$.",
            "Let $a_0 = <start>$ and $a_{n+1} = <p>a_n <plus:text> <q>$ for all $n \\ge 0$. "
            "Express $a_n$ in terms of $n$.",
        ),
        second=(
            "A sequence has $a_0 = <start>$, $a_1 = <next>$ and $a_{n+2} = <p>a_{n+1} <plus:text> "
            "<q>a_n$ for $n \\ge 0$. Find a formula for $a_n$ in terms of $n$.",
            "Let $a_0 = <start>$, $a_1 = <next>$ and $a_{n+2} = <p>a_{n+1} <plus:text> <q>a_n$ for "
            "all $n \\ge 0$. Express $a_n$ in terms of $n$.",
        ),
        double=(
            "A sequence has $a_0 = <start>$, $a_1 = <next>$ and $a_{n+2} = <p>a_{n+1} - <q>a_n$ "
            "for $n \\ge 0$, where $x^2 - <p>x + <q>$ has a double root. Find a formula for $a_n$ "
            "in terms of $n$.",
            "Let $a_0 = <start>$, $a_1 = <next>$ and $a_{n+2} = <p>a_{n+1} - <q>a_n$ for all "
            "$n \\ge 0$. The polynomial $x^2 - <p>x + <q>$ has a double root. Express $a_n$ in "
            "terms of $n$.",
        ),
    )

    root: Ends = dial(3, 7, "largest root", least=3, most=12)
    factor: Ends = dial(3, 9, "largest factor before a power", least=2, most=50)
    second: Ends = dial(0, 0.8, "share of recurrences with two terms before", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        second = rng.random() < base.steady(self.second, difficulty)
        top = base.steady(self.root, difficulty)
        size = base.steady(self.factor, difficulty)
        r = base.whole(rng, 2, top)
        c, d = base.whole(rng, 1, size), base.whole(rng, 1, size)
        if rng.random() < 0.4:
            d = -d
        if not second:
            q = d * (1 - r)  # a_n = c r^n + d
            return Drawn(
                ask="first",
                values={
                    "start": c + d,
                    "p": r,
                    "plus": "-" if q < 0 else "+",
                    "q": abs(q),
                },
                gold=_formula([(c, r), (d, 1)]),
                steps=f"The constant solution $x = {r}x {'-' if q < 0 else '+'} {abs(q)}$ is "
                f"$x = {d}$. The difference $a_n {'-' if d > 0 else '+'} {abs(d)}$ is multiplied "
                f"by ${r}$ in every step and begins with ${c}$.",
            )
        if rng.random() < 0.25:
            start, following = c, (c + d) * r  # (c + d n) r^n
            return Drawn(
                ask="double",
                values={"start": start, "next": following, "p": 2 * r, "q": r * r},
                gold=_double(c, d, r),
                steps=f"$x^2 - {2 * r}x + {r * r} = (x - {r})^2$, so $a_n = (c + dn) \\cdot "
                f"{r}^n$. From $a_0$ comes $c = {c}$, and from $a_1 = (c + d) \\cdot {r} = "
                f"{following}$ comes $d = {d}$.",
            )
        s = base.whole(rng, 2, top)
        s = -s if rng.random() < 0.4 else s
        if s in (r, -r):
            s = 1 if s == r else -1
        p, q = r + s, -r * s  # a_n = c r^n + d s^n
        if p in (0, 1, -1) or q in (1, -1):
            r, s = 5, 2
            p, q = 7, -10
        start, following = c + d, c * r + d * s
        return Drawn(
            ask="second",
            values={
                "start": start,
                "next": following,
                "p": p,
                "plus": "-" if q < 0 else "+",
                "q": abs(q),
            },
            gold=_formula([(c, r), (d, s)]),
            steps=f"$x^2 = {p}x {'-' if q < 0 else '+'} {abs(q)}$ has the roots ${r}$ and ${s}$, "
            f"so $a_n = c \\cdot {r}^n + d \\cdot {_bracketed(s)}^n$. The equations "
            f"$c + d = {start}$ and ${r}c {'-' if s < 0 else '+'} {_letter(abs(s))}d = "
            f"{following}$ give $c = {c}$ and $d = {d}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Roots are tried, and the factors fitted to terms that are computed one by one.
        start, p = values["start"], values["p"]
        q = values["q"] if values.get("plus", "-") == "+" else -values["q"]
        terms = [start, p * start + q if ask == "first" else values["next"]]
        for _ in range(4):
            terms.append(p * terms[-1] + (q if ask == "first" else q * terms[-2]))
        for r in range(2, 60):
            if ask == "double":
                c = terms[0]
                d, rest = divmod(terms[1] - c * r, r)
                if rest == 0 and all((c + d * n) * r**n == terms[n] for n in range(6)):
                    return _double(c, d, r)
                continue
            for s in range(-59, r) if ask == "second" else (1,):
                if ask == "second" and r * s != -q:
                    continue
                # c + d = a_0 and c r + d s = a_1
                c, rest = divmod(terms[1] - s * terms[0], r - s)
                d = terms[0] - c
                if rest == 0 and all(c * r**n + d * s**n == terms[n] for n in range(6)):
                    return _formula([(c, r), (d, s)])
        return None


def _bracketed(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def _letter(value: int) -> str:
    return "" if value == 1 else str(value)


def _formula(parts: list[tuple[int, int]]) -> Gold:
    """The sum of factors times powers, the largest root first."""
    plain = latex = ""
    for factor, root in sorted(parts, key=lambda part: (-part[1], part[0])):
        if not factor:
            continue
        size = abs(factor)
        sign = "-" if factor < 0 else "+" if plain else ""
        power = "" if root == 1 else f"{_bracketed(root)}^n"
        if not power:
            plain_part = latex_part = str(size)
        elif size == 1:
            plain_part = latex_part = power
        else:
            plain_part, latex_part = f"{size}*{power}", f"{size} \\cdot {power}"
        plain += sign + plain_part
        latex += (f" {sign} " if latex else sign) + latex_part
    return gold.expression(plain, latex, ["n"])


def _double(c: int, d: int, r: int) -> Gold:
    size = "" if abs(d) == 1 else str(abs(d))
    sign = "-" if d < 0 else "+"
    plain = f"({c}{sign}{size + '*' if size else ''}n)*{r}^n"
    return gold.expression(plain, f"({c} {sign} {size}n) \\cdot {r}^n", ["n"])
