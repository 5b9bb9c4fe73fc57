"""Attention: its laws on every backend, what it refuses, and how it lies in memory."""

from __future__ import annotations

import attrs
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from limite.core.kernels import dispatch, ops
from limite.core.kernels.segments import visible
from limite.plugins.conformance.kernels import attention, run
from limite.plugins.conformance.kernels.attention_cases import build
from limite.plugins.conformance.kernels.run import Backend, Law
from limite.plugins.conformance.kernels.streams import outcome, require_outcome

BACKENDS = [
    run.REFERENCE,
    run.CPU,
    run.NATIVE,
    run.INTERPRET,
    pytest.param(run.TRITON, marks=pytest.mark.gpu),
]
EVERY = pytest.mark.parametrize("backend", BACKENDS, ids=lambda each: each.name)


@EVERY
@pytest.mark.parametrize("law", attention.LAWS.values(), ids=list(attention.LAWS))
def test_law(law: Law, backend: Backend) -> None:
    law(backend)


def test_interpreted_kernels_take_bfloat16() -> None:
    backend = attrs.evolve(run.INTERPRET, dtypes=(torch.bfloat16,))
    attention.half_as_good_as_plain(backend)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("softcap", [None, 1.5])
@pytest.mark.parametrize("segments", [None, [[0, 0, -1, 1, 1, 1], [-1, 2, 2, 2, 2, 2]]])
def test_gradients_of_the_reference_are_differences(
    window: int | None, softcap: float | None, segments: list[list[int]] | None
) -> None:
    case = build(
        dtype=torch.float64, batch=2, kv_heads=2, group=2, keys=6, queries=4, width=3, seed=5
    )
    rows = None if segments is None else torch.tensor(segments)

    def function(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        with dispatch.use("reference"):
            out, lse = ops.attention(
                q, k, v, scale=0.7, window=window, segments=rows, softcap=softcap
            )
        assert lse is not None
        return out, lse.where(lse.isfinite(), 0)

    inputs = [each.requires_grad_() for each in case.inputs.values()]
    assert torch.autograd.gradcheck(function, inputs)


def test_window_counts_the_own_key() -> None:
    seen = visible(3, 3, window=2, segments=None, device=torch.device("cpu"))
    assert seen[0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]


@EVERY
def test_without_log_sum_exp_gradients_are_the_same(backend: Backend) -> None:
    case = build(keys=9, flows="out")
    wanted = outcome(backend, case)
    case.arguments["need_lse"] = False
    found = outcome(backend, case)
    assert found.outputs[1] is None
    if backend.tiled:
        for name, gradient in wanted.gradients.items():
            assert torch.equal(found.gradients[name], gradient)
    else:  # torch's own operator serves where no log-sum-exp is asked for: sums in another order
        require_outcome(case, found, wanted)


@EVERY
def test_gradients_of_some_inputs_alone(backend: Backend) -> None:
    case = build(keys=9, flows="out")
    whole = outcome(backend, case)
    for name in ("q", "k", "v"):
        some = run.run(
            "attention",
            backend,
            case.inputs,
            case.arguments,
            differentiate=(name,),
            upstream=case.upstream,
        )
        assert torch.allclose(some.gradients[name], whole.gradients[name], atol=1e-6)


class _Copies(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if func in (torch.ops.aten.clone.default, torch.ops.aten._to_copy.default):
            self.made.append(str(func))
        return func(*args, **(kwargs or {}))


def test_kernels_take_a_fused_projection_as_it_is() -> None:
    from limite.core.kernels.triton.attention import attention as kernels

    fused = torch.randn(1, 9, 6, 16)  # [B, T, heads, D]: four of q, one of k, one of v
    q, k, v = (each.transpose(1, 2) for each in fused.split([4, 1, 1], 2))
    with _Copies() as copies:
        out, _ = kernels(q, k, v, scale=0.25)
    assert not copies.made
    assert out.transpose(1, 2).is_contiguous()  # and so do the heads join


def test_kernels_refuse_widths_they_do_not_have() -> None:
    q = torch.zeros(1, 1, 3, 24)
    with dispatch.use("interpret"), pytest.raises(dispatch.KernelError) as caught:
        ops.attention(q, q, q, scale=1.0)
    assert "the kernels take heads of width 16, 32, 64, 128, 256" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": torch.zeros(1, 2, 4, 16)}, "k: expected at least the 4 tokens of q, got 3"),
        ({"q": torch.zeros(1, 3, 3, 16)}, "k: expected a number of heads that divides the 3 of q"),
        ({"q": torch.zeros(2, 3, 16)}, "q: expected [B, H, T, D], got [2, 3, 16]"),
        ({"k": torch.zeros(1, 2, 3, 32)}, "k: expected [1, any, any, 16], as q, got [1, 2, 3, 32]"),
        ({"v": torch.zeros(1, 2, 2, 16)}, "v: expected [1, 2, 3, 16], the shape of k, got"),
        ({"v": torch.zeros(1, 2, 3, 16).half()}, "v: expected the dtype of q, torch.float32, got"),
        ({"window": 0}, "window: expected None or a whole number of keys from 1 to 2**30, got 0"),
        ({"softcap": -1.0}, "softcap: expected None or a finite number above 0, got -1.0"),
        ({"segments": torch.zeros(1, 4).long()}, "segments: expected [1, 3], those of the keys"),
        ({"segments": torch.zeros(1, 3)}, "segments: expected int32 or int64, got torch.float32"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], words: str) -> None:
    arguments = {name: torch.zeros(1, 2, 3, 16) for name in ("q", "k", "v")}
    with pytest.raises(ValueError, match=r"^attention: ") as caught:
        ops.attention(**{**arguments, "scale": 1.0, **change})
    assert words in str(caught.value)
