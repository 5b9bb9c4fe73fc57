"""Sequences and series: terms, sums, recurrences and limits of sums."""

FAMILIES: dict[str, str] = {}
"""Name to ``module:Class`` in this package."""
