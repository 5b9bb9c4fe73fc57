"""The norm and the residual join: their laws on every backend, and the bounds of what they take."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels import ops
from limite.core.kernels.dispatch import KernelError
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.rms_norm import LAWS

BACKENDS = [
    pytest.param(run.REFERENCE, id="reference"),
    pytest.param(run.CPU, id="cpu"),
    pytest.param(run.NATIVE, id="native"),
    pytest.param(run.INTERPRET, id="interpret"),
    pytest.param(run.TRITON, id="triton", marks=pytest.mark.gpu),
]
NAMES = ["reference", "cpu", "native", "interpret"]


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
@pytest.mark.parametrize("backend", BACKENDS)
def test_law(backend: run.Backend, law: run.Law) -> None:
    law(backend)


def test_the_interpreter_reads_bfloat16() -> None:
    LAWS["equals_the_reference"](run.Backend("interpret", tiled=True, dtypes=(torch.bfloat16,)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (2, 0, 4)])
def test_nothing_gives_nothing(name: str, shape: tuple[int, ...]) -> None:
    x, b = torch.ones(shape, requires_grad=True), torch.ones(shape, requires_grad=True)
    weight = torch.ones(shape[-1], requires_grad=True)
    keep = torch.tensor(0.5, requires_grad=True)
    with ops.use(name):
        normal = ops.rms_norm(x, weight)
        total, joined = ops.add_rms_norm(x, b, keep=keep, weight=weight)
    for each in (normal, total, joined):
        assert each.shape == shape
    torch.autograd.backward((normal, total, joined), [torch.ones(shape)] * 3)
    for leaf in (x, b, weight, keep):
        assert leaf.grad is not None
        assert leaf.grad.shape == leaf.shape
        assert not leaf.grad.any()


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_any_width_up_to_the_widest(name: str) -> None:
    for width in (4097, 16384):
        x = torch.linspace(-2, 2, 2 * width).view(2, width).requires_grad_()
        with ops.use(name):
            found = ops.rms_norm(x)
            found.backward(torch.linspace(1, -1, 2 * width).view(2, width))
        exact = x.detach().double()
        exact = exact / exact.square().mean(-1, keepdim=True).sqrt()
        torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-6)
        assert x.grad is not None
        assert x.grad.isfinite().all()


def test_a_wider_row_is_for_others() -> None:
    wide = torch.ones(1, 16385)
    with ops.use("interpret"), pytest.raises(KernelError, match="at most 16384 elements"):
        ops.rms_norm(wide)
    torch.testing.assert_close(ops.rms_norm(wide), wide)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    x = torch.linspace(-3, 3, 64).reshape(4, 16).to(dtype)
    wide = x.float()
    expected = (wide / (wide.square().mean(-1, keepdim=True) + ops.EPSILON).sqrt()).to(dtype)
    for name in ("reference", "cpu"):
        with ops.use(name):
            assert torch.equal(ops.rms_norm(x), expected)


def test_a_join_without_gradients_keeps_its_inputs() -> None:
    a, b = torch.ones(2, 4), torch.full((2, 4), 2.0)
    for name in NAMES:
        with torch.no_grad(), ops.use(name):
            for keep, add in ((None, None), (torch.tensor(2.0), None), (None, torch.tensor([3.0]))):
                total, _ = ops.add_rms_norm(a, b, keep=keep, add=add)
                assert total[0, 0] == (1.0 if keep is None else 2.0) + 2 * (
                    1.0 if add is None else 3.0
                )
    assert torch.equal(a, torch.ones(2, 4))
    assert torch.equal(b, torch.full((2, 4), 2.0))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": torch.ones(())}, r"x: expected at least one axis, got \[\]"),
        (
            {"x": torch.ones(2, dtype=torch.int64)},
            "x: expected a floating dtype of 16, 32 or 64 bits, got torch.int64",
        ),
        ({"x": torch.ones(2, 3), "weight": torch.ones(2)}, r"weight: expected \[3\].*got \[2\]"),
    ],
)
def test_a_norm_of_what_does_not_fit_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=f"rms_norm: .*{words}"):
        ops.rms_norm(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"b": torch.ones(2, 4)}, r"b: expected \[2, 3\].*got \[2, 4\]"),
        ({"b": torch.ones(2, 3).double()}, "b: expected the dtype of a"),
        ({"b": torch.ones(2, 3), "keep": torch.ones(2)}, r"keep: expected one number, got \[2\]"),
        ({"b": torch.ones(2, 3), "weight": torch.ones(3, 1)}, r"weight: expected \[3\]"),
    ],
)
def test_a_join_of_what_does_not_fit_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=f"add_rms_norm: .*{words}"):
        ops.add_rms_norm(torch.ones(2, 3), **arguments)
