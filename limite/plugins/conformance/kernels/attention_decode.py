"""Laws of ``attention_decode``."""

from __future__ import annotations

import math

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core.kernels import ops
from limite.core.kernels.moment import Moment
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.attention_decode_cases import (
    FEWEST,
    INPUTS,
    Case,
    build,
    cases,
    changed,
    expected,
    outcome,
    require_outcome,
    require_same_rows,
    seen_slots,
    tiled,
)
from limite.plugins.conformance.kernels.run import Backend, Law, Outcome, examples
from limite.plugins.conformance.kernels.streams import MILD


def equals_reference(backend: Backend) -> None:
    """Output and log-sum-exp are those of the float64 reference."""
    for dtype in backend.dtypes:

        @given(cases(backend, dtype))
        @example(build(dtype=dtype, slots=33, lengths=(33, 0, 17), group=2, kv_heads=2))
        @example(build(dtype=dtype, slots=17, lengths=(40, 18, 17, 16), window=9))
        @example(build(dtype=dtype, slots=33, lengths=(66, 5), window=16, softcap=0.7, width=32))
        @example(build(dtype=dtype, slots=33, lengths=(33, 31), offset=-200.0, group=3))
        @example(build(dtype=dtype, slots=33, lengths=(33, 31), blocks=(16, 32, 2), scale=1.0))
        @example(build(dtype=dtype, slots=130, lengths=(130, 64, 65, 300), window=70))
        @example(build(dtype=dtype, slots=150, lengths=(140, 40), window=20))
        @examples(backend, 15 if dtype == torch.float32 else 5)
        def equal(case: Case) -> None:
            require_outcome(case, outcome(backend, case), expected(case))

        equal()


def is_the_last_row_of_attention(backend: Backend) -> None:
    """A row's result is that of its last token in attention over the whole row."""

    @given(cases(backend, regimes=MILD, layout="contiguous"))
    @example(build(slots=16, lengths=(41, 16, 3), window=None, group=2))
    @example(build(slots=33, lengths=(33, 20), window=17))
    @examples(backend, 6)
    def last(case: Case) -> None:
        found = outcome(backend, case)
        slots = case.inputs["k_cache"].shape[2]
        window = min(slots, case.arguments["window"] or slots)
        for row, length in enumerate(case.inputs["lengths"].tolist()):
            if not length:
                continue
            at = torch.arange(max(0, length - slots), length) % slots
            whole = {
                "q": case.inputs["q"][row : row + 1],
                "k": case.inputs["k_cache"][row : row + 1, :, at],
                "v": case.inputs["v_cache"][row : row + 1, :, at],
            }
            exact = run.exact("attention", whole, {**case.arguments, "window": window})
            mine = Outcome(
                tuple(each[row : row + 1] for each in found.outputs if each is not None), {}
            )
            require_outcome(case, mine, exact)

    last()


def a_ring_is_a_window(backend: Backend) -> None:
    """A ring of S slots gives what a cache of all tokens does with a window of S.

    To the bit where keys are read in the order of their positions, as kernels of tiles do.
    """

    @given(st.sampled_from((1, 2, 15, 16, 17)), st.integers(0, 2**31), st.sampled_from((1, 3)))
    @example(16, 0, 2)
    @examples(backend, 4)
    def same(slots: int, seed: int, group: int) -> None:
        lengths = (slots, slots + 1, 2 * slots + 1, 1)
        tokens = max(lengths)
        full = build(slots=tokens, lengths=lengths, window=slots, group=group, seed=seed)
        ring = {}
        for name in ("k_cache", "v_cache"):
            ring[name] = full.inputs[name][:, :, :slots].clone()
            for row, length in enumerate(lengths):
                for position in range(length):
                    ring[name][row, :, position % slots] = full.inputs[name][row, :, position]
        rolled = attrs.evolve(changed(full, **ring), arguments={**full.arguments, "window": None})
        found, other = outcome(backend, rolled), outcome(backend, full)
        if backend.tiled:
            require_same_rows(found, other, slice(None))
        require_outcome(rolled, found, other)

    same()


