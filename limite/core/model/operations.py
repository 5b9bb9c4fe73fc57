"""The operations of the kernel core as a decoding step calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from limite.core.kernels import ops


class Operations(NamedTuple):
    """Functions that take the arguments of the operations of these names."""

    rms_norm: Callable[..., Tensor]
    qk_norm_rope: Callable[..., Tensor]
    swiglu: Callable[..., Tensor]
    head_mix: Callable[..., Tensor]

    @classmethod
    def chosen(cls, stream: Tensor, head_width: int) -> Operations:
        """What runs them for tensors like ``stream [R, width]``, by the choice of this moment.

        Their arguments are not looked at again: for what ``CHECKED`` has taken before.
        """
        select: Callable[..., Any] = ops.select
        return cls(
            select("rms_norm", stream, stream.shape[-1]),
            select("qk_norm_rope", stream, head_width),
            select("swiglu", stream),
            select("head_mix", stream, head_width),
        )


CHECKED = Operations(ops.rms_norm, ops.qk_norm_rope, ops.swiglu, ops.head_mix)
"""The operations themselves."""


class PlainOperations(NamedTuple):
    """The same for blocks that turn heads without a norm and gate none."""

    rms_norm: Callable[..., Tensor]
    rope: Callable[..., Tensor]
    swiglu: Callable[..., Tensor]

    @classmethod
    def chosen(cls, stream: Tensor, head_width: int) -> PlainOperations:
        """As ``Operations.chosen``."""
        select: Callable[..., Any] = ops.select
        return cls(
            select("rms_norm", stream, stream.shape[-1]),
            select("rope", stream, head_width),
            select("swiglu", stream),
        )


PLAIN_CHECKED = PlainOperations(ops.rms_norm, ops.rope, ops.swiglu)
"""The operations themselves."""
