"""Laws of ``simplicial_attention``: which tokens see which."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.plugins.conformance.kernels.attention_cases import require_same_outputs
from limite.plugins.conformance.kernels.run import Backend, Outcome, examples
from limite.plugins.conformance.kernels.simplicial_cases import (
    INPUTS,
    MILD,
    Case,
    build,
    cases,
    changed,
    joined,
    outcome,
    require_outcome,
    tokens_of,
)
from limite.plugins.conformance.kernels.values import fill


def wide_window_is_none(backend: Backend) -> None:
    """A window of all keys, or more, is as none, in either stream."""

    @given(
        cases(backend, window1=None, window2=None, batch=1, kv_heads=1, group=2, keys=9, peak=4.0),
        st.sampled_from((0, 1, 1000)),
    )
    @examples(backend, 2)
    def same(case: Case, beyond: int) -> None:
        window = case.inputs["k1"].shape[2] + beyond
        whole = outcome(backend, case)
        for name in ("window1", "window2"):
            windowed = changed(case, arguments={**case.arguments, name: window})
            require_outcome(case, outcome(backend, windowed), whole)

    same()


def causal(backend: Backend) -> None:
    """No output before a token depends on it, to the bit, and no gradient flows the other way."""

    @given(cases(backend, segments=None, queries=None), st.randoms(use_true_random=False))
    @example(build(keys=17, window1=9), None)
    @examples(backend, 2)
    def blind(case: Case, random: Any) -> None:
        case = changed(case, layout="contiguous")
        tokens = case.inputs["q"].shape[2]
        token = tokens // 2 if random is None else random.randrange(tokens)
        altered = {name: case.inputs[name].clone() for name in INPUTS}
        for each in altered.values():
            each[:, :, token:] = fill(each[:, :, token:].shape, "normal", 5, each.dtype)
        early = tuple(None if up is None else _until(up, token) for up in case.upstream)
        before = outcome(backend, changed(case, upstream=early))
        after = outcome(backend, changed(case, **altered), gradients=False)
        require_same_outputs(before, after, slice(0, token))
        for name in INPUTS:
            late = before.gradients[name][:, :, token:]
            assert bool((late == 0).all()), f"gradient of {name} from outputs before token {token}"

    blind()


def blind_outside_windows(backend: Backend) -> None:
    """A key or value outside its stream's window changes nothing there, to the bit."""

    @given(
        cases(backend, regimes=MILD, keys=17, batch=1, kv_heads=1, window1=6, window2=3),
        st.sampled_from((1, 2)),
        st.integers(0, 16),
    )
    @example(build(keys=17, window1=8, window2=4), 1, 3)
    @example(build(keys=17, window1=4, window2=9, blocks=(16, 8)), 2, 5)
    @example(build(keys=17, window1=4, window2=9, blocks=(8, 16)), 1, 8)
    @examples(backend, 4)
    def blind(case: Case, stream: int, token: int) -> None:
        case = changed(case, layout="contiguous")
        altered = {f"{name}{stream}": case.inputs[f"{name}{stream}"].clone() for name in "kv"}
        for each in altered.values():
            each[:, :, token] += 3.0
        before = outcome(backend, case, gradients=False)
        after = outcome(backend, changed(case, **altered), gradients=False)
        require_same_outputs(before, after, slice(0, max(token - case.first, 0)))
        past = max(token + case.arguments[f"window{stream}"] - case.first, 0)
        require_same_outputs(before, after, slice(past, None))

    blind()


def packed_equals_separate(backend: Backend) -> None:
    """Rows packed end to end, as numbers or as a layout, are as each row by itself."""
    rows = st.lists(st.sampled_from((0, 1, 2, 7, 8)), min_size=1, max_size=3).filter(any)

    @given(rows, cases(backend, regimes=MILD, keys=1, queries=None, peak=4.0, batch=1))
    @example([7, 0, 9, 1], build(window1=4, window2=None))
    @examples(backend, 2)
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
        cases(backend, regimes=MILD, batch=1, keys=7, segments=None, queries=None),
        st.integers(0, 9),
        st.integers(0, 9),
    )
    @example(build(keys=9, window1=4), 3, 5)
    @example(build(keys=2), 0, 9)
    @examples(backend, 3)
    def nothing(case: Case, left: int, right: int) -> None:
        case = changed(case, layout="contiguous")
        tokens = case.inputs["k1"].shape[2]
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
    @example(build(keys=17, window1=7, group=2), 8)
    @examples(backend, 3)
    def same(case: Case, chunk: int) -> None:
        case = changed(case, layout="contiguous")
        tokens = case.inputs["k1"].shape[2]
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


def _until(upstream: Tensor, token: int) -> Tensor:
    early = upstream.clone()
    early[:, :, token:] = 0
    return early
