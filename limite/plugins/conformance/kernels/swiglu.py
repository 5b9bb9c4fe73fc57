"""Laws of SwiGLU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import ops, tiles
from limite.plugins.conformance.kernels import elementwise, measure, run, values


@attrs.frozen(kw_only=True)
class Case:
    """Sizes and values. ``elements`` and ``columns``: the tiles of the kernels."""

    batch: int = 1
    tokens: int = 1
    width: int = 16
    gate: str = "normal"  # regimes
    up: str = "normal"
    layout: str = "contiguous"
    elements: int = 32
    columns: int = 8
    seed: int = 0

    def filled(self, number: int, dtype: torch.dtype, regime: str = "normal") -> Tensor:
        shape = (self.batch, self.tokens, self.width)
        return values.fill(shape, regime, self.seed + number, dtype)

    def inputs(self, dtype: torch.dtype) -> dict[str, Tensor]:
        return {"gate": self.filled(0, dtype, self.gate), "up": self.filled(1, dtype, self.up)}

    @contextmanager
    def tiles(self, backend: run.Backend) -> Iterator[None]:
        """Blocks that a few rows, or a part of one, fill."""
        if not backend.tiled:
            yield
            return
        small = tiles.Tile({"elements": self.elements, "columns": self.columns})
        with tiles.use(swiglu_forward=small, swiglu_backward=small):
            yield


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Rows and widths on either side of what fills a block."""
    return Case(
        batch=draw(st.sampled_from((1, 2))),
        tokens=draw(st.sampled_from((1, 2, 3, 4, 5, 9))),
        width=draw(st.sampled_from(elementwise.SIZES)),
        gate=draw(st.sampled_from(values.REGIMES)),
        up=draw(st.sampled_from(values.REGIMES)),
        layout=draw(st.sampled_from(values.LAYOUTS)),
        elements=draw(st.sampled_from((16, 32, 64))),
        columns=draw(st.sampled_from((8, 16))),
        seed=draw(st.integers(0, 2**31)),
    )


MANY = Case(batch=2, tokens=5, width=17)
MORE = Case(tokens=3, width=1367)  # so many that they are not all moved, and some beyond a block
NARROW = Case(batch=2, tokens=9, width=3, elements=64, layout="transposed")
STEEP = Case(tokens=5, width=33, gate="huge", layout="sliced", columns=16)


def equals_the_reference(backend: run.Backend) -> None:
    """The product, and the gradients of gate and up, are those of the definition."""

    @example(MANY)
    @example(NARROW)
    @example(STEEP)
    @example(Case(batch=2, tokens=3, width=9, layout="broadcast"))
    @given(cases())
    @run.examples(backend, 20)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs, upstream = case.inputs(dtype), [case.filled(2, dtype)]
            with case.tiles(backend):
                elementwise.hold_to_the_reference(
                    "swiglu",
                    backend,
                    inputs,
                    {},
                    upstream,
                    sizes={
                        "gate": measure.size_of(*upstream, inputs["up"]),
                        "up": measure.size_of(*upstream, inputs["gate"]),
                    },
                    layout=case.layout,
                )

    law()


def gradients_follow_their_formulas(backend: run.Backend) -> None:
    """``dgate = dy up s (1 + gate (1 - s))`` and ``dup = dy gate s``, s the sigmoid of the gate."""

    @example(MANY)
    @example(STEEP)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs, upstream = case.inputs(dtype), case.filled(2, dtype)
            with case.tiles(backend):
                found = run.run(
                    "swiglu", backend, inputs, {},
                    differentiate=("gate", "up"), upstream=[upstream],
                )  # fmt: skip
            gate, up = inputs["gate"].double(), inputs["up"].double()
            sigmoid = 1 / (1 + (-gate).exp())
            expected = {
                "gate": upstream * up * sigmoid * (1 + gate * (1 - sigmoid)),
                "up": upstream * gate * sigmoid,
            }
            for name, right in expected.items():
                size = measure.size_of(upstream, up if name == "gate" else gate)
                measure.require_close(
                    name, found.gradients[name], right, measure.GRADIENT[dtype], size=size
                )

    law()


