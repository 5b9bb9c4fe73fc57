"""What the laws of the head are tried on, and how near a result has to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import attrs
import torch
from hypothesis import example
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import tiles
from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.measure import Tolerance
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.values import MATRIX_LAYOUTS, fill

OP = "indexed_logprob"
INPUTS = ("hidden", "weight")
LIMITE = (23.0, 5.0, 7.5)
CAPS = (None, LIMITE, (100.0, 0.0, 50.0), (6.0, -1.0, 0.5))
REGIMES = ("normal", "constant", "one-hot", "zeros", "ties", "tiny")
FLOWS = (("logp",), ("entropy",), ("lse",), ("logp", "entropy", "lse"))

LOGP = {torch.float64: 1e-12}
"""How far a log-probability may be off, at most: 2e-5 but in float64; entropies 2.5 times that.

2e-7 is added for each unit of the largest logit, which is what float32 resolves of it. A gradient
is made of probabilities, whose relative error is the absolute one of their logarithms.
"""


@attrs.frozen(kw_only=True)
class Case:
    """Sizes and values of a call. ``offset`` is added to every logit before the cap."""

    rows: int = 5
    vocabulary: int = 17
    width: int = 8
    each: int = 1
    cap: tuple[float, float, float] | None = None
    temperature: float = 1.0
    entropy: bool = True
    flows: tuple[str, ...] = ("logp", "entropy", "lse")
    offset: float = 0.0
    peak: float = 8.0  # of the logits before offset and cap, about
    regimes: tuple[str, str] = ("normal", "normal")
    layouts: tuple[str, str] = ("contiguous", "contiguous")  # of hidden states and weight
    block: int = 8
    span: int = 16  # ids of a program, or slice, where there are such
    seed: int = 0

    @property
    def arguments(self) -> dict[str, Any]:
        return {"cap": self.cap, "temperature": self.temperature, "need_entropy": self.entropy}

    def inputs(self, dtype: torch.dtype) -> dict[str, Tensor]:
        hidden = fill((self.rows, self.width), self.regimes[0], self.seed, torch.float64)
        weight = fill((self.vocabulary, self.width), self.regimes[1], self.seed + 1, torch.float64)
        if self.layouts[0] == "repeated":
            hidden = hidden[:1].expand_as(hidden).clone()
        if self.layouts[1] == "repeated":
            weight = weight[:1].expand_as(weight).clone()
        largest = (hidden @ weight.t()).abs().max().item() if hidden.numel() else 0.0
        scale = (self.peak / largest) ** 0.5 if largest else 1.0
        hidden, weight = hidden * scale, weight * scale
        if self.offset:
            hidden = torch.cat((hidden, torch.ones(self.rows, 1)), 1)
            weight = torch.cat((weight, torch.full((self.vocabulary, 1), self.offset)), 1)
        return {"hidden": hidden.to(dtype), "weight": weight.to(dtype), "index": self.index()}

    def index(self) -> Tensor:
        """Ids of a row: the last, the first, none there, one of those again, and others."""
        stream = torch.Generator().manual_seed(self.seed + 2)
        index = torch.randint(-1, self.vocabulary, (self.rows, self.each), generator=stream)
        flat = index.view(-1)
        marked = torch.tensor([self.vocabulary - 1, 0, -1])[: len(flat)]
        flat[: len(marked)] = marked
        if self.each > 1 and self.rows:
            index[-1, -1] = index[-1, 0]
        return index

    def upstream(self, dtype: torch.dtype) -> list[Tensor | None]:
        kind = torch.promote_types(dtype, torch.float32)
        shapes = {"logp": (self.rows, self.each), "entropy": (self.rows,), "lse": (self.rows,)}
        return [
            fill(shape, "normal", self.seed + 3 + place, kind) if name in self.flows else None
            for place, (name, shape) in enumerate(shapes.items())
        ]


@st.composite
def cases(draw: st.DrawFn, /, **fixed: Any) -> Case:
    """Sizes on either side of a tile's end, and values of every kind; ``fixed`` are given."""
    block = draw(st.sampled_from((8, 16)))
    entropy = draw(st.booleans())
    flows = draw(st.sampled_from(FLOWS))
    drawn = {
        "rows": draw(st.sampled_from((1, 2, block - 1, block, block + 1))),
        "vocabulary": draw(
            st.sampled_from((1, 2, 5, block - 1, block, block + 1, 2 * block, 2 * block + 1))
        ),
        "width": draw(st.sampled_from((1, 8, 16, 17))),
        "each": draw(st.sampled_from((1, 1, 2, 5))),
        "cap": draw(st.sampled_from(CAPS)),
        "temperature": draw(st.sampled_from((1.0, 0.7, 3.0))),
        "entropy": entropy,
        "flows": flows if entropy else tuple(name for name in flows if name != "entropy"),
        "offset": draw(st.sampled_from((0.0, 0.0, -200.0, 200.0))),
        "peak": draw(st.sampled_from((0.01, 8.0, 30.0))),
        "regimes": (draw(st.sampled_from(REGIMES)), draw(st.sampled_from(REGIMES))),
        "layouts": (draw(st.sampled_from(MATRIX_LAYOUTS)), draw(st.sampled_from(MATRIX_LAYOUTS))),
        "block": block,
        "span": block * draw(st.sampled_from((1, 2))),
        "seed": draw(st.integers(0, 2**31)),
    }
    return Case(**(drawn | fixed))


