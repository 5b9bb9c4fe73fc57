"""Combinatorics: counting arrangements, selections, paths and colourings."""

FAMILIES: dict[str, str] = {}
"""Name to ``module:Class`` in this package."""
