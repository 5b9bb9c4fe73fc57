"""Laws of ``attention``: which tokens see which."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.plugins.conformance.kernels.attention_cases import (
    INPUTS,
    MILD,
    Case,
    build,
    cases,
    changed,
    joined,
    outcome,
    require_outcome,
    require_same_outputs,
    several,
    tokens_of,
)
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.values import fill


def wide_window_is_none(backend: Backend) -> None:
    """A window of all keys, or more, is as none."""

    @given(cases(backend, window=None, regimes=MILD, offset=0.0), st.sampled_from((0, 1, 1000)))
    @several(backend, 5)
    def same(case: Case, beyond: int) -> None:
        window = case.inputs["k"].shape[2] + beyond
        windowed = build(**{**case.parameters, "window": window})
        require_outcome(case, outcome(backend, windowed), outcome(backend, case))

    same()


def window_one_gives_values(backend: Backend) -> None:
    """A token that sees only itself gives its own value, whatever its score."""

    @given(cases(backend, window=1, regimes=MILD, offset=0.0, flows="out", segments=None))
    @example(build(keys=17, window=1, group=2, flows="out"))
    @several(backend, 4)
    def own(case: Case) -> None:
        found = outcome(backend, case)
        queries = case.inputs["q"].shape[2]
        values = case.inputs["v"][:, :, -queries:].repeat_interleave(case.group, 1)
        up = case.upstream[0]
        assert up is not None
        gradients = {name: torch.zeros_like(case.inputs[name]) for name in INPUTS}
        gradients["v"][:, :, -queries:] = up.unflatten(1, (-1, case.group)).sum(2)
        require_outcome(case, found, Outcome((values, None), gradients))

    own()


def causal(backend: Backend) -> None:
    """No output before a token depends on it, to the bit, and no gradient flows the other way."""

    @given(cases(backend, segments=None, queries=None), st.randoms(use_true_random=False))
    @example(build(keys=17), None)
    @several(backend, 6)
    def blind(case: Case, random: Any) -> None:
        tokens = case.inputs["q"].shape[2]
        token = tokens // 2 if random is None else random.randrange(tokens)
        altered = {name: each.clone() for name, each in case.inputs.items()}
        for name in INPUTS:
            altered[name][:, :, token:] = fill(
                altered[name][:, :, token:].shape, "normal", 5, altered[name].dtype
            )
        before = outcome(backend, changed(case, layout="contiguous"))
        after = outcome(backend, changed(case, layout="contiguous", **altered), gradients=False)
        require_same_outputs(before, after, slice(0, token))
        early = tuple(None if each is None else _until(each, token) for each in case.upstream)
        flown = outcome(backend, changed(case, upstream=early))
        for name in INPUTS:
            late = flown.gradients[name][:, :, token:]
            assert bool((late == 0).all()), f"gradient of {name} from outputs before token {token}"

    blind()


def blind_outside_window(backend: Backend) -> None:
    """A key outside a token's window changes nothing there, to the bit."""

    @given(cases(backend, regimes=MILD, keys=25, window=4), st.integers(0, 24))
    @example(build(keys=25, window=8, blocks=(8, 8)), 3)
    @example(build(keys=25, window=9, blocks=(16, 8)), 7)
    @several(backend, 5)
    def blind(case: Case, token: int) -> None:
        altered = {name: case.inputs[name].clone() for name in ("k", "v")}
        for each in altered.values():
            each[:, :, token] += 3.0
        before = outcome(backend, changed(case, layout="contiguous"), gradients=False)
        after = outcome(backend, changed(case, layout="contiguous", **altered), gradients=False)
        first = case.inputs["k"].shape[2] - case.inputs["q"].shape[2]
        require_same_outputs(before, after, slice(0, max(token - first, 0)))
        past = max(token + case.arguments["window"] - first, 0)
        require_same_outputs(before, after, slice(past, None))

    blind()


def packed_equals_separate(backend: Backend) -> None:
    """Rows packed end to end, as numbers or as a layout, are as each row by itself."""
    rows = st.lists(st.sampled_from((0, 1, 2, 7, 8, 9, 16)), min_size=1, max_size=4).filter(any)

    @given(rows, cases(backend, regimes=MILD, keys=1, queries=None, offset=0.0, batch=1))
    @example([7, 0, 9, 1], build(window=4))
    @example([8, 16], build(group=2, blocks=(16, 8)))
    @example([33, 3], build(window=4))
    @several(backend, 3)
    def same(lengths: list[int], drawn: Case) -> None:
        numbers = [row for row, length in enumerate(lengths) for _ in range(length)]
        shape = {"queries": None, "keys": len(numbers), "layout": "contiguous"}
        whole = build(**{**drawn.parameters, **shape, "segments": None})
        parts, start = [], 0
        for length in filter(None, lengths):
            parts.append(outcome(backend, tokens_of(whole, start, start + length)))
            start += length
        separate = joined(parts)
        as_numbers = changed(whole, segments=torch.tensor([numbers]))
        require_outcome(whole, outcome(backend, as_numbers), separate)
        layout = Layout.from_lengths(lengths, backend.device)
        as_layout = changed(whole, arguments={**whole.arguments, "segments": layout})
        require_outcome(whole, outcome(backend, as_layout), separate)

    same()


