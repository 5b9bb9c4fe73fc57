"""Laws of attention: what a decoder relies on whatever mixes its tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import torch
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.kinds import Attention, Graftable
from limite.core.model.attention import AttentionMixer
from limite.core.model.branches import Branches
from limite.plugins.conformance.attention_cases import (
    CAPACITY,
    LAYERS,
    STREAM_NAMES,
    Case,
    Decoding,
    build,
    cases,
    close,
    fill,
    longer_by_one,
    mix,
    rows_of,
    streams_of_all,
    tensors,
    together,
    whole_rows,
)
from limite.plugins.conformance.attention_own import (
    a_graft_starts_out_as_its_parent,
    own_parameters_come_from_their_seeds,
    own_parameters_learn,
    repeat_heads,
    repeatable,
)
from limite.plugins.conformance.strategies import drawn


def attention_laws(component: Attention) -> dict[str, Callable[[], None]]:
    """A test per law of attention, by name. Each runs over the layers of a small model."""
    laws: list[Callable[[Attention], None]] = [
        later_tokens_have_no_effect,
        rows_have_no_effect_on_each_other,
        cached_equals_uncached,
        a_cache_gives_and_repeats_rows,
        a_cache_takes_rows_over,
        a_row_does_not_know_the_batch,
        a_cache_tells_its_size,
        gradients_are_finite_and_stay_in_their_row,
    ]
    every = [(build(component, case), case) for case in map(_of_layer, range(LAYERS))]
    if all(repeatable(mixer, case) for mixer, case in every):
        laws.append(grouped_equals_repeated_heads)
    laws.append(a_token_sees_its_window)
    if all(mixer.ragged and mixer.shares_prompts for mixer, _ in every):
        laws.append(a_shared_prompt_is_as_good_as_its_copies)
    if _windows(component):
        laws.append(a_wide_window_sees_everything)
    if any(list(mixer.parameters()) for mixer, _ in every):
        laws += [own_parameters_come_from_their_seeds, own_parameters_learn]
    if isinstance(component, Graftable):
        laws.append(a_graft_starts_out_as_its_parent)
    return {law.__name__: functools.partial(law, component) for law in laws}


def _of_layer(layer: int) -> Case:
    return Case(layer=layer, kv_heads=2, groups=2)


def later_tokens_have_no_effect(component: Attention) -> None:
    """Changing a token changes no output before it, not by a bit."""

    @drawn(case=cases, streams=streams_of_all, place=st.floats(0, 1))
    def law(case: Case, streams: dict[str, tuple[str, int]], place: float) -> None:
        mixer, length = build(component, case), max(case.lengths)
        values = tensors(case, streams, length)
        token = round(place * (length - 1))
        changed = [x.clone() for x in values]
        for x in changed:
            x[token] += 3.0
        was, now = mix(mixer, values, [length]), mix(mixer, changed, [length])
        assert torch.equal(was[:token], now[:token]), f"token {token} was seen before its time"

    law()


def rows_have_no_effect_on_each_other(component: Attention) -> None:
    """Rows together give what each gives alone, whatever their lengths."""

    @drawn(case=cases, streams=streams_of_all)
    def law(case: Case, streams: dict[str, tuple[str, int]]) -> None:
        mixer, layout = build(component, case), Layout.from_lengths(case.lengths)
        values = tensors(case, streams, layout.tokens)
        alone = [
            mix(mixer, row, [length])
            for row, length in zip(rows_of(values, layout), case.lengths, strict=True)
        ]
        close(mix(mixer, values, case.lengths), torch.cat(alone), "rows together")

    law()


def cached_equals_uncached(component: Attention) -> None:
    """Any way of cutting rows into chunks and single steps gives the outputs of whole rows."""
    chunks = st.lists(st.sampled_from((0, 1, 1, 2, 3, 7, 17)), min_size=4, max_size=40)

    @drawn(case=cases, streams=streams_of_all, sizes=chunks, stepping=st.booleans())
    def law(
        case: Case, streams: dict[str, tuple[str, int]], sizes: list[int], stepping: bool
    ) -> None:
        mixer, layout = build(component, case), Layout.from_lengths(case.lengths)
        rows = rows_of(tensors(case, streams, layout.tokens), layout)
        decoding, done = Decoding(mixer, layout.rows), [0] * layout.rows
        got: list[list[Tensor]] = [[] for _ in rows]
        draw = iter(sizes)
        while done != list(case.lengths):
            left = [length - at for length, at in zip(case.lengths, done, strict=True)]
            if stepping and min(left) > 0:
                taken = [1] * layout.rows
            else:
                taken = [min(next(draw, 3), rest) for rest in left]
            pieces = [
                [x[at : at + size] for x in row]
                for row, at, size in zip(rows, done, taken, strict=True)
            ]
            stepped = stepping and set(taken) == {1}
            out = decoding.step(pieces) if stepped else decoding.extend(pieces)
            for into, part in zip(got, out, strict=True):
                into.append(part)
            done = [at + size for at, size in zip(done, taken, strict=True)]
        whole = mix(mixer, together(rows), case.lengths)
        close(torch.cat([torch.cat(parts) for parts in got]), whole, "a chunk at a time")

    law()


def a_cache_gives_and_repeats_rows(component: Attention) -> None:
    """Rows selected from a cache, in any order and number, go on as they would have."""
    picks = st.lists(st.integers(0, 3), min_size=1, max_size=5)

    @drawn(case=cases, streams=streams_of_all, picks=picks)
    def law(case: Case, streams: dict[str, tuple[str, int]], picks: list[int]) -> None:
        mixer, layout = build(component, case), Layout.from_lengths(case.lengths)
        rows = rows_of(tensors(case, streams, layout.tokens + layout.rows), longer_by_one(layout))
        chosen = [pick % layout.rows for pick in picks]
        decoding = Decoding(mixer, layout.rows)
        decoding.extend([[x[:-1] for x in row] for row in rows])
        decoding.select(chosen)
        got = decoding.step([[x[-1:] for x in rows[row]] for row in chosen])
        lengths = longer_by_one(layout).lengths
        whole = mix(mixer, together(rows), lengths).split(lengths)
        close(torch.cat(got), torch.stack([whole[row][-1] for row in chosen]), "selected rows")

    law()


def a_cache_takes_rows_over(component: Attention) -> None:
    """A row overwritten by one of another cache goes on as that one; the rest stay as they were."""

    @drawn(case=cases, streams=streams_of_all, place=st.integers(0, 3))
    def law(case: Case, streams: dict[str, tuple[str, int]], place: int) -> None:
        mixer, layout = build(component, case), Layout.from_lengths(case.lengths)
        longer = longer_by_one(layout)
        rows = rows_of(tensors(case, streams, longer.tokens), longer)
        begun = [[x[:-1] for x in row] for row in rows]
        place %= layout.rows
        decoding, arrived = Decoding(mixer, layout.rows), Decoding(mixer, 1)
        decoding.extend([*begun[1:], begun[0]])  # each row has another's tokens
        arrived.extend([begun[place]])
        decoding.cache.replace(torch.tensor([place]), arrived.cache)
        decoding.seen[place] = arrived.seen[0]
        now = [(row + 1) % layout.rows for row in range(layout.rows)]
        now[place] = place
        got = decoding.step([[x[-1:] for x in rows[row]] for row in now])
        whole = mix(mixer, together(rows), longer.lengths).split(longer.lengths)
        close(torch.cat(got), torch.stack([whole[row][-1] for row in now]), "rows taken over")

    law()


def a_row_does_not_know_the_batch(component: Attention) -> None:
    """Decoded among others or not, and whatever the cache could hold: the same bits."""

    @drawn(case=cases, streams=streams_of_all, others=st.integers(0, 9))
    def law(case: Case, streams: dict[str, tuple[str, int]], others: int) -> None:
        mixer = build(component, case)
        lengths = [case.lengths[row % len(case.lengths)] for row in range(8 + others)]
        layout = Layout.from_lengths([length + 1 for length in lengths])
        rows = rows_of(tensors(case, streams, layout.tokens), layout)

        def decode(chosen: Sequence[int], capacity: int) -> list[Tensor]:
            decoding = Decoding(mixer, len(chosen), capacity)
            begun = decoding.extend([[x[:-1] for x in rows[row]] for row in chosen])
            last = decoding.step([[x[-1:] for x in rows[row]] for row in chosen])
            return [torch.cat(parts) for parts in zip(begun, last, strict=True)]

        few = list(range(others, 8 + others))
        all_of_them = decode(range(8 + others), CAPACITY)
        for row, got in zip(few, decode(few, max(layout.lengths)), strict=True):
            assert torch.equal(got, all_of_them[row]), f"row {row} depends on the others"

    law()


def a_cache_tells_its_size(component: Attention) -> None:
    """Bytes, known before there is memory for them: in proportion to rows, and never none."""
    for layer in range(LAYERS):
        mixer = build(component, _of_layer(layer))

        def size(rows: int, capacity: int, mixer: AttentionMixer = mixer) -> int:
            return mixer.new_cache(rows, capacity, torch.float32, torch.device("meta")).bytes

        assert size(1, 10) > 0, "a cache of nothing"
        assert size(6, 10) == 6 * size(1, 10), "rows cost more, or less, together"
        assert size(2, 10_000) >= size(2, 10), "a longer row takes less"


def gradients_are_finite_and_stay_in_their_row(component: Attention) -> None:
    """The gradient of one row's outputs is finite, and zero for every other row."""

    @drawn(case=cases, streams=streams_of_all, seed=st.integers(0, 2**16))
    def law(case: Case, streams: dict[str, tuple[str, int]], seed: int) -> None:
        mixer, layout = build(component, case), Layout.from_lengths(case.lengths)
        values = [x.requires_grad_() for x in tensors(case, streams, layout.tokens)]
        out = whole_rows(mixer, values, case.lengths)
        row = seed % layout.rows
        mine = layout.row_of == row
        upstream = torch.where(mine[:, None, None], fill(tuple(out.shape), "normal", seed), 0.0)
        found = torch.autograd.grad(out, values, upstream, allow_unused=True)
        for gradient in found:
            if gradient is not None:
                assert gradient.isfinite().all(), "a gradient is not finite"
                assert not gradient[~mine].any(), "a gradient reached another row"

    law()


