"""Random inputs of a case, and how an operation is called on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import torch
from torch import Tensor

from benchmarks.cases import Sizes
from limite.core.kernels import ops
from limite.core.kernels.moment import Moment
from limite.core.kernels.rotation import Rotation

CAP = (23.0, 5.0, 7.5)
SCALE = 0.1

POSITIONAL: Mapping[str, tuple[str, ...]] = {
    "rms_norm": ("x", "weight"),
    "add_rms_norm": ("a", "b"),
    "qk_norm_rope": ("qk", "rotation"),
    "rope": ("x", "rotation"),
    "swiglu": ("gate", "up"),
    "head_mix": ("outputs", "values", "alpha", "gates"),
    "attention": ("q", "k", "v"),
    "attention_decode": ("q", "k_cache", "v_cache", "lengths"),
    "simplicial_attention": ("q", "k1", "k2", "v1", "v2"),
    "simplicial_attention_decode": (
        "q",
        "k1_cache",
        "k2_cache",
        "v1_cache",
        "v2_cache",
        "lengths",
    ),
    "indexed_logprob": ("hidden", "weight", "index"),
    "linear_scan": ("a", "b"),
}
"""Arguments that an implementation takes by place, as ``ops`` hands them on."""


@attrs.frozen(eq=False)
class Problem:
    """An operation's tensors that have gradients, its other arguments, and what flows back."""

    op: str
    tensors: Mapping[str, Tensor]
    arguments: Mapping[str, Any]
    weighted: int  # so many of the outputs get a gradient, from the first on

    @property
    def bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    def wide(self, dtype: torch.dtype) -> Problem:
        """The same rounded inputs in another dtype."""
        return attrs.evolve(
            self, tensors={name: tensor.to(dtype) for name, tensor in self.tensors.items()}
        )

    def call(self, function: Callable[..., Any], tensors: Mapping[str, Tensor]) -> Any:
        """``function``, an implementation of the operation, on the tensors given."""
        everything = {**tensors, **self.arguments}
        places = POSITIONAL[self.op]
        named = {name: value for name, value in everything.items() if name not in places}
        return function(*(everything[name] for name in places), **named)


class Maker:
    """Draws tensors on a device from one seed."""

    def __init__(self, device: str, dtype: torch.dtype, seed: int) -> None:
        self.device, self.dtype = device, dtype
        self.stream = torch.Generator(device).manual_seed(seed)

    def normal(self, *shape: int, size: float = 1.0) -> Tensor:
        drawn = torch.randn(shape, generator=self.stream, device=self.device, dtype=self.dtype)
        return drawn if size == 1.0 else drawn.mul_(size)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.stream, device=self.device, dtype=self.dtype)

    def whole(self, high: int, *shape: int) -> Tensor:
        return torch.randint(high, shape, generator=self.stream, device=self.device)

    def streams(self, batch: int, tokens: int, heads: list[int], width: int) -> list[Tensor]:
        """``[B, heads, T, D]`` for each: views of one projection, as a model hands them on."""
        fused = self.normal(batch, tokens, sum(heads), width)
        return [part.transpose(1, 2) for part in fused.split(heads, 2)]


def make(op: str, sizes: Sizes, dtype: torch.dtype, device: str, seed: int) -> Problem:
    """A problem of these sizes; another seed is another one."""
    size = {name: value for name, value in sizes.items() if value is not None}
    return MAKERS[op](size, sizes, Maker(device, dtype, seed))


