"""Laws of log-probabilities without logits."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.indexed_logprob_cases import (
    CAPPED,
    INPUTS,
    LIMITE,
    OP,
    PLAIN,
    Case,
    at_boundaries,
    call,
    cases,
    fewer,
    outputs,
    require_same,
    some_dtypes,
)
from limite.plugins.conformance.kernels.indexed_logprob_identities import IDENTITIES
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.values import fill


def equals_the_reference(backend: Backend) -> None:
    """Log-probabilities, entropy, log-sum-exp and both gradients are those of the formula."""

    @at_boundaries
    @given(cases())
    @run.examples(backend, fewer(backend, 36))
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            found = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            exact = run.exact(OP, inputs, case.arguments, differentiate=INPUTS, upstream=upstream)
            logp, _, lse = found.outputs
            assert logp is not None
            assert lse is not None
            assert logp.dtype == lse.dtype == torch.promote_types(dtype, torch.float32)
            assert not logp[inputs["index"] < 0].any(), "an id that is not there has a value"
            assert (found.outputs[1] is None) != case.entropy
            require_same(case, inputs, found, exact)

    law()


def the_size_of_chunks_has_no_effect(backend: Backend) -> None:
    """Other tiles, and rows in two calls, give the same but for rounding."""

    @example(Case(rows=17, vocabulary=33, block=8, span=8), 5)
    @example(Case(rows=17, vocabulary=33, cap=LIMITE, block=8, span=16), 8)
    @given(cases(block=8), st.integers(0, 17))
    @run.examples(backend, fewer(backend, 9))
    def law(case: Case, cut: int) -> None:
        for dtype in some_dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            whole = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            wider = attrs.evolve(case, block=16, span=48)
            other = call(backend, wider, inputs, differentiate=INPUTS, upstream=upstream)
            require_same(case, inputs, other, whole)
            parts = []
            for part in (slice(None, cut), slice(cut, None)):
                some = inputs | {name: inputs[name][part] for name in ("hidden", "index")}
                flows = [None if each is None else each[part] for each in upstream]
                parts.append(call(backend, case, some, differentiate=INPUTS, upstream=flows))
            joined = Outcome(
                tuple(
                    None if one is None or two is None else torch.cat((one, two))
                    for one, two in zip(parts[0].outputs, parts[1].outputs, strict=True)
                ),
                {
                    "hidden": torch.cat([part.gradients["hidden"] for part in parts]),
                    "weight": parts[0].gradients["weight"] + parts[1].gradients["weight"],
                },
            )
            require_same(case, inputs, joined, whole)

    law()


def far_logits_are_as_good(backend: Backend) -> None:
    """Logits all near -200, or 200, have the log-probabilities they have near 0."""

    @example(attrs.evolve(PLAIN, vocabulary=9), -200.0)
    @example(PLAIN, 200.0)
    @given(cases(cap=None, offset=0.0, temperature=1.0), st.sampled_from((-200.0, 200.0)))
    @run.examples(backend, fewer(backend, 12))
    def law(case: Case, offset: float) -> None:
        far = attrs.evolve(case, offset=offset)
        for dtype in some_dtypes(backend):
            near, inputs, upstream = case.inputs(dtype), far.inputs(dtype), case.upstream(dtype)
            found = call(backend, far, inputs, differentiate=INPUTS, upstream=upstream)
            expected = run.exact(OP, near, case.arguments, differentiate=INPUTS, upstream=upstream)
            logp, entropy, lse = found.outputs
            assert lse is not None
            gradients = {name: found.gradients[name][:, : case.width] for name in INPUTS}
            moved = Outcome((logp, entropy, (lse.double() - offset).to(lse)), gradients)
            require_same(far, inputs, moved, expected)

    law()


def two_runs_are_identical(backend: Backend) -> None:
    """Once more, and with the entropy or without: every bit is the same."""

    @example(PLAIN)
    @example(attrs.evolve(CAPPED, each=5))
    @given(cases(entropy=True))
    @run.examples(backend, fewer(backend, 6))
    def law(case: Case) -> None:
        for dtype in some_dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            first = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            again = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            alone = call(backend, case, inputs, need_entropy=False)
            assert alone.outputs[1] is None
            logp, entropy, lse = outputs(first)
            for name, x, y in zip(
                ("logp", "entropy", "lse"), (logp, entropy, lse), outputs(again), strict=True
            ):
                measure.require_same_bits(name, y, x)
            for name in INPUTS:
                measure.require_same_bits(f"d{name}", again.gradients[name], first.gradients[name])
            for name, one, two in (
                ("logp", alone.outputs[0], logp),
                ("lse", alone.outputs[2], lse),
            ):
                assert one is not None
                measure.require_same_bits(f"{name} alone", one, two)

    law()


def rows_are_independent(backend: Backend) -> None:
    """Another hidden state, id or NaN in one row leaves every other row as it was, to the bit."""

    @example(PLAIN, 3, False)
    @example(attrs.evolve(CAPPED, each=5), 8, True)
    @given(cases(entropy=True), st.integers(0, 16), st.booleans())
    @run.examples(backend, fewer(backend, 9))
    def law(case: Case, row: int, lost: bool) -> None:
        row = min(row, case.rows - 1)
        for dtype in some_dtypes(backend):
            inputs = case.inputs(dtype)
            before = outputs(call(backend, case, inputs))
            inputs["hidden"][row] = torch.nan if lost else 0.5
            inputs["index"][row] = case.vocabulary - 1
            with run.nothing_but_nan():
                after = outputs(call(backend, case, inputs))
            others = torch.arange(case.rows) != row
            for name, x, y in zip(("logp", "entropy", "lse"), after, before, strict=True):
                measure.require_same_bits(name, x[others], y[others])
                assert bool(x[row].isnan().all()) == lost, f"{name}: NaN does not arrive"

    law()


def nan_in_the_weight_reaches_every_row(backend: Backend) -> None:
    """A weight that is NaN for any id, or for many, makes the log-sum-exp of every row NaN."""

    @example(PLAIN, 16, 1)
    @example(PLAIN, 0, 8)  # all that a first tile has
    @example(CAPPED, 0, 1)
    @given(cases(entropy=True), st.integers(0, 32), st.sampled_from((1, 8, 17)))
    @run.examples(backend, fewer(backend, 6))
    def law(case: Case, token: int, count: int) -> None:
        for dtype in some_dtypes(backend):
            inputs = case.inputs(dtype)
            token = min(token, case.vocabulary - 1)
            inputs["weight"][token : token + count, -1] = torch.nan
            with run.nothing_but_nan():
                logp, entropy, lse = outputs(call(backend, case, inputs))
            assert lse.isnan().all()
            assert entropy.isnan().all()
            assert torch.equal(logp.isnan(), inputs["index"] >= 0)

    law()


def ids_that_are_not_there_have_no_effect(backend: Backend) -> None:
    """Of -1 the log-probability is 0, and what flows back into it goes nowhere."""

    @example(PLAIN)
    @example(attrs.evolve(CAPPED, each=5))
    @given(cases(flows=("logp",)))
    @run.examples(backend, fewer(backend, 6))
    def law(case: Case) -> None:
        case = attrs.evolve(case, flows=("logp",))
        for dtype in some_dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            inputs["index"] = torch.full_like(inputs["index"], -1)
            found = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            assert found.outputs[0] is not None
            assert not found.outputs[0].any()
            assert not found.gradients["hidden"].any()
            assert not found.gradients["weight"].any()

    law()


def ids_that_repeat_add_up(backend: Backend) -> None:
    """Of an id given several times, the gradients that flow back add up."""

    @example(PLAIN)
    @example(CAPPED)
    @given(cases(each=1))
    @run.examples(backend, fewer(backend, 9))
    def law(case: Case) -> None:
        for dtype in backend.dtypes:
            inputs, single = case.inputs(dtype), case.upstream(dtype)
            several = attrs.evolve(case, each=6)
            parts = fill((case.rows, 6), "normal", case.seed + 9, torch.float64)
            parts = parts.to(torch.promote_types(dtype, torch.float32))
            single[0] = parts.double().sum(-1, keepdim=True).to(parts)
            repeated = inputs | {"index": inputs["index"].expand(-1, 6).contiguous()}
            upstream = [parts, *single[1:]]
            one = call(backend, case, inputs, differentiate=INPUTS, upstream=single)
            many = call(backend, several, repeated, differentiate=INPUTS, upstream=upstream)
            logp = many.outputs[0]
            assert logp is not None
            measure.require_same_bits("logp", logp, logp[:, :1].expand_as(logp))
            first = attrs.evolve(many, outputs=(logp[:, :1], *many.outputs[1:]))
            require_same(several, inputs, first, one)

    law()


def the_product_is_rounded_first(backend: Backend) -> None:
    """With ``round_logits`` the product, to the nearest with ties to even, before all else."""

    @example(PLAIN, "bfloat16")
    @example(attrs.evolve(CAPPED, each=5), "float16")
    @given(cases(offset=0.0), st.sampled_from(("bfloat16", "float16")))
    @run.examples(backend, fewer(backend, 9))
    def law(case: Case, name: str) -> None:
        for dtype in some_dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            # Products that float32 holds exactly, and of which a half type loses bits.
            for place, each in enumerate(INPUTS):
                stream = torch.Generator().manual_seed(case.seed + place)
                shape = inputs[each].shape
                whole = torch.randint(-63, 64, shape, generator=stream)
                inputs[each] = (whole * 2.0 ** (-5 if place else -4)).to(dtype)
            arguments = case.arguments | {"round_logits": name}
            found = call(
                backend, case, inputs, differentiate=INPUTS, upstream=upstream, round_logits=name
            )
            exact = run.exact(OP, inputs, arguments, differentiate=INPUTS, upstream=upstream)
            require_same(case, inputs, found, exact)

    law()


def only_what_is_asked_for_is_made(backend: Backend) -> None:
    """The gradient of one input is the same whether that of the other is wanted or not."""

    @example(PLAIN)
    @example(attrs.evolve(CAPPED, each=5))
    @given(cases())
    @run.examples(backend, fewer(backend, 3))
    def law(case: Case) -> None:
        for dtype in some_dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            both = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            for name in INPUTS:
                alone = call(backend, case, inputs, differentiate=(name,), upstream=upstream)
                measure.require_same_bits(name, alone.gradients[name], both.gradients[name])

    law()


LAWS: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        equals_the_reference,
        the_size_of_chunks_has_no_effect,
        far_logits_are_as_good,
        two_runs_are_identical,
        rows_are_independent,
        nan_in_the_weight_reaches_every_row,
        ids_that_are_not_there_have_no_effect,
        ids_that_repeat_add_up,
        the_product_is_rounded_first,
        only_what_is_asked_for_is_made,
    )
} | dict(IDENTITIES)
