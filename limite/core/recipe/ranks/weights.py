"""Weights being trained: whole in this process, or shared out over ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from limite.core.checkpoint.state import module_payload, restore_optimizer
from limite.core.checkpoint.tensors import Storable
from limite.core.recipe.ranks.ranks import OneRank, Ranks
from limite.core.train.norms import joint_norm

Named = list[tuple[str, nn.Parameter]]


class Weights(Protocol):
    """The weights of a module that is being trained, and what an optimizer keeps of them."""

    module: nn.Module

    def named(self) -> Named:
        """What an optimizer is given: the module's parameters, or this rank's part of each."""
        ...

    def prepare(self, optimizer: torch.optim.Optimizer) -> None:
        """Lets an optimizer of ``named`` know how whole matrices are come by."""
        ...

    def sum_gradients(self, what: str) -> None:
        """Leaves in ``named`` the sums of gradients over ranks."""
        ...

    def norm(self, parameters: Sequence[nn.Parameter], tensors: Sequence[Tensor]) -> float:
        """The joint norm of the whole of ``tensors``, which are shaped as ``parameters`` are."""
        ...

    def left_out(self, passes: int, what: str) -> int:
        """How many passes others make beyond this rank's own, which it has to join."""
        ...

    def whole(self, what: str) -> contextlib.AbstractContextManager[nn.Module]:
        """Within it, a module with all weights as they are now: for reading only."""
        ...

    def payload(self) -> Mapping[str, Storable]:
        """The weights for a checkpoint, whole. Every rank has to make what is deferred."""
        ...

    def whole_state(
        self, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
    ) -> Mapping[str, Storable]:
        """The tensors of ``optimizer_payload``, whole."""
        ...

    def restore_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        tensors: Iterable[tuple[str, Tensor]],
        plain: Mapping[str, Any],
    ) -> None:
        """Gives an optimizer of ``named`` the state that one process, or any number, has saved:
        its whole tensors by their paths, of which it keeps what it needs."""
        ...

    def replicated(self) -> Sequence[nn.Parameter]:
        """The parameters that every rank holds whole, in the same bits."""
        ...


class Replicated:
    """All of the weights, in this process; other ranks have the same."""

    def __init__(self, module: nn.Module, ranks: Ranks | None = None) -> None:
        self.module = module
        self._ranks: Ranks = OneRank() if ranks is None else ranks

    def named(self) -> Named:
        return list(self.module.named_parameters())

    def prepare(self, optimizer: torch.optim.Optimizer) -> None:
        """It has them."""

    def sum_gradients(self, what: str) -> None:
        self._ranks.sum_gradients(self.module.parameters(), what)

    def norm(self, parameters: Sequence[nn.Parameter], tensors: Sequence[Tensor]) -> float:
        return joint_norm(tensors)

    def left_out(self, passes: int, what: str) -> int:
        return 0

    @contextlib.contextmanager
    def whole(self, what: str) -> Iterator[nn.Module]:
        yield self.module

    def payload(self) -> Mapping[str, Storable]:
        return module_payload(self.module)

    def whole_state(
        self, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
    ) -> Mapping[str, Storable]:
        return tensors

    def restore_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        tensors: Iterable[tuple[str, Tensor]],
        plain: Mapping[str, Any],
    ) -> None:
        restore_optimizer(optimizer, dict(tensors), plain, taken=True)

    def replicated(self) -> Sequence[nn.Parameter]:
        return list(self.module.parameters())