def splits_do_not_matter(backend: Backend) -> None:
    """However keys are split, the result is the same to rounding.

    Of all, a full ring is turned, so that pieces of slots hold other keys; of kernels of tiles,
    the tiles are others too.
    """
    whole, parts = (16, 64, 2), ((16, 16, 2), (16, 32, 4), (16, 16, 8))
    slots = 33 if backend.tiled and not backend.compiled else 150
    full = (slots, slots + 1, 2 * slots + 3)
    rings = cases(backend, regimes=MILD, slots=slots, lengths=full)

    @given(rings, st.sampled_from(parts), st.integers(1, slots - 1))
    @example(build(slots=49, lengths=(49, 100), group=2), (16, 16, 2), 24)
    @example(build(slots=130, lengths=(130, 261), window=66, kv_heads=2), (16, 32, 4), 64)
    @examples(backend, 4)
    def same(case: Case, blocks: tuple[int, int, int], turn: int) -> None:
        one = outcome(backend, attrs.evolve(case, blocks=whole))
        turned = {name: case.inputs[name].roll(turn, 2) for name in ("k_cache", "v_cache")}
        turned["lengths"] = case.inputs["lengths"] + turn
        require_outcome(case, outcome(backend, changed(case, **turned)), one)
        if backend.tiled:
            require_outcome(case, outcome(backend, attrs.evolve(case, blocks=blocks)), one)

    same()


def a_row_does_not_know_the_others(backend: Backend) -> None:
    """What a row gets has the same bits whatever rows stand beside it, and how many."""
    lengths = st.lists(st.integers(1, 40), min_size=FEWEST, max_size=FEWEST)
    shapes = st.sampled_from(((1, 1), (2, 1), (1, 3), (2, 2)))
    flags = st.booleans()

    @given(lengths, st.sampled_from((16, 33)), shapes, st.sampled_from((None, 9)), flags, flags)
    @example([1, 5, 16, 17, 2, 3, 15, 14], 100, (1, 2), None, False, False)
    @example([40] * 8, 16, (2, 3), None, True, True)
    @examples(backend, 2 if backend.tiled and not backend.compiled else 12)
    def same(
        few: list[int],
        slots: int,
        heads: tuple[int, int],
        window: int | None,
        empty: bool,
        need_lse: bool,
    ) -> None:
        many = [*few, 0 if empty else 1, *[min(slots, 40)] * 3, slots + 60 if slots < 64 else slots]
        kv_heads, group = heads
        case = build(
            slots=slots, lengths=many, kv_heads=kv_heads, group=group, window=window, width=16
        )
        arguments = {**case.arguments, "need_lse": need_lse}
        case = attrs.evolve(case, arguments=arguments)
        part = {name: each[:FEWEST] for name, each in case.inputs.items()}
        together = outcome(backend, case)
        require_same_rows(together, outcome(backend, changed(case, **part)), slice(0, FEWEST))
        order = list(range(len(many)))[::-1]
        turned = {name: each[order] for name, each in case.inputs.items()}
        require_same_rows(together, outcome(backend, changed(case, **turned)), order)
        if backend.tiled:  # each program is one row's own
            alone = {name: each[:1] for name, each in case.inputs.items()}
            require_same_rows(together, outcome(backend, changed(case, **alone)), slice(0, 1))

    same()


def rows_without_tokens_give_nothing(backend: Backend) -> None:
    """A row of length 0, or less, gives 0, and -inf."""

    @given(cases(backend, lengths=(0, 7, 0)))
    @example(build(lengths=(0, 0, 0)))
    @example(build(lengths=(-2, 33, 0)))
    @example(build(lengths=(-2, 33, -70), slots=70, kv_heads=2))
    @example(build(lengths=(0, 33, 0), slots=16))
    @example(build(lengths=(0, 33, 0), slots=70, window=3))
    @examples(backend, 4)
    def nothing(case: Case) -> None:
        out, lse = outcome(backend, case).outputs
        assert out is not None
        assert lse is not None
        bare = case.inputs["lengths"] <= 0
        assert bool((out[bare] == 0).all()), "a row without tokens gives something"
        assert bool((lse[bare] == -torch.inf).all()), "its log-sum-exp is not -inf"
        assert bool(lse[~bare].isfinite().all()), "another row's log-sum-exp is not finite"

    nothing()


def other_slots_do_not_matter(backend: Backend) -> None:
    """What lies in slots that a row does not see changes no bit; not even NaN, in kernels."""

    @given(cases(backend, regimes=MILD, layout="contiguous"), st.sampled_from((1e4, -1e4)))
    @example(build(slots=33, lengths=(20, 1, 33, 0), group=2), 1e4)
    @example(build(slots=33, lengths=(20, 1, 70), window=16), -1e4)
    @examples(backend, 5)
    def same(case: Case, garbage: float) -> None:
        unseen = ~seen_slots(case)[:, None, :, None]
        found = outcome(backend, case)
        for rubbish in (garbage, math.nan) if backend.tiled else (garbage,):
            spoilt = {
                name: case.inputs[name].masked_fill(unseen, rubbish)
                for name in ("k_cache", "v_cache")
            }
            require_same_rows(found, outcome(backend, changed(case, **spoilt)), slice(None))

    same()