PLAIN = Case(rows=9, vocabulary=17)
CAPPED = Case(rows=9, vocabulary=17, cap=LIMITE, temperature=0.7)
BOUNDARIES = (
    Case(rows=9, vocabulary=17, width=17),
    Case(rows=7, vocabulary=9, each=5, offset=-200.0),
    Case(rows=8, vocabulary=25, each=5, cap=LIMITE, temperature=0.7),
    Case(rows=9, vocabulary=33, cap=LIMITE, flows=("logp",), entropy=False),
    Case(rows=9, vocabulary=17, width=17, layouts=("columns", "sliced")),
    Case(rows=9, vocabulary=17, width=17, cap=LIMITE, each=2, layouts=("sliced", "columns")),
    Case(rows=8, vocabulary=17, layouts=("repeated", "columns")),
    Case(rows=8, vocabulary=17, cap=LIMITE, layouts=("columns", "repeated")),
)


def at_boundaries(law: Callable[..., None]) -> Callable[..., None]:
    """Tries a law of ``given`` on each of them first."""
    for case in BOUNDARIES:
        law = example(case)(law)
    return law


def in_tiles(backend: Backend, case: Case) -> AbstractContextManager[None]:
    """Tiles so small that a few ids and rows fill several, for those of limite that have any."""
    block, span = case.block, case.span
    few = -1 if block == 8 else 1 << 20  # the formula for the others
    shape = {"BM": block, "BV": block, "BD": 16}
    by_kernel = {
        "indexed_logprob": Tile(
            {"COLUMNS": block, "ELEMENTS": block * block, "FEW": few, "FEW_CAPPED": few}
        )
    }
    if backend.tiled:
        by_kernel |= {
            "indexed_logprob_forward": Tile({**shape, "SPAN": span}),
            "indexed_logprob_backward": Tile({**shape, "SCRATCH": span * max(case.rows, 1)}),
            "indexed_logprob_picks": Tile({"BK": 4, "BD": 16}),
            "indexed_logprob_pushes": Tile({"BK": 4}),
        }
    return tiles.use(**by_kernel)


def call(
    backend: Backend,
    case: Case,
    inputs: Mapping[str, Tensor],
    *,
    differentiate: Sequence[str] = (),
    upstream: Sequence[Tensor | None] = (),
    **arguments: Any,
) -> Outcome:
    """The operation on a backend, in the case's tiles, with its arguments or others."""
    with in_tiles(backend, case):
        return run.run(
            OP,
            backend,
            inputs,
            case.arguments | arguments,
            differentiate=differentiate,
            upstream=upstream,
            layout=dict(zip(INPUTS, case.layouts, strict=True)),
        )


def outputs(outcome: Outcome) -> tuple[Tensor, Tensor, Tensor]:
    """All three, of a call that asked for the entropy."""
    logp, entropy, lse = outcome.outputs
    assert logp is not None
    assert entropy is not None
    assert lse is not None
    return logp, entropy, lse