def _rms_norm(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    x = maker.normal(size["rows"], size["width"])
    return Problem("rms_norm", {"x": x}, {"weight": None, "eps": ops.EPSILON}, 1)


def _add_rms_norm(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    a, b = (maker.normal(size["rows"], size["width"]) for _ in range(2))
    arguments = {"keep": None, "add": None, "weight": None, "eps": ops.EPSILON}
    return Problem("add_rms_norm", {"a": a, "b": b}, arguments, 2)


def _qk_norm_rope(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    qk = maker.normal(size["tokens"], size["heads"], size["width"])
    angles = maker.uniform(size["tokens"], size["pairs"]).float() * 6.0
    rotation = Rotation(angles.cos(), angles.sin())
    return Problem("qk_norm_rope", {"qk": qk}, {"rotation": rotation, "eps": ops.EPSILON}, 1)


def _rope(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    x = maker.normal(size["tokens"], size["heads"], size["width"])
    angles = maker.uniform(size["tokens"], size["pairs"]).float() * 6.0
    rotation = Rotation(angles.cos(), angles.sin(), "halves")
    return Problem("rope", {"x": x}, {"rotation": rotation}, 1)


def _swiglu(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    gate, up = maker.normal(size["rows"], 2 * size["width"]).split(size["width"], 1)
    return Problem("swiglu", {"gate": gate, "up": up}, {}, 1)


def _head_mix(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    tokens, heads, width = size["tokens"], size["heads"], size["width"]
    tensors = {
        "outputs": maker.normal(tokens, heads, width),
        "values": maker.normal(tokens, size["kv_heads"], width),
        "alpha": maker.normal(heads),
        "gates": maker.normal(tokens, heads),
    }
    return Problem("head_mix", tensors, {}, 1)


def _attention(size: Mapping[str, int], sizes: Sizes, maker: Maker) -> Problem:
    heads, kv_heads = size["heads"], size["kv_heads"]
    q, k, v = maker.streams(
        size["batch"], size["tokens"], [heads, kv_heads, kv_heads], size["width"]
    )
    arguments = {
        "scale": SCALE,
        "window": sizes.get("window"),
        "segments": None,
        "softcap": None,
        "need_lse": False,
    }
    return Problem("attention", {"q": q, "k": k, "v": v}, arguments, 1)


def _simplicial(size: Mapping[str, int], sizes: Sizes, maker: Maker) -> Problem:
    heads, kv_heads = size["heads"], size["kv_heads"]
    streams = maker.streams(size["batch"], size["tokens"], [heads, *[kv_heads] * 4], size["width"])
    arguments = {
        "scale": size["width"] ** -0.5,
        "window1": sizes["window1"],
        "window2": sizes["window2"],
        "segments": None,
        "form": "trilinear",
        "need_lse": False,
    }
    names = POSITIONAL["simplicial_attention"]
    return Problem("simplicial_attention", dict(zip(names, streams, strict=True)), arguments, 1)


def _decode(size: Mapping[str, int], sizes: Sizes, maker: Maker) -> Problem:
    batch, cached, width = size["batch"], size["cached"], size["width"]
    tensors = {
        "q": maker.normal(batch, size["heads"], 1, width),
        "k_cache": maker.normal(batch, size["kv_heads"], cached, width),
        "v_cache": maker.normal(batch, size["kv_heads"], cached, width),
    }
    lengths = torch.full((batch,), cached, device=maker.device)
    arguments = {
        "lengths": Moment(lengths, cached),
        "scale": SCALE,
        "window": sizes.get("window"),
        "softcap": None,
        "need_lse": False,
    }
    return Problem("attention_decode", tensors, arguments, 0)


def _simplicial_decode(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    batch, kv_heads, width = size["batch"], size["kv_heads"], size["width"]
    first, second = size["window1"], size["window2"]
    tensors = {
        "q": maker.normal(batch, size["heads"], 1, width),
        "k1_cache": maker.normal(batch, kv_heads, first, width),
        "k2_cache": maker.normal(batch, kv_heads, second, width),
        "v1_cache": maker.normal(batch, kv_heads, first, width),
        "v2_cache": maker.normal(batch, kv_heads, second, width),
    }
    tokens = max(first, second)
    arguments = {
        "lengths": Moment(torch.full((batch,), tokens, device=maker.device), tokens),
        "scale": width**-0.5,
        "window1": first,
        "window2": second,
        "need_lse": False,
    }
    return Problem("simplicial_attention_decode", tensors, arguments, 0)


def _indexed_logprob(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    tokens, vocabulary, width = size["tokens"], size["vocabulary"], size["width"]
    # Logits of a few nats, as trained models have them.
    tensors = {
        "hidden": maker.normal(tokens, width),
        "weight": maker.normal(vocabulary, width, size=4.0 * width**-0.5),
    }
    entropy = bool(size.get("entropy"))
    arguments = {
        "index": maker.whole(vocabulary, tokens, size["indices"]),
        "cap": CAP if size.get("cap") else None,
        "temperature": 1.0,
        "round_logits": None,
        "need_entropy": entropy,
    }
    return Problem("indexed_logprob", tensors, arguments, 1 + entropy)


def _linear_scan(size: Mapping[str, int], _sizes: Sizes, maker: Maker) -> Problem:
    rows, tokens = size["rows"], size["tokens"]
    tensors = {"a": maker.uniform(rows, tokens), "b": maker.normal(rows, tokens)}
    return Problem("linear_scan", tensors, {"reverse": False, "carry": None}, 1)


MAKERS: Mapping[str, Callable[[Mapping[str, int], Sizes, Maker], Problem]] = {
    "rms_norm": _rms_norm,
    "add_rms_norm": _add_rms_norm,
    "qk_norm_rope": _qk_norm_rope,
    "rope": _rope,
    "swiglu": _swiglu,
    "head_mix": _head_mix,
    "attention": _attention,
    "attention_decode": _decode,
    "simplicial_attention": _simplicial,
    "simplicial_attention_decode": _simplicial_decode,
    "indexed_logprob": _indexed_logprob,
    "linear_scan": _linear_scan,
}
