"""Logic and discrete structures: truth, sets, graphs, relations and automata."""

FAMILIES: dict[str, str] = {
    "knights-and-knaves": "knights_and_knaves:KnightsAndKnaves",
    "logical-equivalence": "logical_equivalence:LogicalEquivalence",
    "satisfying-assignments": "satisfying_assignments:SatisfyingAssignments",
    "truth-value": "truth_value:TruthValue",
}
"""Name to ``module:Class`` in this package."""
