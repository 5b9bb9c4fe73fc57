"""Geometry: lengths, angles, areas, volumes, coordinates and vectors."""

FAMILIES: dict[str, str] = {}
"""Name to ``module:Class`` in this package."""
