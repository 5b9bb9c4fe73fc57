"""Arithmetic and number systems: fractions, decimals, bases, units, percentages, powers."""

FAMILIES: dict[str, str] = {
    "arithmetic-in-base": "arithmetic_in_base:ArithmeticInBase",
    "averages": "averages:Averages",
    "base-conversion": "base_conversion:BaseConversion",
    "decimal-products": "decimal_products:DecimalProducts",
    "fraction-sum": "fraction_sum:FractionSum",
    "meeting-travellers": "meeting_travellers:MeetingTravellers",
    "mixtures": "mixtures:Mixtures",
    "order-of-operations": "order_of_operations:OrderOfOperations",
    "ratio-sharing": "ratio_sharing:RatioSharing",
    "successive-percentages": "successive_percentages:SuccessivePercentages",
    "unit-conversion": "unit_conversion:UnitConversion",
    "work-rates": "work_rates:WorkRates",
}
"""Name to ``module:Class`` in this package."""