def a_shared_prompt_is_as_good_as_its_copies(component: Attention) -> None:
    """Rows that go on from another's tokens: outputs and gradients of the rows written out."""
    own = st.lists(st.sampled_from((0, 1, 1, 2, 3, 17)), min_size=1, max_size=6)

    @drawn(case=cases, streams=streams_of_all, own=own, places=st.lists(st.floats(0, 1)))
    def law(
        case: Case, streams: dict[str, tuple[str, int]], own: list[int], places: list[float]
    ) -> None:
        mixer, rows = build(component, case), [*case.lengths, *own]
        shared = iter(places)
        parents = [*range(len(case.lengths)), *(row % len(case.lengths) for row in range(len(own)))]
        taken = [0] * len(case.lengths)
        taken += [max(1, round(next(shared, 1.0) * rows[row])) for row in parents[len(taken) :]]
        branches = Branches(Layout.from_lengths(rows), tuple(parents), tuple(taken))
        values = [x.requires_grad_() for x in tensors(case, streams, sum(rows))]
        upstream = fill((sum(rows), case.heads, case.head_width), "normal", len(own))
        queries, keys, entries, inputs = values
        at_once = mixer.branched(queries, keys, entries, inputs, branches)
        tokens: list[int] = []  # of the rows written out, each by its place among the shared ones
        kept: list[int] = []
        for row, (parent, before, length) in enumerate(zip(parents, taken, rows, strict=True)):
            here, there = sum(rows[:row]), sum(rows[:parent])
            tokens += [*range(there, there + before), *range(here, here + length)]
            kept += range(len(tokens) - length, len(tokens))
        lengths = [before + length for before, length in zip(taken, rows, strict=True)]
        written_out = mixer(*(x[tokens] for x in values), Layout.from_lengths(lengths))[kept]
        close(at_once, written_out, "a shared prompt")
        wanted, found = (
            torch.autograd.grad(out, values, upstream, allow_unused=True, materialize_grads=True)
            for out in (written_out, at_once)
        )
        for left, right in zip(found, wanted, strict=True):
            close(left, right, "its gradient")

    law()


