"""Work on a GPU recorded once and played again in one launch, and what it must not do for that.

A captured graph is the kernels that were launched and the addresses they were given. So what is
captured must lie where it lay, ask the host nothing, and make no tensor of the host's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WARM_UPS = 2
"""Runs before the capture: libraries take their workspaces and kernels are compiled."""

ASKS_THE_HOST = frozenset(
    {
        "_local_scalar_dense",
        "allclose",
        "bincount",
        "equal",
        "is_nonzero",
        "item",
        "masked_select",
        "nonzero",
        "nonzero_numpy",
        "repeat_interleave.Tensor",
        "repeat_interleave.self_Tensor",
        "unique_consecutive",
        "_unique",
        "_unique2",
        "unique_dim",
    }
)
"""Operations whose result, or its shape, the host waits for; in inference mode ``int`` is one."""


class CannotCapture(Exception):
    """Why work was not captured, in words that follow "not captured: "."""


class Capture(Protocol):
    """Records what a function does, for it to be done again."""

    def __call__(self, run: Callable[[], None]) -> Callable[[], None]:
        """What does again, at the same addresses, what ``run`` does; runs it a few times.

        Raises ``CannotCapture``.
        """
        ...


class CudaCapture:
    """CUDA graphs of one device that share the memory of what lives only within a replay."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool: Any = None
        self._stream: torch.cuda.Stream | None = None

    def __call__(self, run: Callable[[], None]) -> Callable[[], None]:
        with torch.cuda.device(self._device):
            if self._stream is None:
                self._stream = torch.cuda.Stream()
                self._pool = torch.cuda.graph_pool_handle()
            current, aside = torch.cuda.current_stream(), self._stream
            aside.wait_stream(current)
            with torch.cuda.stream(aside):
                for _ in range(WARM_UPS):
                    run()
            current.wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            # A learner on another thread may allocate meanwhile.
            mode = "thread_local"
            try:
                with torch.cuda.graph(graph, self._pool, aside, capture_error_mode=mode):
                    run()
            except RuntimeError as error:
                raise CannotCapture(str(error).strip().splitlines()[0]) from error
            return graph.replay


class Watch(TorchDispatchMode):
    """Notes what runs within it reads that was there before, and what of it forbids a capture.

    ``reads`` holds the memory that was read, so that it lives as long as a graph that reads it.
    What only kernels launched past torch read is not seen. Run the same once before: what is made
    at the first call and kept would count as made within.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.reads: dict[int, torch.UntypedStorage] = {}
        self.forbidden: str | None = None
        self._made: set[int] = set()  # addresses; nothing there before can lie at one of them

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch would import its compiler, only to keep it from what follows."""
        return False

    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        named = named or {}
        taken = _tensors((arguments, named))
        for tensor in taken:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in self._made:
                self.reads.setdefault(storage.data_ptr(), storage)
        result = operation(*arguments, **named)
        given = _tensors(result)
        for tensor in given:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in self.reads:
                self._made.add(storage.data_ptr())
        self.forbidden = self.forbidden or _forbidden(operation, taken, given)
        return result


def _tensors(tree: Any) -> list[Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor)]


def _forbidden(operation: Any, taken: Sequence[Tensor], given: Sequence[Tensor]) -> str | None:
    name = operation.__name__.removesuffix(".default")
    if name in ASKS_THE_HOST or name.partition(".")[0] in ASKS_THE_HOST:
        return f"a step waits for the device ({name})"
    if name.startswith("index.") and any(each.dtype == torch.bool for each in taken):
        return "a step waits for the device (an index that is a mask)"
    # A number of the host as an operand is copied into the launch; a tensor of them is not.
    if name == "lift_fresh" and any(each.ndim or each.device.type != "cpu" for each in given):
        return "a step makes a tensor of the host's numbers"
    if name.startswith(("_to_copy", "copy_", "to.")):
        places = {each.device.type for each in (*taken, *given) if each.ndim}
        if len(places) > 1:
            return f"a step copies from {' to '.join(sorted(places))}"
    return None
