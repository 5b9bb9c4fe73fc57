"""What the laws of rotated heads share, with a norm before the turn or without.

The cases, and the laws that say the same of both operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import tiles
from limite.core.kernels.rotation import Rotation, Style
from limite.plugins.conformance.kernels import elementwise, measure, run, values

STYLES: tuple[Style, ...] = ("adjacent", "halves")


@attrs.frozen(kw_only=True)
class Case:
    """Sizes and values. ``batch`` None: packed tokens. ``elements``: the tile of the kernels."""

    batch: int | None = None
    tokens: int = 1
    heads: int = 1
    width: int = 16
    pairs: int | None = 4  # None: no rotation
    style: Style = "adjacent"
    rounded: bool = False  # the tables, to bfloat16
    regime: str = "normal"
    layout: str = "contiguous"
    elements: int = 16
    seed: int = 0

    @property
    def leading(self) -> tuple[int, ...]:
        return (self.tokens,) if self.batch is None else (self.batch, self.tokens)

    def filled(self, number: int, dtype: torch.dtype, regime: str = "normal") -> Tensor:
        shape = (*self.leading, self.heads, self.width)
        return values.fill(shape, regime, self.seed + number, dtype)

    def positions(self) -> Tensor:
        """Of each row its own, in no order."""
        stream = torch.Generator().manual_seed(self.seed)
        return torch.randint(0, 4000, self.leading, generator=stream)

    def rotation(
        self, backend: run.Backend, positions: Tensor | None = None, sign: float = 1.0
    ) -> Rotation | None:
        """The turns at those positions, or at drawn ones, on the backend's device."""
        if self.pairs is None:
            return None
        angle = turns(self.positions() if positions is None else positions, self.pairs)
        cos, sin = angle.cos().float(), (sign * angle).sin().float()
        if self.rounded:
            cos, sin = cos.bfloat16().float(), sin.bfloat16().float()
        return Rotation(cos.to(backend.device), sin.to(backend.device), self.style)

    @contextmanager
    def tiles(self, backend: run.Backend) -> Iterator[None]:
        """Blocks that a few heads fill."""
        if not backend.tiled:
            yield
            return
        small = tiles.Tile({"elements": self.elements})
        with tiles.use(qk_norm_rope_forward=small, qk_norm_rope_backward=small, rope=small):
            yield


def turns(positions: Tensor, pairs: int) -> Tensor:
    """Angles ``[..., pairs]``, float64."""
    frequency = 1000.0 ** -torch.linspace(0, 1, max(pairs, 1), dtype=torch.float64)[:pairs]
    return positions.double()[..., None] * frequency


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Rows of heads, widths and pairs on either side of what fills a block."""
    width = draw(st.sampled_from((2, 6, 8, 9, 16, 17, 32)))
    return Case(
        batch=draw(st.sampled_from((None, 1, 2))),
        tokens=draw(st.sampled_from((1, 2, 3, 5))),
        heads=draw(st.sampled_from((1, 2, 3, 5))),
        width=width,
        pairs=draw(st.sampled_from((None, 0, 1, width // 4, width // 2, width // 2))),
        style=draw(st.sampled_from(STYLES)),
        rounded=draw(st.booleans()),
        regime=draw(st.sampled_from(values.REGIMES)),
        layout=draw(st.sampled_from(values.LAYOUTS)),
        elements=draw(st.sampled_from((16, 64))),
        seed=draw(st.integers(0, 2**31)),
    )


WHOLE = Case(batch=2, tokens=5, heads=3, width=16, pairs=8, elements=64, layout="transposed")
PART = Case(tokens=5, heads=2, width=16, pairs=3, elements=64, layout="sliced", rounded=True)
HALVES = Case(tokens=5, heads=3, width=32, pairs=16, style="halves", elements=64)
PART_HALVES = Case(batch=2, tokens=3, heads=2, width=17, pairs=5, style="halves")
ODD = Case(tokens=3, heads=2, width=9, pairs=4)
BARE = Case(tokens=3, heads=2, pairs=None, elements=64)


def turned(
    op: str, case: Case, backend: run.Backend, x: Tensor, rotation: Rotation | None
) -> Tensor:
    """What an operation makes of heads, in the case's tiles."""
    with case.tiles(backend):
        found: Tensor = elementwise.call(op, backend, x, rotation)
    return found


