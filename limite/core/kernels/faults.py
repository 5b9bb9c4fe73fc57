"""The words of refusals: what is wrong with an argument, what was expected, what came.

Anything may stand where a tensor or a number belongs; what is none is told once, by
``tensors`` and its like, and passed over by everything else here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from torch import Tensor

Fault = tuple[str, str, str]
"""Argument, what was expected, what came."""

FLOATING = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
"""The dtypes that operations are defined in."""

WIDE = (torch.float32, torch.float64)
WHOLE = (torch.int32, torch.int64)

LARGEST = torch.finfo(torch.float32).max
SMALLEST = torch.finfo(torch.float32).tiny
LONGEST = 2**30
"""Of windows: so that the sum of one and a token's place fits int32."""

MISUSE = (AttributeError, TypeError, ValueError)
"""What a quick question stumbles over where an argument is of another kind altogether."""


def refuse(op: str, faults: Iterator[Fault]) -> NoReturn:
    """Raises ``ValueError`` with all faults of a call."""
    lines = [f"{name}: expected {expected}, got {got}" for name, expected, got in faults]
    assert lines, f"{op} refused a call without a fault"
    raise ValueError(f"{op}: " + "; ".join(dict.fromkeys(lines)))


def refuse_any(op: str, faults: Iterator[Fault]) -> None:
    """``refuse``, if there is a fault."""
    found = list(faults)
    if found:
        refuse(op, iter(found))


def shape_of(tensor: Tensor) -> str:
    return "[" + ", ".join(map(str, tensor.shape)) + "]"


# Quick questions


def same(first: Tensor, *others: Tensor) -> bool:
    """Whether devices and dtypes agree, and are fit for it."""
    dtype, device = first.dtype, first.device
    for each in others:
        if each.dtype is not dtype or each.device != device:
            return False
    return dtype in FLOATING


def fit_beside(first: Tensor, *others: Tensor | None) -> bool:
    """Whether the others, where they are there, are floating and on the device of the first."""
    device = first.device
    for each in others:
        if each is not None and (each.device != device or each.dtype not in FLOATING):
            return False
    return True


def finite(number: Any) -> bool:
    """Whether it is a number that float32 holds."""
    return (type(number) is float or is_number(number)) and -LARGEST <= number <= LARGEST


def positive(number: Any) -> bool:
    """Whether it is a number above 0 that float32 holds, with its inverse."""
    return (type(number) is float or is_number(number)) and SMALLEST <= number <= LARGEST


def least_zero(number: Any) -> bool:
    """Whether it is a number from 0 that float32 holds."""
    return (type(number) is float or is_number(number)) and 0 <= number <= LARGEST


def is_number(number: Any) -> bool:
    """Whether it is a Python float or int that floats hold exactly, and no bool."""
    if isinstance(number, int):
        return not isinstance(number, bool) and abs(number) <= 2**53
    return isinstance(number, float)


def whole(number: Any) -> bool:
    """Whether it is a Python int, and no bool."""
    return type(number) is int or (isinstance(number, int) and not isinstance(number, bool))


def is_window(window: Any) -> bool:
    return window is None or ((type(window) is int or whole(window)) and 1 <= window <= LONGEST)


# Faults


def told(value: object) -> str:
    """A value in an error: a tensor by its shape, since it may be large."""
    if isinstance(value, Tensor):
        return f"a tensor {shape_of(value)}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def tensors(**values: object) -> Iterator[Fault]:
    """Faults of what is no tensor."""
    for name, value in values.items():
        if not isinstance(value, Tensor):
            yield name, "a tensor", _kind(value)


def tensors_or_none(**values: object) -> Iterator[Fault]:
    """Faults of what is neither a tensor nor None."""
    for name, value in values.items():
        if value is not None and not isinstance(value, Tensor):
            yield name, "None or a tensor", _kind(value)


def numbers(**values: object) -> Iterator[Fault]:
    """Faults of what is no finite number."""
    for name, value in values.items():
        if not finite(value):
            yield name, "a finite number", told(value)


def epsilons(**values: object) -> Iterator[Fault]:
    """Faults of what is no finite number from 0."""
    for name, value in values.items():
        if not least_zero(value):
            yield name, "a finite number from 0", told(value)


def flags(**values: object) -> Iterator[Fault]:
    """Faults of what is neither True nor False."""
    for name, value in values.items():
        if not isinstance(value, bool):
            yield name, "True or False", told(value)


def windows(**values: object) -> Iterator[Fault]:
    for name, value in values.items():
        if not is_window(value):
            yield name, "None or a whole number of keys from 1 to 2**30", told(value)


def counts(least: int, **values: object) -> Iterator[Fault]:
    """Faults of what is no whole number from ``least``."""
    for name, value in values.items():
        if not whole(value) or value < least:  # type: ignore[operator]
            yield name, f"a whole number from {least}", told(value)


def whole_numbers(name: str, tensor: object, first: str, beside: object) -> Iterator[Fault]:
    """Faults of a tensor of whole numbers beside the ``first`` argument, its shape aside."""
    if not isinstance(tensor, Tensor):
        return
    if tensor.dtype not in WHOLE:
        yield name, "int32 or int64", str(tensor.dtype)
    yield from on_device(name, tensor, first, beside)


def on_device(name: str, tensor: Tensor, first: str, beside: object) -> Iterator[Fault]:
    if isinstance(beside, Tensor) and tensor.device != beside.device:
        yield name, f"the device of {first}, {beside.device}", str(tensor.device)


def beside(name: str, first: object, **others: object) -> Iterator[Fault]:
    """Faults of tensors of any floating dtype that are not on the device of the first."""
    for other, tensor in others.items():
        if isinstance(tensor, Tensor):
            yield from on_device(other, tensor, name, first)
            if tensor.dtype not in FLOATING:
                yield other, "a floating dtype of 16, 32 or 64 bits", str(tensor.dtype)


def alike(**tensors: object) -> Iterator[Fault]:
    """Faults of tensors whose device or dtype is not that of the first."""
    (name, first), *others = tensors.items()
    if not isinstance(first, Tensor):
        return
    if first.dtype not in FLOATING:
        yield name, "a floating dtype of 16, 32 or 64 bits", str(first.dtype)
    for other, tensor in others:
        if not isinstance(tensor, Tensor):
            continue
        yield from on_device(other, tensor, name, first)
        if tensor.dtype != first.dtype:
            yield other, f"the dtype of {name}, {first.dtype}", str(tensor.dtype)


def shaped(name: str, tensor: object, *expected: int | None, words: str = "") -> Iterator[Fault]:
    """A fault where the shape is not the expected one; None fits any size."""
    if not isinstance(tensor, Tensor):
        return
    fits = len(tensor.shape) == len(expected) and all(
        wanted is None or wanted == size
        for wanted, size in zip(expected, tensor.shape, strict=True)
    )
    if not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in expected)
        yield name, f"[{sizes}]{words}", shape_of(tensor)


def groups(name: str, kv_heads: int, first: str, heads: int) -> Iterator[Fault]:
    if kv_heads < 1 or heads % kv_heads:
        yield name, f"a number of heads that divides the {heads} of {first}", str(kv_heads)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
