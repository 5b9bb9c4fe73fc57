"""Algebra: equations, polynomials, inequalities, systems and matrices."""

FAMILIES: dict[str, str] = {}
"""Name to ``module:Class`` in this package."""
