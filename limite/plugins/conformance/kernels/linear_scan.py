"""Laws of the linear scan, and of the advantages that are made with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import ops, tiles
from limite.core.kernels.scans import discounted_returns, gae
from limite.plugins.conformance.kernels import measure, run, values

FACTORS = ("fractions", "ones", "boundaries", "near-one", "signs", "zeros", "growing")


@attrs.frozen(kw_only=True)
class Case:
    """The sizes and values of a scan. ``block``: the tile of the kernels."""

    rows: int = 1
    tokens: int = 1
    block: int = 8
    reverse: bool = False
    carry: bool = False
    factors: str = "fractions"
    regime: str = "normal"
    seed: int = 0

    def inputs(self, dtype: torch.dtype) -> dict[str, Tensor]:
        shape = (self.rows, self.tokens)
        found = {
            "a": factors(shape, self.factors, self.seed, dtype),
            "b": values.fill(shape, self.regime, self.seed + 1, dtype),
        }
        if self.carry:
            found["carry"] = values.fill((self.rows,), "normal", self.seed + 2, dtype)
        return found

    def upstream(self, dtype: torch.dtype) -> Tensor:
        return values.fill((self.rows, self.tokens), "normal", self.seed + 3, dtype)


def factors(shape: tuple[int, int], kind: str, seed: int, dtype: torch.dtype) -> Tensor:
    """Values of ``a`` as users have them: 0 at boundaries, close to 1 within."""
    stream = torch.Generator().manual_seed(seed)
    uniform = torch.rand(shape, generator=stream, dtype=torch.float64)
    found = {
        "fractions": uniform,
        "ones": torch.ones_like(uniform),
        "boundaries": (uniform > 0.2).double(),
        "near-one": 1.0 - 1e-3 * uniform,
        "signs": (uniform > 0.5).double() * 2 - 1,
        "zeros": torch.zeros_like(uniform),
        "growing": 0.9 + 0.2 * uniform,
    }[kind]
    return found.to(dtype)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Sizes on either side of every block's end."""
    block = draw(st.sampled_from((8, 16)))
    sizes = (1, 2, 3, 5, block - 1, block, block + 1, 2 * block, 2 * block + 1, 3 * block + 1)
    return Case(
        rows=draw(st.sampled_from((1, 2, 3))),
        tokens=draw(st.sampled_from(sizes)),
        block=block,
        reverse=draw(st.booleans()),
        carry=draw(st.booleans()),
        factors=draw(st.sampled_from(FACTORS)),
        regime=draw(st.sampled_from(values.REGIMES)),
        seed=draw(st.integers(0, 2**31)),
    )


LONG = Case(rows=2, tokens=49, factors="near-one", carry=True)
BACKWARDS = Case(rows=3, tokens=25, reverse=True, carry=True)


def equals_the_reference(backend: run.Backend) -> None:
    """The scan, and the gradients of factors, terms and carry, are those of the definition."""

    @example(LONG)
    @example(BACKWARDS)
    @example(Case(rows=2, tokens=8, carry=True))
    @example(Case(rows=2, tokens=16, reverse=True))
    @given(cases())
    @run.examples(backend, 30)
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            inputs, names = case.inputs(dtype), tuple(case.inputs(dtype))
            upstream = [case.upstream(dtype)]
            arguments = {"reverse": case.reverse}
            with _tiles(backend, case.block):
                found = run.run(
                    "linear_scan",
                    backend,
                    inputs,
                    arguments,
                    differentiate=names,
                    upstream=upstream,
                )
            exact = run.exact(
                "linear_scan", inputs, arguments, differentiate=names, upstream=upstream
            )
            y, expected = found.outputs[0], exact.outputs[0]
            assert y is not None
            assert expected is not None
            assert y.dtype == dtype
            size = values_size(expected)
            measure.require_close("y", y, expected, measure.OUTPUT[dtype], size=size)
            for name in names:
                of = exact.gradients[name]
                size = values_size(of, expected)
                measure.require_close(
                    f"d{name}", found.gradients[name], of, measure.GRADIENT[dtype], size=size
                )

    law()