def grouped_equals_repeated_heads(component: Attention) -> None:
    """Query head h uses key/value head h // group: as if each head had a copy of its own."""

    @drawn(case=cases, streams=streams_of_all)
    def law(case: Case, streams: dict[str, tuple[str, int]]) -> None:
        layout = Layout.from_lengths(case.lengths)
        queries, keys, values, inputs = tensors(case, streams, layout.tokens)
        single = attrs.evolve(case, kv_heads=case.heads, groups=1)
        repeated = [x.repeat_interleave(case.groups, dim=1) for x in (keys, values)]
        mixer, each = build(component, case), build(component, single)
        repeat_heads(mixer, each, case)
        close(
            mix(mixer, [queries, keys, values, inputs], case.lengths),
            mix(each, [queries, *repeated, inputs], case.lengths),
            "grouped heads",
        )

    law()


def a_token_sees_its_window(component: Attention) -> None:
    """The farthest visible token matters, the next one does not: at once, and step by step."""

    @drawn(case=cases, seed=st.integers(0, 2**16))
    def law(case: Case, seed: int) -> None:
        mixer = build(component, case)
        reach = mixer.window if mixer.window is not None else max(case.lengths)
        length = reach + 1
        if length > CAPACITY:
            return
        kinds = {name: ("normal", seed + i) for i, name in enumerate(STREAM_NAMES)}
        values = tensors(case, kinds, length)

        def last(change: int | None, stepping: bool) -> Tensor:
            streams = [x.clone() for x in values]
            if change is not None:
                for x in streams:
                    x[change] += 1.0
            if not stepping:
                return mix(mixer, streams, [length])[-1]
            decoding = Decoding(mixer, 1)
            decoding.extend([[x[:-1] for x in streams]])
            return decoding.step([[x[-1:] for x in streams]])[0][0]

        for stepping in (False, True):
            base = last(None, stepping)
            assert not torch.equal(last(1, stepping), base), "the farthest token has no effect"
            beyond = torch.equal(last(0, stepping), base)
            assert beyond == (mixer.window is not None), (
                "a token beyond the window is seen" if mixer.window else "the first is not seen"
            )

    law()


def _windows(component: Attention) -> list[str]:
    """The settings that say how many tokens are seen."""
    settings: Any = type(component)
    return [field.name for field in attrs.fields(settings) if field.name.startswith("window")]


def a_wide_window_sees_everything(component: Attention) -> None:
    """Windows of the row's length give what far wider ones give."""

    @drawn(case=cases, streams=streams_of_all)
    def law(case: Case, streams: dict[str, tuple[str, int]]) -> None:
        layout = Layout.from_lengths(case.lengths)
        values = tensors(case, streams, layout.tokens)
        wide: Any = component
        windows = _windows(component)
        exact = attrs.evolve(wide, **dict.fromkeys(windows, layout.longest))
        far = attrs.evolve(wide, **dict.fromkeys(windows, 50 * layout.longest))
        close(
            mix(build(exact, case), values, case.lengths),
            mix(build(far, case), values, case.lengths),
            "a window of the row's length",
        )

    law()
