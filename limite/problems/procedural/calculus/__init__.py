"""Calculus: limits, derivatives, integrals and extrema."""

FAMILIES: dict[str, str] = {}
"""Name to ``module:Class`` in this package."""