def reach(case: Case, inputs: Mapping[str, Tensor]) -> float:
    """The largest logit without a cap, but as steep as with it: what rounding errors grow with."""
    hidden, weight = inputs["hidden"].double(), inputs["weight"].double()
    if not hidden.numel():
        return 0.0
    largest = (hidden.abs() @ weight.abs().t()).max().item() / case.temperature
    return largest if case.cap is None else largest * case.cap[0] / case.cap[2] / 4


def blur(dtype: torch.dtype, size: float) -> float:
    """How far off a log-probability may be whose logits have this ``size``, by rounding alone.

    A logit is rounded, by half of its last place or ``size / 2^24`` in float32, when its product
    has been summed and when the temperature has scaled it; so is, once more, the log-sum-exp that
    is taken from it, which is as large. Three of these are 1.8e-7 of ``size``.
    """
    return (2e-16 if dtype == torch.float64 else 2e-7) * size


def require_near(name: str, found: Tensor, expected: Tensor, case: Case, size: float) -> None:
    """Fails where a log-probability, entropy or log-sum-exp is too far off."""
    assert found.shape == expected.shape, f"{name}: {list(found.shape)} {list(expected.shape)}"
    if not found.numel():
        return
    height = 0.0 if case.cap is None else case.cap[0] / case.temperature
    grown = blur(found.dtype, max(size, height))
    allowed = LOGP.get(found.dtype, 2e-5) * (2.5 if name == "entropy" else 1.0) + grown
    x, y = found.double(), expected.double()
    assert torch.equal(x.isnan(), y.isnan()), f"{name}: NaN where only one has it"
    worst = (x - y).abs().nan_to_num(0.0).max().item()
    assert worst <= allowed, f"{name}: off by {worst:.3g}, allowed {allowed:.3g}"


def require_near_gradient(
    name: str, found: Tensor, expected: Tensor, case: Case, inputs: Mapping[str, Tensor]
) -> None:
    """Fails where a gradient is too far off.

    A log-probability that is off by e, the ``blur`` of logits of that size, makes its probability p
    off by p e. What flows to a logit is ``p (a + b log p)``, and what flows into an indexed id
    beside it: off by no more than ``e p (|a| + |b| (|log p| + 1))``, and the gradient of a hidden
    state, its sum with the weight's rows, by e times those terms times the largest weight, for the
    p sum up to 1. (Likewise the gradient of the weight, with hidden states.) Where terms add up to
    something of their own size, that is a relative error of e.

    They may cancel: ``log p + entropy`` where all logits are alike, ``p - 1`` of an indexed id,
    and the whole sum of logits' gradients, which is 0, with what all rows of the weight share, as
    an offset. What remains, 0 or nearly so, is off by what its terms were: an absolute error of e
    times the largest weight. With logits of -200, e is 4e-5, the float32 next to -200 is 1.5e-5
    away, and log-sum-exps off by half of that show in full.
    """
    given = measure.GRADIENT[found.dtype]
    grown = blur(found.dtype, reach(case, inputs))
    other = inputs["weight" if name == "hidden" else "hidden"]
    slope = 1.0 if case.cap is None else case.cap[0] / case.cap[2]
    size = measure.size_of(other) * slope / case.temperature
    cancels = "entropy" in case.flows or ("logp" in case.flows and case.offset)
    absolute = given.absolute + (grown if cancels else 0.0)
    tolerance = Tolerance(given.relative + grown, absolute)
    measure.require_close(f"d{name}", found, expected, tolerance, size=size)


def require_same(
    case: Case, inputs: Mapping[str, Tensor], found: Outcome, expected: Outcome
) -> None:
    """Fails unless outputs and gradients agree."""
    size = reach(case, inputs)
    for name, x, y in zip(("logp", "entropy", "lse"), found.outputs, expected.outputs, strict=True):
        assert (x is None) == (y is None), f"{name} is missing"
        if x is not None and y is not None:
            require_near(name, x, y, case, size)
    for name in found.gradients:
        gradients = found.gradients[name], expected.gradients[name]
        require_near_gradient(name, *gradients, case, inputs)


def some_dtypes(backend: Backend) -> tuple[torch.dtype, ...]:
    """One alone where every example takes a second."""
    return backend.dtypes[:1] if backend.tiled and not backend.compiled else backend.dtypes


def fewer(backend: Backend, count: int) -> int:
    """Fewer where every example takes a second."""
    return max(1, count // 3) if backend.tiled and not backend.compiled else count
