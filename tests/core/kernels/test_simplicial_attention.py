"""2-simplicial attention: its laws on every backend, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from limite.core.kernels import ops
from limite.core.kernels.cpu import simplicial_short
from limite.core.kernels.layout import Layout
from limite.plugins.conformance.kernels import run, simplicial_attention
from limite.plugins.conformance.kernels.run import Backend

BACKENDS = [
    run.REFERENCE,
    run.CPU,
    run.INTERPRET,
    pytest.param(run.TRITON, marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "law", simplicial_attention.LAWS.values(), ids=list(simplicial_attention.LAWS)
)
def test_law(law: run.Law, backend: Backend) -> None:
    law(backend)


@pytest.mark.parametrize(
    "law", simplicial_attention.LAWS.values(), ids=list(simplicial_attention.LAWS)
)
def test_law_of_cpu_in_blocks(law: run.Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which all pairs at once would be faster are computed as larger ones are."""
    monkeypatch.setattr(simplicial_short, "FEW", 0)
    monkeypatch.setattr(simplicial_short, "MOST", 0)
    law(run.CPU)


def test_interpreted_bfloat16() -> None:
    """Inputs in bfloat16 are computed with in float32 there, and results rounded."""
    law = simplicial_attention.LAWS["equals_reference_in_other_dtypes"]
    law(Backend("interpret", tiled=True, dtypes=(torch.bfloat16,)))


KEYS = torch.zeros(1, 2, 5, 16)
FINE: dict[str, Any] = {
    "q": torch.zeros(1, 4, 5, 16),
    "k1": KEYS,
    "k2": KEYS,
    "v1": KEYS,
    "v2": KEYS,
    "scale": 1.0,
    "window1": 3,
    "window2": None,
}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"window1": 0}, "window1: expected None or a whole number of keys from 1 to 2**30, got 0"),
        (
            {"window2": -2},
            "window2: expected None or a whole number of keys from 1 to 2**30, got -2",
        ),
        ({"k2": KEYS[:, :, :4]}, "k2: expected [1, 2, 5, 16], the shape of k1, got [1, 2, 4, 16]"),
        ({"v1": KEYS.half()}, "v1: expected the dtype of q, torch.float32, got torch.float16"),
        ({"q": torch.zeros(1, 3, 5, 16)}, "k1: expected a number of heads that divides the 3"),
        ({"q": torch.zeros(1, 4, 6, 16)}, "k1: expected at least the 6 tokens of q, got 5"),
        ({"form": "cubic"}, "form: expected 'trilinear' or 'determinant', got 'cubic'"),
        ({"segments": torch.zeros(1, 4, dtype=torch.int64)}, "segments: expected [1, 5]"),
        ({"segments": Layout.from_lengths([2, 2])}, "segments: expected a Layout of 5 tokens"),
    ],
)
def test_refuses(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        ops.simplicial_attention(**{**FINE, **wrong})


@pytest.mark.parametrize("name", ["cpu", "reference", "interpret"])
def test_log_sum_exp_only_where_needed(name: str) -> None:
    with ops.use(f"simplicial_attention={name}"):
        out, lse = ops.simplicial_attention(**FINE, need_lse=False)
        learned = {**FINE, "v1": KEYS.clone().requires_grad_()}
        again, none = ops.simplicial_attention(**learned, need_lse=False)
        again.sum().backward()
    assert lse is None
    assert none is None
    assert torch.equal(out, again)


def test_width_without_kernel() -> None:
    wide = {**FINE, "q": torch.zeros(1, 4, 5, 24)}
    wide |= dict.fromkeys(("k1", "k2", "v1", "v2"), torch.zeros(1, 2, 5, 24))
    with ops.use("interpret"), pytest.raises(ValueError, match="head widths"):
        ops.simplicial_attention(**wide)


def test_determinants_have_their_sign() -> None:
    noise = torch.Generator().manual_seed(3)
    q, k1, k2 = torch.randn(3, 1, 1, 1, 7, generator=noise, dtype=torch.float64)
    out, lse = ops.simplicial_attention(
        q, k1, k2, q, q, scale=1.0, window1=None, window2=None, form="determinant"
    )
    assert lse is not None
    triples = torch.stack((q, k1, k2))[..., :6].unflatten(-1, (2, 3)).permute(1, 2, 3, 4, 0, 5)
    torch.testing.assert_close(lse, torch.linalg.det(triples).sum(-1))
    torch.testing.assert_close(out, q * q)
