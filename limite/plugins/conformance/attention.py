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
from limite.core.kernels.moment import Moment
from limite.core.kinds import Attention
from limite.core.model.attention import AttentionMixer
from limite.core.model.spec import AttentionShape
from limite.plugins.conformance.strategies import drawn

LAYERS = 4
CAPACITY = 80  # tokens of a cache: more than one tile, and more than some windows
# Sums in another order, in float64.
TOLERANCE = 1e-9


def attention_laws(component: Attention) -> dict[str, Callable[[], None]]:
    """A test per law of attention, by name. Each runs over the layers of a small model."""
    laws: list[Callable[[Attention], None]] = [
        later_tokens_have_no_effect,
        rows_have_no_effect_on_each_other,
        cached_equals_uncached,
        a_cache_gives_and_repeats_rows,
        a_row_does_not_know_the_batch,
        gradients_are_finite_and_stay_in_their_row,
    ]
    if not list(_build(component, Case()).parameters()):
        laws.append(grouped_equals_repeated_heads)
    laws.append(a_token_sees_its_window)
    settings: Any = type(component)
    if "window" in {field.name for field in attrs.fields(settings)}:
        laws.append(a_wide_window_sees_everything)
    return {law.__name__: functools.partial(law, component) for law in laws}


@attrs.frozen(kw_only=True)
class Case:
    """The sizes a law draws."""

    layer: int = 0
    kv_heads: int = 1
    groups: int = 1
    head_width: int = 2
    lengths: tuple[int, ...] = (1,)

    @property
    def heads(self) -> int:
        return self.kv_heads * self.groups


# A row of one token, and lengths on either side of common windows.
_lengths = st.lists(st.sampled_from((1, 2, 3, 5, 8, 15, 16, 17, 18, 21)), min_size=1, max_size=4)
_cases = st.builds(
    Case,
    layer=st.integers(0, LAYERS - 1),
    kv_heads=st.sampled_from((1, 2)),
    groups=st.sampled_from((1, 2, 3)),
    head_width=st.sampled_from((2, 4)),
    lengths=_lengths.map(tuple),
)
_regimes = st.tuples(
    st.sampled_from(("normal", "constant", "one-hot", "large", "tiny")), st.integers(0, 2**16)
)
_streams = st.fixed_dictionaries(dict.fromkeys(("queries", "keys", "values", "inputs"), _regimes))


def _build(component: Attention, case: Case) -> AttentionMixer:
    shape = AttentionShape(
        layer=case.layer,
        layers=LAYERS,
        heads=case.heads,
        kv_heads=case.kv_heads,
        head_width=case.head_width,
        width=case.heads * case.head_width,
        scale=0.5,
    )
    mixer: Any = component.build(shape)
    assert isinstance(mixer, AttentionMixer), f"build gave a {type(mixer).__name__}"
    return mixer.double()


def _fill(shape: tuple[int, ...], regime: str, seed: int) -> Tensor:
    noise = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    if regime == "constant":
        return torch.full(shape, noise.flatten()[0].item(), dtype=torch.float64)
    if regime == "one-hot":
        return (noise == noise.amax(-1, keepdim=True)).double()
    return noise * {"large": 30.0, "tiny": 1e-4}.get(regime, 1.0)


Streams = list[Tensor]


def _tensors(case: Case, streams: dict[str, tuple[str, int]], tokens: int) -> Streams:
    """Queries, keys, values and inputs for ``tokens`` tokens."""
    shapes = {
        "queries": (tokens, case.heads, case.head_width),
        "keys": (tokens, case.kv_heads, case.head_width),
        "values": (tokens, case.kv_heads, case.head_width),
        "inputs": (tokens, case.heads * case.head_width),
    }
    return [_fill(shapes[name], *streams[name]) for name in shapes]


def _rows(streams: Streams, layout: Layout) -> list[Streams]:
    """The streams of each row."""
    return [list(row) for row in zip(*(x.split(layout.lengths) for x in streams), strict=True)]


def _together(rows: Sequence[Streams]) -> Streams:
    return [torch.cat(parts) for parts in zip(*rows, strict=True)]


@torch.no_grad()
def _mix(mixer: AttentionMixer, streams: Streams, lengths: Sequence[int]) -> Tensor:
    before = [x.clone() for x in streams]
    out: Tensor = mixer(*streams, Layout.from_lengths(lengths))
    for kept, now in zip(before, streams, strict=True):
        assert torch.equal(kept, now), "an input was changed"
    return out


def _close(left: Tensor, right: Tensor, what: str) -> None:
    scale = max(1.0, right.abs().max().item() if right.numel() else 1.0)
    far = (left - right).abs().max().item() if right.numel() else 0.0
    assert far <= TOLERANCE * scale, f"{what}: off by {far}"


