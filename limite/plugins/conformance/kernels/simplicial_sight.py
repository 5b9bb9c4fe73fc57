"""Laws of ``simplicial_attention``: which tokens see which."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from limite.plugins.conformance.kernels.run import Backend, examples
from limite.plugins.conformance.kernels.simplicial_cases import Case, build, cases
from limite.plugins.conformance.kernels.streams import MILD, outcome, require_outcome
from limite.plugins.conformance.kernels.streams_sight import (
    require_blind,
    require_causal,
    require_chunks_as_whole,
    require_packed_as_separate,
    require_padding_is_nothing,
)


def wide_window_is_none(backend: Backend) -> None:
    """A window of all keys, or more, is as none, in either stream."""

    @given(
        cases(backend, window1=None, window2=None, batch=1, kv_heads=1, group=2, keys=9, peak=4.0),
        st.sampled_from((0, 1, 1000)),
    )
    @examples(backend, 2)
    def same(case: Case, beyond: int) -> None:
        window = case.keys + beyond
        whole = outcome(backend, case)
        for name in ("window1", "window2"):
            windowed = case.changed(arguments={**case.arguments, name: window})
            require_outcome(case, outcome(backend, windowed), whole)

    same()


def causal(backend: Backend) -> None:
    """No output before a token depends on it, to the bit, and no gradient flows the other way."""

    @given(cases(backend, segments=None, queries=None), st.randoms(use_true_random=False))
    @example(build(keys=17, window1=9), None)
    @examples(backend, 2)
    def blind(case: Case, random: Any) -> None:
        token = case.keys // 2 if random is None else random.randrange(case.keys)
        require_causal(backend, case, token)

    blind()


def blind_outside_windows(backend: Backend) -> None:
    """A key or value outside its stream's window changes nothing there, to the bit."""

    @given(
        cases(backend, regimes=MILD, keys=17, batch=1, kv_heads=1, window1=6, window2=3),
        st.sampled_from((1, 2)),
        st.integers(0, 16),
    )
    @example(build(keys=17, window1=8, window2=4), 1, 3)
    @example(build(keys=17, window1=4, window2=9, blocks=(16, 8)), 2, 5)
    @example(build(keys=17, window1=4, window2=9, blocks=(8, 16)), 1, 8)
    @examples(backend, 4)
    def blind(case: Case, stream: int, token: int) -> None:
        window = case.arguments[f"window{stream}"]
        require_blind(backend, case, (f"k{stream}", f"v{stream}"), token, window)

    blind()


def packed_equals_separate(backend: Backend) -> None:
    """Rows packed end to end, as numbers or as a layout, are as each row by itself."""
    rows = st.lists(st.sampled_from((0, 1, 2, 7, 8)), min_size=1, max_size=3).filter(any)

    @given(rows, cases(backend, regimes=MILD, keys=1, queries=None, peak=4.0, batch=1))
    @example([7, 0, 9, 1], build(window1=4, window2=None))
    @examples(backend, 2)
    def same(lengths: list[int], drawn: Case) -> None:
        require_packed_as_separate(backend, drawn, lengths)

    same()


def padding_is_nothing(backend: Backend) -> None:
    """Whatever lies at padding, at either end and even NaN, results are 0 there and the rest
    is as if it were not."""

    @given(
        cases(backend, regimes=MILD, batch=1, keys=7, segments=None, queries=None),
        st.integers(0, 9),
        st.integers(0, 9),
    )
    @example(build(keys=9, window1=4), 3, 5)
    @example(build(keys=2), 0, 9)
    @examples(backend, 3)
    def nothing(case: Case, left: int, right: int) -> None:
        require_padding_is_nothing(backend, case, left, right)

    nothing()


def chunked_prefill(backend: Backend) -> None:
    """Queries a chunk at a time, over the keys so far, give what all together give."""

    @given(cases(backend, regimes=MILD, segments=None, queries=None), st.sampled_from((1, 5, 8, 9)))
    @example(build(keys=17, window1=7, group=2), 8)
    @examples(backend, 3)
    def same(case: Case, chunk: int) -> None:
        require_chunks_as_whole(backend, case.changed(layout="contiguous"), chunk)

    same()
