"""The linear scan: its laws on every backend, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels import ops
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.linear_scan import LAWS

BACKENDS = [
    pytest.param(run.REFERENCE, id="reference"),
    pytest.param(run.CPU, id="cpu"),
    pytest.param(run.INTERPRET, id="interpret"),
    pytest.param(run.TRITON, id="triton", marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
@pytest.mark.parametrize("backend", BACKENDS)
def test_law(backend: run.Backend, law: run.Law) -> None:
    law(backend)


@pytest.mark.parametrize("name", ["reference", "cpu", "interpret"])
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
@pytest.mark.parametrize("reverse", [False, True])
def test_nothing_gives_nothing(name: str, shape: tuple[int, int], reverse: bool) -> None:
    a, b = torch.ones(shape, requires_grad=True), torch.ones(shape, requires_grad=True)
    carry = torch.ones(shape[0], requires_grad=True)
    with ops.use(f"linear_scan={name}"):
        y = ops.linear_scan(a, b, reverse=reverse, carry=carry)
        y.backward(torch.ones(shape))
    assert y.shape == shape
    for leaf in (a, b, carry):
        assert leaf.grad is not None
        assert not leaf.grad.any()


def test_long_rows_agree_with_the_definition() -> None:
    stream = torch.Generator().manual_seed(0)
    a = 0.5 + 0.5 * torch.rand((2, 301), generator=stream, dtype=torch.float64)
    b = torch.randn((2, 301), generator=stream, dtype=torch.float64)
    for reverse in (False, True):
        with ops.use("cpu"):
            fast = ops.linear_scan(a, b, reverse=reverse)
        with ops.use("reference"):
            torch.testing.assert_close(fast, ops.linear_scan(a, b, reverse=reverse))


def test_steps_may_be_taken_together_in_any_order() -> None:
    # The interpreter goes from left to right, where only a GPU would see that they may not.
    from limite.core.kernels.triton.linear_scan import _after

    after = _after.fn
    first, second, third = ((2.0, 3.0), (5.0, 7.0), (11.0, 13.0))
    left = after(*after(*first, *second), *third)
    assert left == after(*first, *after(*second, *third))
    start = 17.0
    steps = 11.0 * (5.0 * (2.0 * start + 3.0) + 7.0) + 13.0
    assert left[0] * start + left[1] == steps


@pytest.mark.parametrize(
    ("a", "b", "carry", "words"),
    [
        (torch.ones(3), torch.ones(3), None, r"a: expected \[any, any\], got \[3\]"),
        (torch.ones(2, 3), torch.ones(2, 4), None, r"b: expected \[2, 3\].*got \[2, 4\]"),
        (torch.ones(2, 3), torch.ones(2, 3), torch.ones(3), r"carry: expected \[2\].*got \[3\]"),
        (torch.ones(2, 3), torch.ones(2, 3).double(), None, "b: expected the dtype of a"),
        (torch.ones(2, 3).half(), torch.ones(2, 3).half(), None, "a: expected float32 or float64"),
    ],
)
def test_what_does_not_fit_is_refused(
    a: torch.Tensor, b: torch.Tensor, carry: torch.Tensor | None, words: str
) -> None:
    with pytest.raises(ValueError, match=f"linear_scan: .*{words}"):
        ops.linear_scan(a, b, carry=carry)
