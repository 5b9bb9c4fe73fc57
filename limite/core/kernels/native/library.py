"""The compiled kernels as Python calls them: by name, with tensors and numbers, in parts."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, Protocol

import attrs
import torch
from torch import Tensor

from limite.core.kernels.native import compiler
from limite.core.kernels.native.compiler import CannotCompile

SIGNATURES: Mapping[str, str] = {
    "rms_norm": "riiirfwwi",
    "add_rms_norm": "rrrrrfwwwi",
    "rms_norm_backward": "rrriiirrwwi",
    "swiglu": "ririwi",
    "swiglu_backward": "rririwwi",
    "rope": "riiirriiifw",
    "qk_norm_rope": "riiirriiifww",
    "qk_norm_rope_backward": "rriiirriiirw",
    "head_mix": "riiriirriiiifw",
    "head_mix_backward": "rriiriirriiiifwwww",
    "append": "riiriiriiiww",
    "attention_decode": "riiriiiriiiriiiififwww",
    "attention": "riiriiriirriiiififwww",
    "attention_backward": "riiriiriirriiiififrrrrwwww",
    "product": "riiirriffwi",
    "draw": "riifirirwwww",
    "log_probabilities": "riifww",
    "squares": "rw",
}
"""Arguments behind the part's own: tensors that are read (r) or written (w), integers, floats."""

TYPES: Mapping[str, Any] = {
    "r": ctypes.c_void_p,
    "w": ctypes.c_void_p,
    "i": ctypes.c_int64,
    "f": ctypes.c_float,
}

Argument = Tensor | int | float | None


class Listener(Protocol):
    """Is told of every call that this thread makes."""

    def __call__(self, call: Call) -> None: ...


class _Told(threading.local):
    listener: Listener | None = None


told = _Told()
"""Who listens in this thread."""


@attrs.frozen(eq=False)
class Call:
    """A kernel, the rows that each part of it takes, and its arguments.

    A tensor passed where none is to be is a null pointer. Whoever calls sees to dtypes and strides.
    """

    name: str
    bounds: Sequence[int]  # of the parts: the first begins at 0
    arguments: Sequence[Argument]

    def bind(self) -> Callable[[], None]:
        """The call at the memory where its tensors lie. They must be kept as long as it is."""
        function = functions()[self.name]
        types = [TYPES[letter] for letter in SIGNATURES[self.name]]
        given = [
            kind(each.data_ptr() if isinstance(each, Tensor) else each)
            for kind, each in zip(types, self.arguments, strict=True)
        ]
        parts = [
            partial(function, *map(ctypes.c_int64, (first, last, part)), *given)
            for part, (first, last) in enumerate(zip(self.bounds, self.bounds[1:], strict=False))
        ]
        return parts[0] if len(parts) == 1 else partial(_together, parts)

    @property
    def tensors(self) -> list[Tensor]:
        return [each for each in self.arguments if isinstance(each, Tensor)]

    @property
    def written(self) -> list[Tensor]:
        letters = zip(SIGNATURES[self.name], self.arguments, strict=True)
        return [each for letter, each in letters if letter == "w" and isinstance(each, Tensor)]


def run(name: str, bounds: Sequence[int], *arguments: Argument) -> None:
    """Calls a kernel once for each part, all at the same time.

    ``bounds`` are where parts begin and end, as ``parts`` gives them.
    """
    if len(bounds) == 2:
        given = [each.data_ptr() if isinstance(each, Tensor) else each for each in arguments]
        functions()[name](0, bounds[1], 0, *given)
    else:
        Call(name, bounds, arguments).bind()()
    if told.listener is not None:
        told.listener(Call(name, bounds, arguments))


LEAST = 1 << 15
"""Elements, or what takes as long, that are worth a thread of their own."""


def parts(rows: int, work: int) -> list[int]:
    """Where parts of ``rows`` rows begin and end, for as many threads as torch uses.

    ``work``: of all rows, as so many elements of something simple. What a row gets depends on no
    other row, whatever part it is in.
    """
    most = min(torch.get_num_threads(), max(1, work // LEAST), max(1, rows))
    return [rows * part // most for part in range(most + 1)]


def _together(calls: Sequence[Callable[[], None]]) -> None:
    waiting = [_pool(os.getpid()).submit(call) for call in calls[1:]]
    calls[0]()
    for each in waiting:
        each.result()


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Of this process: a copy of it has none of its threads. Kernels run without Python's lock."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="limite-kernels")


_functions: dict[str, Any] | Exception | None = None
_loading = threading.Lock()


def functions() -> dict[str, Any]:
    """The functions of the library, which is compiled where that was not done before.

    Raises ``CannotCompile``, each time anew where it could not be at the first.
    """
    if isinstance(_functions, dict):
        return _functions
    return _load()


def _load() -> dict[str, Any]:
    global _functions
    with _loading:
        if _functions is None:
            try:
                _functions = _bound(compiler.library())
            except CannotCompile as error:
                _functions = error
        if isinstance(_functions, Exception):
            raise CannotCompile(str(_functions))
        return _functions


def _bound(path: Any) -> dict[str, Any]:
    try:
        loaded = ctypes.CDLL(str(path))
        found = {name: getattr(loaded, name) for name in SIGNATURES}
    except (OSError, AttributeError) as error:
        raise CannotCompile(f"{path} cannot be loaded: {error}; delete it") from error
    for name, function in found.items():
        function.restype = None
        own = [TYPES[letter] for letter in SIGNATURES[name]]
        function.argtypes = [ctypes.c_int64] * 3 + own
    return found


def refusal() -> str | None:
    """Why there are no compiled kernels here; None where there are."""
    try:
        functions()
    except CannotCompile as error:
        return str(error)
    return None


def dense(tensor: Tensor) -> Tensor:
    """The tensor in float32, its elements in order without gaps: itself, where that is so."""
    if tensor.dtype != torch.float32:
        tensor = tensor.float()
    return tensor.contiguous()


def lines(tensor: Tensor) -> tuple[Tensor, int, int, int]:
    """A tensor of rows along its last axis, and how they lie: row r begins at
    ``r // inner * outer_stride + r % inner * inner_stride``. It is copied where they do not so.

    Returns the tensor, ``inner``, ``outer_stride`` and ``inner_stride``.
    """
    width = tensor.shape[-1]
    if tensor.is_contiguous():
        return tensor, 1, width, 0
    if tensor.stride(-1) == 1 or width == 1:
        sizes, strides = tensor.shape[:-1], tensor.stride()[:-1]
        if len(sizes) == 1:
            return tensor, 1, strides[0], 0
        if len(sizes) == 2:
            return tensor, sizes[1], strides[0], strides[1]
    return tensor.contiguous(), 1, width, 0
