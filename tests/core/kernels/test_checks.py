"""Arguments that do not fit are refused by name, all at once; empty ones are fine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
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


def turns(*shape: int) -> Rotation:
    return Rotation(zeros(*shape), zeros(*shape))


def keys(names: str, *shape: int) -> Arguments:
    return {name: zeros(*shape) for name in names.split()}


SIMPLICIAL = {"scale": 1.0, "window1": 4, "window2": 2}
SOUND: Mapping[str, Callable[[], Arguments]] = {
    "rms_norm": lambda: {"x": zeros(3, 8), "weight": zeros(8)},
    "add_rms_norm": lambda: {"a": zeros(3, 8), "b": zeros(3, 8)},
    "qk_norm_rope": lambda: {"qk": zeros(2, 5, 3, 8), "rotation": turns(2, 5, 4)},
    "rope": lambda: {"x": zeros(2, 5, 3, 8), "rotation": turns(2, 5, 4)},
    "swiglu": lambda: {"gate": zeros(3, 8), "up": zeros(3, 8)},
    "head_mix": lambda: {
        "outputs": zeros(3, 4, 8),
        "values": zeros(3, 2, 8),
        "alpha": zeros(4),
        "gates": zeros(3, 4),
    },
    "attention": lambda: {
        "q": zeros(2, 4, 5, 8),
        "k": zeros(2, 2, 5, 8),
        "v": zeros(2, 2, 5, 8),
        "scale": 1.0,
    },
    "attention_decode": lambda: {
        "q": zeros(2, 4, 1, 8),
        "k_cache": zeros(2, 2, 5, 8),
        "v_cache": zeros(2, 2, 5, 8),
        "lengths": whole(2),
        "scale": 1.0,
    },
    "simplicial_attention": lambda: {
        "q": zeros(2, 4, 5, 8),
        **keys("k1 k2 v1 v2", 2, 2, 5, 8),
        **SIMPLICIAL,
    },
    "simplicial_attention_decode": lambda: {
        "q": zeros(2, 4, 1, 8),
        **keys("k1_cache v1_cache", 2, 2, 4, 8),
        **keys("k2_cache v2_cache", 2, 2, 3, 8),
        "lengths": whole(2),
        **SIMPLICIAL,
    },
    "indexed_logprob": lambda: {
        "hidden": zeros(3, 8),
        "weight": zeros(11, 8),
        "index": zeros(3, 2, dtype=INT64),
    },
    "linear_scan": lambda: {"a": zeros(3, 5), "b": zeros(3, 5), "carry": zeros(3)},
}

WRONG: list[tuple[str, Arguments, list[str]]] = [
    ("rms_norm", {"x": zeros()}, ["x: expected at least one axis, got []"]),
    ("rms_norm", {"x": whole(3, 8)}, ["x: expected a floating dtype, got torch.int32"]),
    (
        "rms_norm",
        {"weight": whole(3, 8)},
        [
            "weight: expected [8], the width of x, got [3, 8]",
            "weight: expected a floating dtype, got torch.int32",
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
    ("rope", {"x": whole(2, 5, 3, 8)}, ["x: expected a floating dtype, got torch.int32"]),
    (
        "rope",
        {"rotation": Rotation(zeros(2, 4, 4), elsewhere(2, 5, 5))},
        [
            "rotation.cos: expected [2, 5, at most 4 pairs], got [2, 4, 4]",
            "rotation.sin: expected [2, 5, at most 4 pairs], got [2, 5, 5]",
            "rotation.sin: expected the device of x, cpu, got meta",
            "rotation.sin: expected the shape of cos, [2, 4, 4], got [2, 5, 5]",
        ],
    ),
    ("qk_norm_rope", {"qk": zeros(3, 8)}, ["qk: expected [N, heads, D] or [B, T, heads, D]"]),
    ("qk_norm_rope", {"qk": whole(2, 5, 3, 8)}, ["qk: expected a floating dtype"]),
    (
        "qk_norm_rope",
        {"rotation": Rotation(zeros(2, 5, 5), elsewhere(2, 4, 4))},
        [
            "rotation.cos: expected [2, 5, at most 4 pairs], got [2, 5, 5]",
            "rotation.sin: expected [2, 5, at most 4 pairs], got [2, 4, 4]",
            "rotation.sin: expected the device of qk, cpu, got meta",
            "rotation.sin: expected the shape of cos, [2, 5, 5], got [2, 4, 4]",
        ],
    ),
    ("swiglu", {"gate": zeros(), "up": zeros()}, ["gate: expected at least one axis, got []"]),
    ("swiglu", {"up": zeros(3, 4)}, ["up: expected [3, 8], the shape of gate, got [3, 4]"]),
    (
        "swiglu",
        {"gate": whole(3, 8), "up": elsewhere(3, 8)},
        [
            "gate: expected a floating dtype, got torch.int32",
            "up: expected the device of gate, cpu, got meta",
            "up: expected the dtype of gate, torch.int32, got torch.float32",
        ],
    ),
    ("head_mix", {"outputs": zeros(8)}, ["outputs: expected [..., H, D], got [8]"]),
    (
        "head_mix",
        {"values": zeros(3, 3, 8), "alpha": elsewhere(3), "gates": whole(3, 3)},
        [
            "values: expected a number of heads that divides the 4 of q, got 3",
            "alpha: expected [4], one for each head, got [3]",
            "gates: expected [3, 4], one for each head, got [3, 3]",
            "alpha: expected the device of outputs, cpu, got meta",
            "gates: expected a floating dtype, got torch.int32",
        ],
    ),
    ("head_mix", {"values": zeros(3, 2, 4)}, ["values: expected [3, any, 8], got [3, 2, 4]"]),
    ("head_mix", {"values": zeros(3, 0, 8)}, ["values: expected a number of heads that divides"]),
    (
        "attention",
        {"q": zeros(4, 5, 8), "k": zeros(8), "window": 0},
        [
            "q: expected [B, H, T, D], got [4, 5, 8]",
            "k: expected [B, K, T, D], got [8]",
            "v: expected [8], the shape of k, got [2, 2, 5, 8]",
            "window: expected None or a whole number of keys from 1, got 0",
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
            "softcap: expected None or a number above 0, got 0.0",
        ],
    ),
    ("attention", {"k": elsewhere(2, 2, 5, 8)}, ["k: expected the device of q, cpu, got meta"]),
    (
        "attention",
        {"q": whole(2, 4, 5, 8), "k": whole(2, 2, 5, 8), "v": whole(2, 2, 5, 8)},
        ["q: expected a floating dtype, got torch.int32"],
    ),
    ("attention", keys("k v", 2, 0, 5, 8), ["k: expected a number of heads that divides the 4"]),
    ("attention", {"window": 2.5}, ["window: expected None or a whole number of keys from 1"]),
    ("attention", {"window": -1}, ["window: expected None or a whole number of keys from 1"]),
    ("attention", {"softcap": float("inf")}, ["softcap: expected None or a number above 0"]),
    ("attention", {"softcap": float("nan")}, ["softcap: expected None or a number above 0"]),
    ("attention", {"softcap": "50"}, ["softcap: expected None or a number above 0, got '50'"]),
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
    ("attention", {"segments": [3, 2]}, ["segments: expected a tensor, got list"]),
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
            "window: expected None or a whole number of keys from 1, got 0",
            "softcap: expected None or a number above 0, got -1",
        ],
    ),
    ("attention_decode", {"lengths": [3, 4]}, ["lengths: expected a tensor, got list"]),
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
            "window1: expected None or a whole number of keys from 1, got 0",
            "window2: expected None or a whole number of keys from 1, got 1.5",
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
            "window1: expected None or a whole number of keys from 1, got -3",
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
            "window2: expected None or a whole number of keys from 1, got 0",
        ],
    ),
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
            "cap: expected (bound above 0, shift, spread above 0), got (0.0, 5.0, 7.5)",
            "temperature: expected a number above 0, got 0.0",
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
    ("indexed_logprob", {"cap": (23.0, 5.0)}, ["cap: expected (bound above 0, shift, spread"]),
    ("indexed_logprob", {"cap": 23.0}, ["cap: expected (bound above 0, shift, spread above 0)"]),
    ("indexed_logprob", {"cap": (23.0, float("nan"), 7.5)}, ["cap: expected (bound above 0"]),
    ("indexed_logprob", {"temperature": float("nan")}, ["temperature: expected a number above 0"]),
    ("indexed_logprob", {"temperature": None}, ["temperature: expected a number above 0"]),
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
def test_every_fault_is_told_by_name(op: str, changes: Arguments, faults: list[str]) -> None:
    with pytest.raises(ValueError, match=rf"^{op}: ") as told:
        getattr(ops, op)(**SOUND[op]() | changes)
    lines = str(told.value).removeprefix(f"{op}: ").split("; ")
    assert len(lines) == len(faults), lines
    for fault in faults:
        assert any(line.startswith(fault) for line in lines), (fault, lines)


def test_every_operation_refuses_something() -> None:
    assert {op for op, _, _ in WRONG} == set(dispatch.MODULES)


@pytest.mark.parametrize("op", dispatch.MODULES)
def test_what_fits_is_not_refused(op: str) -> None:
    with dispatch.use("reference"):
        getattr(ops, op)(**SOUND[op]())


def tracked(values: Arguments) -> Arguments:
    return {
        name: value.requires_grad_()
        if isinstance(value, Tensor) and value.dtype.is_floating_point
        else value
        for name, value in values.items()
    }


EMPTY: list[tuple[str, Arguments]] = [
    ("rms_norm", {"x": zeros(0, 8), "weight": zeros(8)}),
    ("rms_norm", {"x": zeros(3, 0), "weight": zeros(0)}),
    (
        "add_rms_norm",
        {
            **{name: zeros(2, 0, 8) for name in "ab"},
            "keep": zeros(),
            "add": zeros(),
            "weight": zeros(8),
        },
    ),
    ("qk_norm_rope", {"qk": zeros(0, 3, 8), "rotation": turns(0, 4)}),
    ("qk_norm_rope", {"qk": zeros(2, 0, 3, 8), "rotation": None}),
    ("qk_norm_rope", {"qk": zeros(2, 0, 8), "rotation": turns(2, 4)}),
    ("rope", {"x": zeros(0, 3, 8), "rotation": turns(0, 4)}),
    ("rope", {"x": zeros(2, 0, 3, 8), "rotation": turns(2, 0, 4)}),
    ("rope", {"x": zeros(2, 0, 8), "rotation": turns(2, 4)}),
    ("swiglu", {"gate": zeros(0, 8), "up": zeros(0, 8)}),
    (
        "head_mix",
        {
            "outputs": zeros(0, 4, 8),
            "values": zeros(0, 2, 8),
            "alpha": zeros(4),
            "gates": zeros(0, 4),
        },
    ),
    ("attention", {"q": zeros(0, 4, 5, 8), **keys("k v", 0, 2, 5, 8)}),
    ("attention", {"q": zeros(2, 4, 0, 8), **keys("k v", 2, 2, 0, 8), "window": 3}),
    ("attention", {"q": zeros(2, 4, 0, 8), **keys("k v", 2, 2, 5, 8), "softcap": 2.0}),
    ("attention", {"q": zeros(2, 0, 5, 8), **keys("k v", 2, 2, 5, 8)}),
    (
        "attention",
        {
            "q": zeros(1, 4, 0, 8),
            **keys("k v", 1, 2, 0, 8),
            "segments": Layout.from_lengths([0, 0]),
        },
    ),
    (
        "attention",
        {"q": zeros(2, 4, 0, 8), **keys("k v", 2, 2, 0, 8), "segments": whole(2, 0)},
    ),
    (
        "attention_decode",
        {"q": zeros(0, 4, 1, 8), **keys("k_cache v_cache", 0, 2, 5, 8), "lengths": whole(0)},
    ),
    ("simplicial_attention", {"q": zeros(2, 4, 0, 8), **keys("k1 k2 v1 v2", 2, 2, 0, 8)}),
    ("simplicial_attention", {"q": zeros(0, 4, 3, 8), **keys("k1 k2 v1 v2", 0, 2, 3, 8)}),
    (
        "simplicial_attention_decode",
        {
            "q": zeros(0, 4, 1, 8),
            **keys("k1_cache v1_cache", 0, 2, 4, 8),
            **keys("k2_cache v2_cache", 0, 2, 3, 8),
            "lengths": whole(0),
        },
    ),
    ("indexed_logprob", {"hidden": zeros(0, 8), "index": zeros(0, 2, dtype=INT64)}),
    ("indexed_logprob", {"index": zeros(3, 0, dtype=INT64)}),
    ("linear_scan", {"a": zeros(0, 5), "b": zeros(0, 5), "carry": zeros(0)}),
    ("linear_scan", {"a": zeros(3, 0), "b": zeros(3, 0), "carry": zeros(3)}),
]


def test_every_operation_has_an_empty_case() -> None:
    assert {op for op, _ in EMPTY} == set(dispatch.MODULES)


@pytest.mark.parametrize("backend", ["reference", "cpu", "interpret"])
@pytest.mark.parametrize(
    ("op", "changes"), EMPTY, ids=[f"{op}-{number}" for number, (op, _) in enumerate(EMPTY)]
)
def test_what_is_empty_gives_what_is_empty_and_no_gradient(
    op: str, changes: Arguments, backend: str
) -> None:
    arguments = tracked(SOUND[op]() | changes)
    with dispatch.use(backend):
        found = getattr(ops, op)(**arguments)
        results = found if isinstance(found, tuple) else (found,)
        for each in results:
            if each is not None and each.requires_grad and not each.numel():
                each.backward(torch.ones_like(each), retain_graph=True)
    first = results[0]
    main = next(iter(arguments.values()))
    if op == "indexed_logprob":
        index = arguments["index"]
        assert [list(each.shape) for each in results] == [list(index.shape), *2 * [[len(index)]]]
    else:
        assert first.shape == main.shape
    assert first.numel() == 0
    assert first.dtype == torch.float32
    for name, value in arguments.items():
        if isinstance(value, Tensor) and value.grad is not None:
            assert not value.grad.any(), name


def test_what_is_empty_is_nobody_elses_affair() -> None:
    def never(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("called")

    dispatch.register(dispatch.Implementation("linear_scan", "never", lambda: never))
    try:
        with dispatch.use("linear_scan=never"):
            assert ops.linear_scan(zeros(3, 0), zeros(3, 0)).shape == (3, 0)
            with pytest.raises(AssertionError, match="called"):
                ops.linear_scan(zeros(3, 1), zeros(3, 1))
    finally:
        dispatch.forget("linear_scan", "never")