def padding_is_nothing(backend: Backend) -> None:
    """Whatever lies at padding, at either end and even NaN, results are 0 there and the rest
    is as if it were not."""

    @given(
        cases(backend, regimes=MILD, batch=1, segments=None), st.integers(0, 9), st.integers(0, 9)
    )
    @example(build(keys=9, window=4, softcap=1.0), 3, 8)
    @example(build(keys=8, group=2), 8, 1)
    @example(build(keys=2), 0, 17)
    @several(backend, 4)
    def nothing(case: Case, left: int, right: int) -> None:
        case = build(**{**case.parameters, "queries": None, "layout": "contiguous"})
        tokens = case.inputs["k"].shape[2]
        inside = slice(left, left + tokens)

        def wide(each: Tensor) -> Tensor:
            shape = (*each.shape[:2], left + tokens + right, *each.shape[3:])
            result = torch.full(shape, torch.nan, dtype=each.dtype)
            result[:, :, inside] = each
            return result

        padded = changed(
            case,
            upstream=tuple(None if each is None else wide(each) for each in case.upstream),
            segments=torch.tensor([[-1] * left + [0] * tokens + [-1] * right]),
            **{name: wide(case.inputs[name]) for name in INPUTS},
        )
        found = outcome(backend, padded)
        beside = torch.ones(left + tokens + right, dtype=torch.bool)
        beside[inside] = False
        for name, each in {"out": found.outputs[0], **found.gradients}.items():
            assert each is not None
            assert bool((each[:, :, beside] == 0).all()), f"{name} is not 0 at padding"
        lse = found.outputs[1]
        assert lse is not None
        assert bool((lse[:, :, beside] == -torch.inf).all()), "lse is not -inf at padding"
        kept = Outcome(
            tuple(None if each is None else each[:, :, inside] for each in found.outputs),
            {name: each[:, :, inside] for name, each in found.gradients.items()},
        )
        require_outcome(case, kept, outcome(backend, case))

    nothing()


def chunked_prefill(backend: Backend) -> None:
    """Queries a chunk at a time, over the keys so far, give what all together give."""

    @given(cases(backend, regimes=MILD, segments=None, queries=None), st.sampled_from((1, 5, 8, 9)))
    @example(build(keys=17, window=7, group=2), 8)
    @several(backend, 4)
    def same(case: Case, chunk: int) -> None:
        tokens = case.inputs["k"].shape[2]
        chunk = max(chunk, tokens // 3)
        whole = outcome(backend, case, gradients=False)
        for start in range(0, tokens, chunk):
            stop = min(start + chunk, tokens)
            part = tokens_of(case, 0, stop)
            part = changed(part, q=part.inputs["q"][:, :, start:])
            outputs = tuple(
                None if each is None else each[:, :, start:stop] for each in whole.outputs
            )
            require_outcome(case, outcome(backend, part, gradients=False), Outcome(outputs, {}))

    same()


def split_keys_merge(backend: Backend) -> None:
    """Keys in two parts, joined by their log-sum-exps, give what all together give."""

    @given(cases(backend, regimes=MILD, segments=None, queries=1, window=None), st.integers(1, 24))
    @example(build(keys=25, queries=1, group=2), 8)
    @several(backend, 4)
    def same(case: Case, split: int) -> None:
        tokens = case.inputs["k"].shape[2]
        if not 0 < split < tokens:
            return
        parts = []
        for keys in (slice(0, split), slice(split, None)):
            halves = {name: case.inputs[name][:, :, keys] for name in ("k", "v")}
            parts.append(outcome(backend, changed(case, **halves), gradients=False).outputs)
        (first, first_lse), (second, second_lse) = parts
        assert first is not None
        assert second is not None
        assert first_lse is not None
        assert second_lse is not None
        lse = torch.logaddexp(first_lse, second_lse)  # [B, H, 1]
        out = first * (first_lse - lse).exp()[..., None]
        out = out + second * (second_lse - lse).exp()[..., None]
        whole = outcome(backend, case, gradients=False)
        require_outcome(case, Outcome((out, lse), {}), whole, times=2.0)

    same()


def _until(upstream: Tensor, token: int) -> Tensor:
    early = upstream.clone()
    early[:, :, token:] = 0
    return early
