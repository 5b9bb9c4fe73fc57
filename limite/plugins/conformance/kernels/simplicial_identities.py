"""Laws of ``simplicial_attention``: what ties it to ordinary attention, and to itself."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import example, given
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.dispatch import use
from limite.plugins.conformance.kernels.run import Backend, Outcome, examples
from limite.plugins.conformance.kernels.simplicial_cases import INPUTS, SWAPPED, Case, build, cases
from limite.plugins.conformance.kernels.streams import (
    MILD,
    differentiated,
    outcome,
    require_outcome,
)
from limite.plugins.conformance.kernels.values import fill


def ones_give_attention(backend: Backend) -> None:
    """With second keys and values of 1 it is ordinary attention over the first, whose log-sum-exp
    gains the logarithm of how many second keys are seen."""

    @given(cases(backend, regimes=("normal", "ties"), segments=None))
    @example(build(keys=17, window1=5, window2=3, group=2))
    @example(build(keys=9, window1=2, window2=None, kv_heads=2, queries=7))
    @examples(backend, 3)
    def same(case: Case) -> None:
        ones = torch.ones_like(case.inputs["k2"])
        case = case.changed(layout="contiguous", k2=ones, v2=ones)
        seen = torch.arange(case.first, case.keys) + 1
        if case.arguments["window2"] is not None:
            seen = seen.clamp(max=case.arguments["window2"])

        def other(q: Tensor, k1: Tensor, _k2: Tensor, v1: Tensor, _v2: Tensor) -> _Outputs:
            out, lse = _attention(q, k1, v1, case)
            return out, lse + seen.log()

        found = outcome(backend, case)
        exact = _through(case, other, ("q", "k1", "v1"))
        require_outcome(case, found, exact)

    same()


def window_one_of_two_gives_attention(backend: Backend) -> None:
    """A second window of 1 gives ``v2 o attention(q o k2, k1, v1)``, o channel by channel."""

    @given(cases(backend, regimes=MILD, window2=1, segments=None))
    @example(build(keys=17, window1=9, window2=1, group=2))
    @example(build(keys=9, window1=None, window2=1, kv_heads=2, group=2, queries=8))
    @examples(backend, 3)
    def same(case: Case) -> None:
        case = case.changed(layout="contiguous")

        def other(q: Tensor, k1: Tensor, k2: Tensor, v1: Tensor, v2: Tensor) -> _Outputs:
            own_k, own_v = (
                each[:, :, case.first :].repeat_interleave(case.group, 1) for each in (k2, v2)
            )
            out, lse = _attention(q * own_k, k1, v1, case)
            return out * own_v, lse

        require_outcome(case, outcome(backend, case), _through(case, other, INPUTS))

    same()


_Outputs = tuple[Tensor, Tensor]


def _attention(q: Tensor, k: Tensor, v: Tensor, case: Case) -> _Outputs:
    with use("attention=reference"):
        out, lse = ops.attention(
            q, k, v, scale=case.arguments["scale"], window=case.arguments["window1"]
        )
    assert lse is not None
    return out, lse


def _through(case: Case, function: Callable[..., _Outputs], names: tuple[str, ...]) -> Outcome:
    """Outputs and gradients, in float64, of another way to say the same."""
    leaves = {name: case.inputs[name].double().requires_grad_() for name in INPUTS}
    found = differentiated(function(*leaves.values()), leaves, case.upstream)
    return Outcome(found.outputs, {name: found.gradients[name] for name in names})


def streams_may_change_places(backend: Backend) -> None:
    """First and second streams, with their windows, may change places."""

    @given(cases(backend, regimes=MILD))
    @example(build(keys=17, window1=2, window2=9, group=2))
    @examples(backend, 3)
    def same(case: Case) -> None:
        arguments = {
            **case.arguments,
            "window1": case.arguments["window2"],
            "window2": case.arguments["window1"],
        }
        inputs = {name: case.inputs[other] for name, other in SWAPPED.items()}
        swapped = outcome(backend, case.changed(arguments=arguments, **inputs))
        gradients = {name: swapped.gradients[other] for name, other in SWAPPED.items()}
        found = outcome(backend, case)
        require_outcome(case, found, Outcome(swapped.outputs, gradients), times=2.0)

    same()


def factors_move_between_streams(backend: Backend) -> None:
    """A factor taken from one stream's values, or keys, and given to the other's changes nothing
    but their own gradients, inversely."""

    @given(cases(backend, regimes=MILD))
    @example(build(keys=9, window1=5))
    @examples(backend, 3)
    def same(case: Case) -> None:
        factors = {"k1": 4.0, "k2": 0.25, "v1": 0.5, "v2": 2.0}
        inputs = {name: factor * case.inputs[name] for name, factor in factors.items()}
        moved = outcome(backend, case.changed(**inputs))
        gradients = dict(moved.gradients)
        for name, factor in factors.items():
            gradients[name] = factor * gradients[name]
        require_outcome(case, outcome(backend, case), Outcome(moved.outputs, gradients), times=2.0)

    same()


def windows_of_one_give_products(backend: Backend) -> None:
    """With both windows 1 the output is ``v1 o v2`` and no gradient reaches queries and keys: not
    the least where all numbers are small and whole."""

    @given(cases(backend, regimes=MILD, window1=1, window2=1, flows="out", segments=None))
    @example(build(keys=9, group=2, window1=1, window2=1, flows="out", regimes=("ties",) * 5))
    @example(build(keys=17, queries=8, window1=1, window2=1, flows="out"))
    @examples(backend, 3)
    def own(case: Case) -> None:
        whole = all(bool((case.inputs[name].round() == case.inputs[name]).all()) for name in INPUTS)
        up = case.upstream[0]
        assert up is not None
        if whole:
            up = up.round()
            case = case.changed(upstream=(up, None))
        v1, v2 = (case.inputs[name][:, :, case.first :] for name in ("v1", "v2"))
        gradients = {name: torch.zeros_like(case.inputs[name]) for name in INPUTS}
        shared = up.unflatten(1, (-1, case.group)).sum(2)
        gradients["v1"][:, :, case.first :] = shared * v2
        gradients["v2"][:, :, case.first :] = shared * v1
        products = (v1 * v2).repeat_interleave(case.group, 1)
        found = outcome(backend, case)
        require_outcome(case, found, Outcome((products, None), gradients))
        if whole:
            for name in ("q", "k1", "k2"):
                assert bool((found.gradients[name] == 0).all()), f"gradient of {name} is not 0"

    own()


def bilinear_in_values(backend: Backend) -> None:
    """Twice one set of a stream's values less another gives twice one output less another."""

    @given(cases(backend, regimes=MILD))
    @examples(backend, 3)
    def linear(case: Case) -> None:
        case = case.changed(layout="contiguous")
        one = outcome(backend, case, gradients=False)
        assert one.outputs[0] is not None
        for name in ("v1", "v2"):
            other = fill(case.inputs[name].shape, "normal", 11, torch.float32)
            two = outcome(backend, case.changed(**{name: other}), gradients=False)
            assert two.outputs[0] is not None
            both = case.changed(**{name: 2 * case.inputs[name] - other})
            out = 2 * one.outputs[0] - two.outputs[0]
            found = outcome(backend, both, gradients=False)
            require_outcome(both, found, Outcome((out, one.outputs[1]), {}), times=3.0)

    linear()
