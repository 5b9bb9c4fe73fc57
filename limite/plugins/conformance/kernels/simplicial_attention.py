"""Laws of ``simplicial_attention``."""

from __future__ import annotations

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core.kernels import ops
from limite.core.kernels.dispatch import KernelError, use
from limite.core.kernels.segments import visible
from limite.plugins.conformance.kernels import measure, simplicial_identities, simplicial_sight
from limite.plugins.conformance.kernels.run import Backend, Law, Outcome, examples
from limite.plugins.conformance.kernels.simplicial_cases import INPUTS, Case, build, cases
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
from limite.plugins.conformance.kernels.values import fill


def equals_reference(backend: Backend) -> None:
    """The output, the log-sum-exp and all five gradients are those of the float64 reference."""

    @given(cases(backend))
    @example(build(keys=17, window1=9, group=2, blocks=(8, 16)))
    @example(build(keys=9, batch=2, kv_heads=2, group=2, window1=3, window2=None))
    @example(build(keys=17, queries=9, window1=8, group=3, blocks=(16, 8)))
    @example(build(keys=17, segments=[[0] * 9 + [-1] * 2 + [1] * 6], window2=2))
    @example(build(keys=8, flows="lse", peak=20.0, width=32, layout="transposed"))
    @example(build(keys=3, group=19, blocks=(16, 8)))
    @example(build(keys=7, batch=2, kv_heads=2, segments=[[0] * 3 + [1] * 4, [0] * 7]))
    @examples(backend, 12)
    def equal(case: Case) -> None:
        require_outcome(case, outcome(backend, case), expected(case))

    equal()


def equals_reference_in_other_dtypes(backend: Backend) -> None:
    """The same in every other dtype of the backend, from inputs rounded to it."""
    for dtype in (each for each in backend.dtypes if each != torch.float32):

        @given(cases(backend, dtype, batch=1))
        @example(build(dtype=dtype, keys=9, window1=5, group=3, kv_heads=2))
        @examples(backend, 4)
        def equal(case: Case) -> None:
            require_outcome(case, outcome(backend, case), expected(case))

        equal()


def half_as_good_as_plain(backend: Backend) -> None:
    """In half precision no worse than twice the plain formula in that dtype, and a rounding."""
    for dtype in (each for each in backend.dtypes if each.itemsize == 2):
        # With several keys visible: what is exactly 0 is no measure of rounding.
        fixed = {"keys": 16, "queries": 8, "window1": 9, "window2": 3, "segments": None}

        @given(cases(backend, dtype, regimes=("normal",), peak=4.0, batch=1, **fixed))
        @example(build(dtype=dtype, keys=17, group=2, blocks=(8, 16)))
        @examples(backend, 2)
        def good(case: Case) -> None:
            require_as_good_as_plain(outcome(backend, case), _plain(case), expected(case))

        good()


def _plain(case: Case) -> Outcome:
    """The formula in the dtype of the inputs."""
    leaves = [case.inputs[name].clone().requires_grad_() for name in INPUTS]
    q = leaves[0]
    k1, k2, v1, v2 = (each.repeat_interleave(case.group, 1) for each in leaves[1:])
    seen1, seen2 = (
        visible(q.shape[2], k1.shape[2], window=window, segments=None, device=q.device)
        for window in (case.arguments["window1"], case.arguments["window2"])
    )
    scores = case.arguments["scale"] * torch.einsum("bhid,bhjd,bhkd->bhijk", q, k1, k2)
    hidden = ~(seen1[:, :, :, None] & seen2[:, :, None])[:, None]
    scores = scores.masked_fill(hidden, -torch.inf).flatten(3)
    weights = scores.softmax(-1).unflatten(3, (k1.shape[2], k1.shape[2]))
    out = torch.einsum("bhijk,bhjd,bhkd->bhid", weights, v1, v2)
    lse = scores.float().logsumexp(-1)
    return differentiated((out, lse), dict(zip(INPUTS, leaves, strict=True)), case.upstream)


def grouped_equals_repeated(backend: Backend) -> None:
    """Heads that share keys and values are as heads with copies, whose gradients add up."""

    @given(cases(backend, kv_heads=2, group=2, batch=1, keys=8, regimes=MILD, peak=4.0))
    @example(build(kv_heads=2, group=3, keys=7))
    @examples(backend, 1)
    def same(case: Case) -> None:
        copies = {name: case.inputs[name].repeat_interleave(case.group, 1) for name in INPUTS[1:]}
        found, other = outcome(backend, case), outcome(backend, case.changed(**copies))
        gradients = dict(other.gradients)
        for name in INPUTS[1:]:
            gradients[name] = gradients[name].unflatten(1, (-1, case.group)).sum(2)
        require_outcome(case, found, Outcome(other.outputs, gradients))

    same()


