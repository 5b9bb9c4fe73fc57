"""Logic and discrete structures: truth, sets, graphs, relations and automata."""

FAMILIES: dict[str, str] = {
    "counting-out": "counting_out:CountingOut",
    "degree-sequence": "degree_sequence:DegreeSequence",
    "finite-automaton": "finite_automaton:FiniteAutomaton",
    "function-iteration": "function_iteration:FunctionIteration",
    "graph-colouring": "graph_colouring:GraphColouring",
    "graph-parts": "graph_parts:GraphParts",
    "graph-walks": "graph_walks:GraphWalks",
    "gray-code": "gray_code:GrayCode",
    "heap-games": "heap_games:HeapGames",
    "knights-and-knaves": "knights_and_knaves:KnightsAndKnaves",
    "logical-equivalence": "logical_equivalence:LogicalEquivalence",
    "minimum-spanning-tree": "spanning_tree:SpanningTree",
    "overlapping-groups": "overlapping_groups:OverlappingGroups",
    "permutation-powers": "permutation_powers:Permutations",
    "program-trace": "program_trace:ProgramTrace",
    "relations": "relations:Relations",
    "satisfying-assignments": "satisfying_assignments:SatisfyingAssignments",
    "set-operations": "set_operations:SetOperations",
    "shortest-path": "shortest_path:ShortestPath",
    "syllogisms": "syllogisms:Syllogisms",
    "task-orders": "task_orders:TaskOrders",
    "tree-orders": "tree_orders:TreeOrders",
    "truth-value": "truth_value:TruthValue",
}
"""Name to ``module:Class`` in this package."""
