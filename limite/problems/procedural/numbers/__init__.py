"""Arithmetic and number systems: fractions, decimals, bases, units, percentages, powers."""

FAMILIES: dict[str, str] = {
    "successive-percentages": "successive_percentages:SuccessivePercentages",
}
"""Name to ``module:Class`` in this package."""