def a_split_with_its_carry_equals_the_whole(backend: run.Backend) -> None:
    """The end of one part, carried into the next, gives what one scan over both gives."""

    @example(LONG, 8)
    @example(BACKWARDS, 9)
    @given(cases(), st.integers(0, 49))
    @run.examples(backend, 15)
    def law(case: Case, cut: int) -> None:
        cut = min(cut, case.tokens)
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            a, b, carry = inputs["a"], inputs["b"], inputs.get("carry")
            whole = _scan(backend, case, a, b, carry)
            parts = [slice(None, cut), slice(cut, None)]
            order = parts[::-1] if case.reverse else parts
            found: dict[int, Tensor] = {}
            for part in order:
                piece = _scan(backend, case, a[:, part], b[:, part], carry)
                found[parts.index(part)] = piece
                if piece.shape[1]:
                    carry = piece[:, 0 if case.reverse else -1]
            measure.require_close(
                "y",
                torch.cat((found[0], found[1]), 1),
                whole,
                measure.OUTPUT[dtype],
                size=values_size(whole),
            )

    law()


def a_factor_of_zero_starts_anew(backend: run.Backend) -> None:
    """From a factor of 0 on a scan is, to the bit, what it is after anything else."""

    @example(LONG, 8)
    @example(LONG, 7)
    @example(BACKWARDS, 8)
    @given(cases(), st.integers(0, 49))
    @run.examples(backend, 15)
    def law(case: Case, cut: int) -> None:
        cut = min(cut, case.tokens - 1)
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            a, b = inputs["a"], inputs["b"]
            a[:, cut] = 0.0
            before = slice(cut + 1, None) if case.reverse else slice(None, cut)
            after = slice(None, cut + 1) if case.reverse else slice(cut, None)
            first = _scan(backend, case, a, b, inputs.get("carry"))
            other_a, other_b = a.clone(), b.clone()
            other_a[:, before] = 0.5
            other_b[:, before] = 3.0
            second = _scan(backend, case, other_a, other_b, None)
            measure.require_same_bits("y", first[:, after], second[:, after])
            start = -1 if case.reverse else 0
            measure.require_same_bits("y", first[:, after][:, start], b[:, after][:, start])

    law()


def factors_of_one_add_up(backend: run.Backend) -> None:
    """With factors of 1 a scan is the cumulative sum, started by the carry."""

    @example(LONG)
    @example(BACKWARDS)
    @given(cases())
    @run.examples(backend, 10)
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            inputs = attrs.evolve(case, factors="ones").inputs(dtype)
            found = _scan(backend, case, inputs["a"], inputs["b"], inputs.get("carry"))
            terms = inputs["b"].double()
            if case.reverse:
                terms = terms.flip(1)
            total = terms.cumsum(1) + inputs.get("carry", torch.zeros(case.rows))[:, None]
            expected = total.flip(1) if case.reverse else total
            size = values_size(expected, torch.ones(1))
            measure.require_close("y", found, expected, measure.OUTPUT[dtype], size=size)

    law()


def what_comes_later_has_no_effect(backend: run.Backend) -> None:
    """A changed token leaves all before it, and every other row, as they were, to the bit."""

    @example(LONG, 8, 1)
    @example(BACKWARDS, 7, 2)
    @given(cases(), st.integers(0, 49), st.integers(0, 2))
    @run.examples(backend, 15)
    def law(case: Case, token: int, row: int) -> None:
        token, row = min(token, case.tokens - 1), min(row, case.rows - 1)
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            first = _scan(backend, case, inputs["a"], inputs["b"], inputs.get("carry"))
            again = _scan(backend, case, inputs["a"], inputs["b"], inputs.get("carry"))
            measure.require_same_bits("a second run", again, first)
            a, b = inputs["a"].clone(), inputs["b"].clone()
            a[row, token], b[row, token] = 0.25, 11.0
            changed = _scan(backend, case, a, b, inputs.get("carry"))
            before = slice(token + 1, None) if case.reverse else slice(None, token)
            measure.require_same_bits("before", changed[row, before], first[row, before])
            others = torch.arange(case.rows) != row
            measure.require_same_bits("other rows", changed[others], first[others])

    law()


def a_view_is_as_good_as_a_copy(backend: run.Backend) -> None:
    """Rows that lie apart, tokens that do, and factors expanded from one, change no bit."""

    @example(LONG)
    @example(BACKWARDS)
    @given(cases())
    @run.examples(backend, 8)
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            a, b, carry = (
                inputs["a"][:, :1].expand(-1, case.tokens),
                inputs["b"],
                inputs.get("carry"),
            )
            plain = _scan(backend, case, a.contiguous(), b, carry)
            beside = torch.full_like(b, torch.nan)
            views = {
                "rows apart": torch.cat((beside, b, beside), 1)[:, case.tokens : 2 * case.tokens],
                "tokens apart": b.t().contiguous().t(),
                "every second": torch.stack((b, beside), 2)[..., 0],
            }
            for name, view in views.items():
                found = _scan(backend, case, a, view, carry)
                measure.require_same_bits(name, found, plain)

    law()


