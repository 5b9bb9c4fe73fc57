"""The areas of mathematics, and the families of each: names only, imported when they are used."""

from __future__ import annotations

from collections.abc import Iterator

from limite.problems.procedural import (
    algebra,
    calculus,
    combinatorics,
    composed,
    discrete,
    geometry,
    number_theory,
    numbers,
    probability,
    sequences,
)

AREAS = {
    "arithmetic": numbers,
    "algebra": algebra,
    "number-theory": number_theory,
    "combinatorics": combinatorics,
    "probability": probability,
    "geometry": geometry,
    "sequences": sequences,
    "calculus": calculus,
    "discrete": discrete,
    "composed": composed,
}
"""The first part of every tag of its families, and the package that holds them."""


def families() -> Iterator[tuple[str, str]]:
    """Every family as (name, ``package.module:Class``), area by area."""
    for package in AREAS.values():
        for name, target in package.FAMILIES.items():
            yield name, f"{package.__name__}.{target}"