def later_tokens_have_no_effect(component: Attention) -> None:
    """Changing a token changes no output before it, not by a bit."""

    @drawn(case=_cases, streams=_streams, place=st.floats(0, 1))
    def law(case: Case, streams: dict[str, tuple[str, int]], place: float) -> None:
        mixer, length = _build(component, case), max(case.lengths)
        values = _tensors(case, streams, length)
        token = round(place * (length - 1))
        changed = [x.clone() for x in values]
        for x in changed:
            x[token] += 3.0
        was, now = _mix(mixer, values, [length]), _mix(mixer, changed, [length])
        assert torch.equal(was[:token], now[:token]), f"token {token} was seen before its time"

    law()


def rows_have_no_effect_on_each_other(component: Attention) -> None:
    """Rows together give what each gives alone, whatever their lengths."""

    @drawn(case=_cases, streams=_streams)
    def law(case: Case, streams: dict[str, tuple[str, int]]) -> None:
        mixer, layout = _build(component, case), Layout.from_lengths(case.lengths)
        values = _tensors(case, streams, layout.tokens)
        alone = [
            _mix(mixer, row, [length])
            for row, length in zip(_rows(values, layout), case.lengths, strict=True)
        ]
        _close(_mix(mixer, values, case.lengths), torch.cat(alone), "rows together")

    law()


class _Decoding:
    """A mixer with a cache, fed a chunk at a time as a decoder does."""

    def __init__(self, mixer: AttentionMixer, rows: int, capacity: int = CAPACITY) -> None:
        self.mixer: Any = mixer
        self.seen = [0] * rows
        self.cache = mixer.new_cache(rows, capacity, torch.float64, torch.device("cpu"))

    @torch.no_grad()
    def extend(self, rows: Sequence[Streams]) -> list[Tensor]:
        lengths = [len(row[0]) for row in rows]
        out = self.mixer.extend(
            *_together(rows), Layout.from_lengths(lengths), self.cache, tuple(self.seen)
        )
        self.seen = [seen + length for seen, length in zip(self.seen, lengths, strict=True)]
        return list(out.split(lengths))

    @torch.no_grad()
    def step(self, rows: Sequence[Streams]) -> list[Tensor]:
        moment = Moment.of(torch.tensor(self.seen) + 1)
        out = self.mixer.step(*_together(rows), self.cache, moment)
        self.seen = [seen + 1 for seen in self.seen]
        return list(out.split(1))

    def select(self, rows: Sequence[int]) -> None:
        self.cache = self.cache.select(torch.tensor(rows))
        self.seen = [self.seen[row] for row in rows]


def cached_equals_uncached(component: Attention) -> None:
    """Any way of cutting rows into chunks and single steps gives the outputs of whole rows."""
    chunks = st.lists(st.sampled_from((0, 1, 1, 2, 3, 7, 17)), min_size=4, max_size=40)

    @drawn(case=_cases, streams=_streams, sizes=chunks, stepping=st.booleans())
    def law(
        case: Case, streams: dict[str, tuple[str, int]], sizes: list[int], stepping: bool
    ) -> None:
        mixer, layout = _build(component, case), Layout.from_lengths(case.lengths)
        rows = _rows(_tensors(case, streams, layout.tokens), layout)
        decoding, done = _Decoding(mixer, layout.rows), [0] * layout.rows
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
        whole = _mix(mixer, _together(rows), case.lengths)
        _close(torch.cat([torch.cat(parts) for parts in got]), whole, "a chunk at a time")

    law()


def a_cache_gives_and_repeats_rows(component: Attention) -> None:
    """Rows selected from a cache, in any order and number, go on as they would have."""
    picks = st.lists(st.integers(0, 3), min_size=1, max_size=5)

    @drawn(case=_cases, streams=_streams, picks=picks)
    def law(case: Case, streams: dict[str, tuple[str, int]], picks: list[int]) -> None:
        mixer, layout = _build(component, case), Layout.from_lengths(case.lengths)
        rows = _rows(_tensors(case, streams, layout.tokens + layout.rows), _longer(layout))
        chosen = [pick % layout.rows for pick in picks]
        decoding = _Decoding(mixer, layout.rows)
        decoding.extend([[x[:-1] for x in row] for row in rows])
        decoding.select(chosen)
        got = decoding.step([[x[-1:] for x in rows[row]] for row in chosen])
        whole = _mix(mixer, _together(rows), _longer(layout).lengths).split(_longer(layout).lengths)
        _close(torch.cat(got), torch.stack([whole[row][-1] for row in chosen]), "selected rows")

    law()


