"""Laws of the own value's removal and the head gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import tiles
from limite.plugins.conformance.kernels import elementwise, measure, run, values

PARTS = ("both", "alpha", "gates")
SHORT = "short"  # a regime: values shorter than what they are divided by at least


@attrs.frozen(kw_only=True)
class Case:
    """Sizes and values. ``elements``: the tile of the kernels."""

    batch: int = 1
    tokens: int = 1
    groups: int = 1  # heads that share a value
    kv_heads: int = 1
    width: int = 16
    parts: str = "both"
    outputs: str = "normal"  # regimes
    values: str = "normal"
    layout: str = "contiguous"
    elements: int = 16
    seed: int = 0

    @property
    def heads(self) -> int:
        return self.groups * self.kv_heads

    def outputs_like(self, number: int, dtype: torch.dtype, regime: str = "normal") -> Tensor:
        shape = (self.batch, self.tokens, self.heads, self.width)
        return values.fill(shape, regime, self.seed + number, dtype)

    def some_values(self, dtype: torch.dtype, regime: str) -> Tensor:
        shape = (self.batch, self.tokens, self.kv_heads, self.width)
        if regime == SHORT:
            return (values.fill(shape, "normal", self.seed + 1, torch.float32) * 1e-5).to(dtype)
        return values.fill(shape, regime, self.seed + 1, dtype)

    def alpha(self, dtype: torch.dtype) -> Tensor:
        """Float32 beside half precision, as a model's is."""
        kind = torch.promote_types(dtype, torch.float32)
        return values.fill((self.heads,), "normal", self.seed + 2, kind)

    def gates(self, dtype: torch.dtype) -> Tensor:
        shape = (self.batch, self.tokens, self.heads)
        return values.fill(shape, "normal", self.seed + 3, dtype)

    def inputs(self, dtype: torch.dtype) -> dict[str, Tensor | None]:
        # The gradient of a short value is too large for half precision.
        regime = "normal" if dtype.itemsize < 4 and self.values in (SHORT, "tiny") else self.values
        return {
            "outputs": self.outputs_like(0, dtype, self.outputs),
            "values": self.some_values(dtype, regime),
            "alpha": None if self.parts == "gates" else self.alpha(dtype),
            "gates": None if self.parts == "alpha" else self.gates(dtype),
        }

    @contextmanager
    def tiles(self, backend: run.Backend) -> Iterator[None]:
        """Blocks that a few tokens fill."""
        if not backend.tiled:
            yield
            return
        small = tiles.Tile({"elements": self.elements})
        with tiles.use(head_mix_forward=small, head_mix_backward=small):
            yield


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Tokens and widths on either side of what fills a block."""
    # No value is exactly 0 long, where a length has no gradient, but in regimes of whole rows.
    regimes = ("normal", "constant", "zeros", "huge", "tiny", SHORT)
    return Case(
        batch=draw(st.sampled_from((1, 2))),
        tokens=draw(st.sampled_from((1, 2, 3, 5))),
        groups=draw(st.sampled_from((1, 2, 3, 5))),
        kv_heads=draw(st.sampled_from((1, 2))),
        width=draw(st.sampled_from((2, 3, 8, 9, 16, 17))),
        parts=draw(st.sampled_from(PARTS)),
        outputs=draw(st.sampled_from(values.REGIMES)),
        values=draw(st.sampled_from(regimes)),
        layout=draw(st.sampled_from(values.LAYOUTS)),
        elements=draw(st.sampled_from((16, 64))),
        seed=draw(st.integers(0, 2**31)),
    )


MANY = Case(batch=2, tokens=5, groups=3, kv_heads=2, width=9, elements=64)
VIEW = Case(batch=2, tokens=3, groups=2, kv_heads=2, width=16, layout="transposed", elements=64)
BRIEF = Case(tokens=3, groups=2, values=SHORT, layout="sliced")
NOTHING = Case(tokens=3, groups=2, kv_heads=2, values="zeros")


def equals_the_reference(backend: run.Backend) -> None:
    """The mixed heads, and all gradients, are those of the definition."""

    @example(MANY)
    @example(VIEW)
    @example(BRIEF)
    @example(NOTHING)
    @example(attrs.evolve(MANY, parts="alpha"))
    @example(attrs.evolve(MANY, parts="gates", layout="transposed"))
    @given(cases())
    @run.examples(backend, 10)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs = {
                name: tensor for name, tensor in case.inputs(dtype).items() if tensor is not None
            }
            without = {name: None for name in ("alpha", "gates") if name not in inputs}
            upstream = [case.outputs_like(4, dtype)]
            size = 2 * measure.size_of(*upstream, inputs["outputs"])
            length = inputs["values"].double().norm(dim=-1)
            shortest = length.min().clamp(min=1e-4).item()
            unit = (length.max() / 1e-4).clamp(max=1.0).item()
            sizes = {
                "outputs": 2 * measure.size_of(*upstream),
                "values": size * case.groups * unit / shortest,
                "alpha": size * inputs["outputs"].numel() ** 0.5 * case.width**0.5,
                "gates": size * case.width**0.5,
            }
            with case.tiles(backend):
                elementwise.hold_to_the_reference(
                    "head_mix", backend, inputs, without, upstream, sizes=sizes, layout=case.layout
                )

    law()


def _mixed(
    case: Case,
    backend: run.Backend,
    outputs: Tensor,
    own: Tensor,
    alpha: Tensor | None,
    gates: Tensor | None,
) -> Tensor:
    with case.tiles(backend):
        found: Tensor = elementwise.call("head_mix", backend, outputs, own, alpha, gates)
    return found


def full_strength_removes_the_value(backend: run.Backend) -> None:
    """With alpha beyond bounds, nothing along the token's own value is left in its heads."""

    @example(MANY)
    @example(VIEW)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            outputs, own = case.outputs_like(0, dtype), case.some_values(dtype, "normal")
            own += own.sign()  # not short
            alpha = torch.full_like(case.alpha(dtype), 30.0)
            found = _mixed(case, backend, outputs, own, alpha, None).double()
            unit = own.double() / own.double().norm(dim=-1, keepdim=True)
            unit = unit.repeat_interleave(case.groups, -2)
            along = (found * unit).sum(-1)
            limit = measure.OUTPUT[dtype].relative * outputs.double().norm(dim=-1)
            assert bool((along.abs() <= limit).all()), f"{along.abs().max():.3g} is left"
            # What is across the value stays as it was.
            across = outputs.double() - (outputs.double() * unit).sum(-1, keepdim=True) * unit
            size = measure.size_of(outputs)
            measure.require_close("across", found, across, measure.OUTPUT[dtype], size=size)
            back = _mixed(case, backend, outputs, own, -alpha, None).double()
            doubled = outputs.double() + (outputs.double() * unit).sum(-1, keepdim=True) * unit
            measure.require_close("the other way", back, doubled, measure.OUTPUT[dtype])

    law()


