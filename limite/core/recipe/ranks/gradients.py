"""Gradients summed over ranks: flat buffers of one dtype, so that few collectives carry them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

BUCKET_BYTES = 64 << 20

Reduce = Callable[[Tensor, str], None]
"""Makes a tensor its ``"sum"`` or ``"max"`` over ranks, in place."""


@torch.no_grad()
def sum_gradients(parameters: Iterable[nn.Parameter], reduce: Reduce) -> int:
    """Makes the gradient of every parameter its sum over ranks; how many bytes each rank gave.

    A rank that has no gradient adds nothing; where no rank has one, it stays None.
    """
    ordered = [each for each in parameters if each.requires_grad]
    if not ordered:
        return 0
    device = ordered[0].device
    there = torch.tensor([each.grad is not None for each in ordered], dtype=torch.uint8)
    there = there.to(device)
    reduce(there, "max")
    given = there.numel() * there.element_size()
    wanted = [each for each, has in zip(ordered, there.tolist(), strict=True) if has]
    for bucket in buckets(wanted):
        flat = torch.cat([_gradient(each).reshape(-1) for each in bucket])
        reduce(flat, "sum")
        given += flat.numel() * flat.element_size()
        pieces = flat.split([each.numel() for each in bucket])
        for parameter, piece in zip(bucket, pieces, strict=True):
            if parameter.grad is None:
                parameter.grad = piece.view_as(parameter).clone()
            else:
                parameter.grad.copy_(piece.view_as(parameter))
    return given


def buckets(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """The parameters in order, cut where the dtype changes or ``BUCKET_BYTES`` are full."""
    bucket: list[nn.Parameter] = []
    held = 0
    for parameter in parameters:
        size = parameter.numel() * parameter.element_size()
        if bucket and (parameter.dtype != bucket[0].dtype or held + size > BUCKET_BYTES):
            yield bucket
            bucket, held = [], 0
        bucket.append(parameter)
        held += size
    if bucket:
        yield bucket


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
