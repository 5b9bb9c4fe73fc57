"""Laws of the norm and rotation of queries and keys."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core.kernels import ops
from limite.plugins.conformance.kernels import elementwise, measure, run
from limite.plugins.conformance.kernels.turning import (
    BARE,
    HALVES,
    ODD,
    PART,
    PART_HALVES,
    WHOLE,
    Case,
    cases,
    laws_of_turning,
    turned,
)


def equals_the_reference(backend: run.Backend) -> None:
    """The turned norms, and the gradient of what came in, are those of the definition."""

    @example(WHOLE)
    @example(PART)
    @example(HALVES)
    @example(PART_HALVES)
    @example(ODD)
    @example(BARE)
    @example(attrs.evolve(WHOLE, regime="zeros", style="halves"))
    @given(cases())
    @run.examples(backend, 14)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs, upstream = {"qk": case.filled(0, dtype, case.regime)}, [case.filled(1, dtype)]
            wide = inputs["qk"].double()
            steep = (wide.square().mean(-1) + ops.EPSILON).rsqrt().max().item()
            with case.tiles(backend):
                elementwise.hold_to_the_reference(
                    "qk_norm_rope",
                    backend,
                    inputs,
                    {"rotation": case.rotation(backend)},
                    upstream,
                    sizes={"qk": 2 * steep * measure.size_of(*upstream)},
                    layout=case.layout,
                    on_cpu={"rotation": case.rotation(run.REFERENCE)},
                )

    law()


def turning_keeps_norms(backend: run.Backend) -> None:
    """Every head comes out at unit root mean square, whatever it was turned by."""

    @example(WHOLE)
    @example(PART_HALVES)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        case = attrs.evolve(case, rounded=False)
        for dtype in backend.dtypes:
            qk = case.filled(0, dtype)
            qk += qk.sign()  # away from eps
            found = turned("qk_norm_rope", case, backend, qk, case.rotation(backend))
            size = found.double().square().mean(-1)
            # Tables are float32, whatever is turned by them.
            tolerance = measure.OUTPUT[torch.float32 if dtype.itemsize >= 4 else dtype]
            measure.require_close("mean square", size, torch.ones_like(size), tolerance)

    law()


def without_pairs_it_is_the_norm(backend: run.Backend) -> None:
    """No rotation, one of no pairs, one at position 0, and channels that do not turn: the norm."""

    @example(WHOLE)
    @example(PART)
    @example(HALVES)
    @example(PART_HALVES)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            qk = case.filled(0, dtype, case.regime)
            expected = elementwise.call("rms_norm", run.REFERENCE, qk.double())
            tolerance = measure.OUTPUT[dtype]
            bare = turned("qk_norm_rope", case, backend, qk, None)
            measure.require_close("no rotation", bare, expected, tolerance)
            none = attrs.evolve(case, pairs=0)
            found = turned("qk_norm_rope", none, backend, qk, none.rotation(backend))
            measure.require_close("no pairs", found, expected, tolerance)
            still = case.rotation(backend, torch.zeros_like(case.positions()))
            found = turned("qk_norm_rope", case, backend, qk, still)
            measure.require_close("position 0", found, expected, tolerance)
            found = turned("qk_norm_rope", case, backend, qk, case.rotation(backend))
            rest = 2 * (case.pairs or 0)
            measure.require_close("rest", found[..., rest:], expected[..., rest:], tolerance)

    law()


def turning_back_restores(backend: run.Backend) -> None:
    """The opposite turn, after the turn, leaves the norm."""

    @example(WHOLE)
    @example(PART)
    @example(HALVES)
    @example(ODD)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        case = attrs.evolve(case, rounded=False)
        for dtype in backend.dtypes:
            qk = case.filled(0, dtype)
            qk += qk.sign()
            there = turned("qk_norm_rope", case, backend, qk, case.rotation(backend))
            found = turned("qk_norm_rope", case, backend, there, case.rotation(backend, sign=-1.0))
            expected = elementwise.call("rms_norm", run.REFERENCE, qk.double())
            limit = measure.OUTPUT[torch.float32 if dtype.itemsize >= 4 else dtype]
            # Two calls, each with its roundings.
            limit = measure.Tolerance(2 * limit.relative, 2 * limit.absolute)
            measure.require_close("turned back", found, expected, limit)

    law()


def nan_reaches_its_head(backend: run.Backend) -> None:
    """NaN in one channel makes its head NaN, forward and backward, and no other."""

    @example(WHOLE, 40)
    @example(PART, 15)
    @given(cases(), st.integers(0, 900))
    @run.examples(backend, 6)
    def law(case: Case, place: int) -> None:
        for dtype in backend.dtypes:
            qk = case.filled(0, dtype)
            qk.view(-1)[place % qk.numel()] = torch.nan
            expected = qk.isnan().any(-1, keepdim=True).expand_as(qk)
            with case.tiles(backend):
                found = run.run(
                    "qk_norm_rope",
                    backend,
                    {"qk": qk},
                    {"rotation": case.rotation(backend)},
                    differentiate=("qk",),
                    upstream=[case.filled(1, dtype)],
                )
            assert found.outputs[0] is not None
            assert torch.equal(found.outputs[0].isnan(), expected)
            assert torch.equal(found.gradients["qk"].isnan(), expected)

    law()


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        turning_keeps_norms,
        without_pairs_it_is_the_norm,
        turning_back_restores,
        *laws_of_turning("qk_norm_rope", "qk", cases(), lambda _: 1.0),
        nan_reaches_its_head,
    )
}
