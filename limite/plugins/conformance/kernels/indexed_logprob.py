"""Laws of log-probabilities without logits."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.indexed_logprob_cases import (
    BOUNDARIES,
    INPUTS,
    LIMITE,
    OP,
    Case,
    call,
    cases,
    outputs,
    reach,
    require_near,
    require_near_gradient,
)
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.values import fill

PLAIN = Case(rows=9, vocabulary=17)
CAPPED = Case(rows=9, vocabulary=17, cap=LIMITE, temperature=0.7)


def _dtypes(backend: Backend) -> tuple[torch.dtype, ...]:
    return backend.dtypes[:1] if backend.tiled and not backend.compiled else backend.dtypes


def _count(backend: Backend, count: int) -> int:
    """Fewer where every example takes a second."""
    return max(1, count // 3) if backend.tiled and not backend.compiled else count


def _require_same(
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


def equals_the_reference(backend: Backend) -> None:
    """Log-probabilities, entropy, log-sum-exp and both gradients are those of the formula."""

    @example(BOUNDARIES[0])
    @example(BOUNDARIES[1])
    @example(BOUNDARIES[2])
    @example(BOUNDARIES[3])
    @given(cases())
    @run.examples(backend, _count(backend, 36))
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
            _require_same(case, inputs, found, exact)

    law()


def probabilities_sum_to_one(backend: Backend) -> None:
    """Over the whole vocabulary, the exponentials of the log-probabilities add up to 1."""

    @example(PLAIN)
    @example(CAPPED)
    @given(cases(each=1))
    @run.examples(backend, _count(backend, 12))
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            inputs["index"] = torch.arange(case.vocabulary).expand(case.rows, -1).contiguous()
            logp, *_ = call(backend, case, inputs).outputs
            assert logp is not None
            total = logp.double().exp().sum(-1).log()
            require_near("logp", total.to(logp), torch.zeros(case.rows), case, reach(case, inputs))

    law()


def what_all_rows_share_changes_nothing(backend: Backend) -> None:
    """Without a cap, a vector added to every row of the weight changes no log-probability."""

    @example(PLAIN, 3)
    @given(cases(cap=None, offset=0.0, regimes=("ties", "ties")), st.integers(-4, 4))
    @run.examples(backend, _count(backend, 12))
    def law(case: Case, added: int) -> None:
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            # Small integers: what is added is added exactly.
            inputs["hidden"] = inputs["hidden"].round().clamp(-3, 3)
            inputs["weight"] = inputs["weight"].round().clamp(-3, 3)
            shifted = inputs | {"weight": inputs["weight"] + added}
            size = reach(case, shifted)
            before, after = call(backend, case, inputs), call(backend, case, shifted)
            assert before.outputs[0] is not None
            assert after.outputs[0] is not None
            require_near("logp", after.outputs[0], before.outputs[0], case, size)

    law()


def a_permuted_vocabulary_permutes(backend: Backend) -> None:
    """Ids in another order: the same results, and the gradient of the weight in that order."""

    @example(PLAIN)
    @example(CAPPED)
    @given(cases())
    @run.examples(backend, _count(backend, 12))
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            stream = torch.Generator().manual_seed(case.seed)
            order = torch.randperm(case.vocabulary, generator=stream)
            place = order.argsort()
            index = inputs["index"]
            moved = inputs | {
                "weight": inputs["weight"][order],
                "index": place[index.clamp(min=0)].where(index >= 0, index),
            }
            first = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            second = call(backend, case, moved, differentiate=INPUTS, upstream=upstream)
            gradients = dict(second.gradients) | {"weight": second.gradients["weight"][place]}
            _require_same(case, inputs, attrs.evolve(second, gradients=gradients), first)

    law()


def the_size_of_chunks_has_no_effect(backend: Backend) -> None:
    """Other tiles, and rows in two calls, give the same but for rounding."""

    @example(Case(rows=17, vocabulary=33, block=8, span=8), 5)
    @example(Case(rows=17, vocabulary=33, cap=LIMITE, block=8, span=16), 8)
    @given(cases(block=8), st.integers(0, 17))
    @run.examples(backend, _count(backend, 9))
    def law(case: Case, cut: int) -> None:
        for dtype in _dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            whole = call(backend, case, inputs, differentiate=INPUTS, upstream=upstream)
            wider = attrs.evolve(case, block=16, span=48)
            other = call(backend, wider, inputs, differentiate=INPUTS, upstream=upstream)
            _require_same(case, inputs, other, whole)
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
            _require_same(case, inputs, joined, whole)

    law()


def gradients_of_logits_sum_to_zero(backend: Backend) -> None:
    """Without a cap, along what all rows of the weight share no gradient but the sum's flows."""

    @example(PLAIN)
    @example(Case(rows=9, vocabulary=33, each=5))
    @given(cases(cap=None))
    @run.examples(backend, _count(backend, 12))
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            ones = torch.ones(case.vocabulary, 1, dtype=dtype)
            inputs["weight"] = torch.cat((inputs["weight"], ones), 1)
            last = torch.zeros(case.rows, 1, dtype=dtype)
            inputs["hidden"] = torch.cat((inputs["hidden"], last), 1)
            found = call(backend, case, inputs, differentiate=("hidden",), upstream=upstream)
            along = found.gradients["hidden"][:, -1]
            of = upstream[2]
            expected = torch.zeros(case.rows) if of is None else of / case.temperature
            # The error is that of what cancels: as large as the gradients that came in.
            sizes = [
                each.abs().sum(-1) if each.dim() == 2 else each.abs()
                for each in upstream
                if each is not None
            ]
            steep = case.peak + math.log(case.vocabulary) + 1.0
            total = sum(sizes, torch.zeros(case.rows)) / case.temperature * steep
            allowed = measure.GRADIENT[dtype].relative + 2e-7 * reach(case, inputs)
            off = (along.double() - expected.double()).abs()
            assert bool((off <= allowed * total).all()), f"off by {off.max().item():.3g}"

    law()


