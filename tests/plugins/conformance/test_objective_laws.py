"""The laws of objectives hold for what limite ships, and catch planted faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import pytest
import torch

from limite.core.errors import LimiteError
from limite.core.types import Loss, Metric, TokenBatch
from limite.plugins.conformance import laws_for, objective_laws
from limite.plugins.objectives.cispo import CISPO
from limite.plugins.objectives.dapo import DAPO
from limite.plugins.objectives.dpo import DPO
from limite.plugins.objectives.dppo import DPPO
from limite.plugins.objectives.dr_grpo import DrGRPO
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.gspo import GSPO
from limite.plugins.objectives.reinforce import Reinforce
from limite.plugins.objectives.sft import CrossEntropy
from limite.plugins.objectives.topk_kd import TopKDistill

SHIPPED = {
    "grpo": GRPO(),
    "grpo-kl": GRPO(beta=0.04),
    "grpo-k2-entropy": GRPO(beta=0.1, kl="k2", entropy_weight=0.01, rows="all"),
    "dapo": DAPO(dual_clip=3.0),
    "sequence-sum": GRPO(aggregation="sequence-mean-token-sum"),
    "dr-grpo": DrGRPO(),
    "dr-grpo-constant": DrGRPO(constant_tokens=3),
    "dppo": DPPO(),
    "dppo-kl": DPPO(divergence="binary-kl", delta_low=0.2),
    "dppo-token-mean": DPPO(aggregation="token-mean"),
    "dppo-topk-tv": DPPO(divergence="topk-tv"),
    "dppo-topk-kl": DPPO(divergence="topk-kl", delta_high=0.2),
    "gspo": GSPO(),
    "gspo-wide": GSPO(eps_low=0.2, eps_high=0.3, rows="all"),
    "cispo": CISPO(ratio_min=0.5),
    "reinforce": Reinforce(),
    "sft": CrossEntropy(),
    "topk-kd": TopKDistill(),
    "topk-kd-renormalized": TopKDistill(tail="renormalize", ce_weight=0.3),
    "topk-kd-reverse": TopKDistill(direction="reverse"),
    "dpo": DPO(),
    "dpo-smoothed": DPO(label_smoothing=0.2, length_normalised=True),
    "dpo-ipo": DPO(variant="ipo", beta=0.5),
}


def cases() -> list[Any]:
    return [
        pytest.param(law, id=f"{name}-{law_name}")
        for name, component in SHIPPED.items()
        for law_name, law in objective_laws(component).items()
    ]


@pytest.mark.parametrize("law", cases())
def test_shipped_objectives_keep_the_laws(law: Callable[[], None]) -> None:
    law()


def test_refusing_saturation_counts_as_finite() -> None:
    objective_laws(DPPO(overflow="raise"))["the_loss_is_finite_at_extreme_ratios"]()


def log_ratio(batch: TokenBatch) -> torch.Tensor:
    return (batch.logp - batch.behavior_logp).clamp(-20, 20)


@attrs.frozen(kw_only=True)
class Sound:
    """An objective without fault, and without declared needs."""

    def __call__(self, batch: TokenBatch) -> Loss:
        gain = log_ratio(batch).exp() * batch.advantage
        return Loss(value=batch.mean(-gain), metrics=batch.metrics({"gain": gain}))


class OwnMean(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        gain = log_ratio(batch).exp() * batch.advantage
        return Loss(value=-gain.masked_fill(~batch.mask, 0).sum() / batch.mask.sum().clamp(min=1))


class MaskAfterExp(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        gain = log_ratio(batch).exp() * batch.advantage * batch.mask
        return Loss(value=-gain.sum() / max(batch.totals.tokens, 1))


class NoMask(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        return Loss(value=-log_ratio(batch).exp().sum() / max(batch.totals.tokens, 1))


class Unclamped(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        return Loss(value=batch.mean(-(batch.logp - batch.behavior_logp).exp() * batch.advantage))


class InPlace(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        gain = log_ratio(batch).exp() * batch.advantage.clamp_(-1, 1)
        return Loss(value=batch.mean(-gain))


class Remembering(Sound):
    calls: ClassVar[list[int]] = []

    def __call__(self, batch: TokenBatch) -> Loss:
        self.calls.append(1)
        return Loss(value=batch.mean(-log_ratio(batch).exp() * batch.advantage) * len(self.calls))


class Rounded(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        gain = log_ratio(batch).exp() * batch.advantage
        return Loss(value=batch.mean(-gain.float()).to(gain.dtype))


class FirstRow(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        weight = torch.ones_like(batch.logp)
        weight[0] = 2.0
        return Loss(value=batch.mean(-weight * log_ratio(batch).exp() * batch.advantage))


class Disconnected(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        return Loss(value=batch.mean(-log_ratio(batch).exp() * batch.advantage).detach())


class MeanOfNothing(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        gain = (log_ratio(batch).exp() * batch.advantage)[batch.mask]
        return Loss(value=-gain.mean())


class OwnMetric(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        gain = log_ratio(batch).exp() * batch.advantage
        mean = float(gain.detach()[batch.mask].sum()) / max(int(batch.mask.sum()), 1)
        return Loss(value=batch.mean(-gain), metrics={"gain": Metric(how="mean", value=mean)})


class TensorMetric(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        value = batch.mean(-log_ratio(batch).exp() * batch.advantage)
        return Loss(value=value, metrics={"loss": Metric(how="sum", value=value)})  # type: ignore[arg-type]


class HalfPrecision(Sound):
    def __call__(self, batch: TokenBatch) -> Loss:
        return Loss(value=batch.mean((-log_ratio(batch).exp() * batch.advantage).float()))


class Constant(Sound):
    needs: ClassVar[frozenset[str]] = frozenset({"behavior_logp", "advantage"})

    def __call__(self, batch: TokenBatch) -> Loss:
        return Loss(value=batch.mean(-log_ratio(batch).exp() * (batch.advantage + 1)))


class ReadsMore(Sound):
    needs: ClassVar[frozenset[str]] = frozenset({"advantage"})


class ReadsLess(Sound):
    needs: ClassVar[frozenset[str]] = frozenset({"advantage", "behavior_logp", "entropy"})


def test_a_sound_objective_keeps_the_laws() -> None:
    for law in objective_laws(Sound()).values():
        law()


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (OwnMean, "micro_batches_add_up"),
        (OwnMean, "any_number_of_ranks_adds_up"),
        (Rounded, "any_number_of_ranks_adds_up"),
        (MaskAfterExp, "masked_tokens_have_no_effect"),
        (NoMask, "masked_tokens_have_no_effect"),
        (Unclamped, "the_loss_is_finite_at_extreme_ratios"),
        (InPlace, "inputs_stay_as_they_were"),
        (Remembering, "the_same_batch_gives_the_same_bits"),
        (FirstRow, "row_order_and_padding_change_nothing"),
        (Disconnected, "nothing_active_costs_nothing"),
        (MeanOfNothing, "nothing_active_costs_nothing"),
        (OwnMetric, "micro_batches_add_up"),
        (TensorMetric, "metrics_are_plain_numbers"),
        (HalfPrecision, "the_loss_has_the_precision_of_its_inputs"),
        (Constant, "no_advantage_costs_nothing"),
        (ReadsMore, "it_reads_what_it_needs"),
        (ReadsLess, "it_reads_what_it_needs"),
    ],
)
def test_a_planted_fault_is_caught(fault: type[Sound], law: str) -> None:
    with pytest.raises((AssertionError, RuntimeError)):
        objective_laws(fault())[law]()


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize("law", ["micro_batches_add_up", "any_number_of_ranks_adds_up"])
def test_what_is_not_finite_is_not_called_another_mistake(law: str) -> None:
    with pytest.raises(AssertionError, match="not finite, and cannot be compared: clamp"):
        objective_laws(Unclamped())[law]()


def test_an_unknown_column_is_named() -> None:
    class Pairs(Sound):
        needs: ClassVar[frozenset[str]] = frozenset({"pairs"})

    with pytest.raises(LimiteError, match="'pairs'"):
        objective_laws(Pairs())


def test_laws_for_takes_a_class() -> None:
    assert set(laws_for("objective", GRPO)) == set(objective_laws(GRPO()))
    with pytest.raises(LimiteError, match="did you mean 'objective'"):
        laws_for("objectve", GRPO)