def nan_reaches_output(backend: Backend) -> None:
    """NaN in a key or a value that a row sees reaches the row, and no other."""

    @given(st.sampled_from(INPUTS), st.integers(0, 32), st.sampled_from((None, 17)))
    @example("v_cache", 32, 17)
    @example("k_cache", 0, None)
    @example("q", 0, None)
    @examples(backend, 5)
    def reaches(name: str, slot: int, window: int | None) -> None:
        case = build(slots=33, lengths=(33, 33), window=window, group=2)
        spoilt = case.inputs[name].clone()
        spoilt[1, :, 0 if name == "q" else slot, 3] = math.nan
        with run.nothing_but_nan():
            out, lse = outcome(backend, changed(case, **{name: spoilt})).outputs
        assert out is not None
        assert lse is not None
        assert not bool(out[0].isnan().any()), "NaN reached another row"
        if name == "q" or bool(seen_slots(case)[1, slot]):
            found = out[1, ..., 3] if name == "v_cache" else out[1]
            assert bool(found.isnan().all()), f"NaN in {name} was lost"
            if name != "v_cache":
                assert bool(lse[1].isnan().all()), f"NaN in {name} was lost in the log-sum-exp"

    reaches()


def grouped_equals_repeated(backend: Backend) -> None:
    """Heads that share a cache are as heads with copies of it."""

    @given(cases(backend, kv_heads=2, group=2, regimes=MILD, offset=0.0))
    @example(build(kv_heads=2, group=3, lengths=(33, 20)))
    @examples(backend, 4)
    def same(case: Case) -> None:
        group = case.inputs["q"].shape[1] // case.inputs["k_cache"].shape[1]
        copies = {
            name: case.inputs[name].repeat_interleave(group, 1) for name in ("k_cache", "v_cache")
        }
        require_outcome(case, outcome(backend, case), outcome(backend, changed(case, **copies)))

    same()


def a_cache_may_lie_any_way(backend: Backend) -> None:
    """Keys stored channel by channel, lengths in 32 bits or as a moment: the same result."""

    @given(cases(backend, regimes=MILD))
    @example(build(slots=33, lengths=(20, 70), group=2, kv_heads=2))
    @examples(backend, 4)
    def same(case: Case) -> None:
        inputs = {name: each.to(backend.device) for name, each in case.inputs.items()}
        keys = inputs["k_cache"].mT.contiguous().mT
        lengths = inputs["lengths"].int()
        exact = expected(case)
        with tiled(backend, case.blocks), backend.use("attention_decode"):
            for told in (lengths, Moment.of(lengths), Moment.of(inputs["lengths"])):
                found = ops.attention_decode(
                    inputs["q"], keys, inputs["v_cache"], told, **case.arguments
                )
                outputs = tuple(None if each is None else each.cpu() for each in found)
                require_outcome(case, Outcome(outputs, {}), exact)

    same()


def unasked_lse_is_none(backend: Backend) -> None:
    """Without ``need_lse`` there is none, and the output is the same to rounding."""

    @given(cases(backend, regimes=MILD))
    @example(build(slots=16, lengths=(3, 0, 40)))
    @examples(backend, 4)
    def none(case: Case) -> None:
        brief = attrs.evolve(case, arguments={**case.arguments, "need_lse": False})
        found = outcome(backend, brief)
        assert found.outputs[1] is None
        require_outcome(case, found, expected(case))

    none()


def two_runs_are_identical(backend: Backend) -> None:
    """The same call twice gives the same bits."""

    @given(cases(backend))
    @examples(backend, 4)
    def identical(case: Case) -> None:
        require_same_rows(outcome(backend, case), outcome(backend, case), slice(None))

    identical()


def empty_inputs_give_empty_results(backend: Backend) -> None:
    """No rows, no results."""
    case = build(lengths=(3,))
    none = {name: each[:0] for name, each in case.inputs.items()}
    out, lse = outcome(backend, changed(case, **none)).outputs
    assert out is not None
    assert lse is not None
    assert out.shape == (0, 1, 1, 16)
    assert lse.shape == (0, 1, 1)


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        equals_reference,
        is_the_last_row_of_attention,
        a_ring_is_a_window,
        splits_do_not_matter,
        a_row_does_not_know_the_others,
        rows_without_tokens_give_nothing,
        other_slots_do_not_matter,
        nan_reaches_output,
        grouped_equals_repeated,
        a_cache_may_lie_any_way,
        unasked_lse_is_none,
        two_runs_are_identical,
        empty_inputs_give_empty_results,
    )
}
