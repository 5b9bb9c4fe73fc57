"""Arithmetic and number systems: fractions, decimals, bases, units, percentages, powers."""

FAMILIES: dict[str, str] = {
    "arithmetic-in-base": "arithmetic_in_base:ArithmeticInBase",
    "averages": "averages:Averages",
    "base-conversion": "base_conversion:BaseConversion",
    "consecutive-numbers": "consecutive_numbers:ConsecutiveNumbers",
    "continued-fractions": "continued_fractions:ContinuedFractions",
    "decimal-products": "decimal_products:DecimalProducts",
    "digit-puzzles": "digit_puzzles:DigitPuzzles",
    "fewest-coins": "fewest_coins:FewestCoins",
    "fraction-sum": "fraction_sum:FractionSum",
    "meeting-travellers": "meeting_travellers:MeetingTravellers",
    "mixtures": "mixtures:Mixtures",
    "order-of-operations": "order_of_operations:OrderOfOperations",
    "proportions": "proportions:Proportions",
    "radical-forms": "radical_forms:RadicalForms",
    "ratio-sharing": "ratio_sharing:RatioSharing",
    "roman-numerals": "roman_numerals:RomanNumerals",
    "rounded-values": "rounded_values:RoundedValues",
    "scientific-notation": "scientific_notation:ScientificNotation",
    "successive-percentages": "successive_percentages:SuccessivePercentages",
    "unit-conversion": "unit_conversion:UnitConversion",
    "weekdays": "weekdays:Weekdays",
    "work-rates": "work_rates:WorkRates",
}
"""Name to ``module:Class`` in this package."""
