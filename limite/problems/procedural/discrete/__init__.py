"""Logic and discrete structures: truth, sets, graphs, relations and automata."""

FAMILIES: dict[str, str] = {}
"""Name to ``module:Class`` in this package."""
