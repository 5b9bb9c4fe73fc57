"""The ways of CPU attention, each held to the definition beyond the sizes that laws draw."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.cpu import attention as ways
from limite.core.kernels.cpu import attention_chunked as chunked
from limite.core.kernels.cpu import attention_rectangle as rectangle
from limite.core.kernels.layout import Layout
from limite.core.kernels.segments import Segments

CLOSE = {"rtol": 1e-10, "atol": 1e-11}  # float64: the order of sums
STREAMS = ("q", "k", "v")


def streams(
    tokens: int, *, queries: int | None = None, batch: int = 1, heads: int = 6, kv_heads: int = 2
) -> dict[str, Tensor]:
    """Packed as a model has them: ``[B, T, heads, D]``, seen as ``[B, heads, T, D]``."""
    draw = torch.Generator().manual_seed(tokens)
    sizes = {"q": (queries or tokens, heads), "k": (tokens, kv_heads), "v": (tokens, kv_heads)}
    return {
        name: torch.randn(batch, count, many, 4, dtype=torch.float64, generator=draw)
        .transpose(1, 2)
        .requires_grad_()
        for name, (count, many) in sizes.items()
    }


def results(
    backend: str,
    inputs: dict[str, Tensor],
    *,
    window: int | None,
    segments: Segments | None = None,
    softcap: float | None = None,
    need_lse: bool = False,
) -> list[Tensor]:
    """Output, log-sum-exp where there is one, and gradients."""
    with ops.use(f"attention={backend}"):
        out, lse = ops.attention(
            **inputs,
            scale=0.4,
            window=window,
            segments=segments,
            softcap=softcap,
            need_lse=need_lse,
        )
    found = [out] if lse is None else [out, lse.masked_fill(lse == -torch.inf, 0.0)]
    upstream = [torch.linspace(-1, 2, x.numel(), dtype=x.dtype).view_as(x) for x in found]
    return found + list(torch.autograd.grad(found, [inputs[name] for name in STREAMS], upstream))


LENGTHS = {
    "one row": [9],
    "equal rows": [12, 12, 12],
    "ragged rows": [1, 9, 33, 4, 70],
    "an empty row": [3, 0, 5],
    "a long row": [7, 150],
}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
@pytest.mark.parametrize("window", [None, 1, 8, 20, 70])
@pytest.mark.parametrize(("need_lse", "softcap"), [(False, None), (True, None), (False, 1.5)])
def test_packed_rows(
    lengths: list[int], window: int | None, need_lse: bool, softcap: float | None
) -> None:
    inputs = streams(sum(lengths))
    asked = {"window": window, "softcap": softcap, "need_lse": need_lse}
    found = results("cpu", inputs, segments=Layout.from_lengths(lengths), **asked)
    exact = results("reference", inputs, segments=Layout.from_lengths(lengths), **asked)
    torch.testing.assert_close(found, exact, **CLOSE)


@pytest.mark.parametrize("tokens", [3, 64, 65, 150])
@pytest.mark.parametrize("window", [None, 5, 40, 149])
@pytest.mark.parametrize("last", [None, 1, 40])
@pytest.mark.parametrize("need_lse", [False, True])
def test_rectangles(tokens: int, window: int | None, last: int | None, need_lse: bool) -> None:
    inputs = streams(tokens, queries=last and min(last, tokens), batch=2)
    found = results("cpu", inputs, window=window, need_lse=need_lse)
    exact = results("reference", inputs, window=window, need_lse=need_lse)
    torch.testing.assert_close(found, exact, **CLOSE)


@pytest.mark.parametrize("queries", [None, 30])
@pytest.mark.parametrize("window", [None, 12, 90])
def test_numbered_rows(queries: int | None, window: int | None) -> None:
    inputs = streams(130, queries=queries, batch=2)
    segments = torch.tensor([[0] * 40 + [3] * 85 + [-1] * 5, [-1] * 7 + [1] * 100 + [2] * 23])
    found = results("cpu", inputs, window=window, segments=segments, need_lse=True)
    exact = results("reference", inputs, window=window, segments=segments, need_lse=True)
    torch.testing.assert_close(found, exact, **CLOSE)


@pytest.mark.parametrize("queries", [None, 9])
def test_nothing_but_padding(queries: int | None) -> None:
    inputs = streams(20, queries=queries)
    padding = torch.full((1, 20), -1)
    out, lse, *gradients = results("cpu", inputs, window=None, segments=padding, need_lse=True)
    for found in (out, *gradients):
        assert not bool(found.any())
    with ops.use("attention=cpu"):
        _, lse = ops.attention(**inputs, scale=1.0, segments=padding)
    assert bool((lse == -torch.inf).all())


def test_padding_may_hold_nan() -> None:
    segments = torch.tensor([[-1] * 3 + [0] * 20 + [-1] * 2])
    for queries in (None, 10):
        clean = streams(25, queries=queries)
        spoilt = {}
        for name, x in clean.items():
            padding = (segments[0, -x.shape[2] :] < 0)[:, None]
            spoilt[name] = x.detach().masked_fill(padding, torch.nan).requires_grad_()
        found = results("cpu", spoilt, window=6, segments=segments)
        torch.testing.assert_close(found, results("cpu", clean, window=6, segments=segments))


@pytest.mark.parametrize("window", [None, 30])
def test_sizes_of_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch, window: int | None) -> None:
    inputs = streams(150, batch=3)
    usual = results("cpu", inputs, window=window, need_lse=True)
    monkeypatch.setattr(chunked, "CHUNK", 7)
    monkeypatch.setattr(chunked, "SHORTEST_CHUNK", 7)
    monkeypatch.setattr(chunked, "NEAR_SCORES", 1)
    torch.testing.assert_close(results("cpu", inputs, window=window, need_lse=True), usual, **CLOSE)


@pytest.mark.parametrize("softcap", [None, 1.5])
def test_how_many_short_rows_are_near_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, softcap: float | None
) -> None:
    inputs = streams(13, queries=11, batch=3)
    usual = results("cpu", inputs, window=6, softcap=softcap, need_lse=True)
    for rows in (1, 4):  # of batch rows by key heads
        monkeypatch.setattr(rectangle, "NEAR_SCORES", rows * 3 * 11 * 13)
        found = results("cpu", inputs, window=6, softcap=softcap, need_lse=True)
        torch.testing.assert_close(found, usual, **CLOSE)


def test_a_narrow_window_in_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [70, 5, 33]
    inputs = streams(sum(lengths))
    usual = results("cpu", inputs, window=9, segments=Layout.from_lengths(lengths))
    monkeypatch.setattr(ways, "NARROW", 0)
    for need_lse in (False, True):
        found = results(
            "cpu", inputs, window=9, segments=Layout.from_lengths(lengths), need_lse=need_lse
        )
        torch.testing.assert_close(found[0], usual[0], **CLOSE)


def test_with_and_without_gradients_the_same_bits() -> None:
    lengths = [70, 5, 33]
    for window, need_lse in ((None, False), (9, False), (None, True), (66, True)):
        inputs = streams(sum(lengths))
        layout = Layout.from_lengths(lengths)
        asked = {"scale": 0.3, "window": window, "segments": layout, "need_lse": need_lse}
        taught = ops.attention(**inputs, **asked)
        with torch.no_grad():
            seen = ops.attention(**inputs, **asked)
        assert torch.equal(taught[0], seen[0])


def test_bfloat16_is_rounded_once() -> None:
    inputs = {name: x.detach().bfloat16() for name, x in streams(90).items()}
    with ops.use("attention=cpu"):
        out, lse = ops.attention(**inputs, scale=0.4, window=70)
        wide, _ = ops.attention(
            **{name: x.float() for name, x in inputs.items()}, scale=0.4, window=70
        )
    assert lse is not None
    assert lse.dtype == torch.float32
    assert torch.equal(out, wide.bfloat16())
