"""What the laws of attention and of 2-simplicial attention have in common: calls, and verdicts.

Both ask with queries for keys and values, of one stream of tokens or of two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

import attrs
import torch
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import tiles
from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.measure import Tolerance
from limite.plugins.conformance.kernels.run import Backend, Outcome

MILD = ("normal", "constant", "one-hot", "ties")
"""Regimes whose scores are not so large that two right sums of them differ visibly."""

SMALLEST_SUM = 16
"""Terms of a compiled matrix product's sums in half precision, at least."""


@attrs.frozen(eq=False, repr=False)
class Case(ABC):
    """One call, and the gradients that flow back into its output and log-sum-exp."""

    op: ClassVar[str]
    names: ClassVar[tuple[str, ...]]  # of the inputs: the queries, keys, and values
    kernels: ClassVar[tuple[str, ...]]  # that have tiles

    inputs: Mapping[str, Tensor]
    arguments: Mapping[str, Any]  # segments are among the inputs
    upstream: tuple[Tensor | None, ...]  # of the output and the log-sum-exp
    layout: str
    blocks: tuple[int, int]  # queries, or rows of them, and keys of a tile, where there are tiles
    parameters: Mapping[str, Any]  # of ``build``

    @abstractmethod
    def rebuilt(self, **parameters: Any) -> Self:
        """The case with other parameters."""

    @staticmethod
    @abstractmethod
    def tile(queries: int, keys: int) -> Tile:
        """Of all its kernels."""

    @abstractmethod
    def strain(self) -> float:
        """By how much the size of the scores may add to the relative error."""

    @abstractmethod
    def sizes(self) -> Mapping[str, float]:
        """Natural sizes of ``out``, ``lse``, and each input's gradient."""

    @property
    def dtype(self) -> torch.dtype:
        return self.inputs["q"].dtype

    @property
    def keys(self) -> int:
        return self.inputs[self.names[1]].shape[2]

    @property
    def first(self) -> int:
        """The position of the first query."""
        return self.keys - self.inputs["q"].shape[2]

    @property
    def group(self) -> int:
        """Heads that share keys and values."""
        return self.inputs["q"].shape[1] // self.inputs[self.names[1]].shape[1]

    def changed(self, **changes: Any) -> Self:
        """With other inputs, by name, or other ``arguments``, ``upstream`` or ``layout``."""
        fields: dict[str, Any] = {
            name: changes.pop(name)
            for name in ("arguments", "upstream", "layout")
            if name in changes
        }
        return attrs.evolve(self, inputs={**self.inputs, **changes}, **fields)

    def tokens(self, start: int, stop: int) -> Self:
        """Some of its tokens."""
        inputs = {name: self.inputs[name][:, :, start:stop] for name in self.names}
        upstream = tuple(None if each is None else each[:, :, start:stop] for each in self.upstream)
        return self.changed(upstream=upstream, **inputs)

    def __repr__(self) -> str:
        return f"build(**{dict(self.parameters)})"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))


def tile_sizes(backend: Backend) -> tuple[int, ...]:
    """Tiles small enough that few tokens cross several."""
    return (SMALLEST_SUM, SMALLEST_SUM, 32) if backend.compiled else (8, 8, 16)


@st.composite
def windows(draw: st.DrawFn, keys: int, block: int) -> int | None:
    near = {1, keys - 1, keys, keys + 1, block - 1, block, block + 1, 2 * block + 1}
    chosen = st.one_of(
        st.sampled_from(sorted(size for size in near if size > 0)),
        st.integers(1, keys + 1),
    )
    return draw(chosen) if draw(st.integers(0, 4)) else None


