"""The choice of an implementation in code that ``torch.compile`` traces."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import torch
from torch import Tensor

from limite.core.kernels import dispatch, wishes


def select(
    op: str, tensor: Tensor, width: int | None = None, option: str | None = None
) -> Callable[..., Any]:
    """``dispatch.select`` as ``torch.compile`` traces it.

    The graph holds for what ``use`` and ``LIMITE_KERNELS`` ask for at the time, and what is
    registered; when that changes, the function is compiled anew.
    """
    if not tensor.numel():
        _note(op, tensor.device, tensor.dtype, width, option, "reference", None)
        return dispatch.traced[(op, tensor.device, tensor.dtype, width, option, "reference")]
    names, variable = wishes.thread.names, wishes.environment.get(wishes.encoded)
    _note(op, tensor.device, tensor.dtype, width, option, names, variable)
    asked = variable if names is None else names
    return dispatch.traced[(op, tensor.device, tensor.dtype, width, option, asked)]


def _note(
    op: str,
    device: torch.device,
    dtype: torch.dtype,
    width: int | None,
    option: str | None,
    names: str | None,
    variable: Any,
) -> None:
    """Sees to it that what was asked for is in ``dispatch.traced``."""

    def chosen() -> dispatch.Choice:
        wishes.forced.set(names)
        return dispatch.choose(dispatch.Case(op, device.type, dtype, width, option), traced=True)

    key = (op, device, dtype, width, option, variable if names is None else names)
    if key not in dispatch.traced:
        choice = Context().run(chosen)
        # Launches of kernels are not traced: the graph ends before them, and goes on after.
        launches = choice.name in ("interpret", "native", "triton")
        dispatch.traced[key] = _untraced(choice.function) if launches else choice.function


def _untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    untraced: Callable[..., Any] = torch.compiler.disable(function)
    return untraced


# What torch.compiler.assume_constant_result does, which would import the compiler: it calls the
# function while it traces.
_note._dynamo_marked_constant = True  # type: ignore[attr-defined]
