"""Rotation of heads: the laws on every backend, and what is refused."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels import ops
from limite.core.kernels.cpu import qk_norm_rope as cpu
from limite.core.kernels.dispatch import KernelError
from limite.core.kernels.rotation import Rotation, RotationTable
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.rope import LAWS

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


def test_both_styles_turn_as_published() -> None:
    # One pair of channels, a quarter turn: by minus, and by plus.
    x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.zeros(1, 1), torch.ones(1, 1))
    for name in NAMES:
        with ops.use(name):
            minus = ops.rope(x, Rotation(*quarter, "adjacent"))
            plus = ops.rope(x, Rotation(*quarter, "halves"))
        assert minus.tolist() == [[[2.0, -1.0]]]
        assert plus.tolist() == [[[-2.0, 1.0]]]


def test_a_longer_turn_lengthens() -> None:
    # Tables need not be of unit length: some scalings of rotary positions multiply them.
    angle = torch.arange(12.0).view(3, 4) / 5
    x = torch.linspace(-1, 1, 3 * 2 * 8).view(3, 2, 8)
    for name in NAMES:
        with ops.use(name):
            plain = ops.rope(x, Rotation(angle.cos(), angle.sin(), "halves"))
            longer = ops.rope(x, Rotation(1.5 * angle.cos(), 1.5 * angle.sin(), "halves"))
        torch.testing.assert_close(longer, 1.5 * plain)


def test_a_rotation_serves_heads_dtypes_operations_and_directions_at_once() -> None:
    angle = torch.arange(15.0).view(5, 3) / 7
    shared = Rotation(angle.cos(), angle.sin(), "halves")
    stream = torch.Generator().manual_seed(0)
    for heads, width in ((1, 8), (4, 8), (2, 6)):
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(5, heads, width, generator=stream, dtype=dtype, requires_grad=True)
            found = []
            for name, turns in (
                ("cpu", shared),
                ("reference", Rotation(angle.cos(), angle.sin(), "halves")),
            ):
                with ops.use(name):
                    out = ops.rope(x, turns) + ops.qk_norm_rope(x, turns)
                found.append((out, *torch.autograd.grad(out.square().sum(), x)))
            torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("pairs", [3, 4])
def test_a_table_serves_as_its_turns_do(monkeypatch: pytest.MonkeyPatch, pairs: int) -> None:
    angle = torch.arange(20.0 * pairs).view(20, pairs) / 7
    table = RotationTable(angle.cos(), angle.sin())
    positions = torch.tensor([[3, 19, 0], [7, 7, 1]])
    drawn = Rotation(angle[positions].cos(), angle[positions].sin())
    for most in (cpu.SMALL_TABLE, 0):  # a table of all heads' turns, and of one head's
        monkeypatch.setattr(cpu, "SMALL_TABLE", most)
        for heads in (1, 3):
            x = torch.linspace(-1, 1, 6 * heads * 8).view(2, 3, heads, 8).requires_grad_()
            for op in (ops.rope, ops.qk_norm_rope):
                with ops.use("cpu"):
                    outs = [op(x, table.at(positions)), op(x, drawn)]
                slopes = [torch.autograd.grad(out.exp().sum(), x) for out in outs]
                assert torch.equal(*outs)
                assert torch.equal(slopes[0][0], slopes[1][0])


def test_a_wider_head_is_for_others() -> None:
    wide, still = torch.ones(1, 1, 1025), Rotation(torch.ones(1, 2), torch.zeros(1, 2))
    with ops.use("interpret"), pytest.raises(KernelError, match="at most 1024 channels"):
        ops.rope(wide, still)
    assert torch.equal(ops.rope(wide, still), wide)
