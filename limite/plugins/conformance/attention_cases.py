"""What the laws of attention draw, and how they use a mixer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import pad

from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kinds import Attention
from limite.core.model.attention import AttentionMixer
from limite.core.model.spec import AttentionShape
from limite.core.seeds import Seeds

LAYERS = 4
CAPACITY = 80  # tokens of a cache: more than one tile, and more than some windows
# Sums in another order, in float64.
TOLERANCE = 1e-9
PADDING = 3.0
"""What the tokens are that fill up rows: unlike what streams hold, so that it shows if seen."""

STREAM_NAMES = ("queries", "keys", "values", "inputs")


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
row_lengths = st.sampled_from((1, 2, 3, 5, 8, 15, 16, 17, 18, 21))
cases = st.builds(
    Case,
    layer=st.integers(0, LAYERS - 1),
    kv_heads=st.sampled_from((1, 2)),
    groups=st.sampled_from((1, 2, 3)),
    head_width=st.sampled_from((2, 4)),
    lengths=st.lists(row_lengths, min_size=1, max_size=4).map(tuple),
)
regimes = st.tuples(
    st.sampled_from(("normal", "constant", "one-hot", "large", "tiny")), st.integers(0, 2**16)
)
streams_of_all = st.fixed_dictionaries(dict.fromkeys(STREAM_NAMES, regimes))


def build(component: Attention, case: Case) -> AttentionMixer:
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
    mixer.initialise(Seeds(case.layer).child("mixer"))
    return mixer.double()


def fill(shape: tuple[int, ...], regime: str, seed: int) -> Tensor:
    noise = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    if regime == "constant":
        return torch.full(shape, noise.flatten()[0].item(), dtype=torch.float64)
    if regime == "one-hot":
        return (noise == noise.amax(-1, keepdim=True)).double()
    return noise * {"large": 30.0, "tiny": 1e-4}.get(regime, 1.0)


Streams = list[Tensor]


def tensors(case: Case, streams: dict[str, tuple[str, int]], tokens: int) -> Streams:
    """Queries, keys, values and inputs for ``tokens`` tokens."""
    shapes = {
        "queries": (tokens, case.heads, case.head_width),
        "keys": (tokens, case.kv_heads, case.head_width),
        "values": (tokens, case.kv_heads, case.head_width),
        "inputs": (tokens, case.heads * case.head_width),
    }
    return [fill(shapes[name], *streams[name]) for name in shapes]


def rows_of(streams: Streams, layout: Layout) -> list[Streams]:
    """The streams of each row."""
    return [list(row) for row in zip(*(x.split(layout.lengths) for x in streams), strict=True)]


def together(rows: Sequence[Streams]) -> Streams:
    return [torch.cat(parts) for parts in zip(*rows, strict=True)]


def whole_rows(mixer: AttentionMixer, streams: Streams, lengths: Sequence[int]) -> Tensor:
    """``forward`` as a learner calls it: on padded rows, where the mixer takes no others."""
    if mixer.ragged or len(set(lengths)) == 1:
        out: Tensor = mixer(*streams, Layout.from_lengths(lengths))
        return out
    longest = max(lengths)
    rows = rows_of(streams, Layout.from_lengths(lengths))
    padded = [
        [pad(x, (0, 0) * (x.ndim - 1) + (0, longest - len(x)), value=PADDING) for x in row]
        for row in rows
    ]
    out = mixer(*together(padded), Layout.from_lengths([longest] * len(lengths)))
    parts = zip(out.split(longest), lengths, strict=True)
    return torch.cat([part[:length] for part, length in parts])


@torch.no_grad()
def mix(mixer: AttentionMixer, streams: Streams, lengths: Sequence[int]) -> Tensor:
    before = [x.clone() for x in streams]
    out = whole_rows(mixer, streams, lengths)
    for kept, now in zip(before, streams, strict=True):
        assert torch.equal(kept, now), "an input was changed"
    return out


def close(left: Tensor, right: Tensor, what: str, *, tolerance: float = TOLERANCE) -> None:
    scale = max(1.0, right.abs().max().item() if right.numel() else 1.0)
    far = (left - right).abs().max().item() if right.numel() else 0.0
    assert far <= tolerance * scale, f"{what}: off by {far}"


class Decoding:
    """A mixer with a cache, fed a chunk at a time as a decoder does."""

    def __init__(self, mixer: AttentionMixer, rows: int, capacity: int = CAPACITY) -> None:
        self.mixer: Any = mixer
        self.seen = [0] * rows
        self.cache = mixer.new_cache(rows, capacity, torch.float64, torch.device("cpu"))

    @torch.no_grad()
    def extend(self, rows: Sequence[Streams]) -> list[Tensor]:
        lengths = [len(row[0]) for row in rows]
        out = self.mixer.extend(
            *together(rows), Layout.from_lengths(lengths), self.cache, tuple(self.seen)
        )
        self.seen = [seen + length for seen, length in zip(self.seen, lengths, strict=True)]
        return list(out.split(lengths))

    @torch.no_grad()
    def step(self, rows: Sequence[Streams]) -> list[Tensor]:
        moment = Moment.of(torch.tensor(self.seen) + 1)
        out = self.mixer.step(*together(rows), self.cache, moment)
        self.seen = [seen + 1 for seen in self.seen]
        return list(out.split(1))

    def select(self, rows: Sequence[int]) -> None:
        self.cache = self.cache.select(torch.tensor(rows))
        self.seen = [self.seen[row] for row in rows]


def longer_by_one(layout: Layout) -> Layout:
    return Layout.from_lengths([length + 1 for length in layout.lengths])
