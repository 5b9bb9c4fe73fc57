"""Refusals of arguments that do not fit: every fault of a call at once, by name.

Each check first asks one quick question, and looks for words only when the answer is no.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from limite.core.kernels.faults import (
    FLOATING,
    MISUSE,
    WIDE,
    Fault,
    alike,
    beside,
    epsilons,
    finite,
    fit_beside,
    flags,
    groups,
    least_zero,
    on_device,
    positive,
    refuse,
    same,
    shape_of,
    shaped,
    tensors,
    tensors_or_none,
    told,
)
from limite.core.kernels.rotation import Rotation


def rms_norm(x: Tensor, weight: Tensor | None, eps: float) -> None:
    try:
        fits = (
            x.dim() >= 1
            and x.dtype in FLOATING
            and (weight is None or (weight.shape == x.shape[-1:] and fit_beside(x, weight)))
            and least_zero(eps)
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from tensors(x=x)
        yield from tensors_or_none(weight=weight)
        if isinstance(x, Tensor):
            if x.dim() < 1:
                yield "x", "at least one axis", shape_of(x)
            else:
                yield from shaped("weight", weight, x.shape[-1], words=", the width of x")
        yield from alike(x=x)
        yield from beside("x", x, weight=weight)
        yield from epsilons(eps=eps)

    refuse("rms_norm", faults())


def add_rms_norm(
    a: Tensor, b: Tensor, keep: Tensor | None, add: Tensor | None, weight: Tensor | None, eps: float
) -> None:
    try:
        shape = a.shape
        fits = (
            len(shape) >= 1
            and shape == b.shape
            and same(a, b)
            and (keep is None or keep.numel() == 1)
            and (add is None or add.numel() == 1)
            and (weight is None or weight.shape == shape[-1:])
            and fit_beside(a, keep, add, weight)
            and least_zero(eps)
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from tensors(a=a, b=b)
        yield from tensors_or_none(keep=keep, add=add, weight=weight)
        if isinstance(a, Tensor):
            if a.dim() < 1:
                yield "a", "at least one axis", shape_of(a)
            else:
                yield from shaped("weight", weight, a.shape[-1], words=", the width of a")
            yield from shaped("b", b, *a.shape, words=", the shape of a")
        yield from alike(a=a, b=b)
        for name, scalar in (("keep", keep), ("add", add)):
            if isinstance(scalar, Tensor) and scalar.numel() != 1:
                yield name, "one number", shape_of(scalar)
        yield from beside("a", a, keep=keep, add=add, weight=weight)
        yield from epsilons(eps=eps)

    refuse("add_rms_norm", faults())


def qk_norm_rope(qk: Tensor, rotation: Rotation | None, eps: float) -> None:
    try:
        fits = least_zero(eps) and _turned(qk, rotation)
    except MISUSE:
        fits = False
    if not fits:
        faults = chain(_turns("qk", qk, rotation, or_none=True), epsilons(eps=eps))
        refuse("qk_norm_rope", faults)


def rope(x: Tensor, rotation: Rotation) -> None:
    try:
        fits = rotation is not None and _turned(x, rotation)
    except MISUSE:
        fits = False
    if not fits:
        refuse("rope", _turns("x", x, rotation, or_none=False))


def _turned(heads: Tensor, rotation: Rotation | None) -> bool:
    """The quick question about heads ``[..., heads, D]`` and their turns."""
    shape = heads.shape
    if not 3 <= len(shape) <= 4 or heads.dtype not in FLOATING:
        return False
    if rotation is None:
        return True
    cos, sin = rotation.cos, rotation.sin
    turns = cos.shape
    return (
        turns == sin.shape
        and turns[:-1] == shape[:-2]
        and 2 * turns[-1] <= shape[-1]
        and fit_beside(heads, cos, sin)
    )


def _turns(name: str, heads: Any, rotation: Any, *, or_none: bool) -> Iterator[Fault]:
    sizes = heads.shape if isinstance(heads, Tensor) else ()
    yield from tensors(**{name: heads})
    if isinstance(heads, Tensor) and not 3 <= len(sizes) <= 4:
        yield name, "[N, heads, D] or [B, T, heads, D]", shape_of(heads)
    yield from alike(**{name: heads})
    if not isinstance(rotation, Rotation):
        if rotation is not None or not or_none:
            expected = "None or a Rotation" if or_none else "a Rotation"
            yield "rotation", expected, told(rotation)
        return
    tables = {"rotation.cos": rotation.cos, "rotation.sin": rotation.sin}
    yield from tensors(**tables)
    yield from beside(name, heads, **tables)
    for title, table in tables.items():
        if isinstance(table, Tensor) and 3 <= len(sizes) <= 4:
            leading, most = sizes[:-2], sizes[-1] // 2
            if not table.dim() or table.shape[:-1] != leading or table.shape[-1] > most:
                expected = ", ".join([*map(str, leading), f"at most {most} pairs"])
                yield title, f"[{expected}]", shape_of(table)
    if isinstance(rotation.cos, Tensor):
        words = ", the shape of rotation.cos"
        yield from shaped("rotation.sin", rotation.sin, *rotation.cos.shape, words=words)


def swiglu(gate: Tensor, up: Tensor) -> None:
    try:
        shape = gate.shape
        fits = shape == up.shape and len(shape) >= 1 and same(gate, up)
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from tensors(gate=gate, up=up)
        if isinstance(gate, Tensor):
            if gate.dim() < 1:
                yield "gate", "at least one axis", shape_of(gate)
            yield from shaped("up", up, *gate.shape, words=", the shape of gate")
        yield from alike(gate=gate, up=up)

    refuse("swiglu", faults())


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> None:
    try:
        shape, theirs = outputs.shape, values.shape
        fits = (
            len(shape) >= 2
            and len(theirs) == len(shape)
            and theirs[:-2] == shape[:-2]
            and theirs[-1] == shape[-1]
            and (theirs[-2] > 0 and shape[-2] % theirs[-2] == 0)
            and (alpha is None or alpha.shape == (shape[-2],))
            and (gates is None or gates.shape == shape[:-1])
            and same(outputs, values)
            and fit_beside(outputs, alpha, gates)
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from tensors(outputs=outputs, values=values)
        yield from tensors_or_none(alpha=alpha, gates=gates)
        if isinstance(outputs, Tensor):
            if len(outputs.shape) < 2:
                yield "outputs", "[..., H, D]", shape_of(outputs)
            else:
                yield from _heads(outputs, values, alpha, gates)
        yield from alike(outputs=outputs, values=values)
        yield from beside("outputs", outputs, alpha=alpha, gates=gates)

    refuse("head_mix", faults())


def _heads(outputs: Tensor, values: Any, alpha: Any, gates: Any) -> Iterator[Fault]:
    *leading, heads, width = outputs.shape
    yield from shaped("values", values, *leading, None, width)
    if isinstance(values, Tensor) and values.dim() == outputs.dim():
        yield from groups("values", values.shape[-2], "outputs", heads)
    yield from shaped("alpha", alpha, heads, words=", one for each head")
    yield from shaped("gates", gates, *leading, heads, words=", one for each head")


def _within(index: Tensor, vocabulary: int) -> bool:
    """Whether every id is one of the vocabulary, or -1; not asked where it would have to wait.

    On a GPU the answer would stop the queue; there such an id's log-probability is NaN.
    """
    if index.device.type != "cpu" or not index.numel() or torch.compiler.is_compiling():
        return True
    smallest, largest = index.aminmax()
    return bool(smallest >= -1) and bool(largest < vocabulary)


def is_cap(cap: Any) -> bool:
    return (
        isinstance(cap, tuple)
        and len(cap) == 3
        and positive(cap[0])
        and finite(cap[1])
        and positive(cap[2])
    )


CAP = "a tuple (bound above 0, shift, spread above 0) of finite numbers"


def indexed_logprob(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    cap: tuple[float, float, float] | None,
    temperature: float,
    round_logits: str | None,
    need_entropy: bool,
) -> None:
    try:
        fits = (
            hidden.dim() == weight.dim() == index.dim() == 2
            and hidden.shape[1] == weight.shape[1]
            and weight.shape[0] > 0
            and index.shape[0] == hidden.shape[0]
            and index.dtype == torch.int64
            and index.device == hidden.device
            and same(hidden, weight)
            and (cap is None or is_cap(cap))
            and positive(temperature)
            and round_logits in (None, "bfloat16", "float16")
            and (need_entropy is True or need_entropy is False)
            and _within(index, weight.shape[0])
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from tensors(hidden=hidden, weight=weight, index=index)
        sizes = hidden.shape if isinstance(hidden, Tensor) else ()
        yield from shaped("hidden", hidden, None, None)
        tokens, width = sizes if len(sizes) == 2 else (None, None)
        yield from shaped("weight", weight, None, width, words=", as wide as hidden")
        yield from shaped("index", index, tokens, None, words=", a row for each token")
        rows = None
        if isinstance(weight, Tensor) and weight.dim() == 2:
            rows = weight.shape[0]
            if not rows:
                yield "weight", "at least one row", shape_of(weight)
        if isinstance(index, Tensor):
            yield from on_device("index", index, "hidden", hidden)
            if index.dtype != torch.int64:
                yield "index", "int64", str(index.dtype)
            elif rows and not _within(index, rows):
                smallest, largest = (int(end) for end in index.aminmax())
                expected = f"-1 or ids below {rows}, the rows of weight"
                yield "index", expected, f"{smallest} to {largest}"
        yield from alike(hidden=hidden, weight=weight)
        if cap is not None and not is_cap(cap):
            yield "cap", f"None or {CAP}", told(cap)
        if not positive(temperature):
            yield "temperature", "a finite number above 0", told(temperature)
        if not (round_logits is None or isinstance(round_logits, str)) or round_logits not in (
            None,
            "bfloat16",
            "float16",
        ):
            yield "round_logits", "None, 'bfloat16' or 'float16'", told(round_logits)
        yield from flags(need_entropy=need_entropy)

    refuse("indexed_logprob", faults())


def soft_cap(logits: Tensor, cap: tuple[float, float, float]) -> None:
    if isinstance(logits, Tensor) and logits.dtype in FLOATING and is_cap(cap):
        return

    def faults() -> Iterator[Fault]:
        yield from tensors(logits=logits)
        yield from alike(logits=logits)
        if not is_cap(cap):
            yield "cap", CAP, told(cap)

    refuse("soft_cap", faults())


def linear_scan(a: Tensor, b: Tensor, reverse: bool, carry: Tensor | None) -> None:
    try:
        fits = (
            a.dim() == 2
            and a.shape == b.shape
            and a.dtype in WIDE
            and same(a, b)
            and (carry is None or (carry.shape == a.shape[:1] and same(a, carry)))
            and (reverse is True or reverse is False)
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from tensors(a=a, b=b)
        yield from tensors_or_none(carry=carry)
        yield from shaped("a", a, None, None)
        rows = None
        if isinstance(a, Tensor):
            yield from shaped("b", b, *a.shape, words=", the shape of a")
            if a.dtype not in WIDE:
                yield "a", "float32 or float64", str(a.dtype)
            rows = a.shape[0] if a.dim() == 2 else None
        yield from shaped("carry", carry, rows, words=", one for each row")
        for fault in alike(a=a, b=b, carry=carry):
            if fault[0] != "a":  # told above
                yield fault
        yield from flags(reverse=reverse)

    refuse("linear_scan", faults())
