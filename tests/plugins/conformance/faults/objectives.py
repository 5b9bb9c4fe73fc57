"""Mistakes in objectives: (file within limite/plugins, text, faulty text, component, law).

A component is its module and class within ``limite.plugins``, and its settings.
"""

from __future__ import annotations

from typing import Any

RATIO, POLICY, KL = "objectives/ratio.py", "objectives/policy.py", "objectives/kl.py"
SLOPE = "objectives/slope.py"
DPPO_FILE, GSPO_FILE = "objectives/dppo.py", "objectives/gspo.py"
CISPO_FILE, REINFORCE_FILE = "objectives/cispo.py", "objectives/reinforce.py"

GRPO = ("objectives.grpo:GRPO", {})
DPPO = ("objectives.dppo:DPPO", {})
DPPO_SPLIT = ("objectives.dppo:DPPO", {"delta_low": 0.1})
DPPO_KL = ("objectives.dppo:DPPO", {"divergence": "binary-kl"})
DPO = ("objectives.dpo:DPO", {})
TOPK = ("objectives.topk_kd:TopKDistill", {})
VALUE = ("objectives.value_regression:ValueRegression", {"clip": 0.2})
GSPO = ("objectives.gspo:GSPO", {})
CISPO = ("objectives.cispo:CISPO", {})
REINFORCE = ("objectives.reinforce:Reinforce", {})
PULLED = ("objectives.grpo:GRPO", {"beta": 0.1})

