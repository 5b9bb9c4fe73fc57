"""Which tokens see which: what any attention over streams of tokens has to show of a case."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.plugins.conformance.kernels.run import Backend, Outcome, nothing_but_nan
from limite.plugins.conformance.kernels.streams import (
    Case,
    both,
    joined,
    outcome,
    require_outcome,
    require_same_outputs,
)
from limite.plugins.conformance.kernels.values import fill


def require_causal(backend: Backend, case: Case, token: int) -> None:
    """Fails where an output before a token depends on it, or a gradient flows the other way.

    To the bit. No rows within the case, and a query for every key.
    """
    case = case.changed(layout="contiguous")
    altered = {name: case.inputs[name].clone() for name in case.names}
    for each in altered.values():
        each[:, :, token:] = fill(each[:, :, token:].shape, "normal", 5, each.dtype)
    early = tuple(None if each is None else _until(each, token) for each in case.upstream)
    before = outcome(backend, case.changed(upstream=early))
    after = outcome(backend, case.changed(**altered), gradients=False)
    require_same_outputs(before, after, slice(0, token))
    for name in case.names:
        late = before.gradients[name][:, :, token:]
        assert bool((late == 0).all()), f"gradient of {name} from outputs before token {token}"


def _until(upstream: Tensor, token: int) -> Tensor:
    early = upstream.clone()
    early[:, :, token:] = 0
    return early


def require_blind(
    backend: Backend, case: Case, names: Sequence[str], token: int, window: int
) -> None:
    """Fails where another key and value at a token, those of ``names``, change a bit of any
    output that it is not in the window of."""
    case = case.changed(layout="contiguous")
    altered = {name: case.inputs[name].clone() for name in names}
    for each in altered.values():
        each[:, :, token] += 3.0
    before = outcome(backend, case, gradients=False)
    after = outcome(backend, case.changed(**altered), gradients=False)
    require_same_outputs(before, after, slice(0, max(token - case.first, 0)))
    require_same_outputs(before, after, slice(max(token + window - case.first, 0), None))


def require_packed_as_separate(backend: Backend, case: Case, lengths: Sequence[int]) -> None:
    """Fails unless rows of these lengths packed end to end, as numbers or as a layout, are as each
    row by itself. ``case`` gives what cannot be told from the lengths."""
    numbers = [row for row, length in enumerate(lengths) for _ in range(length)]
    whole = case.rebuilt(keys=len(numbers), queries=None, layout="contiguous", segments=None)
    parts, start = [], 0
    for length in filter(None, lengths):
        parts.append(outcome(backend, whole.tokens(start, start + length)))
        start += length
    separate = joined(parts)
    as_numbers = whole.changed(segments=torch.tensor([numbers]))
    require_outcome(whole, outcome(backend, as_numbers), separate)
    layout = Layout.from_lengths(lengths, backend.device)
    as_layout = whole.changed(arguments={**whole.arguments, "segments": layout})
    require_outcome(whole, outcome(backend, as_layout), separate)


def require_padding_is_nothing(backend: Backend, case: Case, left: int, right: int) -> None:
    """Fails unless NaN at padding, so much at either end, gives 0 there and changes nothing else.

    For one batch row without rows within it, and a query for every key.
    """
    case = case.changed(layout="contiguous")
    inside = slice(left, left + case.keys)

    def wide(each: Tensor) -> Tensor:
        shape = (*each.shape[:2], left + case.keys + right, *each.shape[3:])
        result = torch.full(shape, torch.nan, dtype=each.dtype)
        result[:, :, inside] = each
        return result

    padded = case.changed(
        upstream=tuple(None if each is None else wide(each) for each in case.upstream),
        segments=torch.tensor([[-1] * left + [0] * case.keys + [-1] * right]),
        **{name: wide(case.inputs[name]) for name in case.names},
    )
    found = outcome(backend, padded)
    out, lse = both(found)
    beside = torch.ones(left + case.keys + right, dtype=torch.bool)
    beside[inside] = False
    for name, each in {"out": out, **found.gradients}.items():
        assert bool((each[:, :, beside] == 0).all()), f"{name} is not 0 at padding"
    assert bool((lse[:, :, beside] == -torch.inf).all()), "lse is not -inf at padding"
    gradients = {name: each[:, :, inside] for name, each in found.gradients.items()}
    kept = Outcome((out[:, :, inside], lse[:, :, inside]), gradients)
    require_outcome(case, kept, outcome(backend, case))


def require_chunks_as_whole(backend: Backend, case: Case, chunk: int) -> None:
    """Fails unless so many queries at a time, over the keys so far, give what all together give.

    No rows within the case, and a query for every key; a third of them at a time at least.
    """
    out, lse = both(outcome(backend, case, gradients=False))
    chunk = max(chunk, case.keys // 3)
    for start in range(0, case.keys, chunk):
        stop = min(start + chunk, case.keys)
        part = case.tokens(0, stop)
        part = part.changed(q=part.inputs["q"][:, :, start:])
        whole = Outcome((out[:, :, start:stop], lse[:, :, start:stop]), {})
        require_outcome(case, outcome(backend, part, gradients=False), whole)


def require_nan_shows(
    backend: Backend, case: Case, name: str, token: int, window: int | None
) -> None:
    """Fails where NaN in an input's token does not reach an output that sees it.

    ``window`` is that of the input's stream. No rows within the case.
    """
    altered = case.inputs[name].clone()
    altered[:, :, token, 3] = torch.nan
    with nothing_but_nan():
        found = outcome(backend, case.changed(**{name: altered}), gradients=False)
    place = torch.arange(case.first, case.keys)
    if name == "q":
        sees = place == token + case.first
    else:
        sees = (place >= token) & (place - token < (window or case.keys))
    out, lse = both(found)
    assert bool(out[:, :, sees, 3].isnan().all()), f"NaN in {name} is hidden from the output"
    if name[0] != "v":
        assert bool(lse[:, :, sees].isnan().all()), f"NaN in {name} is hidden from the lse"
