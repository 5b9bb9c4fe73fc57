"""Composed problems: the answer to one question stands in the next one."""

FAMILIES: dict[str, str] = {
    "composed-calculus": "derivatives:ComposedCalculus",
    "composed-counting": "counting:ComposedCounting",
    "composed-divisors": "divisors:ComposedDivisors",
    "composed-equations": "equations:ComposedEquations",
    "composed-geometry": "triangles:ComposedGeometry",
    "composed-probability": "chances:ComposedProbability",
    "composed-remainders": "remainders:ComposedRemainders",
    "composed-sequences": "sequences:ComposedSequences",
    "composed-stories": "stories:ComposedStories",
}
"""Name to ``module:Class`` in this package."""