def entropies_are_possible(backend: Backend) -> None:
    """Entropy lies between 0 and the logarithm of the vocabulary, which zero logits have."""

    @example(attrs.evolve(PLAIN, regimes=("zeros", "normal")))
    @example(attrs.evolve(CAPPED, regimes=("zeros", "normal")))
    @given(cases(entropy=True))
    @run.examples(backend, _count(backend, 18))
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            _, entropy, _ = outputs(call(backend, case, inputs))
            clamped = entropy.clamp(0.0, math.log(case.vocabulary))
            require_near("entropy", entropy, clamped, case, reach(case, inputs))
            if "zeros" in case.regimes:
                full = torch.full_like(entropy, math.log(case.vocabulary))
                require_near("entropy", entropy, full, case, reach(case, inputs))

    law()


def a_sigmoid_cap_is_a_tangent_cap(backend: Backend) -> None:
    """The cap ``(2t, 0, t / 2)`` gives the log-probabilities of ``t tanh(z / t)``."""

    @example(PLAIN, 10.0)
    @given(cases(entropy=True, offset=0.0), st.sampled_from((2.0, 10.0, 50.0)))
    @run.examples(backend, _count(backend, 12))
    def law(case: Case, bound: float) -> None:
        case = attrs.evolve(case, cap=(2 * bound, 0.0, bound / 2))
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            logp, entropy, _ = outputs(call(backend, case, inputs))
            product = inputs["hidden"].double() @ inputs["weight"].double().t()
            logits = bound * (product / bound).tanh() / case.temperature
            everywhere = logits.log_softmax(-1)
            index = inputs["index"]
            expected = everywhere.gather(-1, index.clamp(min=0)).masked_fill(index < 0, 0.0)
            size = reach(case, inputs)
            require_near("logp", logp, expected, case, size)
            mean = -(everywhere.exp() * everywhere).sum(-1)
            require_near("entropy", entropy, mean, case, size)

    law()


def far_logits_are_as_good(backend: Backend) -> None:
    """Logits all near -200, or 200, have the log-probabilities they have near 0."""

    @example(attrs.evolve(PLAIN, vocabulary=9), -200.0)
    @example(PLAIN, 200.0)
    @given(cases(cap=None, offset=0.0, temperature=1.0), st.sampled_from((-200.0, 200.0)))
    @run.examples(backend, _count(backend, 12))
    def law(case: Case, offset: float) -> None:
        far = attrs.evolve(case, offset=offset)
        for dtype in _dtypes(backend):
            near, inputs, upstream = case.inputs(dtype), far.inputs(dtype), case.upstream(dtype)
            found = call(backend, far, inputs, differentiate=INPUTS, upstream=upstream)
            expected = run.exact(OP, near, case.arguments, differentiate=INPUTS, upstream=upstream)
            logp, entropy, lse = found.outputs
            assert lse is not None
            gradients = {name: found.gradients[name][:, : case.width] for name in INPUTS}
            moved = Outcome((logp, entropy, (lse.double() - offset).to(lse)), gradients)
            _require_same(far, inputs, moved, expected)

    law()


