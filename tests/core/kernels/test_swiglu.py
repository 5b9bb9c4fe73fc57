"""SwiGLU: the laws on every backend, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from limite.core.kernels import ops
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.swiglu import LAWS

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
@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0,)])
def test_nothing_gives_nothing(name: str, shape: tuple[int, ...]) -> None:
    gate, up = torch.ones(shape, requires_grad=True), torch.ones(shape, requires_grad=True)
    with ops.use(name):
        found = ops.swiglu(gate, up)
        found.backward(torch.ones(shape))
    assert found.shape == shape
    for leaf in (gate, up):
        assert leaf.grad is not None
        assert leaf.grad.shape == shape


@pytest.mark.parametrize("width", [7, 16, 176])
def test_a_row_without_gradients_has_the_same_bits_among_any_others(width: int) -> None:
    gate = torch.linspace(-9, 9, 40 * width).reshape(40, width)
    up = gate.flip(0)
    with torch.no_grad(), ops.use("cpu"):
        whole = ops.swiglu(gate, up)
        for rows in range(1, 40):
            assert torch.equal(ops.swiglu(gate[:rows], up[:rows]), whole[:rows])


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("layout", ["dense", "halves", "columns"])
def test_a_row_has_the_same_bits_among_more_than_fit_near(dtype: torch.dtype, layout: str) -> None:
    rows, width = 1300, 343
    both = torch.linspace(-9, 9, rows * 2 * width).view(rows, 2, width).flip(0).to(dtype)
    gate, up = both[:, 0], both[:, 1]  # halves of one projection
    if layout == "dense":
        gate, up = (each.clone().view(10, 130, width) for each in (gate, up))
    elif layout == "columns":
        gate, up = (each.t().contiguous().t() for each in (gate, up))
    with torch.no_grad(), ops.use("cpu"):
        whole = ops.swiglu(gate, up)
        assert whole.shape == gate.shape
        few = [ops.swiglu(*each) for each in zip(gate.split(7), up.split(7), strict=True)]
        assert torch.equal(torch.cat(few), whole)
    with torch.no_grad(), ops.use("reference"):
        torch.testing.assert_close(ops.swiglu(gate, up), whole)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    gate = torch.linspace(-9, 9, 64).to(dtype)
    up = gate.flip(0)
    expected = (torch.nn.functional.silu(gate.float()) * up.float()).to(dtype)
    for name in ("reference", "cpu"):
        with ops.use(name):
            assert torch.equal(ops.swiglu(gate, up), expected)


@pytest.mark.parametrize(
    ("gate", "up", "words"),
    [
        (torch.ones(()), torch.ones(()), r"gate: expected at least one axis, got \[\]"),
        (torch.ones(2, 3), torch.ones(2, 4), r"up: expected \[2, 3\].*got \[2, 4\]"),
        (torch.ones(2), torch.ones(2).double(), "up: expected the dtype of gate, torch.float32"),
    ],
)
def test_what_does_not_fit_is_refused(gate: torch.Tensor, up: torch.Tensor, words: str) -> None:
    with pytest.raises(ValueError, match=f"swiglu: .*{words}"):
        ops.swiglu(gate, up)
