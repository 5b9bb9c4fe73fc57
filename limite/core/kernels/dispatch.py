"""Which implementation of an operation runs, and why.

Four come with limite. ``reference`` is plain torch, as close to the formula as it gets, in any
floating dtype on any device. ``cpu`` is plain torch made fast, the default without a GPU.
``triton`` are compiled kernels, the default on one. ``interpret`` runs the same kernels, line by
line and slowly, on CPU tensors, under Triton's interpreter.

``LIMITE_KERNELS`` forces one for every operation, or for single ones, by name:
``LIMITE_KERNELS=reference``, ``LIMITE_KERNELS=cpu,attention=my-attention``. So does
``with use("reference"): ...``. What was asked for by name and cannot run is an error.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.errors import LimiteError, did_you_mean

if TYPE_CHECKING:
    import torch
    from torch import Tensor

VARIABLE = "LIMITE_KERNELS"
BUILT_IN = ("reference", "cpu", "interpret", "triton")

MODULES: Mapping[str, str] = {
    "rms_norm": "rms_norm",
    "add_rms_norm": "rms_norm",
    "qk_norm_rope": "qk_norm_rope",
    "swiglu": "swiglu",
    "head_mix": "head_mix",
    "attention": "attention",
    "attention_decode": "attention_decode",
    "simplicial_attention": "simplicial_attention",
    "simplicial_attention_decode": "simplicial_decode",
    "indexed_logprob": "indexed_logprob",
    "linear_scan": "linear_scan",
}
"""Every operation, and the file (of ``reference``, ``cpu`` and ``triton``) that holds it."""


class KernelError(LimiteError, ValueError):
    """An implementation was asked for by name and cannot run, or there is none of that name."""


@attrs.frozen
class Case:
    """What the choice of an implementation may depend on."""

    op: str
    device: str  # "cpu", "cuda", "meta"
    dtype: torch.dtype
    width: int | None = None  # of a head; None where an operation has no such limit
    option: str | None = None  # a variant of the operation that not all offer

    def __str__(self) -> str:
        width = "" if self.width is None else f", head width {self.width}"
        option = "" if self.option is None else f", {self.option}"
        return f"{self.op} on {self.device} in {str(self.dtype).removeprefix('torch.')}" + (
            width + option
        )


@attrs.frozen
class Implementation:
    """One way to run an operation: a differentiable function with the operation's own arguments.

    ``refuses(case)`` says why it cannot run a case, or None where it can.
    """

    op: str
    name: str
    load: Callable[[], Callable[..., Any]]
    refuses: Callable[[Case], str | None] = attrs.field(default=lambda _case: None)


@attrs.frozen
class Choice:
    """The implementation of a case, and why it is that one."""

    name: str
    reason: str
    function: Callable[..., Any]


_registered: dict[tuple[str, str], Implementation] = {}
_forced: ContextVar[str | None] = ContextVar("limite_kernels", default=None)
_chosen: dict[tuple[Any, ...], Callable[..., Any]] = {}


def register(implementation: Implementation) -> None:
    """Adds somebody's own implementation of an operation, to be asked for by its name.

    Nothing uses it until it is named: installing a package never changes anyone's numbers.
    """
    op, name = implementation.op, implementation.name
    if op not in MODULES:
        raise KernelError(f"there is no operation {op!r}{did_you_mean(op, MODULES)}")
    if name in BUILT_IN:
        raise KernelError(f"{name!r} is the name of one of limite's own; choose another")
    if not name or set(name) & set("=, "):
        raise KernelError(f"an implementation's name has no space, comma or '=', got {name!r}")
    _registered[op, name] = implementation
    _chosen.clear()


def forget(op: str, name: str) -> None:
    """Takes a registered implementation away."""
    _registered.pop((op, name), None)
    _chosen.clear()


@contextmanager
def use(names: str) -> Iterator[None]:
    """Within the block, forces implementations: what ``LIMITE_KERNELS`` would hold."""
    _parsed(names)
    token = _forced.set(names)
    try:
        yield
    finally:
        _forced.reset(token)


def select(
    op: str, tensor: Tensor, width: int | None = None, option: str | None = None
) -> Callable[..., Any]:
    """The function that runs ``op`` for tensors like ``tensor``."""
    asked = _forced.get()
    if asked is None:
        asked = os.environ.get(VARIABLE, "")
    key = (op, tensor.device.type, tensor.dtype, width, option, asked)
    function = _chosen.get(key)
    if function is None:
        case = Case(op, tensor.device.type, tensor.dtype, width, option)
        function = _chosen[key] = choose(case, asked).function
    return function


def choose(case: Case, asked: str | None = None) -> Choice:
    """The implementation of a case, with the reason. ``asked``: what ``LIMITE_KERNELS`` holds."""
    if asked is None:
        asked = _forced.get()
    source = "asked for"
    if asked is None:
        asked = os.environ.get(VARIABLE, "")
        source = f"{VARIABLE}={asked}"
    everywhere, single = _parsed(asked)
    name = single.get(case.op, everywhere)
    if name is not None:
        found = _implementation(case.op, name)
        refusal = found.refuses(case)
        if refusal is not None:
            raise KernelError(f"{name!r} cannot run {case}: {refusal}")
        return Choice(name, source, found.load())
    if case.device == "cuda":
        refusal = _implementation(case.op, "triton").refuses(case)
        if refusal is None:
            return Choice("triton", "there is a GPU", _implementation(case.op, "triton").load())
        reason = f"not triton: {refusal}"
    else:
        reason = f"the tensors are on {case.device}"
    for name in ("cpu", "reference"):
        found = _implementation(case.op, name)
        refusal = found.refuses(case)
        if refusal is None:
            return Choice(name, reason, found.load())
        reason += f"; not {name}: {refusal}"
    raise KernelError(f"nothing can run {case}: {reason}")


def names(op: str) -> tuple[str, ...]:
    """Every implementation of an operation."""
    return (*BUILT_IN, *(name for of, name in _registered if of == op))


@cache
def _parsed(asked: str) -> tuple[str | None, Mapping[str, str]]:
    """``cpu,attention=mine`` as the name for everything, and those of single operations."""
    everywhere: str | None = None
    single: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in asked.split(","))):
        op, equals, name = part.partition("=")
        if equals:
            if op not in MODULES:
                raise KernelError(f"{VARIABLE}: no operation {op!r}{did_you_mean(op, MODULES)}")
            single[op] = name
        elif everywhere is not None:
            raise KernelError(f"{VARIABLE}: both {everywhere!r} and {part!r} for every operation")
        else:
            everywhere = part
            if part not in BUILT_IN:
                raise KernelError(
                    f"{VARIABLE}: no such backend {part!r}{did_you_mean(part, BUILT_IN)}; there "
                    f"are {', '.join(BUILT_IN)}, and OPERATION=NAME for a registered one"
                )
    return everywhere, single


def _implementation(op: str, name: str) -> Implementation:
    if name in BUILT_IN:
        return _built_in(op, name)
    if (op, name) not in _registered:
        known = names(op)
        raise KernelError(
            f"no implementation {name!r} of {op}{did_you_mean(name, known)}; "
            f"there are {', '.join(known)}"
        )
    return _registered[op, name]


@cache
def _built_in(op: str, name: str) -> Implementation:
    folder = "triton" if name == "interpret" else name
    path = f"limite.core.kernels.{folder}.{MODULES[op]}"

    def refuses(case: Case) -> str | None:
        refusal = _refusals(name, case)
        if refusal is None:
            own = getattr(importlib.import_module(path), "refuses", None)
            refusal = None if own is None else own(case)
        return refusal

    def load() -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(importlib.import_module(path), op)
        return function

    return Implementation(op, name, load, refuses)


def _refusals(name: str, case: Case) -> str | None:
    """Why no kernel of a built-in backend could run the case."""
    if not case.dtype.is_floating_point:
        return f"{case.dtype} is no floating dtype"
    if name in ("reference", "cpu"):
        return None
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if case.dtype.itemsize not in (2, 4):
        return f"the kernels take float32, float16 and bfloat16, not {case.dtype}"
    if name == "triton":
        if case.device != "cuda":
            return f"compiled kernels need tensors on a GPU, these are on {case.device}"
        if _interpreting():
            return "Triton runs interpreted in this process (TRITON_INTERPRET is set)"
        return None
    if case.device != "cpu":
        return f"the interpreter takes tensors on the CPU, these are on {case.device}"
    if "triton" not in sys.modules:
        os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when it is first imported
    if not _interpreting():
        return "Triton was imported before TRITON_INTERPRET=1 was set; set it from the start"
    return None


def _interpreting() -> bool:
    if "triton" in sys.modules:
        return bool(sys.modules["triton"].knobs.runtime.interpret)
    return os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")