def two_runs_are_identical(backend: Backend) -> None:
    """Once more, and with the entropy or without: every bit is the same."""

    @example(PLAIN)
    @example(attrs.evolve(CAPPED, each=5))
    @given(cases(entropy=True))
    @run.examples(backend, _count(backend, 6))
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
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
    @run.examples(backend, _count(backend, 9))
    def law(case: Case, row: int, lost: bool) -> None:
        row = min(row, case.rows - 1)
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            before = outputs(call(backend, case, inputs))
            inputs["hidden"][row] = torch.nan if lost else 0.5
            inputs["index"][row] = case.vocabulary - 1
            after = outputs(call(backend, case, inputs))
            others = torch.arange(case.rows) != row
            for name, x, y in zip(("logp", "entropy", "lse"), after, before, strict=True):
                measure.require_same_bits(name, x[others], y[others])
                assert bool(x[row].isnan().all()) == lost, f"{name}: NaN does not arrive"

    law()


def nan_in_the_weight_reaches_every_row(backend: Backend) -> None:
    """A weight that is NaN for any id makes the log-sum-exp of every row NaN."""

    @example(PLAIN, 16)
    @example(CAPPED, 0)
    @given(cases(entropy=True), st.integers(0, 32))
    @run.examples(backend, _count(backend, 6))
    def law(case: Case, token: int) -> None:
        for dtype in _dtypes(backend):
            inputs = case.inputs(dtype)
            inputs["weight"][min(token, case.vocabulary - 1), -1] = torch.nan
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
    @run.examples(backend, _count(backend, 6))
    def law(case: Case) -> None:
        case = attrs.evolve(case, flows=("logp",))
        for dtype in _dtypes(backend):
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
    @run.examples(backend, _count(backend, 9))
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
            _require_same(several, inputs, first, one)

    law()


def temperature_is_scaling(backend: Backend) -> None:
    """Without a cap, a temperature is the weight divided by it."""

    @example(PLAIN, 4.0)
    @given(cases(cap=None, temperature=1.0), st.sampled_from((0.5, 2.0, 4.0)))
    @run.examples(backend, _count(backend, 9))
    def law(case: Case, temperature: float) -> None:
        for dtype in _dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            scaled = inputs | {"weight": inputs["weight"] / temperature}
            warm = attrs.evolve(case, temperature=temperature)
            first = call(backend, case, scaled, differentiate=INPUTS, upstream=upstream)
            second = call(backend, warm, inputs, differentiate=INPUTS, upstream=upstream)
            gradients = dict(first.gradients)
            gradients["weight"] = gradients["weight"] / temperature
            _require_same(warm, inputs, second, attrs.evolve(first, gradients=gradients))

    law()


def the_product_is_rounded_first(backend: Backend) -> None:
    """With ``round_logits`` the product, to the nearest with ties to even, before all else."""

    @example(PLAIN, "bfloat16")
    @example(attrs.evolve(CAPPED, each=5), "float16")
    @given(cases(offset=0.0), st.sampled_from(("bfloat16", "float16")))
    @run.examples(backend, _count(backend, 9))
    def law(case: Case, name: str) -> None:
        for dtype in _dtypes(backend):
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
            _require_same(case, inputs, found, exact)

    law()


def only_what_is_asked_for_is_made(backend: Backend) -> None:
    """The gradient of one input is the same whether that of the other is wanted or not."""

    @example(PLAIN)
    @example(attrs.evolve(CAPPED, each=5))
    @given(cases())
    @run.examples(backend, _count(backend, 3))
    def law(case: Case) -> None:
        for dtype in _dtypes(backend):
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
        probabilities_sum_to_one,
        what_all_rows_share_changes_nothing,
        a_permuted_vocabulary_permutes,
        the_size_of_chunks_has_no_effect,
        gradients_of_logits_sum_to_zero,
        entropies_are_possible,
        a_sigmoid_cap_is_a_tangent_cap,
        far_logits_are_as_good,
        two_runs_are_identical,
        rows_are_independent,
        nan_in_the_weight_reaches_every_row,
        ids_that_are_not_there_have_no_effect,
        ids_that_repeat_add_up,
        temperature_is_scaling,
        the_product_is_rounded_first,
        only_what_is_asked_for_is_made,
    )
}
