"""What else does the same work: the plain formula, the compiler, torch's own functions.

A peer takes a problem and tensors in place of its own, and returns those outputs through which
gradients flow back (the first output where none do). One that cannot run says so by raising.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from benchmarks.inputs import Problem
from limite.core.kernels import dispatch, ops

Outputs = tuple[Tensor, ...]
Peer = Callable[[Problem, Mapping[str, Tensor]], Outputs]

CHUNK = 2048  # rows of the head at a time


def ours(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    """The operation as everything in limite calls it."""
    return _outputs(problem, problem.call(getattr(ops, problem.op), tensors))


def implementation(problem: Problem, name: str) -> Callable[..., Any]:
    """One of limite's own implementations, without the choice around it."""
    tensor = next(iter(problem.tensors.values()))
    case = dispatch.Case(problem.op, tensor.device.type, tensor.dtype, tensor.shape[-1])
    return dispatch.choose(case, f"{problem.op}={name}").function


def find(op: str, name: str) -> Peer:
    own = OWN.get((op, name))
    return EVERYWHERE[name] if own is None else own


def needs_compiler(name: str) -> bool:
    return name in ("compiled", "flex")


def _outputs(problem: Problem, found: Any) -> Outputs:
    outputs = found if isinstance(found, tuple) else (found,)
    return tuple(outputs[: max(problem.weighted, 1)])


def _plain(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    return _outputs(problem, problem.call(implementation(problem, "reference"), tensors))


def _cpu(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    return _outputs(problem, problem.call(implementation(problem, "cpu"), tensors))


@cache
def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch._functorch.config as config

    # A backward timed alone runs many times on one graph, and must leave it as it is.
    config.donated_buffer = False
    return torch.compile(function, dynamic=False)


def _compiled(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    function = _compile(implementation(problem, "reference"))
    return _outputs(problem, problem.call(function, tensors))


def _torch_norm(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    x = tensors["x"]
    return (F.rms_norm(x, x.shape[-1:], None, problem.arguments["eps"]),)


def _torch_swiglu(_problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    return (F.silu(tensors["gate"]) * tensors["up"],)


def _sdpa(
    problem: Problem, tensors: Mapping[str, Tensor], *, backend: SDPBackend | None = None
) -> Outputs:
    """Torch's own attention; with a window, by a mask."""
    q, k, v = tensors.values()
    tokens, groups = q.shape[2], q.shape[1] // k.shape[1]
    if backend is SDPBackend.EFFICIENT_ATTENTION:  # it knows no groups
        k, v = (each.repeat_interleave(groups, 1) for each in (k, v))
    window = problem.arguments["window"]
    mask = None
    if window is not None and window < k.shape[2]:
        mask = _window_mask(tokens, k.shape[2], window, q.device)
    call = partial(
        F.scaled_dot_product_attention,
        q,
        k,
        v,
        attn_mask=mask,
        is_causal=mask is None and tokens > 1,
        scale=problem.arguments["scale"],
        enable_gqa=k.shape[1] != q.shape[1],
    )
    if backend is None:
        return (call(),)
    with sdpa_kernel([backend]):
        return (call(),)


@cache
def _window_mask(queries: int, keys: int, window: int, device: torch.device) -> Tensor:
    place = torch.arange(keys, device=device)
    distance = place[keys - queries :, None] - place
    return (distance >= 0) & (distance < window)


@cache
def _block_mask(tokens: int, window: int, device: str) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    def seen(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (query - key < window)

    return create_block_mask(seen, None, None, tokens, tokens, device=device)


def _flex(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = tensors.values()
    tokens = q.shape[2]
    mask = _block_mask(tokens, problem.arguments["window"] or tokens, q.device.type)
    scale = problem.arguments["scale"]
    return (_compile(flex_attention)(q, k, v, block_mask=mask, scale=scale, enable_gqa=True),)


def _logits_formula(
    hidden: Tensor, weight: Tensor, index: Tensor, arguments: Mapping[str, Any]
) -> Outputs:
    logits = (hidden @ weight.T).float()
    if arguments["cap"] is not None:
        logits = ops.soft_cap(logits, arguments["cap"])
    logp = logits.log_softmax(-1)
    found = logp.gather(1, index)
    if not arguments["need_entropy"]:
        return (found,)
    return found, -(logp.exp() * logp).sum(-1)


def _materialised(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    """All logits at once, in float32 after the product, as trainers usually have it."""
    index = problem.arguments["index"]
    return _logits_formula(tensors["hidden"], tensors["weight"], index, problem.arguments)


def _chunked(problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    """Some rows' logits at a time, computed again for the gradient."""
    parts = [
        checkpoint(
            _logits_formula,
            hidden,
            tensors["weight"],
            index,
            problem.arguments,
            use_reentrant=False,
            preserve_rng_state=False,
        )
        for hidden, index in zip(
            tensors["hidden"].split(CHUNK), problem.arguments["index"].split(CHUNK), strict=True
        )
    ]
    return tuple(torch.cat(columns) for columns in zip(*parts, strict=True))


def _doubling(_problem: Problem, tensors: Mapping[str, Tensor]) -> Outputs:
    """A scan in log2 T passes, each joining what lies twice as far apart."""
    a, b = tensors["a"], tensors["b"]
    step = 1
    while step < a.shape[1]:
        b = b + a * F.pad(b[:, :-step], (step, 0))
        a = a * F.pad(a[:, :-step], (step, 0))
        step *= 2
    return (b,)


EVERYWHERE: Mapping[str, Peer] = {
    "plain": _plain,
    "compiled": _compiled,
    "cpu": _cpu,
    "windows": _cpu,  # plain torch over gathered windows: the cpu path, wherever the tensors are
    "sdpa": _sdpa,
    "sdpa flash": partial(_sdpa, backend=SDPBackend.FLASH_ATTENTION),
    "sdpa cudnn": partial(_sdpa, backend=SDPBackend.CUDNN_ATTENTION),
    "sdpa efficient": partial(_sdpa, backend=SDPBackend.EFFICIENT_ATTENTION),
    "flex": _flex,
    "materialised": _materialised,
    "chunked": _chunked,
    "doubling": _doubling,
}
OWN: Mapping[tuple[str, str], Peer] = {
    ("rms_norm", "torch"): _torch_norm,
    ("swiglu", "torch"): _torch_swiglu,
}