def laws_of_turning(
    op: str, name: str, drawn: st.SearchStrategy[Case], size_of: Callable[[Tensor], float]
) -> tuple[run.Law, ...]:
    """The shared laws of an operation whose heads are the argument ``name``.

    ``size_of`` heads is what products of two of their channels, turned, are as large as.
    """

    def a_shift_changes_no_product(backend: run.Backend) -> None:
        """Products of turned tokens depend on how far they are apart, not on where they are."""

        @example(WHOLE, 7)
        @example(PART, 100)
        @example(HALVES, 1)
        @given(drawn, st.integers(1, 200))
        @run.examples(backend, 8)
        def law(case: Case, shift: int) -> None:
            case = attrs.evolve(case, batch=None, rounded=False, pairs=case.pairs or 0)
            for dtype in backend.dtypes:
                if dtype.itemsize < 4:
                    continue  # rounded tokens are turned no more exactly than they are rounded
                x, positions = case.filled(0, dtype), case.positions() % 200
                products = []
                for by in (0, shift):
                    found = turned(op, case, backend, x, case.rotation(backend, positions + by))
                    products.append(torch.einsum("thd,shd->hts", found.double(), found.double()))
                # Tables are float32. A product adds up ``width`` channels.
                measure.require_close(
                    "products", products[1], products[0], measure.OUTPUT[torch.float32],
                    size=case.width * size_of(x),
                )  # fmt: skip

        law()

    def styles_differ_by_an_order(backend: run.Backend) -> None:
        """``halves`` is ``adjacent`` on channels in another order, turned the other way."""

        @example(WHOLE)
        @example(PART)
        @given(drawn)
        @run.examples(backend, 6)
        def law(case: Case) -> None:
            case = attrs.evolve(case, style="adjacent")
            pairs = case.pairs or 0
            first = 2 * torch.arange(pairs)  # of each pair
            order = torch.cat((first, first + 1, torch.arange(2 * pairs, case.width)))
            for dtype in backend.dtypes:
                x = case.filled(0, dtype)
                expected = turned(op, case, backend, x, case.rotation(backend))[..., order].double()
                other = attrs.evolve(case, style="halves")
                backwards = other.rotation(backend, sign=-1.0)
                found = turned(op, other, backend, x[..., order], backwards)
                measure.require_close("halves", found, expected, measure.OUTPUT[dtype])

        law()

    def rows_are_apart(backend: run.Backend) -> None:
        """A token's heads have the same bits among any other tokens, in bundles of 32 tokens."""

        def hold(case: Case, dtype: torch.dtype) -> None:
            x, positions = case.filled(0, dtype), case.positions()

            def found(chosen: Tensor) -> Tensor:
                rotation = case.rotation(backend, positions[chosen])
                return turned(op, case, backend, x[chosen], rotation)

            elementwise.hold_rows_apart(case.tokens, case.seed, found)

        @example(PART)
        @given(drawn)
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
        @given(drawn)
        @run.examples(backend, 2)
        def law(case: Case) -> None:
            for dtype in backend.dtypes:
                with case.tiles(backend):
                    elementwise.hold_to_the_same_bits(
                        op,
                        backend,
                        {name: case.filled(0, dtype)},
                        {"rotation": case.rotation(backend)},
                        [case.filled(1, dtype)],
                    )

        law()

    return (
        a_shift_changes_no_product,
        styles_differ_by_an_order,
        rows_are_apart,
        two_runs_are_identical,
    )
