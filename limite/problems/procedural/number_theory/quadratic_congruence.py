"""Squares to a modulus."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import PRIMES
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class QuadraticCongruence(Family):
    """All residues whose square is a given one, to a prime or composite modulus."""

    name = "quadratic-congruence"
    tag = "number-theory/quadratic-residues"
    wordings = Wordings(
        all=(
            "Find all integers $x$ with $0 \\le x < <modulus>$ and "
            "$x^2 \\equiv <square> \\pmod{<modulus>}$.",
            "For which integers $x$ from the range $0 \\le x < <modulus>$ is $x^2 - <square>$ "
            "divisible by $<modulus>$? Give the set of all of them.",
        ),
        count=(
            "How many integers $x$ with $0 \\le x < <modulus>$ satisfy "
            "$x^2 \\equiv <square> \\pmod{<modulus>}$?",
            "For how many of the integers $x$ from the range $0 \\le x < <modulus>$ is "
            "$x^2 - <square>$ divisible by $<modulus>$?",
        ),
        second=(
            "The integers $x > 0$ for which $x^2 - <square>$ is divisible by $<modulus>$ are "
            "listed in increasing order. Which is the second?",
        ),
    )

    primes: Ends = dial(6, 40, "how many odd primes are in use, from 3 on", least=4, most=40)
    composite: Ends = dial(0, 0.8, "share of moduli with several primes", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        composite = rng.random() < base.steady(self.composite, difficulty)
        ask = base.chosen(rng, ("all", "all", "second", "count" if composite else "second"))
        room = base.whole_near(rng, base.steady(self.primes, difficulty))
        if composite:
            low, high = sorted(base.distinct(rng, 2, 0, min(room, 9) - 1))
            primes = [PRIMES[1:][low], PRIMES[1:][high]]
            if rng.random() < 0.3 and high < 6:
                primes = [4, *primes]
            elif ask == "count" and low > 0 and rng.random() < 0.4:
                primes = [3, *primes]
        else:
            primes = [PRIMES[base.whole(rng, 3, room)]]
        modulus = math.prod(primes)
        root = base.whole(rng, 2, modulus - 2)
        for _ in range(modulus):
            visible = root * root % modulus == 1 or (
                not composite and math.isqrt(root * root % modulus) ** 2 == root * root % modulus
            )
            if math.gcd(root, modulus) == 1 and not visible:
                break
            root = root + 1 if root < modulus - 1 else 2
        if ask == "count":
            return _count(rng, primes, root)
        square = root * root % modulus
        found, step, steps = [0], 1, []
        for prime in primes:
            small = root % prime
            roots = sorted({small, -small % prime})
            found = [
                x + step * k for x in found for k in range(prime) if (x + step * k) % prime in roots
            ]
            step *= prime
            steps.append(
                f"Modulo ${prime}$ it says $x^2 \\equiv {square % prime}$, so $x$ is one of "
                f"${', '.join(map(str, roots))}$, as ${roots[0]}^2 = {roots[0] ** 2}$."
            )
        found.sort()
        if len(primes) > 1:
            steps.append(
                f"Every combination of these gives one residue modulo ${modulus}$, in all "
                f"{len(found)}: ${', '.join(map(str, found))}$."
            )
        return Drawn(
            ask=ask,
            values={"square": square, "modulus": modulus},
            gold=gold.finite_set(found) if ask == "all" else gold.integer(found[1]),
            steps=" ".join(steps),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        square, modulus = values["square"], values["modulus"]
        if ask == "second":
            found = [x for x in range(1, 2 * modulus + 1) if (x * x - square) % modulus == 0]
            return gold.integer(found[1]) if len(found) > 1 else None
        found = [x for x in range(modulus) if (x * x - square) % modulus == 0]
        return gold.finite_set(found) if ask == "all" else gold.integer(len(found))


def _count(rng: random.Random, primes: list[int], root: int) -> Drawn:
    """How many residues there are, for a square of ``root`` or for a number that is none."""
    modulus, square = math.prod(primes), root * root
    odd = base.chosen(rng, [each for each in primes if each != 4])
    luck = rng.random()
    if luck < 0.3:  # no square to one of the primes
        residues = {x * x % odd for x in range(odd)}
        while square % odd in residues:  # ends, as half of the numbers are no squares
            square += modulus // odd
    elif luck < 0.55:  # a multiple of it, which has one root instead of two
        while square % odd:
            square += modulus // odd
    square %= modulus
    counts, steps = [], []
    for prime in primes:
        rest = square % prime
        roots = [x for x in range(prime) if x * x % prime == rest]
        counts.append(len(roots))
        said = f"so $x$ is one of ${', '.join(map(str, roots))}$"
        if not roots:
            squares = sorted({x * x % prime for x in range(prime)})
            said = f"but the squares are only ${', '.join(map(str, squares))}$"
        elif len(roots) == 1:
            said = f"so $x \\equiv {roots[0]}$"
        steps.append(f"Modulo ${prime}$ it says $x^2 \\equiv {rest}$, {said}.")
        if not roots:
            steps = steps[-1:]
            break
    found = math.prod(counts)
    if found:
        product = " \\cdot ".join(map(str, counts))
        steps.append(
            f"Every combination of these gives one residue modulo ${modulus}$, in all "
            f"${product} = {found}$."
        )
    return Drawn(
        ask="count",
        values={"square": square, "modulus": modulus},
        gold=gold.integer(found),
        steps=" ".join(steps),
    )
