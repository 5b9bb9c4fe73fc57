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
}
"""Name to ``module:Class`` in this package."""