def at_zero_nothing_changes(backend: run.Backend) -> None:
    """An alpha of 0 removes nothing, and a gate of 0 stands for 1."""

    @example(MANY)
    @example(VIEW)
    @given(cases())
    @run.examples(backend, 5)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            outputs, own = (
                case.outputs_like(0, dtype, case.outputs),
                case.some_values(dtype, "normal"),
            )
            alpha = torch.zeros_like(case.alpha(dtype))
            gates = torch.zeros_like(case.gates(dtype))
            for name, left, right in (
                ("both", alpha, gates),
                ("alpha", alpha, None),
                ("gates", None, gates),
            ):
                found = _mixed(case, backend, outputs, own, left, right)
                measure.require_same_bits(name, found, outputs)

    law()


def a_longer_value_is_the_same(backend: run.Backend) -> None:
    """Only the direction of a value counts, unless it is short."""

    @example(MANY, 4.0)
    @given(cases(), st.sampled_from((0.25, 3.0, 4.0, 100.0)))
    @run.examples(backend, 5)
    def law(case: Case, scale: float) -> None:
        for dtype in backend.dtypes:
            outputs, own = case.outputs_like(0, dtype), case.some_values(dtype, "normal")
            own += own.sign()
            longer = (own * scale).to(dtype)
            own = (longer / scale).to(dtype)  # where scaling rounds, rounded the same
            alpha, gates = case.alpha(dtype), case.gates(dtype)
            first = _mixed(case, backend, outputs, own, alpha, gates)
            second = _mixed(case, backend, outputs, longer, alpha, gates)
            tolerance, size = measure.OUTPUT[dtype], measure.size_of(outputs)
            measure.require_close("mixed", second, first.double(), tolerance, size=size)

    law()


