"""The operations of the kernel core: what everything else in limite calls.

Every one is differentiable where its docstring does not say otherwise, runs on every backend
(``limite.core.kernels.dispatch``), refuses what does not fit with a ``ValueError`` that names
argument, expected and got, and gives empty results, with zero gradients, for empty inputs.
Tensors are dense and of 16, 32 or 64 bits; numbers are Python's, finite, and no bools.
Sizes: ``B`` batch, ``T`` tokens, ``H`` query heads, ``K`` key/value heads, ``D`` head width,
``N`` flat tokens, ``V`` vocabulary. Query head h reads key/value head ``h // (H / K)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from torch import Tensor
from torch.compiler import is_dynamo_compiling

from limite.core.kernels import attention_checks, checks, dispatch, traced
from limite.core.kernels.dispatch import use
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.rotation import Rotation
from limite.core.kernels.segments import Segments

EPSILON = 2.0**-23
"""Inside the square root of a norm, in every dtype: the float32 machine epsilon."""

Cap = tuple[float, float, float]
"""Bound, shift and spread of a soft cap: ``bound * sigmoid((z + shift) / spread)``."""


def select(
    op: str, tensor: Tensor, width: int | None = None, option: str | None = None
) -> Callable[..., Any]:
    """The function that runs ``op``: ``dispatch.select``, in compiled code as well."""
    if is_dynamo_compiling():
        return traced.select(op, tensor, width, option)
    return dispatch.select(op, tensor, width, option)


def rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = EPSILON) -> Tensor:
    """``x (mean(x^2) + eps)^-1/2``, times ``weight`` if given, over the last axis.

    ``x [..., D]``, ``weight [D]``. Computed in float32 (float64 for float64), rounded once.
    """
    checks.rms_norm(x, weight, eps)
    result: Tensor = select("rms_norm", x, x.shape[-1])(x, weight, eps=eps)
    return result


def add_rms_norm(
    a: Tensor,
    b: Tensor,
    *,
    keep: Tensor | None = None,
    add: Tensor | None = None,
    weight: Tensor | None = None,
    eps: float = EPSILON,
) -> tuple[Tensor, Tensor]:
    """The residual join ``keep a + add b`` and its ``rms_norm``, in one pass.

    ``a`` and ``b [..., D]``; ``keep`` and ``add`` are tensors of one number (learned, perhaps), 1
    where None.
    The norm is that of the sum as it was rounded to the dtype of ``a``.
    """
    checks.add_rms_norm(a, b, keep, add, weight, eps)
    result: tuple[Tensor, Tensor] = select("add_rms_norm", a, a.shape[-1])(
        a, b, keep=keep, add=add, weight=weight, eps=eps
    )
    return result


def qk_norm_rope(qk: Tensor, rotation: Rotation | None, *, eps: float = EPSILON) -> Tensor:
    """Every head brought to unit root mean square, then turned by its token's position.

    ``qk [..., heads, D]`` with one or two leading axes, queries and keys side by side as a fused
    projection leaves them (or either alone: the two are treated alike); ``rotation`` has the same
    leading axes; None turns nothing. In float32, as ``rms_norm``.
    """
    checks.qk_norm_rope(qk, rotation, eps)
    result: Tensor = select("qk_norm_rope", qk, qk.shape[-1])(qk, rotation, eps=eps)
    return result


def rope(x: Tensor, rotation: Rotation) -> Tensor:
    """Every head turned by its token's position: ``qk_norm_rope`` without the norm.

    ``x [..., heads, D]`` with one or two leading axes, those of ``rotation``.
    """
    checks.rope(x, rotation)
    result: Tensor = select("rope", x, x.shape[-1])(x, rotation)
    return result


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``, silu in float32. ``[..., F]`` each; strided halves of one are fine."""
    checks.swiglu(gate, up)
    result: Tensor = select("swiglu", gate)(gate, up)
    return result


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> Tensor:
    """``(y - tanh(alpha) (y . v) v) * 2 sigmoid(gate)``, v the token's own value at unit length.

    ``outputs [..., H, D]``, ``values [..., K, D]``, ``alpha [H]``, ``gates [..., H]``; without
    ``alpha`` or ``gates`` that half is left out. A value shorter than 1e-4 is divided by that.
    """
    checks.head_mix(outputs, values, alpha, gates)
    if alpha is None and gates is None:
        return outputs
    result: Tensor = select("head_mix", outputs, outputs.shape[-1])(outputs, values, alpha, gates)
    return result


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    window: int | None = None,
    segments: Segments | None = None,
    softcap: float | None = None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Causal softmax attention: the output ``[B, H, Tq, D]`` and log-sum-exp ``[B, H, Tq]``.

    ``q [B, H, Tq, D]``, ``k`` and ``v [B, K, Tk, D]``, any strides with unit stride in ``D``. Where
    there are fewer queries than keys, queries are the last of the tokens. ``window`` is the number
    of visible keys, the query's own included; None: all. ``segments`` keeps rows packed into one
    axis apart (over the keys' tokens); results at padding are 0, and -inf for the log-sum-exp.
    ``softcap c``: scores become ``c tanh(s / c)``. The log-sum-exp is float32 (float64 for
    float64) natural logarithms, differentiable like the output, and None where not needed.
    """
    attention_checks.attention(q, k, v, scale, window, segments, softcap, need_lse)
    result: tuple[Tensor, Tensor | None] = select("attention", q, q.shape[-1])(
        q, k, v, scale=scale, window=window, segments=segments, softcap=softcap, need_lse=need_lse
    )
    return result


def attention_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    lengths: Tensor | Moment,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Attention of one query per row over its cache; without gradients.

    ``q [B, H, 1, D]``; caches ``[B, K, S, D]``, any strides; ``lengths [B]`` counts the tokens of
    each row, the query's own, already stored, included. The token at position p lies in slot
    p mod S, so that a cache of fewer slots than tokens is a ring of the last S. A row of length 0,
    or less, gives 0, and -inf. What a row gets does not depend, by a bit, on the rows beside it (on
    a CPU from 8 rows on). Slots that were never written must hold finite numbers, as zeros.
    """
    attention_checks.attention_decode(
        q, k_cache, v_cache, lengths, scale, window, softcap, need_lse
    )
    moment = lengths if isinstance(lengths, Moment) else Moment.of(lengths)
    result: tuple[Tensor, Tensor | None] = select("attention_decode", q, q.shape[-1])(
        q, k_cache, v_cache, moment, scale=scale, window=window, softcap=softcap, need_lse=need_lse
    )
    return result


def simplicial_attention(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    *,
    scale: float,
    window1: int | None,
    window2: int | None,
    segments: Segments | None = None,
    form: Literal["trilinear", "determinant"] = "trilinear",
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """2-simplicial attention (arXiv 2507.02754, equations 5 to 7): pairs of keys for a query.

    ``s[i,j,k] = scale sum_d q[i,d] k1[j,d] k2[k,d]``, one softmax over all visible pairs (j, k)
    together, ``out[i,d] = sum_jk p[i,j,k] v1[j,d] v2[k,d]``; j visible in ``window1``, k in
    ``window2``. Shapes as in ``attention``, all four streams with ``K`` heads. No rotary turn of
    the inputs makes this form depend on relative positions; ``determinant`` (scores are sums of
    3x3 determinants over triples of channels) is the one that is unchanged when all three turn.
    """
    attention_checks.simplicial_attention(
        q, k1, k2, v1, v2, scale, window1, window2, segments, form, need_lse
    )
    option = None if form == "trilinear" else form
    result: tuple[Tensor, Tensor | None] = select("simplicial_attention", q, q.shape[-1], option)(
        q,
        k1,
        k2,
        v1,
        v2,
        scale=scale,
        window1=window1,
        window2=window2,
        segments=segments,
        form=form,
        need_lse=need_lse,
    )
    return result


def simplicial_attention_decode(
    q: Tensor,
    k1_cache: Tensor,
    k2_cache: Tensor,
    v1_cache: Tensor,
    v2_cache: Tensor,
    lengths: Tensor | Moment,
    *,
    scale: float,
    window1: int | None,
    window2: int | None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """2-simplicial attention of one query per row over its four caches; without gradients.

    ``q [B, H, 1, D]``, first caches ``[B, K, S1, D]``, second ``[B, K, S2, D]``: rings as in
    ``attention_decode``, of ``window1`` and ``window2`` slots where memory is to stay constant.
    """
    attention_checks.simplicial_attention_decode(
        q, k1_cache, k2_cache, v1_cache, v2_cache, lengths, scale, window1, window2, need_lse
    )
    moment = lengths if isinstance(lengths, Moment) else Moment.of(lengths)
    result: tuple[Tensor, Tensor | None] = select("simplicial_attention_decode", q, q.shape[-1])(
        q,
        k1_cache,
        k2_cache,
        v1_cache,
        v2_cache,
        moment,
        scale=scale,
        window1=window1,
        window2=window2,
        need_lse=need_lse,
    )
    return result


def soft_cap(logits: Tensor, cap: Cap) -> Tensor:
    """``bound * sigmoid((z + shift) / spread)``, in the dtype of ``logits``."""
    checks.soft_cap(logits, cap)
    bound, shift, spread = cap
    return ((logits + shift) / spread).sigmoid() * bound


def indexed_logprob(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    *,
    cap: Cap | None = None,
    temperature: float = 1.0,
    round_logits: Literal["bfloat16", "float16"] | None = None,
    need_entropy: bool = True,
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Log-probabilities of some ids, the entropy, and the log-sum-exp, in nats, without logits.

    ``hidden [N, D]``, ``weight [V, D]``, ``index [N, K]`` int64 (-1: none there; log-probability
    and gradient 0). Returns ``logp [N, K]``, ``entropy [N]`` (None where not needed) and
    ``lse [N]``, all differentiable, float32 (float64 for float64). ``z = cap(hidden weightᵀ) /
    temperature`` in float32 from the product on; ``round_logits`` rounds the product first, for
    checkpoints whose head is defined so. ``[N, V]`` is never stored. An id that is no row of the
    weight is refused; on a GPU, which is not waited for, its log-probability is NaN.
    """
    checks.indexed_logprob(hidden, weight, index, cap, temperature, round_logits, need_entropy)
    result: tuple[Tensor, Tensor | None, Tensor] = select("indexed_logprob", hidden)(
        hidden,
        weight,
        index,
        cap=cap,
        temperature=temperature,
        round_logits=round_logits,
        need_entropy=need_entropy,
    )
    return result


def linear_scan(
    a: Tensor, b: Tensor, *, reverse: bool = False, carry: Tensor | None = None
) -> Tensor:
    """``y_t = a_t y_{t-1} + b_t`` along the last axis (``y_{t+1}`` with ``reverse``): ``[R, T]``.

    ``carry [R]`` stands before the first (after the last) element; 0 where None. Float32 or
    float64: a factor like 0.5^(1/L) is 1 in half precision, which is refused. ``a = 0`` starts
    anew, whatever came before, unless that was not finite.
    """
    checks.linear_scan(a, b, reverse, carry)
    result: Tensor = select("linear_scan", a)(a, b, reverse=reverse, carry=carry)
    return result


__all__ = [
    "EPSILON",
    "Cap",
    "Layout",
    "Moment",
    "Rotation",
    "add_rms_norm",
    "attention",
    "attention_decode",
    "head_mix",
    "indexed_logprob",
    "linear_scan",
    "qk_norm_rope",
    "rms_norm",
    "rope",
    "simplicial_attention",
    "simplicial_attention_decode",
    "soft_cap",
    "swiglu",
    "use",
]
