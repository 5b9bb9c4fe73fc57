"""What a teacher finds likely, and a student's log-probabilities there, against whole logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.data.counts import Counts
from limite.core.train.data.traces import (
    ABSENT,
    Lists,
    TraceReader,
    fitted_trace,
    lists_of,
    trace_ids,
)
from limite.core.train.replay import Row, replay
from limite.core.train.teacher import likeliest

TOKENIZER = CharacterTokenizer()
ROWS = [
    Row(prompt=(1, 5, 6), completion=(7, 8, 2)),
    Row(prompt=(1, 9), completion=(3,)),
    Row(prompt=(1, 4, 4, 4), completion=(5, 6, 7, 8, 9)),
]
COUNT = sum(len(row.completion) for row in ROWS)


@pytest.fixture(scope="module")
def decoder() -> Any:
    spec = ModelSpec(
        width=16, layers=2, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=32
    )
    return build_decoder(spec.filled(TOKENIZER.vocabulary), Seeds(3))


def dense(decoder: Any, temperature: float) -> torch.Tensor:
    """Log-probabilities of every id before every completion token, ``[M, V]``."""
    rows = []
    for row in ROWS:
        ids = torch.tensor([*row.prompt, *row.completion])
        hidden = decoder(ids, Layout.from_lengths([len(ids)]))
        logits = decoder.logits(hidden) / temperature
        rows.append(logits.log_softmax(-1)[len(row.prompt) - 1 : -1])
    return torch.cat(rows)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_lists_are_those_of_whole_logits(decoder: Any, temperature: float) -> None:
    known = TOKENIZER.vocabulary
    expected = dense(decoder, temperature)[:, :known].topk(6)
    for at_once in (1, 200, 10**6):
        ids, nats = likeliest(
            decoder, ROWS, 6, among=known, temperature=temperature, logits_at_once=at_once
        )
        assert torch.equal(ids, expected.indices)
        torch.testing.assert_close(nats, expected.values, rtol=1e-5, atol=1e-5)
    ids, _ = likeliest(decoder, ROWS, 999, among=known)
    assert ids.shape == (COUNT, known)


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that was made."""

    numel = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        for each in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(each, torch.Tensor):
                self.numel = max(self.numel, each.numel())
        return result


def test_logits_exist_for_a_few_positions_at_a_time() -> None:
    spec = ModelSpec(
        width=16, layers=2, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=32
    )
    wide = build_decoder(spec.filled(5000), Seeds(3))
    rows = [Row(prompt=(1,), completion=(5,) * 30)] * 20  # 600 positions
    ids = len(wide.head_weight)
    with Largest() as few:
        likeliest(wide, rows, 4, among=5000, logits_at_once=10 * ids)
    with Largest() as many:
        likeliest(wide, rows, 4, among=5000)
    assert many.numel == 600 * ids
    assert few.numel <= 16 * ids


def test_a_student_gets_gradient_through_its_lists(decoder: Any) -> None:
    listed = torch.randint(3, 50, (COUNT, 4), generator=torch.Generator().manual_seed(1))
    listed[2, 3] = ABSENT
    weights = torch.randn(COUNT, 4, generator=torch.Generator().manual_seed(2))
    said = replay(decoder, ROWS, listed=listed)
    assert said.listed_logp is not None
    assert said.listed_logp.shape == (3, 5, 4)
    expected = dense(decoder, 1.0).gather(1, listed.clamp(min=0)).masked_fill(listed < 0, 0.0)
    torch.testing.assert_close(said.listed_logp[said.mask], expected, rtol=1e-5, atol=1e-5)
    assert not said.listed_logp[~said.mask].any()
    gradients = []
    for values in (said.listed_logp[said.mask], expected):
        decoder.zero_grad()
        torch.autograd.backward((values * weights).sum())
        gradients.append([each.grad.clone() for each in decoder.parameters()])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)
    of_rows = replay(decoder, [Row(prompt=(1,), completion=(5,), listed=((6, 7),))])
    assert of_rows.listed_logp is not None
    assert not of_rows.listed_logp.requires_grad


def test_lists_keep_their_likeliest_entries_and_say_what_is_missing() -> None:
    record = {
        "topk_ids": [[5, 6, 7], [8], []],
        "topk_logprobs": [[-3.0, -1.0, -2.0], [-0.5], []],
    }
    lists = lists_of(record, 2)
    assert lists.ids.tolist() == [[6, 7], [8, ABSENT], [ABSENT, ABSENT]]
    assert lists.nats.tolist() == [[-1.0, -2.0], [-0.5, -np.inf], [-np.inf, -np.inf]]
    gone = lists_of({"topk_ids": [[5, 6, 6]], "topk_logprobs": [[-1.0, "-Infinity", None]]}, 4)
    assert gone.ids.tolist() == [[5, ABSENT, ABSENT, ABSENT]]


def test_a_trace_is_cut_with_its_lists() -> None:
    record = {
        "prompt": "1+1=?",
        "completion_ids": [20, 21, 22],
        "topk_ids": [[5], [6], [7]],
        "topk_logprobs": [[-1.0], [-1.0], [-1.0]],
    }
    whole = trace_ids(TraceReader(listed_tokens=2)(record), TOKENIZER)
    assert list(whole.completion) == [20, 21, 22]  # as they are, without an end token
    counts = Counts()
    kept = fitted_trace(whole, len(whole.prompt) + 2, counts)
    assert kept is not None
    assert isinstance(kept.lists, Lists)
    assert (len(kept.completion), kept.lists.ids.tolist()) == (2, [[5, ABSENT], [6, ABSENT]])
    assert fitted_trace(whole, len(whole.prompt), counts) is None
    assert fitted_trace(whole, len(whole.prompt) + 5, counts, room=6) is None
    assert (counts.read, counts.cut, counts.dropped) == (3, 1, 2)
    prompts = TraceReader(completions=False)({"prompt": "1"})
    assert list(trace_ids(prompts, TOKENIZER).completion) == []
