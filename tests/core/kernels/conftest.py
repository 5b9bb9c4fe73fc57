"""A call of each operation that fits, and implementations that are nobody's but the tests'."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.kernels.dispatch import Implementation
from limite.core.kernels.rotation import Rotation

Arguments = dict[str, Any]
WHOLE = torch.int64


def _keys(names: str, *shape: int) -> Arguments:
    return {name: torch.zeros(shape) for name in names.split()}


def _numbers(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=WHOLE)


_SOFT = {"scale": 1.0, "window": 4, "softcap": 5.0, "need_lse": True}
_PAIRS = {"scale": 1.0, "window1": 4, "window2": 2, "need_lse": True}
_SOUND: Mapping[str, Callable[[], Arguments]] = {
    "rms_norm": lambda: {**_keys("x", 3, 8), **_keys("weight", 8), "eps": 1e-6},
    "add_rms_norm": lambda: {
        **_keys("a b", 3, 8), **_keys("keep add"), **_keys("weight", 8), "eps": 1e-6,
    },
    "qk_norm_rope": lambda: {
        **_keys("qk", 2, 5, 3, 8),
        "rotation": Rotation(torch.zeros(2, 5, 4), torch.zeros(2, 5, 4)),
        "eps": 1e-6,
    },
    "rope": lambda: {
        **_keys("x", 2, 5, 3, 8),
        "rotation": Rotation(torch.zeros(2, 5, 4), torch.zeros(2, 5, 4)),
    },
    "swiglu": lambda: _keys("gate up", 3, 8),
    "head_mix": lambda: {
        **_keys("outputs", 3, 4, 8),
        **_keys("values", 3, 2, 8),
        **_keys("alpha", 4),
        **_keys("gates", 3, 4),
    },
    "attention": lambda: {
        **_keys("q", 2, 4, 5, 8), **_keys("k v", 2, 2, 5, 8), "segments": _numbers(2, 5), **_SOFT,
    },
    "attention_decode": lambda: {
        **_keys("q", 2, 4, 1, 8),
        **_keys("k_cache v_cache", 2, 2, 5, 8),
        "lengths": _numbers(2),
        **_SOFT,
    },
    "simplicial_attention": lambda: {
        **_keys("q", 2, 4, 5, 8),
        **_keys("k1 k2 v1 v2", 2, 2, 5, 8),
        "segments": _numbers(2, 5),
        "form": "trilinear",
        **_PAIRS,
    },
    "simplicial_attention_decode": lambda: {
        **_keys("q", 2, 4, 1, 8),
        **_keys("k1_cache v1_cache", 2, 2, 4, 8),
        **_keys("k2_cache v2_cache", 2, 2, 3, 8),
        "lengths": _numbers(2),
        **_PAIRS,
    },
    "indexed_logprob": lambda: {
        **_keys("hidden", 3, 8),
        **_keys("weight", 11, 8),
        "index": _numbers(3, 2),
        "cap": (23.0, 5.0, 7.5),
        "temperature": 0.5,
        "round_logits": "bfloat16",
        "need_entropy": True,
    },
    "linear_scan": lambda: {**_keys("a b", 3, 5), "reverse": True, **_keys("carry", 3)},
}  # fmt: skip


@pytest.fixture
def sound() -> Callable[[str], Arguments]:
    """``sound("rms_norm")``: arguments that fit, anew."""
    return lambda op: _SOUND[op]()


def _one(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None) -> Tensor:
    return torch.ones_like(b)


def _two(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None) -> Tensor:
    return torch.full_like(b, 2.0)


@pytest.fixture
def own() -> Iterator[None]:
    """Implementations ``one`` and ``two`` of ``linear_scan``."""
    dispatch.register(Implementation("linear_scan", "one", lambda: _one))
    dispatch.register(Implementation("linear_scan", "two", lambda: _two))
    yield
    dispatch.forget("linear_scan", "one")
    dispatch.forget("linear_scan", "two")
