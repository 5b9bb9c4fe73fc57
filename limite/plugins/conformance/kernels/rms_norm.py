"""Laws of the norm, and of the residual join with its norm."""

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

SCALARS = ("none", "keep", "add", "both")
FLOWS = ("both", "total", "normal")


@attrs.frozen(kw_only=True)
class Case:
    """Sizes and values. ``elements`` and ``programs``: the tiles of the kernels."""

    batch: int = 1
    tokens: int = 1
    width: int = 16
    weighted: bool = False
    scalars: str = "none"  # of the join: which of them there are
    flow: str = "both"  # of the join: the outputs that have a gradient
    regime: str = "normal"
    layout: str = "contiguous"
    elements: int = 16
    programs: int = 2
    seed: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.batch, self.tokens, self.width

    def filled(self, number: int, dtype: torch.dtype, regime: str = "normal") -> Tensor:
        return values.fill(self.shape, regime, self.seed + number, dtype)

    def inputs(self, dtype: torch.dtype) -> dict[str, Tensor]:
        return {"x": self.filled(0, dtype, self.regime)} | self.weight(dtype)

    def weight(self, dtype: torch.dtype) -> dict[str, Tensor]:
        if not self.weighted:
            return {}
        return {"weight": values.fill((self.width,), "normal", self.seed + 1, dtype) / 2}

    def terms(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """Of the join. Scalars are float32 beside half precision, as a model's are."""
        found = {"a": self.filled(2, dtype, self.regime), "b": self.filled(3, dtype, self.regime)}
        for number, name in enumerate(("keep", "add")):
            if self.scalars in (name, "both"):
                scalar = values.fill((), "normal", self.seed + 4 + number, dtype)
                found[name] = scalar if dtype.itemsize >= 4 else scalar.float()
        return found | self.weight(dtype)

    def upstream(self, dtype: torch.dtype) -> list[Tensor | None]:
        total, normal = self.filled(6, dtype), self.filled(7, dtype)
        return [
            None if self.flow == "normal" else total,
            None if self.flow == "total" else normal,
        ]

    @contextmanager
    def tiles(self, backend: run.Backend) -> Iterator[None]:
        """Blocks that a few rows fill, and programs that each have several."""
        if not backend.tiled:
            yield
            return
        with tiles.use(
            rms_norm_forward=tiles.Tile({"elements": self.elements}),
            rms_norm_backward=tiles.Tile({"elements": self.elements, "programs": self.programs}),
        ):
            yield


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Rows and widths on either side of what fills a block."""
    return Case(
        batch=draw(st.sampled_from((1, 2))),
        tokens=draw(st.sampled_from((1, 2, 3, 4, 5, 8, 9))),
        width=draw(st.sampled_from(elementwise.SIZES)),
        weighted=draw(st.booleans()),
        scalars=draw(st.sampled_from(SCALARS)),
        flow=draw(st.sampled_from(FLOWS)),
        regime=draw(st.sampled_from(values.REGIMES)),
        layout=draw(st.sampled_from(values.LAYOUTS)),
        elements=draw(st.sampled_from((16, 64))),
        programs=draw(st.sampled_from((1, 2, 3))),
        seed=draw(st.integers(0, 2**31)),
    )


MANY = Case(batch=2, tokens=9, width=17, weighted=True, scalars="both", elements=64)
SPARE = Case(tokens=5, width=33, weighted=True, scalars="both", layout="sliced", programs=3)
ONE = Case(batch=2, tokens=3, width=1, scalars="add", layout="transposed")
ZEROS = Case(tokens=3, regime="zeros", weighted=True, scalars="keep")
BROADCAST = Case(batch=2, tokens=2, width=9, weighted=True, layout="broadcast")


def _steepest(x: Tensor, weight: Tensor | None) -> float:
    """The most by which the norm stretches a change of its input."""
    inverse = (x.double().square().mean(-1) + ops.EPSILON).rsqrt().max().item()
    return inverse if weight is None else inverse * measure.size_of(weight)


def equals_the_reference(backend: run.Backend) -> None:
    """The norm, and the gradients of input and weight, are those of the definition."""

    @example(MANY)
    @example(SPARE)
    @example(ONE)
    @example(ZEROS)
    @example(BROADCAST)
    @given(cases())
    @run.examples(backend, 15)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs, upstream = case.inputs(dtype), [case.filled(6, dtype)]
            steep, flow = _steepest(inputs["x"], inputs.get("weight")), measure.size_of(*upstream)
            sizes = {"x": flow * steep, "weight": flow * case.width**0.5}
            with case.tiles(backend):
                elementwise.hold_to_the_reference(
                    "rms_norm", backend, inputs, {}, upstream, sizes=sizes, layout=case.layout
                )

    law()


def the_join_equals_the_reference(backend: run.Backend) -> None:
    """Sum and norm, and the gradients of terms, scalars and weight, are those of the definition."""

    @example(MANY)
    @example(SPARE)
    @example(ONE)
    @example(ZEROS)
    @example(attrs.evolve(MANY, scalars="none", flow="normal"))
    @example(attrs.evolve(MANY, scalars="keep", flow="total", weighted=False))
    @example(attrs.evolve(MANY, scalars="add", layout="transposed"))
    @given(cases())
    @run.examples(backend, 12)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs, upstream = case.terms(dtype), case.upstream(dtype)
            a, b = inputs["a"].double(), inputs["b"].double()
            total = a * inputs.get("keep", 1.0) + b * inputs.get("add", 1.0)
            steep = 1.0 + _steepest(total, inputs.get("weight"))
            flow = max(measure.size_of(each) for each in upstream if each is not None)
            # A scalar's gradient is one sum over everything.
            whole = flow * steep * total.numel() ** 0.5
            sizes = {
                "a": flow * steep * measure.size_of(inputs.get("keep", torch.ones(1))),
                "b": flow * steep * measure.size_of(inputs.get("add", torch.ones(1))),
                "keep": whole * a.norm().item(),
                "add": whole * b.norm().item(),
                "weight": flow * case.width**0.5,
            }
            with case.tiles(backend):
                elementwise.hold_to_the_reference(
                    "add_rms_norm", backend, inputs, {}, upstream, sizes=sizes, layout=case.layout
                )

    law()


def the_join_is_a_sum_and_its_norm(backend: run.Backend) -> None:
    """The one call gives what a weighted sum, and then the norm of what came out, give."""

    @example(MANY)
    @example(SPARE)
    @given(cases())
    @run.examples(backend, 10)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs = case.terms(dtype)
            with case.tiles(backend):
                total, normal = elementwise.call("add_rms_norm", backend, **inputs)
                again = elementwise.call("rms_norm", backend, total, inputs.get("weight"))
            wide = [inputs[name].double() for name in ("a", "b")]
            scalars = [inputs.get(name, torch.ones(())).double() for name in ("keep", "add")]
            expected = wide[0] * scalars[0] + wide[1] * scalars[1]
            # Terms that cancel leave what was rounded of them.
            size = max(measure.size_of(*pair) for pair in zip(wide, scalars, strict=True))
            tolerance = measure.OUTPUT[dtype]
            measure.require_close("sum", total, expected, tolerance, size=size)
            measure.require_close("norm", normal, again, tolerance)

    law()


def scalars_are_rounded_first(backend: run.Backend) -> None:
    """Learned scalars enter the join rounded to the dtype of what they multiply, to the bit."""

    @example(MANY)
    @given(cases())
    @run.examples(backend, 5)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs = case.terms(dtype)
            exact = {
                name: values.fill((), "normal", case.seed, torch.float32)
                for name in ("keep", "add")
            }
            rounded = {name: each.to(dtype).float() for name, each in exact.items()}
            with case.tiles(backend):
                first = elementwise.call("add_rms_norm", backend, **(inputs | exact))
                second = elementwise.call("add_rms_norm", backend, **(inputs | rounded))
            for name, one, other in zip(("sum", "norm"), first, second, strict=True):
                measure.require_same_bits(name, one, other)

    law()


def zeros_stay_zeros(backend: run.Backend) -> None:
    """A row of zeros has the norm 0, beside any other rows."""

    @example(MANY, 3)
    @given(cases(), st.integers(0, 17))
    @run.examples(backend, 5)
    def law(case: Case, row: int) -> None:
        for dtype in backend.dtypes:
            inputs = case.inputs(dtype)
            row_of = row % (case.batch * case.tokens)
            inputs["x"].view(-1, case.width)[row_of] = 0.0
            with case.tiles(backend):
                found = elementwise.call("rms_norm", backend, *inputs.values())
            assert not found.view(-1, case.width)[row_of].any()

    law()


def a_scale_changes_nothing(backend: run.Backend) -> None:
    """``rms_norm(c x) = rms_norm(x)`` for c > 0, away from eps."""

    @example(MANY, 4.0)
    @given(cases(), st.sampled_from((2.0, 4.0, 16.0, 3.0, 100.0)))
    @run.examples(backend, 10)
    def law(case: Case, scale: float) -> None:
        for dtype in backend.dtypes:
            x = values.fill(case.shape, "normal", case.seed, dtype)
            x += x.sign()  # nowhere near 0
            larger = (x * scale).to(dtype)
            with case.tiles(backend):
                first = elementwise.call("rms_norm", backend, x, eps=1e-18)
                second = elementwise.call("rms_norm", backend, larger, eps=1e-18)
            measure.require_close("norm", second, first, measure.OUTPUT[dtype])

    law()


def no_gradient_along_a_row(backend: run.Backend) -> None:
    """``sum_i dx_i x_i = 0`` where eps is negligible: no growing changes a norm."""

    @example(MANY)
    @example(ONE)
    @given(cases())
    @run.examples(backend, 10)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            if dtype.itemsize < 4:
                continue  # the rounding of dx is larger than what is asked about
            inputs = case.inputs(dtype)
            inputs["x"] = values.fill(case.shape, "normal", case.seed, dtype)
            inputs["x"] += inputs["x"].sign() * 2
            upstream = [case.filled(6, dtype)]
            with case.tiles(backend):
                found = run.run(
                    "rms_norm", backend, inputs, {"eps": 1e-12},
                    differentiate=("x",), upstream=upstream,
                )  # fmt: skip
            x = inputs["x"].double()
            along = (found.gradients["x"].double() * x).sum(-1)
            # Rounded terms of this size were added up.
            size = measure.size_of(*upstream, *case.weight(dtype).values()) * case.width**0.5
            allowed = measure.GRADIENT[dtype].relative * size
            assert along.abs().max() <= allowed, f"{along.abs().max():.3g} along a row"

    law()


def rows_are_apart(backend: run.Backend) -> None:
    """A row's norm has the same bits among any others, in bundles of 32 rows."""

    def hold(case: Case, dtype: torch.dtype) -> None:
        x = values.fill((2 * elementwise.BUNDLE, case.width), "normal", case.seed, dtype)
        other, weight = x.flip(0), case.weight(dtype).get("weight")

        def norm(chosen: Tensor) -> Tensor:
            found: Tensor = elementwise.call("rms_norm", backend, x[chosen], weight)
            return found

        def join(chosen: Tensor) -> Tensor:
            found: tuple[Tensor, Tensor] = elementwise.call(
                "add_rms_norm", backend, x[chosen], other[chosen], weight=weight
            )
            return found[1]

        elementwise.hold_rows_apart(len(x), case.seed, norm)
        elementwise.hold_rows_apart(len(x), case.seed, join)

    @example(MANY)
    @given(cases())
    @run.examples(backend, 1)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            with case.tiles(backend):
                hold(case, dtype)

    law()


def two_runs_are_identical(backend: run.Backend) -> None:
    """A second run gives the same bits, forward and in every gradient."""

    @example(MANY)
    @given(cases())
    @run.examples(backend, 2)
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            with case.tiles(backend):
                elementwise.hold_to_the_same_bits(
                    "rms_norm", backend, case.inputs(dtype), {}, [case.filled(6, dtype)]
                )
                elementwise.hold_to_the_same_bits(
                    "add_rms_norm", backend, case.terms(dtype), {}, case.upstream(dtype)
                )

    law()


def nan_reaches_its_row(backend: run.Backend) -> None:
    """NaN in one element makes its row NaN, forward and backward, and no other."""

    @example(MANY, 4)
    @given(cases(), st.integers(0, 500))
    @run.examples(backend, 6)
    def law(case: Case, place: int) -> None:
        for dtype in backend.dtypes:
            x = values.fill(case.shape, "normal", case.seed, dtype)
            lost = place % x.numel() // case.width
            x.view(-1)[place % x.numel()] = torch.nan
            expected = (torch.arange(case.batch * case.tokens) == lost)[:, None]
            expected = expected.expand(-1, case.width)
            with case.tiles(backend):
                found = run.run(
                    "rms_norm", backend, {"x": x}, {},
                    differentiate=("x",), upstream=[case.filled(6, dtype)],
                )  # fmt: skip
                total, normal = elementwise.call("add_rms_norm", backend, x, torch.ones_like(x))
            assert found.outputs[0] is not None
            shape = (-1, case.width)
            assert torch.equal(found.outputs[0].isnan().view(shape), expected)
            assert torch.equal(found.gradients["x"].isnan().view(shape), expected)
            assert torch.equal(normal.isnan().view(shape), expected)
            assert torch.equal(total.isnan(), x.isnan())

    law()


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        the_join_equals_the_reference,
        the_join_is_a_sum_and_its_norm,
        scalars_are_rounded_first,
        zeros_stay_zeros,
        a_scale_changes_nothing,
        no_gradient_along_a_row,
        rows_are_apart,
        two_runs_are_identical,
        nan_reaches_its_row,
    )
}
