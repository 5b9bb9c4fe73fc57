"""Laws of ``attention``."""

from __future__ import annotations

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core.kernels.segments import visible
from limite.plugins.conformance.kernels import attention_sight
from limite.plugins.conformance.kernels.attention_cases import INPUTS, Case, build, cases, several
from limite.plugins.conformance.kernels.run import Backend, Law, Outcome
from limite.plugins.conformance.kernels.streams import (
    MILD,
    both,
    differentiated,
    expected,
    outcome,
    require_as_good_as_plain,
    require_nothing_of_nothing,
    require_outcome,
    require_repeats,
)
from limite.plugins.conformance.kernels.streams_sight import require_nan_shows
from limite.plugins.conformance.kernels.values import REGIMES, fill


def equals_reference(backend: Backend) -> None:
    """The output, the log-sum-exp and every gradient are those of the float64 reference."""
    for dtype in backend.dtypes:
        count = 18 if dtype == torch.float32 else 6
        regimes = [each for each in REGIMES if dtype != torch.float16 or each != "tiny"]

        # Gradients of 1e-8 are 0 in float16, whoever computes them.
        @given(cases(backend, dtype, regimes=regimes))
        @example(build(dtype=dtype, keys=25, window=9, group=2, kv_heads=2, blocks=(8, 16)))
        @example(build(dtype=dtype, keys=25, queries=9, window=8, blocks=(16, 8), group=3))
        @example(build(dtype=dtype, keys=25, softcap=0.7, segments=[[0] * 9 + [1] * 16]))
        @example(build(dtype=dtype, keys=17, flows="lse", scale=1.0, width=32))
        @example(build(dtype=dtype, keys=9, offset=-200.0, layout="transposed"))
        @example(build(dtype=dtype, keys=9, scale=0.0, window=3))
        @example(build(dtype=dtype, keys=25, window=17))
        @example(build(dtype=dtype, keys=17, queries=16, blocks=(8, 8)))
        @example(
            build(
                dtype=dtype,
                keys=25,
                queries=9,
                window=8,
                segments=[[0] * 9 + [1] * 12 + [-1] * 4],
            )
        )
        @example(build(dtype=dtype, batch=2, keys=9, segments=[[0] * 9, [0] * 9]))
        @several(backend, count)
        def equal(case: Case) -> None:
            require_outcome(case, outcome(backend, case), expected(case))

        equal()


def half_as_good_as_plain(backend: Backend) -> None:
    """In half precision no worse than twice the plain formula in that dtype, and a rounding."""
    for dtype in (each for each in backend.dtypes if each.itemsize == 2):

        @given(cases(backend, dtype, regimes=("normal",), offset=0.0, segments=None))
        @example(build(dtype=dtype, keys=25, group=2, blocks=(8, 16)))
        @several(backend, 6)
        def good(case: Case) -> None:
            require_as_good_as_plain(outcome(backend, case), _plain(case), expected(case))

        good()


def _plain(case: Case) -> Outcome:
    """The formula in the dtype of the inputs."""
    q, k, v = (case.inputs[name].clone().requires_grad_() for name in INPUTS)
    seen = visible(
        q.shape[2],
        k.shape[2],
        window=case.arguments["window"],
        segments=None,
        device=q.device,
    )
    scores = case.arguments["scale"] * (q @ k.repeat_interleave(case.group, 1).mT)
    softcap = case.arguments["softcap"]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores.masked_fill(~seen[:, None], -torch.inf)
    out = scores.softmax(-1) @ v.repeat_interleave(case.group, 1)
    lse = scores.float().logsumexp(-1)
    leaves = dict(zip(INPUTS, (q, k, v), strict=True))
    return differentiated((out, lse), leaves, case.upstream)


def grouped_equals_repeated(backend: Backend) -> None:
    """Heads that share keys and values are as heads with copies, whose gradients add up."""

    @given(cases(backend, kv_heads=2, group=2, keys=9, regimes=MILD, offset=0.0))
    @example(build(kv_heads=2, group=3, keys=9))
    @several(backend, 3)
    def same(case: Case) -> None:
        copies = {name: case.inputs[name].repeat_interleave(case.group, 1) for name in ("k", "v")}
        repeated = case.changed(**copies)
        found, other = outcome(backend, case), outcome(backend, repeated)
        gradients = dict(other.gradients)
        for name in ("k", "v"):
            gradients[name] = gradients[name].unflatten(1, (-1, case.group)).sum(2)
        require_outcome(case, found, Outcome(other.outputs, gradients))

    same()


def linear_in_values(backend: Backend) -> None:
    """Twice one set of values less another gives twice one output less another."""

    @given(cases(backend, regimes=MILD))
    @several(backend, 4)
    def linear(case: Case) -> None:
        case = case.changed(layout="contiguous")
        other = fill(case.inputs["v"].shape, "normal", 11, torch.float32)
        one, lse = both(outcome(backend, case, gradients=False))
        two, _ = both(outcome(backend, case.changed(v=other), gradients=False))
        mixed = case.changed(v=2 * case.inputs["v"] - other)
        found = outcome(backend, mixed, gradients=False)
        require_outcome(mixed, found, Outcome((2 * one - two, lse), {}), times=3.0)

    linear()


def wide_softcap_is_none(backend: Backend) -> None:
    """A soft cap far above all scores changes nothing; one far below them makes them all equal."""

    @given(cases(backend, regimes=("normal", "ties"), softcap=None, offset=0.0))
    @several(backend, 4)
    def same(case: Case) -> None:
        capped = case.rebuilt(softcap=1e5)
        require_outcome(case, outcome(backend, capped), outcome(backend, case), times=2.0)
        level = case.rebuilt(softcap=1e-7)
        even = level.changed(q=torch.zeros_like(case.inputs["q"]))
        found = outcome(backend, level, gradients=False)
        require_outcome(level, found, outcome(backend, even, gradients=False))

    same()


def repeats_itself(backend: Backend) -> None:
    """Two runs give the same bits, forward and backward."""

    @given(cases(backend))
    @several(backend, 3)
    def same(case: Case) -> None:
        require_repeats(backend, case)

    same()


def nan_reaches_output(backend: Backend) -> None:
    """NaN in a query, key or value shows in every output that sees it."""

    @given(
        cases(backend, regimes=MILD, segments=None, layout="contiguous"),
        st.sampled_from(INPUTS),
        st.integers(0, 24),
    )
    @example(build(keys=17, window=5), "k", 9)
    @example(build(keys=17), "q", 16)
    @several(backend, 6)
    def shows(case: Case, name: str, token: int) -> None:
        token %= case.inputs[name].shape[2]
        require_nan_shows(backend, case, name, token, case.arguments["window"])

    shows()


def empty(backend: Backend) -> None:
    """No rows, no heads, or no queries: empty outputs, and gradients of 0."""
    arguments = {"scale": 1.0, "window": 2, "softcap": None}
    require_nothing_of_nothing(backend, Case, arguments)


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        equals_reference,
        half_as_good_as_plain,
        attention_sight.wide_window_is_none,
        attention_sight.window_one_gives_values,
        grouped_equals_repeated,
        attention_sight.causal,
        attention_sight.blind_outside_window,
        attention_sight.packed_equals_separate,
        attention_sight.padding_is_nothing,
        attention_sight.chunked_prefill,
        attention_sight.split_keys_merge,
        linear_in_values,
        wide_softcap_is_none,
        repeats_itself,
        nan_reaches_output,
        empty,
    )
}
