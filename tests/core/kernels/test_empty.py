"""Empty arguments give empty results, and gradients of zero, on every backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.rotation import Rotation

Arguments = dict[str, Any]
INT64 = torch.int64


def zeros(*shape: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


def whole(*shape: int) -> Tensor:
    return zeros(*shape, dtype=torch.int32)


def turns(*shape: int) -> Rotation:
    return Rotation(zeros(*shape), zeros(*shape))


def keys(names: str, *shape: int) -> Arguments:
    return {name: zeros(*shape) for name in names.split()}


def unsegmented(values: Arguments) -> Arguments:
    """Segments are of as many tokens as there are keys, and those change."""
    return values | {"segments": None} if "segments" in values else values


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
    op: str, changes: Arguments, backend: str, sound: Callable[[str], Arguments]
) -> None:
    arguments = tracked(unsegmented(sound(op)) | changes)
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
        if isinstance(value, Tensor) and value.requires_grad and first.requires_grad:
            assert value.grad is not None, name
            assert not value.grad.any(), name


@pytest.mark.parametrize("backend", ["reference", "cpu", "interpret"])
@pytest.mark.parametrize("op", ["attention_decode", "simplicial_attention_decode"])
def test_rows_without_tokens_see_nothing(
    op: str, backend: str, sound: Callable[[str], Arguments]
) -> None:
    given = {
        name: torch.ones(2, *value.shape[1:3], 16) if isinstance(value, Tensor) else value
        for name, value in sound(op).items()
    }
    for lengths in ([0, 3], [-1, 3], [0, -2]):
        given["lengths"] = torch.tensor(lengths)
        with dispatch.use(backend):
            out, lse = getattr(ops, op)(**given)
        for row, length in enumerate(lengths):
            assert bool(out[row].any()) == (length > 0)
            assert bool((lse[row] > -math.inf).all()) == (length > 0)


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
