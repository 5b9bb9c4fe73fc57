"""Sampled responses through a critic: the value of the state before each token, with gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
from torch import Tensor

from limite.core.train.replay import Row, pack

if TYPE_CHECKING:
    from limite.core.model.critic import Critic


@attrs.frozen(kw_only=True, eq=False)
class Valued:
    """What a critic says of sampled responses. ``T`` is the longest completion."""

    values: Tensor  # [B, T] of the states before the tokens, 0 at inactive positions
    mask: Tensor  # [B, T] bool
    after: Tensor | None  # [B] of the states after the last tokens

    # [B, T, K] and [B, K] of a critic with K outputs.


def replay_values(
    critic: Critic, rows: Sequence[Row], *, after: bool = False, share_prompts: bool = True
) -> Valued:
    """The values of ``rows`` under ``critic``, in float32.

    The value before a completion's first token is that of the prompt: what the response is
    expected to return. ``after`` asks for the states after the rows' last tokens too, for rows
    that were cut short.
    """
    packed = pack(
        rows,
        critic.device,
        whole=after,
        ragged=critic.trunk.ragged,
        share=share_prompts and critic.trunk.shares_prompts,
    )
    hidden = critic.trunk(packed.tokens, packed.layout)  # [N, width]
    picked = critic.score(hidden[packed.predictors])  # [M]
    mask = packed.mask
    places = mask if picked.ndim == 1 else mask[..., None].expand(*mask.shape, picked.shape[1])
    spread = picked.new_zeros(places.shape)
    ends = None
    if after:
        ends = critic.score(hidden[packed.ends])
    return Valued(values=spread.masked_scatter(places, picked), mask=mask, after=ends)
