"""Sequences and series: terms, sums, recurrences and limits of sums."""

FAMILIES: dict[str, str] = {
    "arithmetic-sequence": "arithmetic_sequence:ArithmeticSequence",
    "common-terms": "common_terms:CommonTerms",
    "concatenated-digits": "concatenated_digits:ConcatenatedDigits",
    "figurate-numbers": "figurate_numbers:FigurateNumbers",
    "geometric-sequence": "geometric_sequence:GeometricSequence",
    "infinite-geometric": "infinite_geometric:InfiniteGeometric",
    "mixed-progressions": "mixed_progressions:MixedProgressions",
}
"""Name to ``module:Class`` in this package."""
