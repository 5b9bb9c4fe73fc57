"""Probability and statistics: chances, expectations, and summaries of data."""

FAMILIES: dict[str, str] = {
    "dice-sums": "dice_sums:DiceSums",
    "urn-draws": "urn_draws:UrnDraws",
    "conditional-dice": "conditional_dice:ConditionalDice",
    "bayes-tests": "bayes_tests:BayesTests",
    "binomial-probability": "binomial_probability:BinomialProbability",
    "waiting-times": "waiting_times:WaitingTimes",
    "expected-counts": "expected_counts:ExpectedCounts",
    "extreme-dice": "extreme_dice:ExtremeDice",
    "gamblers-ruin": "gamblers_ruin:GamblersRuin",
    "markov-chains": "markov_chains:MarkovChains",
    "coupon-collector": "coupon_collector:CouponCollector",
    "shared-birthdays": "shared_birthdays:SharedBirthdays",
    "data-averages": "data_averages:DataAverages",
    "spread-of-data": "spread_of_data:SpreadOfData",
    "mean-changes": "mean_changes:MeanChanges",
    "quartiles": "quartiles:Quartiles",
    "regression-lines": "regression_lines:RegressionLines",
    "combined-groups": "combined_groups:CombinedGroups",
    "standard-scores": "standard_scores:StandardScores",
    "geometric-probability": "geometric_probability:GeometricProbability",
    "independent-events": "independent_events:IndependentEvents",
    "likeliest-urns": "likeliest_urns:LikeliestUrns",
    "fair-games": "fair_games:FairGames",
    "match-wins": "match_wins:MatchWins",
}
"""Name to ``module:Class`` in this package."""
