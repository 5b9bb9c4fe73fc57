"""Decoding of 2-simplicial attention: its laws on every backend, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from limite.core.kernels import ops
from limite.plugins.conformance.kernels import run, simplicial_decode
from limite.plugins.conformance.kernels.run import Backend

BACKENDS = [
    run.REFERENCE,
    run.CPU,
    run.INTERPRET,
    pytest.param(run.TRITON, marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda each: each.name)
@pytest.mark.parametrize("law", simplicial_decode.LAWS.values(), ids=list(simplicial_decode.LAWS))
def test_law(law: run.Law, backend: Backend) -> None:
    law(backend)


FIRST, SECOND = torch.zeros(2, 2, 5, 16), torch.zeros(2, 2, 3, 16)
FINE: dict[str, Any] = {
    "q": torch.zeros(2, 4, 1, 16),
    "k1_cache": FIRST,
    "k2_cache": SECOND,
    "v1_cache": FIRST,
    "v2_cache": SECOND,
    "lengths": torch.tensor([4, 2]),
    "scale": 1.0,
    "window1": 5,
    "window2": 3,
}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"q": torch.zeros(2, 4, 2, 16)}, "q: expected one token for each row, got 2 tokens"),
        ({"window1": 0}, "window1: expected None or a whole number of keys from 1 to 2**30, got 0"),
        ({"v2_cache": FIRST}, "v2_cache: expected [2, 2, 3, 16], the shape of k2_cache"),
        ({"lengths": torch.tensor([4])}, "lengths: expected [2], one for each row of q, got [1]"),
        ({"lengths": torch.tensor([4.0, 2.0])}, "lengths: expected int32 or int64"),
    ],
)
def test_refuses(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        ops.simplicial_attention_decode(**{**FINE, **wrong})


@pytest.mark.parametrize("name", ["cpu", "reference", "interpret"])
def test_log_sum_exp_only_where_needed(name: str) -> None:
    with ops.use(f"simplicial_attention_decode={name}"):
        out, lse = ops.simplicial_attention_decode(**FINE, need_lse=False)
    assert lse is None
    assert torch.equal(out, torch.zeros(2, 4, 1, 16))


@pytest.mark.parametrize(("window1", "window2"), [(None, 70), (150, 3), (66, None), (64, 64)])
def test_long_windows_are_read_in_several_pieces(window1: int | None, window2: int | None) -> None:
    noise = torch.Generator().manual_seed(1)
    lengths = torch.tensor([1, 64, 65, 140, 400])  # the last has gone round

    def drawn(heads: int, slots: int) -> torch.Tensor:
        return torch.randn(5, heads, slots, 4, generator=noise, dtype=torch.float64)

    streams = (drawn(4, 1), drawn(2, 160), drawn(2, 140), drawn(2, 160), drawn(2, 140))
    sight: dict[str, Any] = {"scale": 0.7, "window1": window1, "window2": window2}
    found = {}
    for name in ("cpu", "reference"):
        with ops.use(f"simplicial_attention_decode={name}"):
            found[name] = ops.simplicial_attention_decode(*streams, lengths, **sight)
    for mine, formula in zip(found["cpu"], found["reference"], strict=True):
        torch.testing.assert_close(mine, formula, rtol=1e-12, atol=1e-12)
    with ops.use("simplicial_attention_decode=cpu"):
        few = ops.simplicial_attention_decode(*(x[:3] for x in streams), lengths[:3], **sight)
    assert torch.equal(few[0], found["cpu"][0][:3])
