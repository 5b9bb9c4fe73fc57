"""The own value's removal and the head gate: the laws on every backend, and what is refused."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels import ops
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.head_mix import LAWS

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
@pytest.mark.parametrize("shape", [(0, 2, 4), (3, 2, 0), (2, 0, 2, 4)])
def test_nothing_gives_nothing(name: str, shape: tuple[int, ...]) -> None:
    leaves = [
        torch.ones(size, requires_grad=True)
        for size in (shape, (*shape[:-2], 1, shape[-1]), shape[-2:-1], shape[:-1])
    ]
    with ops.use(name):
        found = ops.head_mix(*leaves)
        found.backward(torch.ones(shape))
    assert found.shape == shape
    for leaf in leaves:
        assert leaf.grad is not None
        assert leaf.grad.shape == leaf.shape
        assert not leaf.grad.any()


def test_with_neither_half_outputs_are_what_they_were() -> None:
    outputs = torch.ones(3, 2, 4)
    assert ops.head_mix(outputs, torch.ones(3, 1, 4), None, None) is outputs


@pytest.mark.parametrize("name", NAMES)
def test_tokens_need_no_axis_and_may_have_several(name: str) -> None:
    stream = torch.Generator().manual_seed(0)
    outputs = torch.randn(2, 3, 4, 5, 8, generator=stream)
    values = torch.randn(2, 3, 4, 1, 8, generator=stream)
    alpha, gates = torch.ones(5), torch.randn(2, 3, 4, 5, generator=stream)
    with torch.no_grad(), ops.use(name):
        whole = ops.head_mix(outputs, values, alpha, gates)
        one = ops.head_mix(outputs[1, 2, 3], values[1, 2, 3], alpha, gates[1, 2, 3])
    torch.testing.assert_close(one, whole[1, 2, 3])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"outputs": torch.ones(4)}, r"outputs: expected \[..., H, D\], got \[4\]"),
        ({"values": torch.ones(3, 3, 8)}, "values: expected a number of heads that divides the 4"),
        ({"values": torch.ones(3, 2, 6)}, r"values: expected \[3, any, 8\], got \[3, 2, 6\]"),
        ({"alpha": torch.ones(2)}, r"alpha: expected \[4\], one for each head, got \[2\]"),
        ({"gates": torch.ones(3, 2)}, r"gates: expected \[3, 4\], one for each head"),
        ({"values": torch.ones(3, 2, 8).half()}, "values: expected the dtype of outputs"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict, words: str) -> None:
    fitting = {
        "outputs": torch.ones(3, 4, 8),
        "values": torch.ones(3, 2, 8),
        "alpha": torch.ones(4),
        "gates": torch.ones(3, 4),
    }
    with pytest.raises(ValueError, match=f"head_mix: .*{words}"):
        ops.head_mix(**(fitting | changed))
