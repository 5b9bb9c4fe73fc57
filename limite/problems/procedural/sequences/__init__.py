"""Sequences and series: terms, sums, recurrences and limits of sums."""

FAMILIES: dict[str, str] = {
    "arithmetic-sequence": "arithmetic_sequence:ArithmeticSequence",
    "arithmetico-geometric": "arithmetico_geometric:ArithmeticoGeometric",
    "common-terms": "common_terms:CommonTerms",
    "concatenated-digits": "concatenated_digits:ConcatenatedDigits",
    "double-sum": "double_sum:DoubleSum",
    "figurate-numbers": "figurate_numbers:FigurateNumbers",
    "geometric-sequence": "geometric_sequence:GeometricSequence",
    "infinite-geometric": "infinite_geometric:InfiniteGeometric",
    "linear-recurrence": "linear_recurrence:LinearRecurrence",
    "mixed-progressions": "mixed_progressions:MixedProgressions",
    "next-term": "next_term:NextTerm",
    "polynomial-sum": "polynomial_sum:PolynomialSum",
    "recurrence-formula": "recurrence_formula:RecurrenceFormula",
    "recurrence-period": "recurrence_period:RecurrencePeriod",
    "sum-formula": "sum_formula:SumFormula",
    "telescoping-product": "telescoping_product:TelescopingProduct",
    "telescoping-sum": "telescoping_sum:TelescopingSum",
    "term-formula": "term_formula:TermFormula",
}
"""Name to ``module:Class`` in this package."""
