"""Which keys a token may see: rows packed end to end, padding, and windows."""

from __future__ import annotations

import attrs
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout

Segments = Tensor | Layout
"""Rows within the token axis: numbers ``[B, T]``, a run of equal ones being a row and negative
ones padding; or, for one batch row of packed tokens, a ``Layout``."""


@attrs.frozen(eq=False)
class Spans:
    """Where the row of each token starts and ends (exclusive), ``[B, T]`` int32.

    Token t may see the keys from ``starts[t]`` to t, and be seen by the queries from t to
    ``ends[t] - 1``; padding has ``starts = T`` and ``ends = 0``, so that neither has any.
    """

    starts: Tensor
    ends: Tensor

    @property
    def padding(self) -> Tensor:
        """``[B, T]`` bool."""
        return self.ends == 0


def spans(segments: Segments) -> Spans:
    """The spans of every token; remembered where ``segments`` is a ``Layout``."""
    if isinstance(segments, Layout):
        if "spans" not in segments.memo:
            starts = segments.starts[segments.row_of]
            ends = starts + segments.lengths_tensor[segments.row_of]
            segments.memo["spans"] = Spans(starts[None].int(), ends[None].int())
        found: Spans = segments.memo["spans"]
        return found
    tokens = segments.shape[1]
    place = torch.arange(tokens, device=segments.device).expand_as(segments)
    change = torch.ones_like(segments, dtype=torch.bool)
    change[:, 1:] = segments[:, 1:] != segments[:, :-1]
    starts = torch.where(change, place, 0).cummax(1).values
    last = torch.ones_like(change)
    last[:, :-1] = change[:, 1:]
    ends = torch.where(last, place + 1, tokens).flip(1).cummin(1).values.flip(1)
    padding = segments < 0
    return Spans(starts.masked_fill(padding, tokens).int(), ends.masked_fill(padding, 0).int())


def reach(keys: int, window: int | None) -> int:
    """How many of the keys are within a window, at most."""
    return keys if window is None else min(window, keys)


def visible(
    queries: int,
    keys: int,
    *,
    window: int | None,
    segments: Segments | None,
    device: torch.device,
) -> Tensor:
    """Which keys each query sees, as the definition has it: ``[B or 1, Tq, Tk]`` bool.

    Queries are the last of the keys' tokens. ``window`` counts the query's own key.
    """
    place = torch.arange(keys, device=device)
    distance = place[keys - queries :, None] - place
    seen = (distance >= 0)[None]
    if window is not None:
        seen = seen & (distance < window)
    if segments is not None:
        rows = spans(segments)
        seen = seen & (place >= rows.starts[:, keys - queries :, None])
        seen = seen & ~rows.padding[:, None]
    return seen
