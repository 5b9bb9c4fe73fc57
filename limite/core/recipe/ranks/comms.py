"""The collectives that FSDP calls: counted, and with a word on who is missing when one fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed
from torch import Tensor
from torch.distributed.fsdp._fully_shard._fsdp_api import AllGather, ReduceScatter

from limite.core.recipe.ranks.ranks import Ranks


class _Counted:
    """Memory as torch gives it, for what ``ranks`` exchange."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks

    def allocate(
        self, size: Sequence[int | torch.SymInt], *, dtype: torch.dtype, device: torch.device
    ) -> Tensor:
        return torch.empty(*size, dtype=dtype, device=device)


class Gathering(_Counted, AllGather):
    """Whole weights from the parts of all ranks."""

    def __call__(
        self, output_tensor: Tensor, input_tensor: Tensor, group: Any, async_op: bool = False
    ) -> Any:
        self._ranks.note_gathered(output_tensor)
        with self._ranks.collective("gathering weights"):
            return torch.distributed.all_gather_single(
                output_tensor, input_tensor, group=group, async_op=async_op
            )


class Scattering(_Counted, ReduceScatter):
    """This rank's part of gradients, summed over all ranks."""

    def __call__(
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: Any,
        op: Any,
        async_op: bool = False,
    ) -> Any:
        self._ranks.note_given(input_tensor)
        with self._ranks.collective("summing gradients"):
            return torch.distributed.reduce_scatter_single(
                output=output_tensor, input=input_tensor, group=group, op=op, async_op=async_op
            )
