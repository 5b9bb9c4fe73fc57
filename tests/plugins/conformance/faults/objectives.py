"""Mistakes in objectives: (file within limite/plugins, text, faulty text, component, law).

A component is its module and class within ``limite.plugins``, and its settings.
"""

from __future__ import annotations

from typing import Any

RATIO, POLICY, KL = "objectives/ratio.py", "objectives/policy.py", "objectives/kl.py"
DPPO_FILE, GSPO_FILE = "objectives/dppo.py", "objectives/gspo.py"
CISPO_FILE, REINFORCE_FILE = "objectives/cispo.py", "objectives/reinforce.py"

GRPO = ("objectives.grpo:GRPO", {})
DPPO = ("objectives.dppo:DPPO", {})
DPPO_KL = ("objectives.dppo:DPPO", {"divergence": "binary-kl"})
DPO = ("objectives.dpo:DPO", {})
TOPK = ("objectives.topk_kd:TopKDistill", {})
VALUE = ("objectives.value_regression:ValueRegression", {"clip": 0.2})
GSPO = ("objectives.gspo:GSPO", {})
CISPO = ("objectives.cispo:CISPO", {})
REINFORCE = ("objectives.reinforce:Reinforce", {})
PULLED = ("objectives.grpo:GRPO", {"beta": 0.1})

AGGREGATE = """        value = batch.aggregate(
            values,
            self.aggregation,
            constant=self.constant_tokens,
            rows="all" if self.rows == "all" else "active",
        )
"""

FAULTS: list[tuple[str, str, str, tuple[str, dict[str, Any]], str]] = [
    # The ratio
    (
        RATIO,
        "log_ratio = logp - batch.behavior_logp\n",
        "log_ratio = batch.behavior_logp - logp\n",
        GRPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        RATIO,
        "log_ratio = logp - batch.behavior_logp\n",
        "log_ratio = logp - batch.logp.detach()\n",  # a stale behaviour policy: that of now
        GRPO,
        "it_reads_what_it_needs",
    ),
    (
        RATIO,
        "log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp(), log_ratio",
        "log_ratio.exp(), log_ratio",
        DPPO,
        "the_loss_is_finite_at_extreme_ratios",
    ),
    (
        RATIO,
        "torch.where(clipped < plain, clipped, plain)",
        "torch.where(clipped > plain, clipped, plain)",  # the optimist's bound
        GRPO,
        "a_token_on_its_way_back_is_kept",
    ),
    (
        RATIO,
        "torch.where(clipped < plain, clipped, plain)",
        "plain",
        GRPO,
        "a_token_far_up_weighs_no_more_than_it_may",
    ),
    (
        RATIO,
        "loss = -torch.where(clipped",
        "loss = torch.where(clipped",
        GRPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        RATIO,
        'Metric(how="sum", value=count)',
        'Metric(how="mean", value=count)',
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
        POLICY,
        AGGREGATE,
        "        value = (values * batch.mask).sum() / max(batch.totals.tokens, 1)\n",
        GRPO,
        "masked_tokens_have_no_effect",
    ),
    (
        POLICY,
        AGGREGATE,
        "        value = values.masked_fill(~batch.mask, 0).sum()\n"
        "        value = value / batch.mask.sum().clamp(min=1)\n",
        GRPO,
        "micro_batches_add_up",
    ),
    (
        POLICY,
        AGGREGATE,
        "        value = values.masked_fill(~batch.mask, 0).sum() / batch.mask.sum()\n",
        GRPO,
        "nothing_active_costs_nothing",
    ),
    (
        POLICY,
        AGGREGATE,
        "        value = values.masked_fill(~batch.mask, 0).mean()\n",
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
        "            values = values + self.beta * penalty\n",
        "            values = values + self.beta * penalty.mean()\n",
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
    (DPPO_FILE, "(moved > 0)", "(moved < 0)", DPPO, "a_token_on_its_way_back_is_kept"),
    (DPPO_FILE, "(moved < 0)", "(moved > 0)", DPPO, "a_token_on_its_way_back_is_kept"),
    (
        DPPO_FILE,
        "up & (moved > 0) & beyond_high",
        "up & (moved > 0)",
        DPPO_KL,
        "next_to_policy_every_token_is_kept",
    ),
    (
        DPPO_FILE,
        "return down & (moved < 0)",
        "return up & (moved < 0)",
        DPPO,
        "a_token_on_its_way_back_is_kept",
    ),
    (
        DPPO_FILE,
        "masked = away_down | away_up",
        "masked = ~(away_down | away_up)",
        DPPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        DPPO_FILE,
        "detached=True",
        "detached=False",
        DPPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        DPPO_FILE,
        "ratio.clamp(max=self.ratio_cap).masked_fill",
        "ratio.masked_fill",
        DPPO,
        "a_token_far_up_weighs_no_more_than_it_may",
    ),
    # GSPO
    (
        GSPO_FILE,
        "log_ratio.masked_fill(~batch.mask, 0.0).sum(",
        "log_ratio.sum(",
        GSPO,
        "masked_tokens_have_no_effect",
    ),
    (
        GSPO_FILE,
        "batch.mask.sum(dim=-1, keepdim=True)  # [B, 1]",
        "torch.full_like(batch.mask[:, :1], 1).long() * batch.mask.shape[1]",
        GSPO,
        "row_order_and_padding_change_nothing",
    ),
    (
        GSPO_FILE,
        "torch.where(clipped < plain, clipped, plain)",
        "clipped + 0.0 * plain",
        GSPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    # CISPO and REINFORCE
    (
        CISPO_FILE,
        "detached=True",
        "detached=False",
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
        "-(weight * batch.advantage) * batch.logp,",
        "-(weight * batch.advantage.abs()) * batch.logp,",
        CISPO,
        "on_policy_the_gradient_is_the_advantage",
    ),
    (
        REINFORCE_FILE,
        "-batch.advantage * batch.logp,",
        "-batch.advantage * batch.logp.exp(),",
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
