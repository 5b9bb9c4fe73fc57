"""Arithmetic and number systems: fractions, decimals, bases, units, percentages, powers."""

FAMILIES: dict[str, str] = {
    "arithmetic-in-base": "arithmetic_in_base:ArithmeticInBase",
    "base-conversion": "base_conversion:BaseConversion",
    "decimal-products": "decimal_products:DecimalProducts",
    "fraction-sum": "fraction_sum:FractionSum",
    "order-of-operations": "order_of_operations:OrderOfOperations",
    "successive-percentages": "successive_percentages:SuccessivePercentages",
    "unit-conversion": "unit_conversion:UnitConversion",
}
"""Name to ``module:Class`` in this package."""
