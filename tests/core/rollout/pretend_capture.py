"""A captured graph on the host: every operation noted with its operands, and done again on them.

As on a GPU nothing of Python is run again: numbers of the host are what they were, results land
where the first ones lay, and what moved meanwhile is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Tape(TorchDispatchMode):
    """The operations run within it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, dict[str, Any], list[Tensor]]] = []

    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        named = named or {}
        result = operation(*arguments, **named)
        self.calls.append((operation, arguments, named, tensors(result)))
        return result

    @torch.inference_mode()
    def play(self) -> None:
        for operation, arguments, named, results in self.calls:
            taken = {each.untyped_storage().data_ptr() for each in tensors((arguments, named))}
            for old, new in zip(results, tensors(operation(*arguments, **named)), strict=True):
                if old.untyped_storage().data_ptr() not in taken:  # no view, not done in place
                    old.copy_(new)


def tensors(tree: Any) -> list[Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor)]


class PretendCapture:
    """``limite.core.rollout.capture.Capture`` without a GPU; ``warm_ups`` runs go before."""

    def __init__(self, warm_ups: int = 2) -> None:
        self.warm_ups = warm_ups
        self.captures = 0

    def __call__(self, run: Callable[[], None]) -> Callable[[], None]:
        self.captures += 1
        for _ in range(self.warm_ups):
            run()
        with Tape() as tape:
            run()
        return tape.play