def batch_rows_are_separate(backend: Backend) -> None:
    """Each batch row by itself gives what it gives beside others, gradients too."""

    @given(cases(backend, batch=2, keys=9, regimes=MILD, peak=4.0, segments=None))
    @example(build(batch=2, group=2, keys=8))
    @examples(backend, 1)
    def same(case: Case) -> None:
        case = case.changed(layout="contiguous")
        rows = []
        for row in range(2):
            inputs = {name: case.inputs[name][row : row + 1] for name in INPUTS}
            upstream = tuple(None if up is None else up[row : row + 1] for up in case.upstream)
            rows.append(outcome(backend, case.changed(upstream=upstream, **inputs)))
        one, two = rows
        outputs = tuple(map(torch.cat, zip(both(one), both(two), strict=True)))
        gradients = {name: torch.cat((one.gradients[name], two.gradients[name])) for name in INPUTS}
        require_outcome(case, outcome(backend, case), Outcome(outputs, gradients))

    same()


def repeats_itself(backend: Backend) -> None:
    """Two runs give the same bits, forward and backward."""

    @given(cases(backend))
    @examples(backend, 2)
    def same(case: Case) -> None:
        require_repeats(backend, case)

    same()


def nan_reaches_output(backend: Backend) -> None:
    """NaN in a query, key or value shows in every output that sees it."""

    @given(
        cases(backend, regimes=MILD, segments=None, layout="contiguous"),
        st.sampled_from(INPUTS),
        st.integers(0, 16),
    )
    @example(build(keys=17, window1=5), "k1", 9)
    @example(build(keys=9), "q", 8)
    @examples(backend, 5)
    def shows(case: Case, name: str, token: int) -> None:
        token %= case.inputs[name].shape[2]
        window = None if name == "q" else case.arguments[f"window{name[1]}"]
        require_nan_shows(backend, case, name, token, window)

    shows()


def empty(backend: Backend) -> None:
    """No rows, no heads, or no queries: empty outputs, and gradients of 0."""
    arguments = {"scale": 1.0, "window1": 2, "window2": None}
    require_nothing_of_nothing(backend, Case, arguments)


def determinant_turns_together(backend: Backend) -> None:
    """The determinant form is unchanged when every triple of channels turns alike, in q, k1 and k2.

    A backend without it says so when it is asked for by name, and stands aside when not.
    """
    case = build(keys=7, group=2, width=16)
    q, k1, k2, v1, v2 = (case.inputs[name].to(backend.device) for name in INPUTS)
    turns = torch.linalg.qr(fill((5, 3, 3), "normal", 3, torch.float32))[0]
    turns = (turns * turns.det()[:, None, None]).to(backend.device)  # of determinant 1

    def turned(x: torch.Tensor) -> torch.Tensor:
        triples = torch.einsum("bhtlc,lcd->bhtld", x[..., :15].unflatten(-1, (5, 3)), turns)
        return torch.cat((triples.flatten(-2), x[..., 15:]), -1)

    def results(
        q: torch.Tensor, k1: torch.Tensor, k2: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        return ops.simplicial_attention(
            q, k1, k2, v1, v2, scale=1.0, window1=None, window2=3, form="determinant"
        )

    out, lse = results(q, k1, k2)
    again, lse_again = results(turned(q), turned(k1), turned(k2))
    assert lse is not None
    assert lse_again is not None
    tolerance = measure.Tolerance(1e-5, 1e-6)  # the turned inputs are rounded
    measure.require_close("out", again, out, tolerance)
    measure.require_close("lse", lse_again, lse, tolerance)
    other, _ = results(turned(q), k1, k2)
    assert not torch.allclose(other, out), "the scores do not matter"
    if backend.op not in (None, "simplicial_attention"):
        return
    refusal, own = "", out
    with use(f"simplicial_attention={backend.name}"):
        try:
            own, _ = results(q, k1, k2)
        except KernelError as error:
            refusal = str(error)
    assert not refusal or "determinant" in refusal, "a form that it lacks is not what it refuses"
    measure.require_close("its own", own, out, tolerance)


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        equals_reference,
        equals_reference_in_other_dtypes,
        half_as_good_as_plain,
        simplicial_identities.ones_give_attention,
        simplicial_identities.window_one_of_two_gives_attention,
        simplicial_identities.streams_may_change_places,
        simplicial_identities.factors_move_between_streams,
        simplicial_identities.windows_of_one_give_products,
        simplicial_identities.bilinear_in_values,
        grouped_equals_repeated,
        batch_rows_are_separate,
        simplicial_sight.wide_window_is_none,
        simplicial_sight.causal,
        simplicial_sight.blind_outside_windows,
        simplicial_sight.packed_equals_separate,
        simplicial_sight.padding_is_nothing,
        simplicial_sight.chunked_prefill,
        determinant_turns_together,
        repeats_itself,
        nan_reaches_output,
        empty,
    )
}
