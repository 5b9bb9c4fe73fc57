"""Torch's optimizers without its compiler, which they would import at their first use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Uncompiled(torch.optim.Optimizer):
    """An optimizer that is never traced by ``torch.compile``.

    Torch keeps its compiler from tracing these methods, and imports all of it to do so: 1.7 s of
    processor time and 130 MiB at the start of every run. Here they are called as they are.
    """

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        inspect.unwrap(torch.optim.Optimizer.add_param_group)(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        inspect.unwrap(torch.optim.Optimizer.zero_grad)(self, set_to_none)

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = inspect.unwrap(torch.optim.Optimizer.state_dict)(self)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        inspect.unwrap(torch.optim.Optimizer.load_state_dict)(self, state_dict)


class FusedAdamW(Uncompiled, torch.optim.AdamW):
    """``torch.optim.AdamW`` with one kernel for all parameters: the same state, the same bits."""

    def __init__(self, params: list[dict[str, Any]] | list[nn.Parameter], **settings: Any) -> None:
        super().__init__(params, fused=True, **settings)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return inspect.unwrap(torch.optim.Adam.step)(self, closure)
