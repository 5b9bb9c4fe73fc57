"""A device that is not there: tensors that lie on the host and say that they do not.

Within ``with pretend():`` what is made on ``DEVICE`` is an ``Elsewhere``. An operation that mixes
one with a tensor of the host raises, as it would on a GPU, and so does reading its memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("mps", 0)
_READS = {Tensor.tolist, Tensor.data_ptr}


class Mixed(RuntimeError):
    """Tensors of two devices in one operation."""


class Elsewhere(Tensor):
    """A tensor on ``DEVICE``."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Elsewhere:
        made = Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device="cpu",
            requires_grad=False,
        )
        made.inner = inner
        return made

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], *_: Any) -> Elsewhere:
        return Elsewhere(inner["inner"])

    @property
    def device(self) -> torch.device:
        return DEVICE

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        if function in _READS:
            return function(arguments[0].detach().inner, *arguments[1:])
        if function in (Tensor.to, Tensor.cpu) and on_host(function, arguments, named or {}):
            moved = torch.ops.aten._to_copy.default(arguments[0], device=torch.device("cpu"))
            others = [each for each in arguments[1:] if isinstance(each, torch.dtype)]
            dtype = (named or {}).get("dtype", others[0] if others else None)
            return moved if dtype is None else moved.to(dtype)
        if function is Tensor.numpy:
            raise Mixed("numpy reads a tensor that is not on the host")
        with torch._C.DisableTorchFunctionSubclass():
            return function(*arguments, **(named or {}))

    @classmethod
    def __torch_dispatch__(
        cls, operation: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        return elsewhere(operation, arguments, named or {})


def on_host(function: Any, arguments: Any, named: dict[str, Any]) -> bool:
    """Whether a call moves a tensor to the host."""
    if function is Tensor.cpu:
        return True
    said = [named.get("device"), named.get("other"), *arguments[1:2]]
    places = [each.device if isinstance(each, Tensor) else each for each in said]
    return any(
        torch.device(each).type == "cpu" for each in places if isinstance(each, (str, torch.device))
    )


class FromNumbers(TorchFunctionMode):
    """``torch.tensor`` fills memory of its own before it dispatches anything."""

    def __torch_function__(
        self, function: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        named = named or {}
        to = named.get("device")
        if function is not torch.tensor or to is None or torch.device(to).type != DEVICE.type:
            return function(*arguments, **named)
        return Elsewhere(torch.tensor(*arguments, **{**named, "device": "cpu"}))


@contextlib.contextmanager
def pretend() -> Iterator[None]:
    """Within it there is ``DEVICE``."""
    with FromNumbers(), Pretend():
        yield


class Pretend(TorchDispatchMode):
    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        return elsewhere(operation, arguments, named or {})


def elsewhere(operation: Any, arguments: Any, named: dict[str, Any]) -> Any:
    flat, _ = tree_flatten((arguments, named))
    tensors = [each for each in flat if isinstance(each, Tensor)]
    theirs = [each for each in tensors if isinstance(each, Elsewhere)]
    name = operation.__name__
    to = named.get("device")
    moves = name.startswith(("_to_copy", "copy_"))
    # In a backward pass torch itself makes zeros, on what it takes for the device.
    passes_back = torch._C._current_graph_task_id() != -1
    if theirs and not moves and not passes_back:
        hosts = [each for each in tensors if not isinstance(each, Elsewhere) and each.ndim]
        # torch moves indexes by itself, if to some cost.
        if hosts and not name.startswith(("index.", "index_put", "_index_put")):
            shapes = [tuple(each.shape) for each in hosts]
            raise Mixed(f"{operation}: tensors of the host {shapes} beside others")
    there = bool(theirs) if to is None else torch.device(to).type == DEVICE.type
    if name.startswith("copy_"):
        there = isinstance(arguments[0], Elsewhere)
    if to is not None:
        named = {**named, "device": torch.device("cpu")}

    def bare(value: Any) -> Any:
        return value.inner if isinstance(value, Elsewhere) else value

    owners = {id(each.inner): each for each in theirs}
    with torch.utils._python_dispatch._disable_current_modes():
        made = operation(*tree_map(bare, arguments), **tree_map(bare, named))

    def wrapped(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if id(value) in owners:
            return owners[id(value)]
        return Elsewhere(value) if there else value

    return tree_map(wrapped, made)
