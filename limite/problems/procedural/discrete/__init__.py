"""Logic and discrete structures: truth, sets, graphs, relations and automata."""

FAMILIES: dict[str, str] = {
    "function-iteration": "function_iteration:FunctionIteration",
    "graph-parts": "graph_parts:GraphParts",
    "knights-and-knaves": "knights_and_knaves:KnightsAndKnaves",
    "logical-equivalence": "logical_equivalence:LogicalEquivalence",
    "minimum-spanning-tree": "spanning_tree:SpanningTree",
    "overlapping-groups": "overlapping_groups:OverlappingGroups",
    "permutation-powers": "permutation_powers:Permutations",
    "relations": "relations:Relations",
    "satisfying-assignments": "satisfying_assignments:SatisfyingAssignments",
    "set-operations": "set_operations:SetOperations",
    "shortest-path": "shortest_path:ShortestPath",
    "truth-value": "truth_value:TruthValue",
}
"""Name to ``module:Class`` in this package."""
