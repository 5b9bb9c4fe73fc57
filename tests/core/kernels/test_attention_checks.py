"""Arguments of attentions that do not fit are refused by name, all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment

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


def keys(names: str, *shape: int) -> Arguments:
    return {name: zeros(*shape) for name in names.split()}


WRONG: list[tuple[str, Arguments, list[str]]] = [
    (
        "attention",
        {"q": zeros(4, 5, 8), "k": zeros(8), "window": 0},
        [
            "q: expected [B, H, T, D], got [4, 5, 8]",
            "k: expected [B, K, T, D], got [8]",
            "v: expected [8], the shape of k, got [2, 2, 5, 8]",
            "window: expected None or a whole number of keys from 1 to 2**30, got 0",
        ],
    ),
    (
        "attention",
        {"k": zeros(1, 3, 4, 16), "v": half(1, 3, 4, 8), "softcap": 0.0},
        [
            "k: expected [2, any, any, 8], as q, got [1, 3, 4, 16]",
            "k: expected at least the 5 tokens of q, got 4",
            "k: expected a number of heads that divides the 4 of q, got 3",
            "v: expected [1, 3, 4, 16], the shape of k, got [1, 3, 4, 8]",
            "v: expected the dtype of q, torch.float32, got torch.float16",
            "segments: expected [1, 4], those of the keys, got [2, 5]",
            "softcap: expected None or a finite number above 0, got 0.0",
        ],
    ),
    ("attention", {"k": elsewhere(2, 2, 5, 8)}, ["k: expected the device of q, cpu, got meta"]),
    (
        "attention",
        {"q": whole(2, 4, 5, 8), "k": whole(2, 2, 5, 8), "v": whole(2, 2, 5, 8)},
        ["q: expected a floating dtype of 16, 32 or 64 bits, got torch.int32"],
    ),
    ("attention", keys("k v", 2, 0, 5, 8), ["k: expected a number of heads that divides the 4"]),
    ("attention", {"window": 2.5}, ["window: expected None or a whole number of keys from 1"]),
    ("attention", {"window": -1}, ["window: expected None or a whole number of keys from 1"]),
    ("attention", {"softcap": float("inf")}, ["softcap: expected None or a finite number above 0"]),
    ("attention", {"softcap": float("nan")}, ["softcap: expected None or a finite number above 0"]),
    (
        "attention",
        {"softcap": "50"},
        ["softcap: expected None or a finite number above 0, got '50'"],
    ),
    (
        "attention",
        {"segments": zeros(2, 4)},
        [
            "segments: expected int32 or int64, got torch.float32",
            "segments: expected [2, 5], those of the keys, got [2, 4]",
        ],
    ),
    (
        "attention",
        {"segments": elsewhere(2, 5, dtype=INT64)},
        ["segments: expected the device of q, cpu, got meta"],
    ),
    (
        "attention",
        {"segments": [3, 2]},
        ["segments: expected None, a tensor or a Layout, got list"],
    ),
    (
        "attention",
        {"segments": Layout.from_lengths([3, 1], "meta")},
        [
            "segments: expected a tensor, as there are 2 batch rows, got a Layout",
            "segments: expected a Layout of 5 tokens, got one of 4",
            "segments: expected the device of q, cpu, got meta",
        ],
    ),
    (
        "attention",
        {
            "q": zeros(1, 4, 3, 8),
            **keys("k v", 1, 2, 5, 8),
            "segments": Layout.from_lengths([3, 2]),
        },
        ["q: expected the 5 tokens of the Layout, got 3 tokens"],
    ),
    (
        "attention_decode",
        {"q": zeros(2, 4, 2, 8), "lengths": zeros(3), "window": 0, "softcap": -1},
        [
            "q: expected one token for each row, got 2 tokens",
            "lengths: expected int32 or int64, got torch.float32",
            "lengths: expected [2], one for each row of q, got [3]",
            "window: expected None or a whole number of keys from 1 to 2**30, got 0",
            "softcap: expected None or a finite number above 0, got -1",
        ],
    ),
    ("attention_decode", {"lengths": [3, 4]}, ["lengths: expected a tensor or Moment, got list"]),
    (
        "attention_decode",
        {"lengths": Moment(elsewhere(2, dtype=INT64), 3)},
        ["lengths: expected the device of q, cpu, got meta"],
    ),
    (
        "attention_decode",
        keys("k_cache", 2, 2, 4, 8),
        ["v_cache: expected [2, 2, 4, 8], the shape"],
    ),
    ("attention_decode", keys("k_cache v_cache", 2, 2, 0, 8), ["k_cache: expected at least the 1"]),
    (
        "simplicial_attention",
        {"k2": half(2, 2, 5, 8), "v1": elsewhere(2, 2, 4, 8), "window1": 0, "window2": 1.5},
        [
            "k2: expected the dtype of q, torch.float32, got torch.float16",
            "v1: expected [2, 2, 5, 8], the shape of k1, got [2, 2, 4, 8]",
            "v1: expected the device of q, cpu, got meta",
            "window1: expected None or a whole number of keys from 1 to 2**30, got 0",
            "window2: expected None or a whole number of keys from 1 to 2**30, got 1.5",
        ],
    ),
    (
        "simplicial_attention",
        {"form": "trilineer", "segments": zeros(2, 5)},
        [
            "form: expected 'trilinear' or 'determinant', got 'trilineer'",
            "segments: expected int32 or int64, got torch.float32",
        ],
    ),
    (
        "simplicial_attention_decode",
        {"q": zeros(2, 4, 8), "window1": -3},
        [
            "q: expected [B, H, T, D], got [2, 4, 8]",
            "window1: expected None or a whole number of keys from 1 to 2**30, got -3",
        ],
    ),
    (
        "simplicial_attention_decode",
        {
            **keys("k2_cache", 2, 4, 3, 8),
            "v2_cache": half(2, 1, 3, 8),
            "lengths": whole(2, 1),
            "window2": 0,
        },
        [
            "k2_cache: expected the 2 heads of k1_cache, got 4",
            "v2_cache: expected [2, 4, 3, 8], the shape of k2_cache, got [2, 1, 3, 8]",
            "v2_cache: expected the dtype of q, torch.float32, got torch.float16",
            "lengths: expected [2], one for each row of q, got [2, 1]",
            "window2: expected None or a whole number of keys from 1 to 2**30, got 0",
        ],
    ),
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
