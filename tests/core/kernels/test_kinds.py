"""Every argument of every operation, given something of another kind, is refused by its name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.core.kernels.moment import Moment
from limite.core.kernels.rotation import Rotation, RotationTable

Arguments = dict[str, Any]
Sound = Callable[[str], Arguments]

# What no argument of any operation takes.
NOTHING: tuple[Any, ...] = (
    "x",
    b"x",
    [1.0],
    {},
    1j,
    object(),
    Fraction(1, 2),
    np.zeros(3),
    np.float32(1.0),
    len,
)
NUMBERS = (True, 1, 0.5, math.nan)
SINGLE = torch.tensor(1.0)
OTHER_NUMBERS = (None, True, math.nan, math.inf, -math.inf, 10**400, SINGLE, (1.0, 1.0))


def wrong(op: str, name: str, value: object) -> Iterator[object]:
    """What cannot stand for an argument like ``value``."""
    yield from NOTHING
    if isinstance(value, Tensor):
        yield from NUMBERS
        yield value.to("meta")
        yield value.bool()
        yield value.to(torch.complex64)
        yield value.to(torch.float8_e4m3fn)
        if name not in ("keep", "add", "outputs") and (op, name) != (
            "rms_norm",
            "x",
        ):  # of these any rank will do, or more axes
            yield value[None]
        if name not in ("weight", "keep", "add", "alpha", "gates", "carry", "segments"):
            yield None
        if value.dtype.is_floating_point:
            yield value.to(torch.int64)
        else:
            yield value.float()
    elif isinstance(value, Rotation):
        yield from NUMBERS if op == "qk_norm_rope" else (*NUMBERS, None)
        yield (value.cos, value.sin)
        yield Rotation(value.cos, None)  # type: ignore[arg-type]
        yield Rotation(value.cos.numpy(), value.sin.numpy())  # type: ignore[arg-type]
        yield Rotation(value.cos.long(), value.sin)
        yield Rotation(value.cos, value.sin.to("meta"))
        yield Rotation(SINGLE, SINGLE)
    elif isinstance(value, bool):
        yield from (None, 1, 0, 1.0, SINGLE.bool(), np.bool_(True))
    elif isinstance(value, float):
        yield from (each for each in OTHER_NUMBERS if each is not None or name != "softcap")
        if name == "eps":
            yield -1e-9
        if name in ("softcap", "temperature"):
            yield from (0, -1.0, 1e-300)
    elif isinstance(value, int):
        yield from (0, -1, 2.0, math.nan, True, np.int64(2), SINGLE.long(), 2**31, 10**400)
    elif isinstance(value, tuple):
        yield from (1.0, (1.0, 1.0), (0.0, 1.0, 1.0), (1.0, math.nan, 1.0), (1.0, 1.0, True))
        yield from ((1.0, 1.0, math.inf), ("1", 1.0, 1.0), [1.0, 1.0, 1.0], (SINGLE,) * 3)
    else:
        assert isinstance(value, str)
        yield from (1, True, "float32", ("float16",), SINGLE)


CASES = [
    (op, name) for op in dispatch.MODULES for name in inspect.signature(getattr(ops, op)).parameters
]


@pytest.mark.parametrize(("op", "name"), CASES, ids=[f"{op}-{name}" for op, name in CASES])
def test_every_argument_of_another_kind_is_refused_by_name(
    op: str, name: str, sound: Sound
) -> None:
    function = getattr(ops, op)
    for bad in wrong(op, name, sound(op)[name]):
        with pytest.raises(ValueError, match=rf"^{op}: ") as told:
            function(**sound(op) | {name: bad})
        lines = str(told.value).removeprefix(f"{op}: ").split("; ")
        # The shape of another argument may be held against that of the one that is wrong.
        assert any(name in line for line in lines), (bad, lines)
        assert all(": expected " in line and ", got " in line for line in lines), lines
        assert len(lines) == len(set(lines))
        assert len(str(told.value)) < 1000


@pytest.mark.parametrize("op", dispatch.MODULES)
def test_all_arguments_of_another_kind_are_told_at_once(op: str, sound: Sound) -> None:
    arguments = sound(op)
    with pytest.raises(ValueError, match=rf"^{op}: ") as told:
        getattr(ops, op)(**dict.fromkeys(arguments, "x"))
    for name in arguments:
        if name != "segments":  # which needs queries and keys to be held against
            assert f" {name}: expected " in str(told.value), (name, told.value)


@pytest.mark.parametrize("op", dispatch.MODULES)
def test_every_argument_is_there_and_fits(op: str, sound: Sound) -> None:
    arguments = sound(op)
    assert arguments.keys() == inspect.signature(getattr(ops, op)).parameters.keys()
    with dispatch.use("reference"):
        getattr(ops, op)(**arguments)
        for name, value in arguments.items():
            if type(value) is float:  # whole numbers will do, and NumPy's that are Python floats
                getattr(ops, op)(**arguments | {name: np.float64(value)})
                getattr(ops, op)(**arguments | {name: 1})


def test_lengths_of_a_moment_are_looked_at(sound: Sound) -> None:
    for bad, words in (
        ([1, 2], "lengths: expected a tensor in the Moment, got list"),
        (torch.ones(2), "lengths: expected int32 or int64, got torch.float32"),
        (torch.ones(3).long(), r"lengths: expected \[2\], one for each row of q, got \[3\]"),
    ):
        for op in ("attention_decode", "simplicial_attention_decode"):
            moment = Moment(bad, 2)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match=f"^{op}: {words}$"):
                getattr(ops, op)(**sound(op) | {"lengths": moment})


def test_a_mix_without_anything_to_mix_looks_at_its_arguments_too() -> None:
    outputs = torch.ones(3, 4, 8)
    assert ops.head_mix(outputs, torch.ones(3, 2, 8), None, None) is outputs
    with pytest.raises(ValueError, match=r"values: expected \[3, any, 8\], got \[3, 8\]"):
        ops.head_mix(outputs, torch.ones(3, 8), None, None)


@pytest.mark.parametrize("cap", [None, (1.0, 2.0), (1.0, 0.0, 0.0), 3.0])
def test_a_soft_cap_is_three_numbers(cap: Any) -> None:
    with pytest.raises(ValueError, match="soft_cap: cap: expected a tuple "):
        ops.soft_cap(torch.ones(3), cap)


POSITIONS = [
    ([0, 1], "a tensor, got list"),
    (torch.tensor([0.0]), "int32 or int64, got torch.float32"),
    (torch.tensor([True, False]), "int32 or int64, got torch.bool"),
    (torch.tensor([0, 4]), "places below the 4 of the table, got 0 to 4"),
    (torch.tensor([-1, 1]), "places below the 4 of the table, got -1 to 1"),
]


@pytest.mark.parametrize(("positions", "words"), POSITIONS)
def test_positions_lie_within_the_table(positions: Any, words: str) -> None:
    table = RotationTable(torch.ones(4, 2), torch.ones(4, 2))
    with pytest.raises(ValueError, match=f"^RotationTable.at: positions: expected {words}$"):
        table.at(positions)


@pytest.mark.parametrize(
    "lengths", [[], [-1], [2.0], ["2"], [None], 3, None, torch.ones(2, 2).long(), np.ones(2)]
)
def test_lengths_of_a_layout_are_whole_numbers(lengths: Any) -> None:
    with pytest.raises(ValueError, match=r"^Layout.from_lengths: lengths: expected .* whole num"):
        ops.Layout.from_lengths(lengths)
    assert ops.Layout.from_lengths(list(np.array([2, 3]))).lengths == (2, 3)
    assert ops.Layout.from_lengths(torch.tensor([2, 0])).lengths == (2, 0)
