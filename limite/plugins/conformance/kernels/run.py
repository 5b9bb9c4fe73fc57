"""Runs an operation on a backend: forward, and every gradient."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import attrs
import torch
from hypothesis import HealthCheck, Phase, reject, settings
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.plugins.conformance.kernels.values import Fences, arrange, arrange_matrix


@attrs.frozen
class Backend:
    """What the laws are asked about: the name of an implementation, and where it runs.

    ``tiled``: it is made of Triton kernels that take their tiles from ``limite.core.kernels.tiles``
    and their results' memory from ``runtime.empty``. ``op``: the one operation it runs, where it
    is somebody's own; other operations that a law calls then run on the reference.
    """

    name: str
    device: str = "cpu"
    tiled: bool = False
    dtypes: tuple[torch.dtype, ...] = (torch.float32,)
    op: str | None = None

    @property
    def compiled(self) -> bool:
        return self.device == "cuda"

    @contextmanager
    def use(self, op: str) -> Iterator[None]:
        """Within the block, calls of an operation run here.

        A case that somebody's own kernel refuses is no case: Hypothesis draws another.
        """
        name = self.name if self.op in (None, op) else REFERENCE.name
        with dispatch.use(f"{op}={name}"):
            try:
                yield
            except dispatch.CannotRun:
                if self.op is None:
                    raise
                reject()


REFERENCE = Backend("reference", dtypes=(torch.float32, torch.float64))
CPU = Backend("cpu", dtypes=(torch.float32, torch.float64, torch.bfloat16))
NATIVE = Backend("native")
INTERPRET = Backend("interpret", tiled=True, dtypes=(torch.float32, torch.float16))
TRITON = Backend(
    "triton", device="cuda", tiled=True, dtypes=(torch.float32, torch.float16, torch.bfloat16)
)
BACKENDS = {each.name: each for each in (REFERENCE, CPU, NATIVE, INTERPRET, TRITON)}

Law = Callable[[Backend], None]


_times = 1


@contextmanager
def more_examples(times: int) -> Iterator[None]:
    """Within it laws draw so many times as many cases as they do otherwise."""
    global _times
    before, _times = _times, times
    try:
        yield
    finally:
        _times = before


def examples(backend: Backend, count: int = 20) -> settings:
    """How a law draws: the same cases every time, without shrinking where a case is slow."""
    return settings(
        max_examples=count * _times,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )


@attrs.frozen
class Outcome:
    """Outputs in order (None where not asked for), and gradients by the inputs' names."""

    outputs: tuple[Tensor | None, ...]
    gradients: Mapping[str, Tensor]


def run(
    op: str,
    backend: Backend,
    inputs: Mapping[str, Tensor],
    arguments: Mapping[str, Any],
    *,
    differentiate: Sequence[str] = (),
    upstream: Sequence[Tensor | None] = (),
    layout: str | Mapping[str, str] = "contiguous",
) -> Outcome:
    """``ops.<op>(**inputs, **arguments)``, and the gradients of ``differentiate``.

    ``upstream`` are the gradients of the outputs, None where nothing flows back. Inputs lie
    between fences of NaN in the given layout (one for all, or of matrices by name), and must come
    out unchanged.
    """

    def place(name: str, tensor: Tensor) -> Tensor:
        tensor = tensor.to(backend.device)
        if not tensor.dtype.is_floating_point:
            return tensor
        if isinstance(layout, str):
            return arrange(tensor, layout)
        return arrange_matrix(tensor, layout.get(name, "contiguous"))

    placed = {name: place(name, tensor) for name, tensor in inputs.items()}
    leaves = {
        name: tensor.detach().requires_grad_(name in differentiate)
        for name, tensor in placed.items()
    }
    with backend.use(op), _fences(backend):
        found = getattr(ops, op)(**leaves, **arguments)
        outputs = found if isinstance(found, tuple) else (found,)
        pairs = [
            (out, gradient.to(out))
            for out, gradient in zip(outputs, upstream, strict=False)
            if gradient is not None and out is not None
        ]
        if differentiate:
            torch.autograd.backward([out for out, _ in pairs], [each for _, each in pairs])
    for name, tensor in inputs.items():
        now, before = placed[name].detach().cpu(), tensor.cpu()
        assert torch.equal(now.nan_to_num(0.5), before.nan_to_num(0.5)), f"{name} was changed"
    gradients = {}
    for name in differentiate:
        gradient = leaves[name].grad
        gradients[name] = torch.zeros_like(leaves[name]) if gradient is None else gradient
    return Outcome(
        tuple(None if out is None else out.detach().cpu() for out in outputs),
        {name: gradient.detach().cpu() for name, gradient in gradients.items()},
    )


def exact(
    op: str,
    inputs: Mapping[str, Tensor],
    arguments: Mapping[str, Any],
    *,
    differentiate: Sequence[str] = (),
    upstream: Sequence[Tensor | None] = (),
) -> Outcome:
    """The float64 reference on the same rounded inputs."""
    wide = {
        name: tensor.cpu().double() if tensor.dtype.is_floating_point else tensor.cpu()
        for name, tensor in inputs.items()
    }
    return run(op, REFERENCE, wide, arguments, differentiate=differentiate, upstream=upstream)


@contextmanager
def nothing_but_nan() -> Iterator[None]:
    """Within the block, NumPy, which interprets, does not warn of a maximum of NaN alone."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        yield


@contextmanager
def _fences(backend: Backend) -> Iterator[None]:
    if not backend.tiled:
        with nullcontext():
            yield
        return
    from limite.core.kernels.triton import runtime

    assert "triton" in sys.modules
    fences = Fences()
    with runtime.allocating(fences):
        yield
    fences.check()
