"""Combinatorics: counting arrangements, selections, paths and colourings."""

FAMILIES: dict[str, str] = {
    "letter-arrangements": "letter_arrangements:LetterArrangements",
    "strings-avoiding": "strings_avoiding:StringsAvoiding",
    "committees": "committees:Committees",
    "seatings": "seatings:Seatings",
    "stars-and-bars": "stars_and_bars:StarsAndBars",
    "lattice-paths": "lattice_paths:LatticePaths",
    "ballots": "ballots:Ballots",
    "fixed-points": "fixed_points:FixedPoints",
    "rook-placements": "rook_placements:RookPlacements",
    "distributions": "distributions:Distributions",
    "partitions": "partitions:Partitions",
    "stair-climbing": "stair_climbing:StairClimbing",
    "necklaces": "necklaces:Necklaces",
    "graph-colourings": "graph_colourings:GraphColourings",
    "domino-tilings": "domino_tilings:DominoTilings",
    "digit-counting": "digit_counting:DigitCounting",
    "pigeonholes": "pigeonholes:Pigeonholes",
    "permutation-rank": "permutation_rank:PermutationRank",
    "subset-sums": "subset_sums:SubsetSums",
    "spaced-subsets": "spaced_subsets:SpacedSubsets",
    "surveys": "surveys:Surveys",
    "codes": "codes:Codes",
    "coin-change": "coin_change:CoinChange",
}
"""Name to ``module:Class`` in this package."""
