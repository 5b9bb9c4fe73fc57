"""Laws of a kernel: those of the operation it implements, asked of it by name."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from hypothesis.errors import UnsatisfiedAssumption

from limite.core.errors import LimiteError
from limite.core.kernels import dispatch
from limite.core.kernels.dispatch import Case, Implementation
from limite.core.kinds import Kernel
from limite.plugins.conformance.kernels.run import Backend, Law

FILES: Mapping[str, str] = {
    "rms_norm": "rms_norm",
    "add_rms_norm": "rms_norm",
    "qk_norm_rope": "qk_norm_rope",
    "rope": "rope",
    "swiglu": "swiglu",
    "head_mix": "head_mix",
    "attention": "attention",
    "attention_decode": "attention_decode",
    "simplicial_attention": "simplicial_attention",
    "simplicial_attention_decode": "simplicial_decode",
    "indexed_logprob": "indexed_logprob",
    "linear_scan": "linear_scan",
}
"""Every operation, and the file of ``limite.plugins.conformance.kernels`` that holds its laws."""

DTYPES = {
    "cpu": (torch.float32, torch.float64, torch.bfloat16),
    "cuda": (torch.float32, torch.float16, torch.bfloat16),
}
WIDTH = 16  # of the heads that laws begin with


def laws_of(op: str) -> Mapping[str, Law]:
    """The laws of an operation, by name: functions of a backend."""
    module = importlib.import_module(f"limite.plugins.conformance.kernels.{FILES[op]}")
    laws: Mapping[str, Law] = module.LAWS
    return laws


def kernel_laws(component: Kernel) -> dict[str, Callable[[], None]]:
    """The laws of a kernel's operation, run on it where it says (``device``).

    What it refuses, dtypes and head widths, is not asked of it; it must run something.
    """
    backend = backend_of(component)
    return {
        name: functools.partial(_hold, component, backend, law)
        for name, law in laws_of(component.op).items()
    }


def backend_of(component: Kernel) -> Backend:
    """The backend under which the laws see a component."""
    device = getattr(component, "device", "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise LimiteError(f"the laws of {type(component).__qualname__} need a GPU")
    refuses = _refuses(component)
    dtypes = tuple(
        dtype for dtype in DTYPES[device] if not refuses(Case(component.op, device, dtype, WIDTH))
    )
    if not dtypes:
        why = refuses(Case(component.op, device, torch.float32, WIDTH))
        raise LimiteError(f"{type(component).__qualname__} refuses every dtype: {why}")
    name = f"{type(component).__qualname__}-under-test"
    return Backend(name, device=device, dtypes=dtypes, op=component.op)


def _refuses(component: Kernel) -> Callable[[Case], str | None]:
    found: Callable[[Case], str | None] | None = getattr(component, "refuses", None)
    return found if found is not None else lambda _case: None


def _hold(component: Kernel, backend: Backend, law: Law) -> None:
    def load() -> Callable[..., Any]:
        return component

    dispatch.register(Implementation(component.op, backend.name, load, _refuses(component)))
    try:
        law(backend)
    except UnsatisfiedAssumption:
        pass  # a law of one case alone, which the component refuses
    finally:
        dispatch.forget(component.op, backend.name)