def nan_reaches_all_that_follows(backend: run.Backend) -> None:
    """NaN in a term or factor is NaN in every later token, and in none before."""

    @example(LONG, 3, "b")
    @example(BACKWARDS, 9, "a")
    @given(cases(), st.integers(0, 49), st.sampled_from(("a", "b")))
    @run.examples(backend, 8)
    def law(case: Case, token: int, where: str) -> None:
        token = min(token, case.tokens - 1)
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            inputs[where][0, token] = torch.nan
            found = _scan(backend, case, inputs["a"], inputs["b"], inputs.get("carry")).isnan()
            place = torch.arange(case.tokens)
            expected = place <= token if case.reverse else place >= token
            assert torch.equal(found[0], expected), f"NaN at {found[0].nonzero().flatten()}"
            assert not found[1:].any(), "NaN in another row"

    law()


def advantages_are_returns_less_values(backend: run.Backend) -> None:
    """``gae`` at lambda = gamma = 1 is the Monte Carlo return less the value."""

    @example(BACKWARDS)
    @example(LONG)
    @given(cases())
    @run.examples(backend, 10)
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            rewards, state, goes_on = _episodes(case, backend, dtype)
            with _tiles(backend, case.block), backend.use("linear_scan"):
                found = gae(rewards, state, goes_on, gamma=1.0, lam=1.0)
                returns = discounted_returns(rewards, goes_on, gamma=1.0)
            expected = torch.zeros_like(rewards)  # each reward, added where it can still come
            left = torch.zeros_like(rewards[:, 0])
            for token in reversed(range(case.tokens)):
                left = rewards[:, token] + goes_on[:, token] * left
                expected[:, token] = left
            tolerance = measure.OUTPUT[dtype]
            size = values_size(expected, torch.ones(1)) + values_size(state)
            measure.require_close("returns", returns, expected, tolerance, size=size)
            measure.require_close("gae", found, expected - state, tolerance, size=size)

    law()


def without_lambda_advantages_are_errors(backend: run.Backend) -> None:
    """``gae`` at lambda = 0 is ``reward + gamma value of the next state - value``."""

    @example(BACKWARDS)
    @given(cases())
    @run.examples(backend, 10)
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            rewards, state, goes_on = _episodes(case, backend, dtype)
            with _tiles(backend, case.block), backend.use("linear_scan"):
                found = gae(rewards, state, goes_on, gamma=0.9, lam=0.0)
            following = torch.zeros_like(state)
            following[:, :-1] = state[:, 1:]
            expected = rewards + 0.9 * goes_on * following - state
            measure.require_close(
                "gae", found, expected, measure.OUTPUT[dtype], size=values_size(state)
            )

    law()


def values_size(*tensors: Tensor) -> float:
    """How large a typical element is: what the absolute part of a tolerance is meant for."""
    return measure.size_of(*tensors) if all(tensor.numel() for tensor in tensors) else 1.0


def _dtypes(backend: run.Backend) -> tuple[torch.dtype, ...]:
    """Half precision is refused, whatever else a backend takes."""
    return tuple(dtype for dtype in backend.dtypes if dtype.itemsize >= 4)


def _episodes(
    case: Case, backend: run.Backend, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Rewards, values, and where the episodes within a row go on."""
    shape = (case.rows, case.tokens)
    return (
        values.fill(shape, case.regime, case.seed, dtype).to(backend.device),
        values.fill(shape, "normal", case.seed + 1, dtype).to(backend.device),
        factors(shape, "boundaries", case.seed + 2, dtype).to(backend.device),
    )


def _scan(backend: run.Backend, case: Case, a: Tensor, b: Tensor, carry: Tensor | None) -> Tensor:
    """The scan alone, on tensors laid out as they are."""
    with _tiles(backend, case.block), backend.use("linear_scan"):
        found = ops.linear_scan(
            a.to(backend.device),
            b.to(backend.device),
            reverse=case.reverse,
            carry=None if carry is None else carry.to(backend.device),
        )
    return found.cpu()


@contextmanager
def _tiles(backend: run.Backend, block: int) -> Iterator[None]:
    """Blocks small enough for a few tokens to fill several."""
    if not backend.tiled:
        yield
        return
    small = tiles.Tile({"BT": block})
    with tiles.use(linear_scan_forward=small, linear_scan_backward=small):
        yield


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        a_split_with_its_carry_equals_the_whole,
        a_factor_of_zero_starts_anew,
        factors_of_one_add_up,
        what_comes_later_has_no_effect,
        a_view_is_as_good_as_a_copy,
        nan_reaches_all_that_follows,
        advantages_are_returns_less_values,
        without_lambda_advantages_are_errors,
    )
}
