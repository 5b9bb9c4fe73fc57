"""What objectives do beyond the golden numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Loss
from limite.plugins.conformance.strategies import COLUMNS, Tokens, cells, tokens
from limite.plugins.objectives.cispo import CISPO
from limite.plugins.objectives.dapo import DAPO
from limite.plugins.objectives.divergence import binary_divergence, topk_divergence
from limite.plugins.objectives.dppo import DPPO
from limite.plugins.objectives.dr_grpo import DrGRPO
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.gspo import GSPO
from limite.plugins.objectives.kl import ESTIMATORS, kl_estimate
from limite.plugins.objectives.reinforce import Reinforce
from tests.plugins.objectives.differences import require_gradient

COLUMNS_READ = {name: COLUMNS[name] for name in ("logp", "behavior_logp", "advantage")}
batches = tokens(COLUMNS_READ)
telling = st.sampled_from((0.0, -1e-9, -1e-3, -0.2, -0.7, -1.4, -7.0, -30.0, -200.0))


def evaluate(objective: Any, given: Tokens, logp: Tensor) -> Loss:
    totals = totals_of(given.mask, response_tokens=6)
    loss: Loss = objective(token_batch(given.mask, {**given.columns, "logp": logp}, totals))
    return loss


@given(given_tokens=batches)
@pytest.mark.parametrize(
    "objective",
    [
        GRPO(),
        DAPO(),
        DrGRPO(),
        GSPO(),
        CISPO(),
        Reinforce(),
        DPPO(),
        DPPO(divergence="binary-kl"),
    ],
    ids=["grpo", "dapo", "dr-grpo", "gspo", "cispo", "reinforce", "dppo-tv", "dppo-kl"],
)
def test_on_policy_the_gradient_is_minus_the_weighted_advantage(
    objective: Any, given_tokens: Tokens
) -> None:
    logp = given_tokens.columns["behavior_logp"].clone().requires_grad_()
    torch.autograd.backward(evaluate(objective, given_tokens, logp).value)
    weights = torch.zeros_like(logp).requires_grad_()
    batch = token_batch(given_tokens.mask, {}, totals_of(given_tokens.mask, response_tokens=6))
    torch.autograd.backward(batch.aggregate(weights, objective.aggregation))
    assert logp.grad is not None
    assert weights.grad is not None
    expected = -given_tokens.columns["advantage"] * weights.grad
    torch.testing.assert_close(logp.grad, expected, rtol=1e-12, atol=1e-15)


smooth = st.sampled_from((-0.5, -0.55, -0.8, -1.3, -2.0))


@given(logp=cells(2, 3, smooth), behavior=cells(2, 3, smooth), advantage=cells(2, 1, smooth))
@pytest.mark.parametrize("objective", [GRPO(), GRPO(dual_clip=1.5), DrGRPO(), GSPO()])
def test_gradients_match_finite_differences(
    objective: Any, logp: Tensor, behavior: Tensor, advantage: Tensor
) -> None:
    # No ratio of these values is within 1e-4 of a kink at 0.8, 1, 1.2 or 1.5.
    given_tokens = Tokens(
        mask=torch.tensor([[1, 1, 0], [0, 1, 1]]).bool(),
        columns={"behavior_logp": behavior, "advantage": (1.7 + advantage).expand(2, 3)},
    )
    require_gradient(lambda at: evaluate(objective, given_tokens, at).value, logp)


@given(logp=cells(1, 6, telling), behavior=cells(1, 6, telling))
def test_divergences_are_what_they_say(logp: Tensor, behavior: Tensor) -> None:
    for dtype in (torch.float64, torch.float32):
        policy, sampled = logp.to(dtype), behavior.to(dtype)
        distance = binary_divergence(policy, sampled, "binary-tv")
        torch.testing.assert_close(distance, (policy.exp() - sampled.exp()).abs())
        relative = binary_divergence(policy, sampled, "binary-kl")
        assert not relative.isnan().any()
        assert bool((relative >= -1e-6).all())
        # Pinsker: KL >= 2 TV^2, and infinite exactly where the policy is sure and behaviour not.
        assert bool((relative >= 2 * distance.square() - 1e-5).all())
        assert torch.equal(relative.isinf(), (policy == 0) & (sampled < 0))


@given(given_tokens=batches, small=st.floats(0.01, 0.5), larger=st.floats(1.0, 3.0))
def test_the_masked_set_shrinks_as_thresholds_grow(
    given_tokens: Tokens, small: float, larger: float
) -> None:
    totals = totals_of(given_tokens.mask, response_tokens=6)
    batch = token_batch(given_tokens.mask, given_tokens.columns, totals)
    for kind in ("binary-tv", "binary-kl"):
        tight = DPPO(divergence=kind, delta=small).keep(batch)
        loose = DPPO(divergence=kind, delta=small * larger).keep(batch)
        assert bool((loose | ~tight).all())


@given(logits=cells(2, 7, st.floats(-6.0, 6.0)), listed=st.integers(1, 7), token=st.integers(0, 6))
def test_coarser_divergences_are_never_larger(logits: Tensor, listed: int, token: int) -> None:
    policy, behavior = logits.log_softmax(-1)
    order = behavior.argsort(descending=True)
    ids = order[:listed]
    if token not in ids:  # the sampled token is always on the list
        ids = torch.cat([ids[:-1], torch.tensor([token])])
    full_tv = 0.5 * (policy.exp() - behavior.exp()).abs().sum()
    full_kl = (behavior.exp() * (behavior - policy)).sum()
    for name, full in (("tv", full_tv), ("kl", full_kl)):
        binary = binary_divergence(policy[token], behavior[token], f"binary-{name}")
        lists = topk_divergence(policy[ids], behavior[ids], f"topk-{name}")
        assert float(binary) <= float(lists) + 1e-9
        assert float(lists) <= float(full) + 1e-9
        assert float(binary) >= 0.0
    assert float(full_tv) <= 1.0 + 1e-12


@given(logits=cells(2, 7, st.floats(-6.0, 6.0)))
def test_kl_estimators_estimate_the_kl(logits: Tensor) -> None:
    policy, reference = logits.log_softmax(-1)
    exact = float((policy.exp() * (policy - reference)).sum())
    means = {
        name: float((policy.exp() * kl_estimate(policy, reference, name)).sum())
        for name in ESTIMATORS
    }
    assert means["k1"] == pytest.approx(exact, abs=1e-12)
    assert means["k3"] == pytest.approx(exact, abs=1e-12)
    assert bool((kl_estimate(policy, reference, "k3") >= 0).all())
    assert means["k2"] >= exact**2 / 2 - 1e-12  # Jensen


def test_a_penalty_towards_a_reference_pulls_there_and_is_measured() -> None:
    mask = torch.ones(1, 2).bool()
    logp = torch.tensor([[-1.0, -2.0]]).double().requires_grad_()
    columns = {
        "logp": logp,
        "behavior_logp": logp.detach(),
        "advantage": torch.zeros(1, 2).double(),
        "reference_logp": torch.tensor([[-1.5, -1.0]]).double(),
    }
    for estimator, slopes in (("k2", (0.5, -1.0)), ("k3", (1 - math.exp(-0.5), 1 - math.e))):
        logp.grad = None
        batch = token_batch(mask, columns, totals_of(mask, response_tokens=2))
        loss = GRPO(beta=0.1, kl=estimator)(batch)
        torch.autograd.backward(loss.value)
        assert logp.grad is not None
        assert logp.grad[0].tolist() == pytest.approx([0.05 * slope for slope in slopes])
        assert loss.metrics["kl/reference_nats"].result() == pytest.approx(-0.25)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)], ids=str)
@pytest.mark.parametrize(
    "objective",
    [GRPO(), GSPO(), CISPO(), Reinforce(), DPPO(), DPPO(divergence="binary-kl")],
    ids=["grpo", "gspo", "cispo", "reinforce", "dppo-tv", "dppo-kl"],
)
def test_no_rows_and_no_tokens_cost_nothing(objective: Any, shape: tuple[int, int]) -> None:
    logp = torch.zeros(shape, requires_grad=True)
    columns = {"logp": logp, "behavior_logp": torch.zeros(shape), "advantage": torch.ones(shape[0])}
    mask = torch.ones(shape, dtype=torch.bool)
    loss = objective(token_batch(mask, columns, totals_of(mask, response_tokens=6)))
    torch.autograd.backward(loss.value)
    assert loss.value.detach().item() == 0.0
    assert logp.grad is not None
    assert logp.grad.shape == shape
    assert loss.metrics["kl/behavior_nats"].result() is None


def test_an_advantage_given_once_is_that_of_every_token() -> None:
    generator = torch.Generator().manual_seed(2)
    mask = torch.rand(6, 5, generator=generator) < 0.6
    mask[2] = False
    behavior, moved = -torch.rand(2, 6, 5, generator=generator, dtype=torch.float64)
    once = torch.randn(6, generator=generator, dtype=torch.float64)
    gradients = []
    for advantage in (once, once[:, None].expand(6, 5).clone()):
        logp = (behavior + moved / 100).requires_grad_()
        columns = {"logp": logp, "behavior_logp": behavior, "advantage": advantage}
        batch = token_batch(mask, columns, totals_of(mask, response_tokens=6))
        torch.autograd.backward(GSPO(eps_low=0.5, eps_high=0.5)(batch).value)
        gradients.append(logp.grad)
    assert gradients[0] is not None
    assert bool(gradients[0].any())
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0.0, atol=0.0)


def test_a_sequence_objective_refuses_an_advantage_per_token() -> None:
    mask = torch.tensor([[1, 1, 0]]).bool()
    columns = {
        "logp": torch.full((1, 3), -1.0),
        "behavior_logp": torch.full((1, 3), -1.0),
        "advantage": torch.tensor([[0.5, 0.5, 9.0]]),
    }
    totals = totals_of(mask, response_tokens=3)
    assert math.isfinite(GSPO()(token_batch(mask, columns, totals)).value)
    columns["advantage"] = torch.tensor([[0.5, 0.25, 0.0]])
    with pytest.raises(ValueError, match=r"one advantage per response; those of row 0.*0.25.*0.5"):
        GSPO()(token_batch(mask, columns, totals))


def test_a_rare_token_is_kept_where_clipping_drops_it() -> None:
    """The published example: 0.001 to 0.004 is a ratio of 4 and a distance of 0.003."""
    probabilities = torch.tensor([[0.004, 0.80]]).double()
    behavior = torch.tensor([[0.001, 0.99]]).double().log()
    given_tokens = Tokens(
        mask=torch.ones(1, 2).bool(),
        columns={"behavior_logp": behavior, "advantage": torch.tensor([[1.0, -1.0]]).double()},
    )
    moved = {}
    for name, objective in (("dppo", DPPO()), ("clip", DrGRPO())):
        logp = probabilities.log().requires_grad_()
        torch.autograd.backward(evaluate(objective, given_tokens, logp).value)
        assert logp.grad is not None
        moved[name] = [bool(value) for value in logp.grad[0] != 0]
    assert moved == {"dppo": [True, False], "clip": [False, True]}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_the_smallest_advantage_has_its_sign(dtype: torch.dtype) -> None:
    least = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps  # half of it is 0
    given_tokens = Tokens(
        mask=torch.ones(1, 4).bool(),
        columns={
            "behavior_logp": torch.tensor([[0.5, 0.9, 0.5, 0.9]], dtype=dtype).log(),
            "advantage": torch.tensor([[least, -least, -least, least]], dtype=dtype),
        },
    )
    logp = torch.tensor([[0.7, 0.6, 0.7, 0.6]], dtype=dtype).log()
    loss = evaluate(DPPO(), given_tokens, logp.requires_grad_())
    metrics = {name: metric.result() for name, metric in loss.metrics.items()}
    assert metrics["ratio/masked_fraction"] == 0.5
    assert metrics["ratio/masked_fraction_positive"] == 0.25
    batch = token_batch(
        given_tokens.mask,
        {**given_tokens.columns, "logp": logp},
        totals_of(given_tokens.mask, response_tokens=6),
    )
    assert DPPO().keep(batch).tolist() == [[False, False, True, True]]


def test_every_setting_out_of_range_is_refused() -> None:
    for kind, settings in (
        (GRPO, {"eps_low": 1.0}),
        (GRPO, {"eps_high": 0.0}),
        (GRPO, {"dual_clip": 1.0}),
        (GRPO, {"aggregation": "mean"}),
        (GRPO, {"beta": -0.1}),
        (GRPO, {"kl": "k1"}),
        (GRPO, {"entropy_weight": -1.0}),
        (GSPO, {"aggregation": "token-mean"}),
        (DrGRPO, {"aggregation": "token-mean"}),
        (CISPO, {"ratio_max": 0.0}),
        (CISPO, {"ratio_min": 6.0}),
        (DrGRPO, {"constant_tokens": 0}),
        (GRPO, {"constant_tokens": 8}),
        (DAPO, {"rows": "all"}),
        (CISPO, {"rows": "all"}),
        (DPPO, {"rows": "all"}),
        (DPPO, {"delta": 0.2, "delta_low": 0.1, "delta_high": 0.3}),
        (DPPO, {"delta": 0.0}),
        (DPPO, {"divergence": "full-tv"}),
        (DPPO, {"ratio_cap": 0.0}),
    ):
        with pytest.raises(ValueError, match=next(iter(settings))):
            kind(**settings)