def _longer(layout: Layout) -> Layout:
    return Layout.from_lengths([length + 1 for length in layout.lengths])


def a_row_does_not_know_the_batch(component: Attention) -> None:
    """Decoded among others or not, and whatever the cache could hold: the same bits."""

    @drawn(case=_cases, streams=_streams, others=st.integers(0, 9))
    def law(case: Case, streams: dict[str, tuple[str, int]], others: int) -> None:
        mixer = _build(component, case)
        lengths = [case.lengths[row % len(case.lengths)] for row in range(8 + others)]
        layout = Layout.from_lengths([length + 1 for length in lengths])
        rows = _rows(_tensors(case, streams, layout.tokens), layout)

        def decode(chosen: Sequence[int], capacity: int) -> list[Tensor]:
            decoding = _Decoding(mixer, len(chosen), capacity)
            begun = decoding.extend([[x[:-1] for x in rows[row]] for row in chosen])
            last = decoding.step([[x[-1:] for x in rows[row]] for row in chosen])
            return [torch.cat(parts) for parts in zip(begun, last, strict=True)]

        few = list(range(others, 8 + others))
        all_of_them = decode(range(8 + others), CAPACITY)
        for row, got in zip(few, decode(few, max(layout.lengths)), strict=True):
            assert torch.equal(got, all_of_them[row]), f"row {row} depends on the others"

    law()


def gradients_are_finite_and_stay_in_their_row(component: Attention) -> None:
    """The gradient of one row's outputs is finite, and zero for every other row."""

    @drawn(case=_cases, streams=_streams, seed=st.integers(0, 2**16))
    def law(case: Case, streams: dict[str, tuple[str, int]], seed: int) -> None:
        mixer, layout = _build(component, case), Layout.from_lengths(case.lengths)
        values = [x.requires_grad_() for x in _tensors(case, streams, layout.tokens)]
        out = mixer(*values, layout)
        row = seed % layout.rows
        mine = layout.row_of == row
        upstream = torch.where(mine[:, None, None], _fill(tuple(out.shape), "normal", seed), 0.0)
        found = torch.autograd.grad(out, values, upstream, allow_unused=True)
        for gradient in found:
            if gradient is not None:
                assert gradient.isfinite().all(), "a gradient is not finite"
                assert not gradient[~mine].any(), "a gradient reached another row"

    law()


def grouped_equals_repeated_heads(component: Attention) -> None:
    """Query head h uses key/value head h // group: as if each head had a copy of its own."""

    @drawn(case=_cases, streams=_streams)
    def law(case: Case, streams: dict[str, tuple[str, int]]) -> None:
        layout = Layout.from_lengths(case.lengths)
        queries, keys, values, inputs = _tensors(case, streams, layout.tokens)
        single = attrs.evolve(case, kv_heads=case.heads, groups=1)
        repeated = [x.repeat_interleave(case.groups, dim=1) for x in (keys, values)]
        _close(
            _mix(_build(component, case), [queries, keys, values, inputs], case.lengths),
            _mix(_build(component, single), [queries, *repeated, inputs], case.lengths),
            "grouped heads",
        )

    law()


def a_token_sees_its_window(component: Attention) -> None:
    """The farthest visible token matters, the next one does not: at once, and step by step."""

    @drawn(case=_cases, seed=st.integers(0, 2**16))
    def law(case: Case, seed: int) -> None:
        mixer = _build(component, case)
        reach = mixer.window if mixer.window is not None else max(case.lengths)
        length = reach + 1
        if length > CAPACITY:
            return
        kinds = {name: ("normal", seed + i) for i, name in enumerate(_STREAM_NAMES)}
        values = _tensors(case, kinds, length)

        def last(change: int | None, stepping: bool) -> Tensor:
            streams = [x.clone() for x in values]
            if change is not None:
                for x in streams:
                    x[change] += 1.0
            if not stepping:
                return _mix(mixer, streams, [length])[-1]
            decoding = _Decoding(mixer, 1)
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


_STREAM_NAMES = ("queries", "keys", "values", "inputs")


def a_wide_window_sees_everything(component: Attention) -> None:
    """A window of the row's length gives what a far wider one gives."""

    @drawn(case=_cases, streams=_streams)
    def law(case: Case, streams: dict[str, tuple[str, int]]) -> None:
        layout = Layout.from_lengths(case.lengths)
        values = _tensors(case, streams, layout.tokens)
        wide: Any = component
        exact = attrs.evolve(wide, window=layout.longest)
        far = attrs.evolve(wide, window=50 * layout.longest)
        _close(
            _mix(_build(exact, case), values, case.lengths),
            _mix(_build(far, case), values, case.lengths),
            "a window of the row's length",
        )

    law()
