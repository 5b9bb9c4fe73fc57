"""Laws of log-probabilities without logits: what is true of any softmax."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.indexed_logprob_cases import (
    CAPPED,
    INPUTS,
    PLAIN,
    Case,
    call,
    cases,
    fewer,
    outputs,
    reach,
    require_near,
    require_same,
    some_dtypes,
)
from limite.plugins.conformance.kernels.run import Backend


def probabilities_sum_to_one(backend: Backend) -> None:
    """Over the whole vocabulary, the exponentials of the log-probabilities add up to 1."""

    @example(PLAIN)
    @example(CAPPED)
    @given(cases(each=1))
    @run.examples(backend, fewer(backend, 12))
    def law(case: Case) -> None:
        for dtype in some_dtypes(backend):
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
    @run.examples(backend, fewer(backend, 12))
    def law(case: Case, added: int) -> None:
        for dtype in some_dtypes(backend):
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
    @run.examples(backend, fewer(backend, 12))
    def law(case: Case) -> None:
        for dtype in some_dtypes(backend):
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
            require_same(case, inputs, attrs.evolve(second, gradients=gradients), first)

    law()


def gradients_of_logits_sum_to_zero(backend: Backend) -> None:
    """Without a cap, along what all rows of the weight share no gradient but the sum's flows."""

    @example(PLAIN)
    @example(Case(rows=9, vocabulary=33, each=5))
    @given(cases(cap=None))
    @run.examples(backend, fewer(backend, 12))
    def law(case: Case) -> None:
        for dtype in some_dtypes(backend):
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
    @run.examples(backend, fewer(backend, 18))
    def law(case: Case) -> None:
        for dtype in some_dtypes(backend):
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
    @run.examples(backend, fewer(backend, 12))
    def law(case: Case, bound: float) -> None:
        case = attrs.evolve(case, cap=(2 * bound, 0.0, bound / 2))
        for dtype in some_dtypes(backend):
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


def temperature_is_scaling(backend: Backend) -> None:
    """Without a cap, a temperature is the weight divided by it."""

    @example(PLAIN, 4.0)
    @given(cases(cap=None, temperature=1.0), st.sampled_from((0.5, 2.0, 4.0)))
    @run.examples(backend, fewer(backend, 9))
    def law(case: Case, temperature: float) -> None:
        for dtype in some_dtypes(backend):
            inputs, upstream = case.inputs(dtype), case.upstream(dtype)
            scaled = inputs | {"weight": inputs["weight"] / temperature}
            warm = attrs.evolve(case, temperature=temperature)
            first = call(backend, case, scaled, differentiate=INPUTS, upstream=upstream)
            second = call(backend, warm, inputs, differentiate=INPUTS, upstream=upstream)
            gradients = dict(first.gradients)
            gradients["weight"] = gradients["weight"] / temperature
            require_same(warm, inputs, second, attrs.evolve(first, gradients=gradients))

    law()


IDENTITIES: Mapping[str, run.Law] = {
    law.__name__: law
    for law in (
        probabilities_sum_to_one,
        what_all_rows_share_changes_nothing,
        a_permuted_vocabulary_permutes,
        gradients_of_logits_sum_to_zero,
        entropies_are_possible,
        a_sigmoid_cap_is_a_tangent_cap,
        temperature_is_scaling,
    )
}
