"""Probability and statistics: chances, expectations, and summaries of data."""

FAMILIES: dict[str, str] = {}
"""Name to ``module:Class`` in this package."""
