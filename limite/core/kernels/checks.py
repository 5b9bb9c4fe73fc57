"""Refusals of arguments that do not fit: every fault of a call at once, by name.

Each check first asks one quick question, and looks for words only when the answer is no.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NoReturn

import torch
from torch import Tensor

from limite.core.kernels.rotation import Rotation

Fault = tuple[str, str, str]
"""Argument, what was expected, what came."""


def refuse(op: str, faults: Iterator[Fault]) -> NoReturn:
    """Raises ``ValueError`` with all faults of a call."""
    lines = [f"{name}: expected {expected}, got {got}" for name, expected, got in faults]
    assert lines, f"{op} refused a call without a fault"
    raise ValueError(f"{op}: " + "; ".join(dict.fromkeys(lines)))


def shape_of(tensor: Tensor) -> str:
    return "[" + ", ".join(map(str, tensor.shape)) + "]"


def same(first: Tensor, *others: Tensor) -> bool:
    """Whether devices and dtypes agree, and are fit for it."""
    dtype, device = first.dtype, first.device
    for each in others:
        if each.dtype != dtype or each.device != device:
            return False
    return dtype.is_floating_point


def positive(number: object) -> bool:
    """Whether it is a finite number above 0."""
    return isinstance(number, (int, float)) and 0 < number < math.inf


def beside(name: str, first: Tensor, **others: Tensor | None) -> Iterator[Fault]:
    """Faults of floating tensors of any dtype that are not on the device of the first."""
    for other, tensor in others.items():
        if tensor is None:
            continue
        if tensor.device != first.device:
            yield other, f"the device of {name}, {first.device}", str(tensor.device)
        if not tensor.dtype.is_floating_point:
            yield other, "a floating dtype", str(tensor.dtype)


def _beside(first: Tensor, *others: Tensor | None) -> bool:
    device = first.device
    for each in others:
        if each is not None and (each.device != device or not each.dtype.is_floating_point):
            return False
    return True


def alike(**tensors: Tensor | None) -> Iterator[Fault]:
    """Faults of tensors whose device or dtype is not that of the first."""
    (name, first), *others = tensors.items()
    assert first is not None
    if not first.dtype.is_floating_point:
        yield name, "a floating dtype", str(first.dtype)
    for other, tensor in others:
        if tensor is None:
            continue
        if tensor.device != first.device:
            yield other, f"the device of {name}, {first.device}", str(tensor.device)
        if tensor.dtype != first.dtype:
            yield other, f"the dtype of {name}, {first.dtype}", str(tensor.dtype)


def shaped(
    name: str, tensor: Tensor | None, *expected: int | None, words: str = ""
) -> Iterator[Fault]:
    """A fault where the shape is not the expected one; None fits any size."""
    if tensor is None:
        return
    fits = len(tensor.shape) == len(expected) and all(
        wanted is None or wanted == size
        for wanted, size in zip(expected, tensor.shape, strict=True)
    )
    if not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in expected)
        yield name, f"[{sizes}]{words}", shape_of(tensor)


def groups(name: str, heads: int, kv_heads: int) -> Iterator[Fault]:
    if kv_heads < 1 or heads % kv_heads:
        yield name, f"a number of heads that divides the {heads} of q", str(kv_heads)


def rms_norm(x: Tensor, weight: Tensor | None) -> None:
    if x.dim() >= 1 and x.dtype.is_floating_point:
        if weight is None:
            return
        if weight.shape == x.shape[-1:] and _beside(x, weight):
            return

    def faults() -> Iterator[Fault]:
        if x.dim() < 1:
            yield "x", "at least one axis", shape_of(x)
            return
        yield from alike(x=x)
        yield from shaped("weight", weight, x.shape[-1], words=", the width of x")
        yield from beside("x", x, weight=weight)

    refuse("rms_norm", faults())


def add_rms_norm(
    a: Tensor, b: Tensor, keep: Tensor | None, add: Tensor | None, weight: Tensor | None
) -> None:
    if (
        a.dim() >= 1
        and a.shape == b.shape
        and same(a, b)
        and (keep is None or keep.numel() == 1)
        and (add is None or add.numel() == 1)
        and (weight is None or weight.shape == a.shape[-1:])
        and _beside(a, keep, add, weight)
    ):
        return

    def faults() -> Iterator[Fault]:
        if a.dim() < 1:
            yield "a", "at least one axis", shape_of(a)
            return
        yield from alike(a=a, b=b)
        yield from shaped("b", b, *a.shape, words=", the shape of a")
        for name, scalar in (("keep", keep), ("add", add)):
            if scalar is not None and scalar.numel() != 1:
                yield name, "one number", shape_of(scalar)
        yield from shaped("weight", weight, a.shape[-1], words=", the width of a")
        yield from beside("a", a, keep=keep, add=add, weight=weight)

    refuse("add_rms_norm", faults())


def qk_norm_rope(qk: Tensor, rotation: Rotation | None) -> None:
    _turned_heads("qk_norm_rope", "qk", qk, rotation)


def rope(x: Tensor, rotation: Rotation) -> None:
    _turned_heads("rope", "x", x, rotation)


def _turned_heads(op: str, name: str, heads: Tensor, rotation: Rotation | None) -> None:
    if 3 <= heads.dim() <= 4 and heads.dtype.is_floating_point:
        if rotation is None:
            return
        cos, sin = rotation.cos, rotation.sin
        if (
            cos.shape == sin.shape
            and cos.shape[:-1] == heads.shape[:-2]
            and 2 * cos.shape[-1] <= heads.shape[-1]
            and _beside(heads, cos, sin)
        ):
            return

    def faults() -> Iterator[Fault]:
        if not 3 <= heads.dim() <= 4:
            yield name, "[N, heads, D] or [B, T, heads, D]", shape_of(heads)
            return
        yield from alike(**{name: heads})
        if rotation is None:
            return
        leading = ", ".join(map(str, heads.shape[:-2]))
        for title, table in (("rotation.cos", rotation.cos), ("rotation.sin", rotation.sin)):
            if table.shape[:-1] != heads.shape[:-2] or 2 * table.shape[-1] > heads.shape[-1]:
                most = heads.shape[-1] // 2
                yield title, f"[{leading}, at most {most} pairs]", shape_of(table)
            yield from beside(name, heads, **{title: table})
        if rotation.cos.shape != rotation.sin.shape:
            yield (
                "rotation.sin",
                f"the shape of cos, {shape_of(rotation.cos)}",
                shape_of(rotation.sin),
            )

    refuse(op, faults())


def swiglu(gate: Tensor, up: Tensor) -> None:
    if gate.shape == up.shape and gate.dim() >= 1 and same(gate, up):
        return

    def faults() -> Iterator[Fault]:
        if gate.dim() < 1:
            yield "gate", "at least one axis", shape_of(gate)
        yield from shaped("up", up, *gate.shape, words=", the shape of gate")
        yield from alike(gate=gate, up=up)

    refuse("swiglu", faults())


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> None:
    shape = outputs.shape
    if (
        len(shape) >= 2
        and values.dim() == len(shape)
        and values.shape[:-2] == shape[:-2]
        and values.shape[-1] == shape[-1]
        and (values.shape[-2] > 0 and shape[-2] % values.shape[-2] == 0)
        and (alpha is None or alpha.shape == (shape[-2],))
        and (gates is None or gates.shape == shape[:-1])
        and same(outputs, values)
        and _beside(outputs, alpha, gates)
    ):
        return

    def faults() -> Iterator[Fault]:
        if len(shape) < 2:
            yield "outputs", "[..., H, D]", shape_of(outputs)
            return
        yield from shaped("values", values, *shape[:-2], None, shape[-1])
        if values.dim() == len(shape):
            yield from groups("values", shape[-2], values.shape[-2])
        yield from shaped("alpha", alpha, shape[-2], words=", one for each head")
        yield from shaped("gates", gates, *shape[:-1], words=", one for each head")
        yield from alike(outputs=outputs, values=values)
        yield from beside("outputs", outputs, alpha=alpha, gates=gates)

    refuse("head_mix", faults())


def _within(index: Tensor, vocabulary: int) -> bool:
    """Whether every id is one of the vocabulary, or -1; not asked where it would have to wait.

    On a GPU the answer would stop the queue; there such an id's log-probability is NaN.
    """
    if index.device.type != "cpu" or not index.numel() or torch.compiler.is_compiling():
        return True
    smallest, largest = index.aminmax()
    return bool(smallest >= -1) and bool(largest < vocabulary)


def _is_cap(cap: object) -> bool:
    return (
        isinstance(cap, tuple)
        and len(cap) == 3
        and positive(cap[0])
        and isinstance(cap[1], (int, float))
        and math.isfinite(cap[1])
        and positive(cap[2])
    )


def indexed_logprob(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    cap: tuple[float, float, float] | None,
    temperature: float,
    round_logits: str | None,
) -> None:
    if (
        hidden.dim() == weight.dim() == index.dim() == 2
        and hidden.shape[1] == weight.shape[1]
        and weight.shape[0] > 0
        and index.shape[0] == hidden.shape[0]
        and index.dtype == torch.int64
        and index.device == hidden.device
        and same(hidden, weight)
        and (cap is None or _is_cap(cap))
        and positive(temperature)
        and round_logits in (None, "bfloat16", "float16")
        and _within(index, weight.shape[0])
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from shaped("hidden", hidden, None, None)
        tokens, width = hidden.shape if hidden.dim() == 2 else (None, None)
        yield from shaped("weight", weight, None, width, words=", as wide as hidden")
        yield from shaped("index", index, tokens, None, words=", a row for each token")
        if weight.dim() == 2 and not weight.shape[0]:
            yield "weight", "at least one row", shape_of(weight)
        if index.dtype != torch.int64:
            yield "index", "int64", str(index.dtype)
        elif weight.dim() == 2 and weight.shape[0] and not _within(index, weight.shape[0]):
            smallest, largest = (int(end) for end in index.aminmax())
            expected = f"-1 or ids below {weight.shape[0]}, the rows of weight"
            yield "index", expected, f"{smallest} to {largest}"
        if index.device != hidden.device:
            yield "index", f"the device of hidden, {hidden.device}", str(index.device)
        yield from alike(hidden=hidden, weight=weight)
        if cap is not None and not _is_cap(cap):
            yield "cap", "(bound above 0, shift, spread above 0)", repr(cap)
        if not positive(temperature):
            yield "temperature", "a number above 0", repr(temperature)
        if round_logits not in (None, "bfloat16", "float16"):
            yield "round_logits", "None, 'bfloat16' or 'float16'", repr(round_logits)

    refuse("indexed_logprob", faults())


def linear_scan(a: Tensor, b: Tensor, carry: Tensor | None) -> None:
    full = (torch.float32, torch.float64)
    if (
        a.dim() == 2
        and a.shape == b.shape
        and a.dtype in full
        and same(a, b)
        and (carry is None or (carry.shape == a.shape[:1] and same(a, carry)))
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from shaped("a", a, None, None)
        yield from shaped("b", b, *a.shape, words=", the shape of a")
        if a.dtype not in full:
            yield "a", "float32 or float64", str(a.dtype)
        rows = a.shape[0] if a.dim() == 2 else None
        yield from shaped("carry", carry, rows, words=", one for each row")
        yield from alike(a=a, b=b, carry=carry)

    refuse("linear_scan", faults())
