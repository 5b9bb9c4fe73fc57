"""Arguments that do not fit are refused by name, all at once; attentions aside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.rotation import Rotation

Arguments = dict[str, Any]
INT64 = torch.int64


def zeros(*shape: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


def elsewhere(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return zeros(*shape, dtype=dtype, device="meta")


def half(*shape: int) -> Tensor:
    return zeros(*shape, dtype=torch.float16)


def whole(*shape: int) -> Tensor:
    return zeros(*shape, dtype=torch.int32)


WRONG: list[tuple[str, Arguments, list[str]]] = [
    ("rms_norm", {"x": zeros()}, ["x: expected at least one axis, got []"]),
    (
        "rms_norm",
        {"x": whole(3, 8)},
        ["x: expected a floating dtype of 16, 32 or 64 bits, got torch.int32"],
    ),
    (
        "rms_norm",
        {"weight": whole(3, 8)},
        [
            "weight: expected [8], the width of x, got [3, 8]",
            "weight: expected a floating dtype of 16, 32 or 64 bits, got torch.int32",
        ],
    ),
    (
        "rms_norm",
        {"weight": elsewhere(8)},
        ["weight: expected the device of x, cpu, got meta"],
    ),
    (
        "add_rms_norm",
        {"b": half(3, 7), "keep": zeros(2), "add": elsewhere(), "weight": elsewhere(1)},
        [
            "b: expected the dtype of a, torch.float32, got torch.float16",
            "b: expected [3, 8], the shape of a, got [3, 7]",
            "keep: expected one number, got [2]",
            "weight: expected [8], the width of a, got [1]",
            "add: expected the device of a, cpu, got meta",
            "weight: expected the device of a, cpu, got meta",
        ],
    ),
    ("add_rms_norm", {"a": zeros(), "b": zeros()}, ["a: expected at least one axis, got []"]),
    ("add_rms_norm", {"b": elsewhere(3, 8)}, ["b: expected the device of a, cpu, got meta"]),
    ("rope", {"x": zeros(3, 8)}, ["x: expected [N, heads, D] or [B, T, heads, D], got [3, 8]"]),
    ("rope", {"x": whole(2, 5, 3, 8)}, ["x: expected a floating dtype of 16, 32 or 64 bits, got"]),
    ("rope", {"rotation": None}, ["rotation: expected a Rotation, got None"]),
    (
        "rope",
        {"rotation": Rotation(zeros(2, 4, 4), elsewhere(2, 5, 5))},
        [
            "rotation.cos: expected [2, 5, at most 4 pairs], got [2, 4, 4]",
            "rotation.sin: expected [2, 5, at most 4 pairs], got [2, 5, 5]",
            "rotation.sin: expected the device of x, cpu, got meta",
            "rotation.sin: expected [2, 4, 4], the shape of rotation.cos, got [2, 5, 5]",
        ],
    ),
    ("qk_norm_rope", {"qk": zeros(3, 8)}, ["qk: expected [N, heads, D] or [B, T, heads, D]"]),
    (
        "qk_norm_rope",
        {"qk": whole(2, 5, 3, 8)},
        ["qk: expected a floating dtype of 16, 32 or 64 bits"],
    ),
    (
        "qk_norm_rope",
        {"rotation": Rotation(zeros(2, 5, 5), elsewhere(2, 4, 4))},
        [
            "rotation.cos: expected [2, 5, at most 4 pairs], got [2, 5, 5]",
            "rotation.sin: expected [2, 5, at most 4 pairs], got [2, 4, 4]",
            "rotation.sin: expected the device of qk, cpu, got meta",
            "rotation.sin: expected [2, 5, 5], the shape of rotation.cos, got [2, 4, 4]",
        ],
    ),
    ("swiglu", {"gate": zeros(), "up": zeros()}, ["gate: expected at least one axis, got []"]),
    ("swiglu", {"up": zeros(3, 4)}, ["up: expected [3, 8], the shape of gate, got [3, 4]"]),
    (
        "swiglu",
        {"gate": whole(3, 8), "up": elsewhere(3, 8)},
        [
            "gate: expected a floating dtype of 16, 32 or 64 bits, got torch.int32",
            "up: expected the device of gate, cpu, got meta",
            "up: expected the dtype of gate, torch.int32, got torch.float32",
        ],
    ),
    ("head_mix", {"outputs": zeros(8)}, ["outputs: expected [..., H, D], got [8]"]),
    (
        "head_mix",
        {"values": zeros(3, 3, 8), "alpha": elsewhere(3), "gates": whole(3, 3)},
        [
            "values: expected a number of heads that divides the 4 of outputs, got 3",
            "alpha: expected [4], one for each head, got [3]",
            "gates: expected [3, 4], one for each head, got [3, 3]",
            "alpha: expected the device of outputs, cpu, got meta",
            "gates: expected a floating dtype of 16, 32 or 64 bits, got torch.int32",
        ],
    ),
    ("head_mix", {"values": zeros(3, 2, 4)}, ["values: expected [3, any, 8], got [3, 2, 4]"]),
    ("head_mix", {"values": zeros(3, 0, 8)}, ["values: expected a number of heads that divides"]),
    (
        "indexed_logprob",
        {
            "hidden": zeros(2, 3, 8),
            "weight": elsewhere(0, 7),
            "index": whole(3),
            "cap": (0.0, 5.0, 7.5),
            "temperature": 0.0,
            "round_logits": "bf16",
        },
        [
            "hidden: expected [any, any], got [2, 3, 8]",
            "weight: expected at least one row, got [0, 7]",
            "weight: expected the device of hidden, cpu, got meta",
            "index: expected [any, any], a row for each token, got [3]",
            "index: expected int64, got torch.int32",
            "cap: expected None or a tuple (bound above 0, shift, spread above 0) of finite "
            "numbers, got (0.0, 5.0, 7.5)",
            "temperature: expected a finite number above 0, got 0.0",
            "round_logits: expected None, 'bfloat16' or 'float16', got 'bf16'",
        ],
    ),
    (
        "indexed_logprob",
        {"weight": half(11, 7), "index": elsewhere(2, 2, dtype=INT64)},
        [
            "weight: expected [any, 8], as wide as hidden, got [11, 7]",
            "weight: expected the dtype of hidden, torch.float32, got torch.float16",
            "index: expected [3, any], a row for each token, got [2, 2]",
            "index: expected the device of hidden, cpu, got meta",
        ],
    ),
    (
        "indexed_logprob",
        {"cap": (23.0, 5.0)},
        ["cap: expected None or a tuple (bound above 0, shift, spread"],
    ),
    (
        "indexed_logprob",
        {"cap": 23.0},
        ["cap: expected None or a tuple (bound above 0, shift, spread above 0)"],
    ),
    (
        "indexed_logprob",
        {"cap": (23.0, float("nan"), 7.5)},
        ["cap: expected None or a tuple (bound above 0"],
    ),
    (
        "indexed_logprob",
        {"temperature": float("nan")},
        ["temperature: expected a finite number above 0"],
    ),
    ("indexed_logprob", {"temperature": None}, ["temperature: expected a finite number above 0"]),
    (
        "linear_scan",
        {"a": half(3, 5), "b": zeros(3, 4), "carry": zeros(2)},
        [
            "b: expected [3, 5], the shape of a, got [3, 4]",
            "a: expected float32 or float64, got torch.float16",
            "carry: expected [3], one for each row, got [2]",
            "b: expected the dtype of a, torch.float16, got torch.float32",
            "carry: expected the dtype of a, torch.float16, got torch.float32",
        ],
    ),
    (
        "linear_scan",
        {"a": zeros(5), "b": zeros(5), "carry": elsewhere(1, 1)},
        [
            "a: expected [any, any], got [5]",
            "carry: expected [any], one for each row, got [1, 1]",
            "carry: expected the device of a, cpu, got meta",
        ],
    ),
    ("linear_scan", {"b": elsewhere(3, 5)}, ["b: expected the device of a, cpu, got meta"]),
]


@pytest.mark.parametrize(
    ("op", "changes", "faults"), WRONG, ids=[f"{op}-{' '.join(what)}" for op, what, _ in WRONG]
)
def test_every_fault_is_told_by_name(
    op: str, changes: Arguments, faults: list[str], sound: Callable[[str], Arguments]
) -> None:
    with pytest.raises(ValueError, match=rf"^{op}: ") as told:
        getattr(ops, op)(**sound(op) | changes)
    lines = str(told.value).removeprefix(f"{op}: ").split("; ")
    assert len(lines) == len(faults), lines
    for fault in faults:
        assert any(line.startswith(fault) for line in lines), (fault, lines)
