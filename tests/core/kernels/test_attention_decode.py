"""Decoding attention: its laws on every backend, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels import ops
from limite.plugins.conformance.kernels import attention_decode, run
from limite.plugins.conformance.kernels.attention_decode_cases import (
    build,
    expected,
    outcome,
    require_outcome,
)
from limite.plugins.conformance.kernels.run import Backend

BACKENDS = [
    run.REFERENCE,
    run.CPU,
    run.NATIVE,
    run.INTERPRET,
    pytest.param(run.TRITON, marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda each: each.name)
@pytest.mark.parametrize("law", attention_decode.LAWS.values(), ids=list(attention_decode.LAWS))
def test_law(law: run.Law, backend: Backend) -> None:
    law(backend)


def test_bfloat16_interpreted() -> None:
    """The interpreter loads bfloat16 and computes in float32."""
    case = build(dtype=torch.bfloat16, group=2, lengths=(33, 0, 5))
    require_outcome(
        case,
        outcome(run.INTERPRET, case),
        expected(case),
    )


def test_no_gradient() -> None:
    case = build()
    q = case.inputs["q"].requires_grad_()
    rest = [case.inputs[name] for name in ("k_cache", "v_cache", "lengths")]
    out, lse = ops.attention_decode(q, *rest, scale=1.0)
    assert lse is not None
    assert not out.requires_grad
    assert not lse.requires_grad


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q": torch.zeros(3, 1, 2, 16)}, "q: expected one token for each row, got 2 tokens"),
        ({"k_cache": torch.zeros(3, 1, 33, 8)}, r"k_cache: expected \[3, any, any, 16\]"),
        ({"v_cache": torch.zeros(3, 1, 32, 16)}, r"v_cache: expected \[3, 1, 33, 16\]"),
        ({"lengths": torch.zeros(2, dtype=torch.int64)}, r"lengths: expected \[3\]"),
        ({"lengths": torch.zeros(3)}, "lengths: expected int32 or int64"),
        ({"window": 0}, "window: expected None or a whole number"),
        ({"softcap": -1.0}, "softcap: expected None or a finite number above 0, got -1.0"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, object], words: str) -> None:
    case = build()
    with pytest.raises(ValueError, match=words):
        ops.attention_decode(**{**case.inputs, "scale": 1.0, **changes})
