"""Laws of the rotation of heads."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels.rotation import Rotation
from limite.plugins.conformance.kernels import elementwise, measure, run
from limite.plugins.conformance.kernels.qk_norm_rope import (
    HALVES,
    ODD,
    PART,
    PART_HALVES,
    WHOLE,
    Case,
)
from limite.plugins.conformance.kernels.qk_norm_rope import cases as cases_and_none


def cases() -> st.SearchStrategy[Case]:
    """Those of the norm and rotation, but for the ones that turn nothing."""
    return cases_and_none().map(lambda case: attrs.evolve(case, pairs=case.pairs or 0))


def _rotation(
    case: Case, backend: run.Backend, positions: Tensor | None = None, sign: float = 1.0
) -> Rotation:
    found = case.rotation(backend, positions, sign)
    assert found is not None
    return found


def _turned(case: Case, backend: run.Backend, x: Tensor, rotation: Rotation) -> Tensor:
    with case.tiles(backend):
        found: Tensor = elementwise.call("rope", backend, x, rotation)
    return found


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
                    {"rotation": _rotation(case, backend)},
                    upstream,
                    sizes={"x": measure.size_of(*upstream)},
                    layout=case.layout,
                    on_cpu={"rotation": _rotation(case, run.REFERENCE)},
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
            found = _turned(case, backend, x, _rotation(case, backend))
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
            found = _turned(none, backend, x, _rotation(none, backend))
            measure.require_same_bits("no pairs", found, x)
            still = _rotation(case, backend, torch.zeros_like(case.positions()))
            measure.require_same_bits("position 0", _turned(case, backend, x, still), x)
            found = _turned(case, backend, x, _rotation(case, backend))
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
            turned = _turned(case, backend, x, _rotation(case, backend))
            found = _turned(case, backend, turned, _rotation(case, backend, sign=-1.0))
            limit = measure.OUTPUT[torch.float32 if dtype.itemsize >= 4 else dtype]
            # Two calls, each with its roundings.
            limit = measure.Tolerance(2 * limit.relative, 2 * limit.absolute)
            measure.require_close("turned back", found, x, limit)

    law()


def a_shift_changes_no_product(backend: run.Backend) -> None:
    """Products of turned tokens depend on how far they are apart, not on where they are."""

    @example(WHOLE, 7)
    @example(PART, 100)
    @example(HALVES, 1)
    @given(cases(), st.integers(1, 200))
    @run.examples(backend, 8)
    def law(case: Case, shift: int) -> None:
        case = attrs.evolve(case, batch=None, rounded=False)
        for dtype in backend.dtypes:
            if dtype.itemsize < 4:
                continue  # rounded tokens are turned no more exactly than they are rounded
            x, positions = case.filled(0, dtype), case.positions() % 200
            products = []
            for by in (0, shift):
                found = _turned(case, backend, x, _rotation(case, backend, positions + by))
                products.append(torch.einsum("thd,shd->hts", found.double(), found.double()))
            # Tables are float32. A product adds up ``width`` channels.
            measure.require_close(
                "products", products[1], products[0], measure.OUTPUT[torch.float32],
                size=case.width * measure.size_of(x, x),
            )  # fmt: skip

    law()


def styles_differ_by_an_order(backend: run.Backend) -> None:
    """``halves`` is ``adjacent`` on channels in another order, turned the other way."""

    @example(WHOLE)
    @example(PART)
    @given(cases())
    @run.examples(backend, 6)
    def law(case: Case) -> None:
        case = attrs.evolve(case, style="adjacent")
        pairs = case.pairs or 0
        first = 2 * torch.arange(pairs)  # of each pair
        order = torch.cat((first, first + 1, torch.arange(2 * pairs, case.width)))
        for dtype in backend.dtypes:
            x = case.filled(0, dtype)
            expected = _turned(case, backend, x, _rotation(case, backend))[..., order].double()
            other = attrs.evolve(case, style="halves")
            backwards = _rotation(other, backend, sign=-1.0)
            found = _turned(other, backend, x[..., order], backwards)
            measure.require_close("halves", found, expected, measure.OUTPUT[dtype])

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
                "qk_norm_rope", run.REFERENCE, normal.double(), _rotation(case, run.REFERENCE),
                eps=1e-12,
            )  # fmt: skip
            size = normal.double().square().mean(-1, keepdim=True).sqrt()
            found = _turned(case, backend, normal, _rotation(case, backend))
            measure.require_close("turned norms", found, expected * size, measure.OUTPUT[dtype])

    law()


def rows_are_apart(backend: run.Backend) -> None:
    """A token's heads have the same bits among any other tokens, in bundles of 32 tokens."""

    def hold(case: Case, dtype: torch.dtype) -> None:
        x, positions = case.filled(0, dtype), case.positions()

        def turned(chosen: Tensor) -> Tensor:
            return _turned(case, backend, x[chosen], _rotation(case, backend, positions[chosen]))

        elementwise.hold_rows_apart(case.tokens, case.seed, turned)

    @example(PART)
    @given(cases())
    @run.examples(backend, 1)
    def law(case: Case) -> None:
        case = attrs.evolve(case, batch=None, tokens=2 * elementwise.BUNDLE, elements=64)
        for dtype in backend.dtypes:
            hold(case, dtype)

    law()


def two_runs_are_identical(backend: run.Backend) -> None:
    """A second run, with what the first left in the rotation, gives the same bits."""

    @example(WHOLE)
    @example(PART_HALVES)
    @given(cases())
    @run.examples(backend, 2)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            with case.tiles(backend):
                elementwise.hold_to_the_same_bits(
                    "rope",
                    backend,
                    {"x": case.filled(0, dtype)},
                    {"rotation": _rotation(case, backend)},
                    [case.filled(1, dtype)],
                )

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
            found = _turned(case, backend, x, _rotation(case, backend))
            assert torch.equal(found.isnan(), expected)

    law()


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        turning_keeps_lengths,
        what_stands_still_is_left_alone,
        turning_back_restores,
        a_shift_changes_no_product,
        styles_differ_by_an_order,
        after_the_norm_it_is_both,
        rows_are_apart,
        two_runs_are_identical,
        nan_reaches_its_pair,
    )
}
