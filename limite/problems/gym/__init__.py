"""Data sets of reasoning-gym as families: names only, imported when they are used."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

PACKAGE = "reasoning_gym"
EXTRA = "limite[reasoning-gym]"
PREFIX = "gym-"

FAMILIES = {
    "gym-base-conversion": "arithmetic:GymBaseConversion",
    "gym-basic-arithmetic": "arithmetic:GymBasicArithmetic",
    "gym-binary-alternation": "discrete:GymBinaryAlternation",
    "gym-chain-sum": "arithmetic:GymChainSum",
    "gym-coin-flip": "chance:GymCoinFlip",
    "gym-complex-arithmetic": "algebra:GymComplexArithmetic",
    "gym-count-bits": "arithmetic:GymCountBits",
    "gym-count-primes": "arithmetic:GymCountPrimes",
    "gym-course-schedule": "discrete:GymCourseSchedule",
    "gym-decimal-chain-sum": "arithmetic:GymDecimalChainSum",
    "gym-dice": "chance:GymDice",
    "gym-fraction-simplification": "arithmetic:GymFractionSimplification",
    "gym-gcd": "arithmetic:GymGcd",
    "gym-intermediate-integration": "algebra:GymIntermediateIntegration",
    "gym-largest-island": "discrete:GymLargestIsland",
    "gym-lcm": "arithmetic:GymLcm",
    "gym-products": "arithmetic:GymProducts",
    "gym-rotten-oranges": "discrete:GymRottenOranges",
    "gym-self-reference": "logic:GymSelfReference",
    "gym-simple-equations": "algebra:GymSimpleEquations",
    "gym-simple-geometry": "arithmetic:GymSimpleGeometry",
    "gym-simple-integration": "algebra:GymSimpleIntegration",
    "gym-syllogism": "logic:GymSyllogism",
}


def installed() -> bool:
    """Whether the package is there. It is looked for, not imported."""
    return importlib.util.find_spec(PACKAGE) is not None


def families() -> Iterator[tuple[str, str]]:
    """Every adapted data set as (name, ``package.module:Class``); none without the package."""
    if installed():
        for name, target in FAMILIES.items():
            yield name, f"{__name__}.{target}"


def absences() -> Iterator[tuple[str, str]]:
    """Every adapted data set as (name, what to install), where the package is lacking."""
    if not installed():
        for name in FAMILIES:
            yield name, f"needs reasoning-gym: pip install '{EXTRA}'"
