"""The tolerances of admission, declared before anything is measured.

No option and no setting changes one, and whoever changes one here changes it for everybody and in
the open. Each stands with its reason. ``docs/admission.md`` shows all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from limite.core.health.conditional import (
    LARGEST_MEAN_MASS,
    LARGEST_SUM_ERROR,
    SMALLEST_SAMPLE_FRACTION,
)
from limite.core.health.gates import GateVerdict


@attrs.frozen(kw_only=True)
class Tolerance:
    """What a figure is held against, and why that and no other number."""

    reason: str
    high: float | None = None
    above: float | None = None
    below: float | None = None

    @property
    def words(self) -> str:
        """The limit as reports and pages write it: ``<= 0.0001``."""
        return self.on("", None).limit

    def on(self, name: str, figure: float | None) -> GateVerdict:
        """The verdict on a figure. One that does not exist never passes."""
        return GateVerdict(
            name=name, figure=figure, high=self.high, above=self.above, below=self.below
        )


def _none(what: str) -> Tolerance:
    return Tolerance(high=0.0, reason=f"{what}: the same bits, so none may differ")


def _some(what: str) -> Tolerance:
    return Tolerance(above=0.0, reason=f"{what}, or else nothing was tried")


TOLERANCES: Mapping[str, Tolerance] = {
    "migration/compaction_differing_responses": _none("without compaction"),
    "migration/compaction_spared_row_steps": _some("finished rows left the batch"),
    "migration/slots_differing_responses": _none("in fewer slots"),
    "migration/prefill_differing_responses": _none("with a prompt read for every response"),
    "migration/prefill_spared_tokens": _some("prompts were shared"),
    "migration/reuse_differing_responses": _none("asked again, in another order"),
    "migration/graphs_differing_responses": _none("with captured steps"),
    "migration/packing_differing_tokens": Tolerance(
        high=0.0,
        reason="packed and padded rows through float64, each rounded to float32: sums in another "
        "order agree to 1e-15 there, so what differs is not rounding",
    ),
    "migration/packing_float_max_abs_nats": Tolerance(
        high=1e-4, reason="the same in the model's own dtype, where only rounding may differ"
    ),
    "migration/packing_float_max_abs_nats[bfloat16]": Tolerance(
        high=0.25, reason="the same, with 8 bits to a number"
    ),
    "schedule/first_batch_differing_bytes": _none("the first batch under either schedule"),
    "schedule/overlap_differing_rollouts": _none("sampled while the learner works"),
    "schedule/overlap_differing_tensors": _none("weights and moments after it"),
    "schedule/overlap_differing_states": _none("curriculum, schedule and clocks after it"),
    "oracle/attention_relative_l2": Tolerance(
        high=1e-4, reason="float32 keeps 1e-7 of a number; layers add theirs up"
    ),
    "oracle/stream_relative_l2": Tolerance(
        high=1e-4, reason="float32 keeps 1e-7 of a number; layers add theirs up"
    ),
    "oracle/logp_max_abs_nats": Tolerance(
        high=1e-4, reason="a ratio of probabilities is then right to 0.01%"
    ),
    "oracle/decode_logp_max_abs_nats": Tolerance(
        high=1e-4, reason="what was recorded as sampled, as exact as what is replayed"
    ),
    "oracle/loss_relative": Tolerance(
        high=1e-4, reason="of the mean size of a token's share, as terms of both signs cancel"
    ),
    "oracle/gradient_relative_l2": Tolerance(
        high=1e-3, reason="per tensor, of its norm or a thousandth of the joint norm"
    ),
    "oracle/attention_relative_l2[bfloat16]": Tolerance(
        high=0.03, reason="bfloat16 keeps 1/256 of a number; layers add theirs up"
    ),
    "oracle/stream_relative_l2[bfloat16]": Tolerance(
        high=0.03, reason="bfloat16 keeps 1/256 of a number; layers add theirs up"
    ),
    "oracle/logp_max_abs_nats[bfloat16]": Tolerance(
        high=0.25, reason="the largest of many tokens; the conditional check has the means"
    ),
    "oracle/decode_logp_max_abs_nats[bfloat16]": Tolerance(
        high=0.25, reason="the largest of many tokens; the conditional check has the means"
    ),
    "oracle/loss_relative[bfloat16]": Tolerance(
        high=0.05, reason="of the mean size of a token's share, as terms of both signs cancel"
    ),
    "oracle/gradient_relative_l2[bfloat16]": Tolerance(
        high=0.1, reason="per tensor, of its norm or a thousandth of the joint norm"
    ),
    "conditional/mean_mass_behavior": Tolerance(
        below=LARGEST_MEAN_MASS, reason="half of what an update's own gate allows to be clipped"
    ),
    "conditional/mean_mass_learner": Tolerance(
        below=LARGEST_MEAN_MASS, reason="the same, weighted by the learner"
    ),
    "conditional/min_effective_sample_fraction": Tolerance(
        above=SMALLEST_SAMPLE_FRACTION, reason="at every position, as an update's own gate"
    ),
    "conditional/largest_sum_error": Tolerance(
        high=LARGEST_SUM_ERROR, reason="float32 sums over a vocabulary"
    ),
    "conditional/recorded_differing_tokens": _none("recorded against the distribution drawn from"),
    "first-update/largest_excess": Tolerance(
        high=1e-5,
        reason="of the rate, beyond one unit in the last place of the weight before or after: "
        "float32 square root, division and product",
    ),
    "first-update/moved_without_gradient": _none("what has no gradient"),
    "first-update/moved_tensors": _some("weights moved"),
    "memory/estimate_share": Tolerance(
        high=0.9, reason="of the memory at hand, before anything is allocated"
    ),
    "memory/peak_share": Tolerance(
        high=1.0, reason="of the memory at hand when the probe began"
    ),
    "checkpoint/differing_tensors": _none("weights and moments after the next update"),
    "checkpoint/differing_states": _none("clocks, curriculum and schedule after it"),
    "checkpoint/differing_rollouts": _none("responses of the next batch"),
    "checkpoint/differing_metrics": _none("what was logged of it, times apart"),
    "checkpoint/updates": _some("optimizer steps were taken, before and after"),
}  # fmt: skip


def verdict(name: str, figure: float | None, *, dtype: str = "float32") -> GateVerdict:
    """The figure ``name`` against its declared tolerance, that of ``dtype`` where it has one."""
    tolerance = TOLERANCES.get(f"{name}[{dtype}]", TOLERANCES[name])
    return tolerance.on(name, figure)
