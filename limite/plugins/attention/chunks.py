"""Which cached keys a chunk of new tokens sees, for rows of different lengths."""

from __future__ import annotations

import attrs
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.kernels.slots import bucket
from limite.plugins.attention.keyvalue import positions_of


def band(length: int, window: int, device: torch.device) -> Tensor:
    """``[T, T]`` bool: which keys each query sees, the last ``window`` up to itself."""
    distance = torch.arange(length, device=device)[:, None] - torch.arange(length, device=device)
    return (distance >= 0) & (distance < window)


@attrs.frozen(eq=False)
class ChunkGroup:
    """Rows whose chunks, and pasts, fill the same number of places."""

    rows: Tensor  # [b] indexes
    places: int  # of the padded chunk
    past: int  # slots read of the cache
    padded: Tensor  # [b * places] tokens, the last repeated
    tokens: Tensor  # [n] the group's tokens
    real: Tensor  # [n] their places in the padded view
    mask: Tensor | None  # [b, 1, places, past + places]; None: causal and no past


def _places(length: int) -> int:
    """The chunk's length rounded up: to a power of two, from 32 on to a multiple of 32."""
    return 1 << (length - 1).bit_length() if length <= 32 else -(-length // 32) * 32


def chunk_groups(
    layout: Layout, before: tuple[int, ...], slots: int, window: int | None
) -> list[ChunkGroup]:
    """The rows of a chunk by size, so that the shapes a row is computed in are its own."""
    members: dict[tuple[int, int], list[int]] = {}
    for row, (length, seen) in enumerate(zip(layout.lengths, before, strict=True)):
        if length:
            past = min(slots, bucket(seen)) if seen else 0
            members.setdefault((_places(length), past), []).append(row)
    groups = []
    for (places, past), numbers in members.items():
        rows = torch.tensor(numbers, device=layout.device)
        place = torch.arange(places, device=layout.device)
        lengths = layout.lengths_tensor[rows]
        padded = layout.starts[rows][:, None] + torch.minimum(place, lengths[:, None] - 1)
        real = (place < lengths[:, None]).flatten().nonzero().squeeze(1)
        seen_tokens = torch.tensor([before[row] for row in numbers], device=layout.device)
        mask = _mask(place, seen_tokens, past, slots, window)
        groups.append(
            ChunkGroup(rows, places, past, padded.flatten(), padded.flatten()[real], real, mask)
        )
    return groups


def _mask(place: Tensor, seen: Tensor, past: int, slots: int, window: int | None) -> Tensor | None:
    """Which of ``past`` slots and of the chunk's own places each query of the chunk sees."""
    places = len(place)
    own = band(places, places if window is None else window, place.device)
    if not past:
        return None if window is None or window >= places else own[None, None]
    held = positions_of(torch.arange(past, device=place.device), seen, slots)  # [b, P]
    visible = (held >= 0)[:, None].expand(-1, places, -1)
    if window is not None:
        distance = (seen[:, None] + place)[:, :, None] - held[:, None]
        visible = visible & (distance < window)
    return torch.cat((visible, own.expand(len(seen), -1, -1)), dim=2)[:, None]