FAULTS: list[tuple[str, str, str, tuple[str, dict[str, Any]], str]] = [
    # Sums
    (
        POLICY,
        "return loss.value.sum() / divisor, divisor",
        "return loss.value.float().sum().to(loss.value) / divisor, divisor",
        CISPO,
        "any_number_of_ranks_adds_up",
    ),
    # The ratio
    (
        RATIO,
        "(batch.logp.detach() - batch.behavior_logp)",
        "(batch.behavior_logp - batch.logp.detach())",
        GRPO,
        "a_token_on_its_way_back_is_kept",
    ),
    (
        RATIO,
        "(batch.logp.detach() - batch.behavior_logp)",
        "(batch.logp - batch.logp.detach()).detach()",  # a stale behaviour policy: that of now
        GRPO,
        "it_reads_what_it_needs",
    ),
    (
        RATIO,
        "log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp_()",
        "log_ratio.exp()",
        DPPO,
        "the_loss_is_finite_at_extreme_ratios",
    ),
    (
        RATIO,
        "clipped = loss > plain",
        "clipped = (loss == plain) & outside",  # the optimist's bound
        GRPO,
        "a_token_on_its_way_back_is_kept",
    ),
    (
        RATIO,
        "    flat = clipped\n",
        "    flat = torch.zeros_like(clipped)\n",
        GRPO,
        "a_token_far_up_weighs_no_more_than_it_may",
    ),
    (
        RATIO,
        "plain = (ratio * advantage).neg_()",
        "plain = ratio * advantage",
        GRPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        RATIO,
        'Metric(how="sum", value=moved.count_saturated)',
        'Metric(how="mean", value=moved.count_saturated)',
        GRPO,
        "micro_batches_add_up",
    ),
    (
        RATIO,
        "    advantage = batch.advantage\n",
        "    advantage = batch.advantage.sub_(0.5)\n",
        GRPO,
        "inputs_stay_as_they_were",
    ),
    (
        RATIO,
        "    advantage = batch.advantage\n",
        "    advantage = batch.advantage + 0.01\n",
        GRPO,
        "no_advantage_costs_nothing",
    ),
    (
        RATIO,
        "    advantage = batch.advantage\n",
        "    advantage = batch.advantage * torch.rand(())\n",
        GRPO,
        "the_same_batch_gives_the_same_bits",
    ),
    # Sums and denominators
    (
        SLOPE,
        "        value.masked_fill_(batch.inactive, 0.0)\n",
        "        value *= batch.mask\n",
        GRPO,
        "masked_tokens_have_no_effect",
    ),
    (
        SLOPE,
        "slope.masked_fill_(flat | batch.inactive, 0.0)",
        "slope.masked_fill_(flat, 0.0)",
        GRPO,
        "masked_tokens_have_no_effect",
    ),
    (
        POLICY,
        ".clamp(min=1) * divisor",
        ".clamp(min=1) * batch.active_rows.sum().clamp(min=1)",
        GRPO,
        "micro_batches_add_up",
    ),
    (
        POLICY,
        "batch.lengths[:, None].clamp(min=1) * divisor",
        "batch.lengths[:, None] * divisor",
        GRPO,
        "nothing_active_costs_nothing",
    ),
    (
        POLICY,
        "batch.lengths[:, None].clamp(min=1) * divisor",
        "batch.mask.shape[1] * divisor",
        GRPO,
        "row_order_and_padding_change_nothing",
    ),
    (
        POLICY,
        "        return Loss(value=value,",
        "        return Loss(value=value.half().to(value.dtype),",
        GRPO,
        "micro_batches_add_up",
    ),
    (
        POLICY,
        "        return Loss(value=value,",
        "        return Loss(value=value.float(),",
        GRPO,
        "the_loss_has_the_precision_of_its_inputs",
    ),
    (
        POLICY,
        "        return Loss(value=value,",
        "        metrics['loss'] = value\n        return Loss(value=value,",
        GRPO,
        "metrics_are_plain_numbers",
    ),
    # KL and entropy
    (
        POLICY,
        '            more.add("reference_logp")\n',
        "            pass\n",
        PULLED,
        "it_reads_what_it_needs",
    ),
    (
        POLICY,
        "self.aggregate(batch, self.beta * penalty)",
        "self.aggregate(batch, self.beta * penalty.mean().expand_as(penalty))",
        PULLED,
        "masked_tokens_have_no_effect",
    ),
    (
        KL,
        "torch.expm1((-difference).clamp(max=LARGEST))",
        "torch.expm1(-difference)",
        PULLED,
        "the_loss_is_finite_at_extreme_ratios",
    ),
    # DPPO
    (
        DPPO_FILE,
        "(moved.sign().mul_(batch.advantage) > 0)",
        "(moved.sign().mul_(batch.advantage) < 0)",
        DPPO,
        "a_token_on_its_way_back_is_kept",
    ),
    (
        DPPO_FILE,
        "return (moved.sign().mul_(batch.advantage) > 0) & beyond",
        "return beyond",
        DPPO,
        "a_token_on_its_way_back_is_kept",
    ),
    (
        DPPO_FILE,
        "(moved.sign().mul_(batch.advantage) > 0) & beyond",
        "(moved.sign().mul_(batch.advantage) > 0)",
        DPPO_KL,
        "next_to_policy_every_token_is_kept",
    ),
    (
        DPPO_FILE,
        "(moved.sign().mul_(batch.advantage) > 0)",
        "(batch.advantage > 0)",
        DPPO,
        "a_token_on_its_way_back_is_kept",
    ),
    (
        DPPO_FILE,
        "torch.where(moved < 0, distance > low, beyond)",
        "torch.where(moved < 0, distance > low, ~beyond)",
        DPPO_SPLIT,
        "next_to_policy_every_token_is_kept",
    ),
    (
        DPPO_FILE,
        "masked = self._away(batch, moved.values)",
        "masked = ~self._away(batch, moved.values)",
        DPPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        DPPO_FILE,
        "slope = (weight * advantage).neg_()",
        "slope = -(weight * advantage) * (1.0 + batch.logp)",  # the weight not detached
        DPPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        DPPO_FILE,
        "weight = ratio.clamp(max=self.ratio_cap)",
        "weight = ratio",
        DPPO,
        "a_token_far_up_weighs_no_more_than_it_may",
    ),
    # GSPO
    (
        RATIO,
        "(batch.logp.detach() - batch.behavior_logp).masked_fill_(batch.inactive, 0.0)",
        "batch.logp.detach() - batch.behavior_logp",
        GSPO,
        "masked_tokens_have_no_effect",
    ),
    (
        GSPO_FILE,
        "batch.lengths[:, None].clamp(min=1)  # [B, 1]",
        "torch.full_like(batch.lengths[:, None], batch.mask.shape[1])",
        GSPO,
        "row_order_and_padding_change_nothing",
    ),
    (
        GSPO_FILE,
        "plain.masked_fill(clipped | saturated(mean), 0.0)",
        "plain.masked_fill(~clipped, 0.0)",
        GSPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        SLOPE,
        "gradient.expand(inactive.shape).contiguous().masked_fill_(inactive, 0.0)",
        "gradient.expand(inactive.shape).contiguous()",
        GSPO,
        "masked_tokens_have_no_effect",
    ),
    # CISPO and REINFORCE
    (
        CISPO_FILE,
        "slope = weight.mul_(batch.advantage).neg_()",
        "slope = -(weight * batch.advantage) * (1.0 + batch.logp)",  # the weight not detached
        CISPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        CISPO_FILE,
        "ratio.clamp(self.ratio_min, self.ratio_max)",
        "ratio.clamp(self.ratio_min)",
        CISPO,
        "a_token_far_up_weighs_no_more_than_it_may",
    ),
    (
        CISPO_FILE,
        "weight.mul_(batch.advantage)",
        "weight.mul_(batch.advantage.abs())",
        CISPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        REINFORCE_FILE,
        "TokenLoss.score(batch, -batch.advantage)",
        "TokenLoss.score(batch, -batch.advantage * batch.logp.exp())",
        REINFORCE,
        "on_policy_the_gradient_is_the_advantage",
    ),
    # Pairs, lists and values
    (
        "objectives/dpo.py",
        "losses.sum() / max(batch.totals.pairs, 1)",
        "losses.sum() / max(len(losses), 1)",
        DPO,
        "micro_batches_add_up",
    ),
    (
        "objectives/dpo.py",
        "self.pair_loss(margin).masked_fill(~whole, 0.0)",
        "self.pair_loss(margin)",
        DPO,
        "nothing_active_costs_nothing",
    ),
    (
        "objectives/dpo.py",
        "torch.where(batch.mask, batch.logp - batch.reference_logp, 0.0)",
        "batch.logp - batch.reference_logp",
        DPO,
        "masked_tokens_have_no_effect",
    ),
    (
        "objectives/dpo.py",
        "return -logsigmoid(margin)",
        "return -margin.sigmoid().log()",
        DPO,
        "the_loss_is_finite_at_extreme_ratios",
    ),
    (
        "objectives/topk_kd.py",
        "value=batch.mean(values)",
        "value=values.sum() / max(batch.totals.tokens, 1)",
        TOPK,
        "masked_tokens_have_no_effect",
    ),
    (
        "objectives/value_regression.py",
        'old = batch.column("old_value")',
        "old = output.detach()",
        VALUE,
        "it_reads_what_it_needs",
    ),
    (
        "objectives/value_regression.py",
        "value=batch.aggregate(losses, self.aggregation)",
        "value=losses.masked_fill(~batch.mask, 0).mean()",
        VALUE,
        "row_order_and_padding_change_nothing",
    ),
]
