"""Long rows in wide storage, odd strides, and memory: small on the CPU, at full size on a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.plugins.conformance.kernels import measure, run

SIZES = [
    pytest.param(run.CPU, 96, 200, id="cpu"),
    pytest.param(run.INTERPRET, 96, 200, id="interpret"),
    # 131,072 tokens of 20,480 channels: offsets beyond 2^31 elements, 5 GiB in half precision.
    pytest.param(run.TRITON, 131_072, 20_480, id="triton", marks=pytest.mark.gpu),
]
WIDTH, WINDOW, LAST = 32, 20, 16


def projection(backend: run.Backend, tokens: int, channels: int) -> Tensor:
    """One fused projection ``[tokens, channels]``: a large row stride for what is cut from it."""
    dtype = torch.bfloat16 if backend.compiled else torch.float32
    wide = torch.empty(tokens, channels, dtype=dtype, device=backend.device)
    used = torch.linspace(-1.0, 1.0, tokens * 4 * WIDTH, device=backend.device)
    wide[:, : 4 * WIDTH] = (used * 1e4).sin().view(tokens, -1).to(dtype)
    return wide


def cut(wide: Tensor, first: int, heads: int) -> Tensor:
    """``[1, heads, tokens, D]``, without a copy."""
    part = wide[:, first * WIDTH : (first + heads) * WIDTH]
    return part.unflatten(-1, (heads, WIDTH)).transpose(0, 1)[None]


@pytest.mark.parametrize(("backend", "tokens", "channels"), SIZES)
def test_attention_at_the_end_of_a_long_row(
    backend: run.Backend, tokens: int, channels: int
) -> None:
    """The last queries and their gradients, which a window lets the last keys alone decide."""
    wide = projection(backend, tokens, channels)
    q, k, v = (cut(wide, first, heads) for first, heads in ((0, 2), (2, 1), (3, 1)))
    upstream = torch.zeros_like(q)
    upstream[:, :, -LAST:] = q[:, :, :LAST]
    near = LAST + WINDOW
    found, wanted = [], []
    for results, some in ((found, (q, k, v)), (wanted, [x[:, :, -near:] for x in (q, k, v)])):
        name = backend.name if results is found else "reference"
        leaves = [x.detach().requires_grad_() for x in some]
        if results is wanted:
            leaves = [x.detach().double().requires_grad_() for x in some]
        with dispatch.use(name):
            out, _ = ops.attention(*leaves, scale=0.3, window=WINDOW)
            pull = upstream[:, :, -out.shape[2] :].to(out.dtype)
            gradients = torch.autograd.grad(out, leaves, pull)
        results += [x[:, :, -LAST:].cpu() for x in (out.detach(), *gradients)]
    tolerances = [measure.OUTPUT, *[measure.GRADIENT] * 3]
    for one, other, tolerance in zip(found, wanted, tolerances, strict=True):
        measure.require_close("attention", one, other, tolerance[q.dtype])


@pytest.mark.parametrize(("backend", "tokens", "channels"), SIZES)
def test_norm_rotation_and_swiglu_of_a_wide_storage(
    backend: run.Backend, tokens: int, channels: int
) -> None:
    wide = projection(backend, tokens, channels)
    heads = wide[:, : 4 * WIDTH].unflatten(-1, (4, WIDTH))  # [tokens, 4, D]
    angle = torch.arange(tokens, device=backend.device)[:, None] / torch.tensor(
        [1.0, 50.0], device=backend.device
    )
    gate, up = wide[:, :WIDTH], wide[:, WIDTH : 2 * WIDTH]

    def results(name: str, some: slice, dtype: torch.dtype) -> list[Tensor]:
        with dispatch.use(name):
            rotation = ops.Rotation(angle[some].cos(), angle[some].sin())
            return [
                ops.rms_norm(gate[some].to(dtype)),
                ops.qk_norm_rope(heads[some].to(dtype), rotation),
                ops.rope(heads[some].to(dtype), rotation),
                ops.swiglu(gate[some].to(dtype), up[some].to(dtype)),
            ]

    last = slice(tokens - LAST, tokens)
    found = results(backend.name, slice(0, tokens), wide.dtype)
    for one, other in zip(found, results("reference", last, torch.float64), strict=True):
        measure.require_close(
            "last rows", one[-LAST:].cpu(), other.cpu(), measure.OUTPUT[wide.dtype]
        )


@pytest.mark.gpu
def test_the_head_on_a_gpu_never_holds_all_logits() -> None:
    """16,384 tokens over Limite's vocabulary: the logits alone would be 9.9 GB in float32."""
    hidden = torch.randn(16_384, 1280, dtype=torch.bfloat16, device="cuda", requires_grad=True)
    table = torch.randn(151_680, 1280, dtype=torch.bfloat16, device="cuda", requires_grad=True)
    index = torch.randint(0, 151_680, (16_384, 1), device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    logp, _, _ = ops.indexed_logprob(hidden, table, index, cap=(23.0, 5.0, 7.5))
    logp.mean().backward()
    gradients = hidden.numel() * 2 + table.numel() * 2
    extra = torch.cuda.max_memory_allocated() - before - gradients
    assert extra <= 1.0e9, f"{extra / 1e9:.2f} GB beside inputs and gradients"
