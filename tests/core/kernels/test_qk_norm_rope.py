"""Norm and rotation of queries and keys: the laws on every backend, and what is refused."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels import ops
from limite.core.kernels.dispatch import KernelError
from limite.core.kernels.rotation import Rotation, RotationTable, Style
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.qk_norm_rope import LAWS

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


def rotation(*leading: int, pairs: int = 2, style: Style = "adjacent") -> Rotation:
    angle = torch.arange(torch.Size(leading).numel() * pairs).view(*leading, pairs) / 7
    return Rotation(angle.cos(), angle.sin(), style)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0, 2, 4), (3, 0, 4), (2, 0, 3, 8)])
def test_nothing_gives_nothing(name: str, shape: tuple[int, ...]) -> None:
    qk = torch.ones(shape, requires_grad=True)
    with ops.use(name):
        found = ops.qk_norm_rope(qk, rotation(*shape[:-2]))
        found.backward(torch.ones(shape))
    assert found.shape == shape
    assert qk.grad is not None
    assert qk.grad.shape == shape


def test_both_styles_turn_as_published() -> None:
    # One pair of channels, a quarter turn: (1, 2) normalised, then turned by minus, and by plus.
    qk = torch.tensor([[[1.0, 2.0]]])
    quarter = torch.zeros(1, 1), torch.ones(1, 1)
    norm = (2.5 + ops.EPSILON) ** -0.5
    for name in NAMES:
        with ops.use(name):
            minus = ops.qk_norm_rope(qk, Rotation(*quarter, "adjacent"))
            plus = ops.qk_norm_rope(qk, Rotation(*quarter, "halves"))
        torch.testing.assert_close(minus, torch.tensor([[[2.0, -1.0]]]) * norm)
        torch.testing.assert_close(plus, torch.tensor([[[-2.0, 1.0]]]) * norm)


def test_a_rotation_serves_heads_dtypes_and_directions_at_once() -> None:
    shared = rotation(5, pairs=3)
    stream = torch.Generator().manual_seed(0)
    for heads in (1, 4):
        for dtype in (torch.float32, torch.float64):
            qk = torch.randn(5, heads, 8, generator=stream, dtype=dtype, requires_grad=True)
            found = []
            for name, turns in (("cpu", shared), ("reference", rotation(5, pairs=3))):
                with ops.use(name):
                    out = ops.qk_norm_rope(qk, turns)
                found.append((out, *torch.autograd.grad(out.square().cumsum(-1).sum(), qk)))
            torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize(
    ("qk", "turns", "words"),
    [
        (torch.ones(3, 4), None, r"qk: expected \[N, heads, D\].*got \[3, 4\]"),
        (torch.ones(3, 2, 4, dtype=torch.int32), None, "qk: expected a floating dtype"),
        (torch.ones(3, 2, 4), rotation(2), r"rotation.cos: expected \[3, at most 2 pairs\]"),
        (torch.ones(3, 2, 4), rotation(3, pairs=3), r"cos: .*at most 2 pairs\], got \[3, 3\]"),
        (
            torch.ones(3, 2, 4),
            Rotation(torch.ones(3, 2), torch.ones(3, 1)),
            r"rotation.sin: expected \[3, 2\], the shape of rotation.cos",
        ),
    ],
)
def test_what_does_not_fit_is_refused(qk: torch.Tensor, turns: Rotation | None, words: str) -> None:
    with pytest.raises(ValueError, match=f"qk_norm_rope: .*{words}"):
        ops.qk_norm_rope(qk, turns)


def test_a_wider_head_is_for_others() -> None:
    wide = torch.ones(1, 1, 1025)
    with ops.use("interpret"), pytest.raises(KernelError, match="at most 1024 channels"):
        ops.qk_norm_rope(wide, None)
    torch.testing.assert_close(ops.qk_norm_rope(wide, None), wide)


@pytest.mark.parametrize("style", ["adjacent", "halves"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_table_gives_what_its_rows_give(style: Style, dtype: torch.dtype) -> None:
    angle = torch.arange(40.0).view(10, 4) / 7
    table = RotationTable(angle.cos(), angle.sin(), style)
    positions = torch.tensor([3, 0, 9, 3, 5])
    qk = torch.linspace(-1, 2, 5 * 3 * 12).view(5, 3, 12).to(dtype)
    found = []
    for turns in (
        table.at(positions),
        Rotation(angle.cos()[positions], angle.sin()[positions], style),
    ):
        inputs = qk.clone().requires_grad_()
        turned = ops.qk_norm_rope(inputs, turns)
        turned.backward(qk.flip(0))
        found.append((turned, inputs.grad))
    (turned, gradient), (expected, expected_gradient) = found
    assert gradient is not None
    assert expected_gradient is not None
    assert torch.equal(turned, expected)
    assert torch.equal(gradient, expected_gradient)