@st.composite
def numbered(draw: st.DrawFn, keys: int) -> list[int]:
    """Rows packed into one axis, some of them padding."""
    lengths = draw(st.lists(st.integers(1, max(1, keys // 2)), min_size=1, max_size=4))
    labels = [draw(st.sampled_from((row, row, row, -1))) for row in range(len(lengths))]
    tokens = [label for label, size in zip(labels, lengths, strict=True) for _ in range(size)]
    return (tokens + keys * [draw(st.sampled_from((len(lengths), -1)))])[:keys]


def tiled(
    backend: Backend, kind: type[Case], blocks: tuple[int, int]
) -> AbstractContextManager[None]:
    """Within the block, tiles of these sizes, larger where a GPU could not sum over so few."""
    if not backend.tiled:
        return nullcontext()
    fewest = SMALLEST_SUM if backend.compiled else 1
    tile = kind.tile(*(max(block, fewest) for block in blocks))
    return tiles.use(**dict.fromkeys(kind.kernels, tile))


def outcome(backend: Backend, case: Case, *, gradients: bool = True) -> Outcome:
    """What the backend makes of the case."""
    with tiled(backend, type(case), case.blocks):
        return run.run(
            case.op,
            backend,
            case.inputs,
            case.arguments,
            differentiate=case.names if gradients else (),
            upstream=case.upstream if gradients else (),
            layout=case.layout,
        )


def expected(case: Case) -> Outcome:
    """What the float64 reference makes of the case."""
    return run.exact(
        case.op, case.inputs, case.arguments, differentiate=case.names, upstream=case.upstream
    )


def differentiated(
    outputs: Sequence[Tensor], leaves: Mapping[str, Tensor], upstream: Sequence[Tensor | None]
) -> Outcome:
    """Outputs, and what autograd makes of the gradients that flow back into them."""
    pairs = [
        (each, up.to(each)) for each, up in zip(outputs, upstream, strict=True) if up is not None
    ]
    torch.autograd.backward([each for each, _ in pairs], [up for _, up in pairs])
    gradients = {
        name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        for name, leaf in leaves.items()
    }
    return Outcome(tuple(each.detach() for each in outputs), gradients)


def joined(parts: Sequence[Outcome]) -> Outcome:
    """The outcomes of neighbouring tokens as one."""
    outputs = []
    for each in zip(*(part.outputs for part in parts), strict=True):
        outputs.append(torch.cat([one for one in each if one is not None], 2))
    names = parts[0].gradients
    gradients = {name: torch.cat([part.gradients[name] for part in parts], 2) for name in names}
    return Outcome(tuple(outputs), gradients)


def both(found: Outcome) -> tuple[Tensor, Tensor]:
    """The output and the log-sum-exp."""
    out, lse = found.outputs
    assert out is not None
    assert lse is not None
    return out, lse


def require_outcome(case: Case, found: Outcome, exact: Outcome, *, times: float = 1.0) -> None:
    """Fails unless outputs and gradients are as close as ``measure`` allows (``times`` that)."""
    extra, sizes = case.strain(), case.sizes()
    wide = torch.promote_types(case.dtype, torch.float32)

    def require(name: str, one: Tensor, other: Tensor, base: Tolerance, size: float) -> None:
        allowed = Tolerance(times * (base.relative + extra), times * (base.absolute + extra))
        measure.require_close(name, one, other, allowed, size=size)

    (out, lse), (exact_out, exact_lse) = found.outputs, exact.outputs
    assert out is not None
    assert exact_out is not None
    require("out", out, exact_out, measure.OUTPUT[case.dtype], sizes["out"])
    if lse is not None and exact_lse is not None:
        require("lse", lse, exact_lse, measure.OUTPUT[wide], sizes["lse"])
    for name, right in exact.gradients.items():
        given = found.gradients[name]
        require(f"gradient of {name}", given, right, measure.GRADIENT[case.dtype], sizes[name])


def require_same_outputs(one: Outcome, two: Outcome, tokens: slice) -> None:
    """Fails unless outputs at these queries are equal to the last bit."""
    for name, first, second in zip(("out", "lse"), both(one), both(two), strict=True):
        measure.require_same_bits(name, first[:, :, tokens], second[:, :, tokens])


def require_as_good_as_plain(found: Outcome, plain: Outcome, exact: Outcome) -> None:
    """Fails where the error is more than twice that of the plain formula, and a rounding."""
    results = {"out": [both(each)[0] for each in (found, plain, exact)]}
    for name in exact.gradients:
        results[name] = [each.gradients[name] for each in (found, plain, exact)]
    for name, (ours, theirs, right) in results.items():
        error = (ours.double() - right).norm().item()
        allowed = 2 * (theirs.double() - right).norm().item()
        floor = right.norm().item() + right.numel() ** 0.5 * 1e-2
        allowed += torch.finfo(ours.dtype).eps * floor
        assert error <= allowed, f"{name}: off by {error:.3g}, allowed {allowed:.3g}"


def require_repeats(backend: Backend, case: Case) -> None:
    """Fails unless a second run gives the bits of the first, forward and backward."""
    one, two = outcome(backend, case), outcome(backend, case)
    require_same_outputs(one, two, slice(None))
    for name in case.names:
        measure.require_same_bits(name, one.gradients[name], two.gradients[name])


def require_nothing_of_nothing(
    backend: Backend, kind: type[Case], arguments: Mapping[str, Any]
) -> None:
    """Fails unless no rows, no heads, or no queries give empty outputs, and gradients of 0."""
    for batch, heads, queries, keys in ((0, 1, 3, 3), (2, 0, 3, 3), (2, 1, 0, 3), (2, 1, 0, 0)):
        inputs = {name: torch.ones(batch, 1, keys, 16) for name in kind.names}
        inputs["q"] = torch.zeros(batch, heads, queries, 16)
        up = (torch.zeros(batch, heads, queries, 16), torch.zeros(batch, heads, queries))
        with tiled(backend, kind, (16, 16)):
            found = run.run(
                kind.op, backend, inputs, arguments, differentiate=kind.names, upstream=up
            )
        for each, like in zip(both(found), up, strict=True):
            assert each.shape == like.shape
        for name in kind.names:
            assert torch.equal(found.gradients[name], torch.zeros_like(inputs[name])), name