def halves_of_one_projection_will_do(backend: run.Backend) -> None:
    """Strided halves of one tensor give what two tensors do, and its gradient, whole."""

    def hold(case: Case, dtype: torch.dtype) -> None:
        inputs, upstream = case.inputs(dtype), case.filled(2, dtype).to(backend.device)
        apart = run.run(
            "swiglu", backend, inputs, {},
            differentiate=("gate", "up"), upstream=[upstream],
        )  # fmt: skip
        fused = values.fenced(torch.cat((inputs["gate"], inputs["up"]), -1).to(backend.device))
        fused.requires_grad_()
        with backend.use("swiglu"):
            out = ops.swiglu(*fused.chunk(2, -1))
            out.backward(upstream)
        assert fused.grad is not None
        assert apart.outputs[0] is not None
        exact = apart.outputs[0].double()
        measure.require_close("output", out, exact, measure.OUTPUT[dtype])
        exact = torch.cat((apart.gradients["gate"], apart.gradients["up"]), -1).double()
        measure.require_close("gradient", fused.grad, exact, measure.GRADIENT[dtype])

    @example(MANY)
    @example(NARROW)
    @given(cases())
    @run.examples(backend, 6)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            with case.tiles(backend):
                hold(case, dtype)

    law()


def wide_open_and_shut_gates(backend: run.Backend) -> None:
    """A gate of 0 or far below lets nothing through; one far above, itself times up."""

    @example(MANY)
    @example(MORE)
    @given(cases())
    @run.examples(backend, 5)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            up = case.filled(1, dtype, case.up)
            for gate in (0.0, -1000.0, 200.0):
                with case.tiles(backend):
                    found = elementwise.call("swiglu", backend, torch.full_like(up, gate), up)
                expected = max(gate, 0.0) * up
                measure.require_same_bits(f"gate {gate}", found.abs(), expected.abs())

    law()


def up_scales(backend: run.Backend) -> None:
    """The product is linear in up: twice as much gives twice as much, to the bit."""

    @example(MANY)
    @given(cases())
    @run.examples(backend, 5)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            gate, up = case.filled(0, dtype), case.filled(1, dtype)
            up += up.sign()  # no result so small that its last bits are missing
            gate += gate.sign()
            with case.tiles(backend):
                once = elementwise.call("swiglu", backend, gate, up)
                twice = elementwise.call("swiglu", backend, gate, up * 2)
            measure.require_same_bits("twice", twice, once * 2)

    law()


def rows_are_apart(backend: run.Backend) -> None:
    """A row has the same bits among any others, in bundles of 32 rows."""

    def hold(case: Case, dtype: torch.dtype) -> None:
        gate, up = case.filled(0, dtype, case.gate)[0], case.filled(1, dtype, case.up)[0]

        def product(chosen: Tensor) -> Tensor:
            found: Tensor = elementwise.call("swiglu", backend, gate[chosen], up[chosen])
            return found

        elementwise.hold_rows_apart(len(gate), case.seed, product)

    @example(MANY)
    @given(cases())
    @run.examples(backend, 2)
    def law(case: Case) -> None:
        case = attrs.evolve(case, tokens=2 * elementwise.BUNDLE, elements=64)
        for dtype in backend.dtypes:
            with case.tiles(backend):
                hold(case, dtype)

    law()


def two_runs_are_identical(backend: run.Backend) -> None:
    """A second run gives the same bits, forward and in both gradients."""

    @example(MANY)
    @given(cases())
    @run.examples(backend, 3)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            with case.tiles(backend):
                elementwise.hold_to_the_same_bits(
                    "swiglu", backend, case.inputs(dtype), {}, [case.filled(2, dtype)]
                )

    law()


def nan_stays_in_its_place(backend: run.Backend) -> None:
    """NaN in gate or up is NaN in that element, forward and in both gradients, and no other."""

    @example(MANY, 100, "gate")
    @example(MANY, 34, "up")
    @given(cases(), st.integers(0, 600), st.sampled_from(("gate", "up")))
    @run.examples(backend, 6)
    def law(case: Case, place: int, where: str) -> None:
        for dtype in backend.dtypes:
            inputs = {"gate": case.filled(0, dtype), "up": case.filled(1, dtype)}
            inputs[where].view(-1)[place % inputs[where].numel()] = torch.nan
            lost = inputs[where].isnan()
            with case.tiles(backend):
                found = run.run(
                    "swiglu", backend, inputs, {},
                    differentiate=("gate", "up"), upstream=[case.filled(2, dtype)],
                )  # fmt: skip
            assert found.outputs[0] is not None
            assert torch.equal(found.outputs[0].isnan(), lost)
            assert torch.equal(found.gradients["gate"].isnan(), lost)
            # The gradient of up does not look at up.
            other = lost if where == "gate" else torch.zeros_like(lost)
            assert torch.equal(found.gradients["up"].isnan(), other)

    law()


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        gradients_follow_their_formulas,
        halves_of_one_projection_will_do,
        wide_open_and_shut_gates,
        up_scales,
        rows_are_apart,
        two_runs_are_identical,
        nan_stays_in_its_place,
    )
}
