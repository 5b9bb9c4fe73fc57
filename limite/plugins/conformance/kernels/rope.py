"""Laws of the rotation of heads."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.plugins.conformance.kernels import elementwise, measure, run
from limite.plugins.conformance.kernels.turning import (
    HALVES,
    ODD,
    PART,
    PART_HALVES,
    WHOLE,
    Case,
    laws_of_turning,
    turned,
)
from limite.plugins.conformance.kernels.turning import cases as cases_and_none


def cases() -> st.SearchStrategy[Case]:
    """Those of the norm and rotation, but for the ones that turn nothing."""
    return cases_and_none().map(lambda case: attrs.evolve(case, pairs=case.pairs or 0))


def equals_the_reference(backend: run.Backend) -> None:
    """The turned heads, and the gradient of what came in, are those of the definition."""

    @example(WHOLE)
    @example(PART)
    @example(HALVES)
    @example(PART_HALVES)
    @example(ODD)
    @example(attrs.evolve(WHOLE, regime="zeros", style="halves"))
    @given(cases())
    @run.examples(backend, 14)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            upstream = [case.filled(1, dtype)]
            with case.tiles(backend):
                elementwise.hold_to_the_reference(
                    "rope",
                    backend,
                    {"x": case.filled(0, dtype, case.regime)},
                    {"rotation": case.rotation(backend)},
                    upstream,
                    sizes={"x": measure.size_of(*upstream)},
                    layout=case.layout,
                    on_cpu={"rotation": case.rotation(run.REFERENCE)},
                )

    law()


def turning_keeps_lengths(backend: run.Backend) -> None:
    """Every head is as long as before, whatever it was turned by."""

    @example(WHOLE)
    @example(PART_HALVES)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        case = attrs.evolve(case, rounded=False)
        for dtype in backend.dtypes:
            x = case.filled(0, dtype)
            found = turned("rope", case, backend, x, case.rotation(backend))
            # Tables are float32, whatever is turned by them.
            tolerance = measure.OUTPUT[torch.float32 if dtype.itemsize >= 4 else dtype]
            measure.require_close(
                "length", found.double().norm(dim=-1), x.double().norm(dim=-1), tolerance
            )

    law()


def what_stands_still_is_left_alone(backend: run.Backend) -> None:
    """No pairs, position 0, and channels that do not turn: the same numbers, not one rounded."""

    @example(WHOLE)
    @example(PART)
    @example(HALVES)
    @example(PART_HALVES)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            x = case.filled(0, dtype, case.regime)
            none = attrs.evolve(case, pairs=0)
            found = turned("rope", none, backend, x, none.rotation(backend))
            measure.require_same_bits("no pairs", found, x)
            still = case.rotation(backend, torch.zeros_like(case.positions()))
            measure.require_same_bits("position 0", turned("rope", case, backend, x, still), x)
            found = turned("rope", case, backend, x, case.rotation(backend))
            rest = 2 * (case.pairs or 0)
            measure.require_same_bits("rest", found[..., rest:], x[..., rest:])

    law()


def turning_back_restores(backend: run.Backend) -> None:
    """The opposite turn, after the turn, leaves what there was."""

    @example(WHOLE)
    @example(PART)
    @example(HALVES)
    @example(ODD)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        case = attrs.evolve(case, rounded=False)
        for dtype in backend.dtypes:
            x = case.filled(0, dtype)
            there = turned("rope", case, backend, x, case.rotation(backend))
            found = turned("rope", case, backend, there, case.rotation(backend, sign=-1.0))
            limit = measure.OUTPUT[torch.float32 if dtype.itemsize >= 4 else dtype]
            # Two calls, each with its roundings.
            limit = measure.Tolerance(2 * limit.relative, 2 * limit.absolute)
            measure.require_close("turned back", found, x, limit)

    law()


def after_the_norm_it_is_both(backend: run.Backend) -> None:
    """Turned norms are what ``qk_norm_rope`` gives."""

    @example(WHOLE)
    @example(PART_HALVES)
    @given(cases())
    @run.examples(backend, 6)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            normal = elementwise.call("rms_norm", run.REFERENCE, case.filled(0, dtype))
            expected = elementwise.call(
                "qk_norm_rope", run.REFERENCE, normal.double(), case.rotation(run.REFERENCE),
                eps=1e-12,
            )  # fmt: skip
            size = normal.double().square().mean(-1, keepdim=True).sqrt()
            found = turned("rope", case, backend, normal, case.rotation(backend))
            measure.require_close("turned norms", found, expected * size, measure.OUTPUT[dtype])

    law()


def nan_reaches_its_pair(backend: run.Backend) -> None:
    """NaN in one channel makes its pair NaN, or itself where it does not turn, and no other."""

    @example(WHOLE, 40)
    @example(PART, 15)
    @example(HALVES, 3)
    @given(cases(), st.integers(0, 900))
    @run.examples(backend, 6)
    def law(case: Case, place: int) -> None:
        pairs = case.pairs or 0
        other = torch.arange(case.width)  # the channel that each is turned with
        if case.style == "adjacent":
            other[: 2 * pairs] ^= 1
        else:
            other[: 2 * pairs] = other[: 2 * pairs].roll(pairs)
        for dtype in backend.dtypes:
            x = case.filled(0, dtype)
            x.view(-1)[place % x.numel()] = torch.nan
            expected = x.isnan() | x.isnan()[..., other]
            found = turned("rope", case, backend, x, case.rotation(backend))
            assert torch.equal(found.isnan(), expected)

    law()


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        turning_keeps_lengths,
        what_stands_still_is_left_alone,
        turning_back_restores,
        after_the_norm_it_is_both,
        *laws_of_turning("rope", "x", cases(), lambda x: measure.size_of(x, x)),
        nan_reaches_its_pair,
    )
}
