"""Laws of ``attention``: which tokens see which."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.plugins.conformance.kernels.attention_cases import INPUTS, Case, build, cases, several
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.streams import MILD, both, outcome, require_outcome
from limite.plugins.conformance.kernels.streams_sight import (
    require_blind,
    require_causal,
    require_chunks_as_whole,
    require_packed_as_separate,
    require_padding_is_nothing,
)


def wide_window_is_none(backend: Backend) -> None:
    """A window of all keys, or more, is as none."""

    @given(cases(backend, window=None, regimes=MILD, offset=0.0), st.sampled_from((0, 1, 1000)))
    @several(backend, 5)
    def same(case: Case, beyond: int) -> None:
        windowed = case.rebuilt(window=case.keys + beyond)
        require_outcome(case, outcome(backend, windowed), outcome(backend, case))

    same()


def window_one_gives_values(backend: Backend) -> None:
    """A token that sees only itself gives its own value, whatever its score."""

    @given(cases(backend, window=1, regimes=MILD, offset=0.0, flows="out", segments=None))
    @example(build(keys=17, window=1, group=2, flows="out"))
    @several(backend, 4)
    def own(case: Case) -> None:
        found = outcome(backend, case)
        values = case.inputs["v"][:, :, case.first :].repeat_interleave(case.group, 1)
        up = case.upstream[0]
        assert up is not None
        gradients = {name: torch.zeros_like(case.inputs[name]) for name in INPUTS}
        gradients["v"][:, :, case.first :] = up.unflatten(1, (-1, case.group)).sum(2)
        require_outcome(case, found, Outcome((values, None), gradients))

    own()


def causal(backend: Backend) -> None:
    """No output before a token depends on it, to the bit, and no gradient flows the other way."""

    @given(cases(backend, segments=None, queries=None), st.randoms(use_true_random=False))
    @example(build(keys=17), None)
    @several(backend, 6)
    def blind(case: Case, random: Any) -> None:
        token = case.keys // 2 if random is None else random.randrange(case.keys)
        require_causal(backend, case, token)

    blind()


def blind_outside_window(backend: Backend) -> None:
    """A key outside a token's window changes nothing there, to the bit."""

    @given(cases(backend, regimes=MILD, keys=25, window=4), st.integers(0, 24))
    @example(build(keys=25, window=8, blocks=(8, 8)), 3)
    @example(build(keys=25, window=9, blocks=(16, 8)), 7)
    @several(backend, 5)
    def blind(case: Case, token: int) -> None:
        require_blind(backend, case, ("k", "v"), token, case.arguments["window"])

    blind()


def packed_equals_separate(backend: Backend) -> None:
    """Rows packed end to end, as numbers or as a layout, are as each row by itself."""
    rows = st.lists(st.sampled_from((0, 1, 2, 7, 8, 9, 16)), min_size=1, max_size=4).filter(any)

    @given(rows, cases(backend, regimes=MILD, keys=1, queries=None, offset=0.0, batch=1))
    @example([7, 0, 9, 1], build(window=4))
    @example([8, 16], build(group=2, kv_heads=2, blocks=(16, 8)))
    @example([33, 3], build(window=4))
    @several(backend, 3)
    def same(lengths: list[int], drawn: Case) -> None:
        require_packed_as_separate(backend, drawn, lengths)

    same()


def padding_is_nothing(backend: Backend) -> None:
    """Whatever lies at padding, at either end and even NaN, results are 0 there and the rest
    is as if it were not."""

    @given(
        cases(backend, regimes=MILD, batch=1, segments=None), st.integers(0, 9), st.integers(0, 9)
    )
    @example(build(keys=9, window=4, softcap=1.0), 3, 8)
    @example(build(keys=8, group=2), 8, 1)
    @example(build(keys=2), 0, 17)
    @several(backend, 4)
    def nothing(case: Case, left: int, right: int) -> None:
        require_padding_is_nothing(backend, case.rebuilt(queries=None), left, right)

    nothing()


def chunked_prefill(backend: Backend) -> None:
    """Queries a chunk at a time, over the keys so far, give what all together give."""

    @given(cases(backend, regimes=MILD, segments=None, queries=None), st.sampled_from((1, 5, 8, 9)))
    @example(build(keys=17, window=7, group=2), 8)
    @several(backend, 4)
    def same(case: Case, chunk: int) -> None:
        require_chunks_as_whole(backend, case, chunk)

    same()


def split_keys_merge(backend: Backend) -> None:
    """Keys in two parts, joined by their log-sum-exps, give what all together give."""

    @given(cases(backend, regimes=MILD, segments=None, queries=1, window=None), st.integers(1, 24))
    @example(build(keys=25, queries=1, group=2), 8)
    @several(backend, 4)
    def same(case: Case, split: int) -> None:
        if not 0 < split < case.keys:
            return
        parts = []
        for keys in (slice(0, split), slice(split, None)):
            halves = {name: case.inputs[name][:, :, keys] for name in ("k", "v")}
            parts.append(both(outcome(backend, case.changed(**halves), gradients=False)))
        (first, first_lse), (second, second_lse) = parts
        lse = torch.logaddexp(first_lse, second_lse)  # [B, H, 1]
        out = first * (first_lse - lse).exp()[..., None]
        out = out + second * (second_lse - lse).exp()[..., None]
        whole = outcome(backend, case, gradients=False)
        require_outcome(case, Outcome((out, lse), {}), whole, times=2.0)

    same()