def grouped_equals_repeated(backend: run.Backend) -> None:
    """A value shared by heads is a value for each: their gradients add up."""

    @example(MANY)
    @example(attrs.evolve(VIEW, groups=5))
    @given(cases())
    @run.examples(backend, 2)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs = {
                "outputs": case.outputs_like(0, dtype),
                "values": case.some_values(dtype, "normal"),
                "alpha": case.alpha(dtype),
                "gates": case.gates(dtype),
            }
            inputs["values"] += inputs["values"].sign()
            repeated = inputs | {"values": inputs["values"].repeat_interleave(case.groups, -2)}
            upstream = [case.outputs_like(4, dtype)]
            with case.tiles(backend):
                shared, apart = (
                    run.run(
                        "head_mix", backend, each, {},
                        differentiate=tuple(each), upstream=upstream,
                    )
                    for each in (inputs, repeated)
                )  # fmt: skip
            assert shared.outputs[0] is not None
            assert apart.outputs[0] is not None
            measure.require_close(
                "mixed", shared.outputs[0], apart.outputs[0].double(), measure.OUTPUT[dtype]
            )
            whole = apart.gradients["values"].double()
            whole = whole.unflatten(-2, (case.kv_heads, case.groups)).sum(-2)
            size = case.groups * measure.size_of(*upstream, inputs["outputs"])
            measure.require_close(
                "values", shared.gradients["values"], whole, measure.GRADIENT[dtype], size=size
            )

    law()


def rows_are_apart(backend: run.Backend) -> None:
    """A token has the same bits among any others, in bundles of 32 tokens."""

    def hold(case: Case, dtype: torch.dtype) -> None:
        outputs, own = case.outputs_like(0, dtype)[0], case.some_values(dtype, "normal")[0]
        alpha, gates = case.alpha(dtype), case.gates(dtype)[0]

        def mixed(chosen: Tensor) -> Tensor:
            return _mixed(case, backend, outputs[chosen], own[chosen], alpha, gates[chosen])

        elementwise.hold_rows_apart(len(outputs), case.seed, mixed)

    @example(MANY)
    @given(cases())
    @run.examples(backend, 1)
    def law(case: Case) -> None:
        case = attrs.evolve(case, tokens=2 * elementwise.BUNDLE, elements=64)
        for dtype in backend.dtypes:
            hold(case, dtype)

    law()


def two_runs_are_identical(backend: run.Backend) -> None:
    """A second run gives the same bits, forward and in every gradient."""

    @example(MANY)
    @given(cases())
    @run.examples(backend, 2)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs = case.inputs(dtype)
            there = {name: tensor for name, tensor in inputs.items() if tensor is not None}
            with case.tiles(backend):
                elementwise.hold_to_the_same_bits(
                    "head_mix",
                    backend,
                    there,
                    {name: None for name in inputs if name not in there},
                    [case.outputs_like(4, dtype)],
                )

    law()


def nan_reaches_its_heads(backend: run.Backend) -> None:
    """NaN in an output makes that head NaN; in a value, the heads that share it; no other."""

    @example(MANY, 100, "outputs")
    @example(MANY, 40, "values")
    @given(cases(), st.integers(0, 900), st.sampled_from(("outputs", "values")))
    @run.examples(backend, 6)
    def law(case: Case, place: int, where: str) -> None:
        for dtype in backend.dtypes:
            outputs, own = case.outputs_like(0, dtype), case.some_values(dtype, "normal")
            lost = outputs if where == "outputs" else own
            lost.view(-1)[place % lost.numel()] = torch.nan
            heads = lost.isnan().any(-1)
            if where == "values":
                heads = heads.repeat_interleave(case.groups, -1)
            found = _mixed(case, backend, outputs, own, case.alpha(dtype), case.gates(dtype))
            assert torch.equal(found.isnan(), heads[..., None].expand_as(outputs))

    law()


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        full_strength_removes_the_value,
        at_zero_nothing_changes,
        a_longer_value_is_the_same,
        grouped_equals_repeated,
        rows_are_apart,
        two_runs_are_identical,
        nan_reaches_its_heads,
    )
}
