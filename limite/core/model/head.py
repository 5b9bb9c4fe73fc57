"""From hidden states to logits, for the few rows that are sampled from.

Log-probabilities of whole batches come from ``limite.core.kernels.ops.indexed_logprob``, which
stores no logits.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from limite.core.kernels.ops import Cap, soft_cap

ROUNDINGS: dict[torch.dtype, Literal["bfloat16", "float16"]] = {
    torch.bfloat16: "bfloat16",
    torch.float16: "float16",
}


def rounding(dtype: torch.dtype, precision: str) -> Literal["bfloat16", "float16"] | None:
    """To what the head's product is rounded: the activations' dtype, if it is half and so asked."""
    return ROUNDINGS.get(dtype) if precision == "rounded" else None


def logits(hidden: Tensor, table: Tensor, cap: Cap | None, precision: str) -> Tensor:
    """``cap(hidden tableᵀ)`` in float32 (or float64), the product rounded if so asked."""
    if precision == "float32" and hidden.dtype.itemsize < 4:
        raw = F.linear(hidden.float(), table.float())
    else:
        raw = F.linear(hidden, table)
        raw = raw if raw.dtype.itemsize >= 4 else raw.float()
    return raw if cap is None else soft_cap(raw, cap)
