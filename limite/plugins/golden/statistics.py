"""Cases of health and of evaluation: figures that say whether a run is to be believed."""

from __future__ import annotations

import torch

from limite.core.errors import LimiteError
from limite.core.health.conditional import conditional_health as of_distributions
from limite.core.health.contrast import mixed_group_probability as mixed
from limite.core.health.gates import all_passed, ratio_gates
from limite.core.health.limits import HealthLimits
from limite.core.health.ratios import HIGH, LOW, ratio_health
from limite.core.health.wilson import Z_95
from limite.core.registry import Registry
from limite.evaluate.bootstrap import exact_interval, sum_distribution
from limite.evaluate.passk import pass_at_k as estimate
from limite.evaluate.shares import wilson as interval
from limite.plugins.golden.case import Case

RATIO_FIGURES = (
    "tokens",
    "clipped_token_fraction",
    "effective_sample_fraction",
    "mean_weight",
    "min_ratio",
    "max_ratio",
)


def _bounds(case: Case) -> None:
    """Health is measured with one pair of bounds; a case with others cannot be met."""
    bounds = (1.0 - case.param("eps_low", 0.2), 1.0 + case.param("eps_high", 0.2))
    if bounds != (LOW, HIGH):
        raise LimiteError(f"health counts ratios outside {LOW} .. {HIGH}, not {bounds}")


def is_health(case: Case, registry: Registry) -> None:
    """Figures and verdict of a batch's importance weights."""
    _bounds(case)
    mask = case.tensor("mask", torch.float64)
    health = ratio_health(case.tensor("train_logp"), case.tensor("behaviour_logp"), mask)
    for name in RATIO_FIGURES:
        case.check(name, getattr(health, name))
    case.check("passed", all_passed(ratio_gates(health, HealthLimits())))
    case.check("reason", None if health.tokens else "no_active_tokens")


def conditional_health(case: Case, registry: Registry) -> None:
    """Whole distributions of sampler and learner, position by position."""
    _bounds(case)
    health = of_distributions(case.tensor("behaviour_probs"), case.tensor("train_probs"))
    figures = {verdict.name: verdict.figure for verdict in health.gates()}
    case.check("mass_behaviour_per_position", health.mass_behavior)
    case.check("mass_learner_per_position", health.mass_learner)
    case.check("ess_per_position", health.effective_sample_fraction)
    case.check("mean_mass_behaviour", figures["conditional/mean_mass_behavior"])
    case.check("mean_mass_learner", figures["conditional/mean_mass_learner"])
    case.check("worst_mass_behaviour", health.mass_behavior.max())
    case.check("worst_mass_learner", health.mass_learner.max())
    case.check("min_ess", figures["conditional/min_effective_sample_fraction"])
    case.check("max_norm_error", figures["conditional/largest_sum_error"])
    case.check("passed", all_passed(health.gates()))


def mixed_group_probability(case: Case, registry: Registry) -> None:
    """The chance that a group of responses has both right and wrong ones."""
    sizes, rates = case.given("group_size"), case.given("pass_rate")
    case.check("probability", [[mixed(rate, size) for rate in rates] for size in sizes])


def pass_at_k(case: Case, registry: Registry) -> None:
    """pass@k from n responses of which c are right."""
    case.check("value", [estimate(*counts) for counts in case.given("n_c_k")])


def wilson(case: Case, registry: Registry) -> None:
    """Wilson's interval of a share."""
    if case.param("z", Z_95) != Z_95:
        raise LimiteError(f"only z = {Z_95}, of 95%, can be compared exactly")
    found = [list(interval(count, total)) for count, total in case.given("correct_total")]
    case.check("interval", found)


def paired_bootstrap_exact(case: Case, registry: Registry) -> None:
    """The exact bootstrap interval of a paired difference, and how the distribution runs there."""
    values = [int(each) for each in case.given("correct_difference_per_problem")]
    responses = int(case.param("responses_per_problem"))
    low, high = exact_interval(values, float(case.param("level")))
    case.check("interval_sum", [low, high])
    points = 100.0 / (len(values) * responses)
    case.check("interval_points", [low * points, high * points])
    case.check("mean_points", sum(values) * points)
    offset, probabilities = sum_distribution(values)
    cumulative = probabilities.cumsum()
    for name, place in (
        ("cdf_at_lo_minus_1", low - 1),
        ("cdf_at_lo", low),
        ("cdf_at_hi_minus_1", high - 1),
        ("cdf_at_hi", high),
    ):
        case.check(name, float(cumulative[place - offset]))
