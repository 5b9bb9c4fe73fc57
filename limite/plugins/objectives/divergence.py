"""How far a policy has moved from the distribution its tokens were sampled from."""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST_REST = 1e-12  # the least probability of all tokens outside a list


def binary_divergence(logp: Tensor, behavior_logp: Tensor, kind: str) -> Tensor:
    """How far the policy is from behaviour on "this token or any other", ``[B, T]``.

    With ``p`` and ``mu`` the token's probabilities under policy and behaviour, ``binary-tv`` is
    ``|p - mu|`` and ``binary-kl`` is ``mu ln(mu/p) + (1-mu) ln((1-mu)/(1-p))``: infinite when
    ``p = 1 > mu``, its second term 0 when ``mu = 1``.
    """
    if kind == "binary-tv":
        return logp.exp().sub_(behavior_logp.exp()).abs_()
    if kind != "binary-kl":
        raise ValueError(f"expected 'binary-tv' or 'binary-kl', got {kind!r}")
    policy, behavior = logp.clamp(max=0.0), behavior_logp.clamp(max=0.0)  # nats
    # 1 - p is exact to the last bit at both ends, and so is its logarithm to one of 1.
    rest, other = torch.expm1(behavior).neg_(), torch.expm1(policy).neg_()
    others = rest * (rest.log() - other.log_())
    others.masked_fill_(rest <= 0, 0.0)
    listed = behavior.exp() * (behavior - policy)
    return listed.add_(others).clamp_(min=0.0)  # rounding may take it below


def topk_divergence(topk_logp: Tensor, behavior_topk_logp: Tensor, kind: str) -> Tensor:
    """The same over a list of tokens and one entry for all others, ``[B, T]``.

    Both lists ``[B, T, K]`` hold nats at the same tokens: the likeliest of behaviour, the sampled
    one among them. ``topk-tv`` is half the sum of absolute differences, ``topk-kl`` is
    ``KL(behaviour || policy)``, both over the list and what is left beside it.
    """
    policy, behavior = topk_logp.exp(), behavior_topk_logp.exp()
    policy_rest = (1.0 - policy.sum(dim=-1)).clamp(min=SMALLEST_REST)
    behavior_rest = (1.0 - behavior.sum(dim=-1)).clamp(min=SMALLEST_REST)
    if kind == "topk-tv":
        listed = (behavior - policy).abs().sum(dim=-1)
        return 0.5 * (listed + (behavior_rest - policy_rest).abs())
    if kind != "topk-kl":
        raise ValueError(f"expected 'topk-tv' or 'topk-kl', got {kind!r}")
    listed = (behavior * (behavior_topk_logp - topk_logp)).sum(dim=-1)
    return listed + behavior_rest * (behavior_rest.log() - policy_rest.log())
