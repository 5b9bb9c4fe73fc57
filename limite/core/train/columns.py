"""From recorded columns to a batch an objective can trust: checked, replaced, cast, once.

What holds for every objective is settled here, so that an objective is only its equation. Whatever
stands at an inactive position has no influence; whatever stands at an active one is valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from limite.core.types import DIFFERENTIABLE, TokenBatch, Totals

SHORT_LISTS = ("teacher_topk_logp",)  # where minus infinity says that a list ended before
POSITIVE_NATS = 1e-5  # a log-probability may exceed 0 by this much, from rounding


def totals_of(mask: Tensor, *, response_tokens: int, rows_together: int = 1) -> Totals:
    """The counts of a whole optimizer step from its mask ``[B, T]``.

    Pairs are counted where ``rows_together`` is 2.
    """
    active = as_active(mask)
    rows = active.any(dim=-1)  # [B]
    if rows_together == 2 and len(rows) % 2:
        raise ValueError(f"rows must come in pairs, got {len(rows)}")
    pairs = int((rows[0::2] & rows[1::2]).sum()) if rows_together == 2 else 0
    return Totals(
        tokens=int(active.sum()),
        active_rows=int(rows.sum()),
        rows=active.shape[0],
        response_tokens=response_tokens,
        pairs=pairs,
    )


def token_batch(mask: Tensor, columns: Mapping[str, Tensor], totals: Totals) -> TokenBatch:
    """The batch an objective sees, from ``mask`` ``[B, T]`` and named columns ``[B, T]``.

    A column may be ``[B, T, K]``: a list per token; or ``[B]``: one value for all tokens of a row,
    which it also has where a token takes no part, unless none of the row does.
    Columns whose name ends in ``logp`` are log-probabilities in nats: NaN or infinity at an active
    position raises FloatingPointError, a value above 1e-5 ValueError (minus infinity marks what is
    missing from a teacher's list); any other column that is not finite there
    raises ValueError. Inactive positions become 0 before any arithmetic, so that their gradient is
    exactly 0. Columns are cast to one dtype: float64 when one with a gradient is, else float32.
    Only those of ``DIFFERENTIABLE`` keep their gradient.
    """
    active = as_active(mask)
    ready: dict[str, Tensor] = {}  # [B, T], [B, T, K] or, of a value for each row, [B, 1]
    batch = TokenBatch(mask=active, columns=ready, totals=totals)
    leaders = {column.dtype for name, column in columns.items() if name in DIFFERENTIABLE}
    dtype = torch.float64 if torch.float64 in leaders else torch.float32
    for name, column in columns.items():
        kept = _fitting(name, column, active)
        if kept.ndim == 1:
            ready[name] = kept.detach().masked_fill(~batch.active_rows, 0)[:, None]
            continue
        zero = batch.inactive if kept.ndim == 2 else batch.inactive[..., None]
        ready[name] = (kept if name in DIFFERENTIABLE else kept.detach()).masked_fill(zero, 0)
    _check(ready, active)
    for name, column in ready.items():
        if column.is_floating_point():
            column = column.to(dtype)
        ready[name] = column.expand(active.shape) if column.ndim == 2 else column
    return batch


def as_active(mask: Tensor) -> Tensor:
    """A mask ``[B, T]`` of 0 and 1 as bool; any other is refused."""
    if mask.ndim != 2:
        raise ValueError(f"the mask must be [rows, tokens], got shape {tuple(mask.shape)}")
    if mask.dtype == torch.bool:
        return mask
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise ValueError("the mask must hold only 0 and 1")
    return mask.bool()


def _fitting(name: str, column: Tensor, mask: Tensor) -> Tensor:
    """The column where it fits the mask; ``[B, T]`` in place of ``[B]`` if it has a gradient."""
    if column.device != mask.device:
        raise ValueError(f"{name!r} is on {column.device}, the mask on {mask.device}")
    if column.ndim == 1 and column.shape[0] == mask.shape[0]:
        return column[:, None].expand(mask.shape) if name in DIFFERENTIABLE else column
    if column.shape[:2] != mask.shape or column.ndim > 3:
        raise ValueError(
            f"{name!r} has shape {tuple(column.shape)} and the mask {tuple(mask.shape)}"
        )
    return column


def _check(columns: Mapping[str, Tensor], mask: Tensor) -> None:
    """Refuse invalid values of columns that are 0 wherever a token takes no part.

    Their ends tell whether all is well, with one transfer to the host: NaN is an end wherever it
    stands.
    """
    numbers = {
        name: column.detach()
        for name, column in columns.items()
        if column.is_floating_point() and column.numel()
    }
    if not numbers:
        return
    ends = torch.stack(
        [end.double() for column in numbers.values() for end in torch.aminmax(column)]
    ).tolist()
    for name, least, most in zip(numbers, ends[0::2], ends[1::2], strict=True):
        sound = most < math.inf and (least > -math.inf or name in SHORT_LISTS)
        if not sound or (name.endswith("logp") and most > POSITIVE_NATS):
            column = numbers[name]
            _refuse(name, column if column.ndim == 3 else column.where(mask, 0.0))


def _refuse(name: str, values: Tensor) -> None:
    """Says which values of a column are invalid."""
    sound = values.isfinite()
    if name in SHORT_LISTS:
        sound |= values == -torch.inf
    demand, bad = "finite", ~sound
    kind: type[Exception] = FloatingPointError if name.endswith("logp") else ValueError
    if bool(sound.all()):
        demand, bad, kind = "at most 0", values > POSITIVE_NATS, ValueError
    place = tuple(int(index) for index in bad.nonzero()[0])
    raise kind(
        f"{name!r} must be {demand} at active positions: {int(bad.sum())} are not, the first at "
        f"(row {place[0]}, position {place[1]}) is {values[place].item()}"
    )
