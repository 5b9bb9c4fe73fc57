"""The sampler with a real decoder: bits owe nothing to company, and the learner agrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.spec import ModelSpec
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request
from limite.core.types import Response
from limite.plugins.attention.local_global import LocalGlobal
from tests.core.rollout.small_decoder import TOKENIZER, noisy, requests


def build(dtype: torch.dtype = torch.float32) -> Decoder:
    """A small Limite with every part at work: random gates, XSA, mixtures, and an eager EOS."""
    spec = ModelSpec(attention=LocalGlobal(window=16), context=160, heads=4, kv_heads=2)
    return noisy(spec, dtype)


DECODER = build()


def sample(asked: Sequence[Request], decoder: Decoder = DECODER, **options: Any) -> list[Response]:
    sampler = Sampler(decoder, TOKENIZER, seed=7, eos_ids=(2, 20, 30), **options)
    got = dict(sampler.generate(asked, 0))
    return [got[index] for index in range(len(asked))]


# Shrinking would take minutes; the drawn lengths and budgets say enough.
@settings(max_examples=10, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_bits_owe_nothing_to_company(data: st.DataObject) -> None:
    prompts = data.draw(st.lists(st.integers(3, 90), min_size=1, max_size=5, unique=True))
    budgets = [data.draw(st.sampled_from([1, 7, 30, 50])) for _ in prompts]
    asked = requests(data.draw(st.sampled_from([1, 3, 9])), prompts, budgets)
    expected = sample(asked)
    order = data.draw(st.permutations(range(len(asked))), "order")
    order = order[: data.draw(st.integers(1, len(order)), "subset")]
    again = sample(
        [asked[index] for index in order],
        slots=data.draw(st.sampled_from([3, 20, 512]), "slots"),
        compact_at=data.draw(st.sampled_from([0.0, 0.25, 1.0]), "compact_at"),
    )
    assert again == [expected[index] for index in order]


def test_one_alone_equals_one_among_hundreds() -> None:
    asked = requests(8, range(4, 60, 3), [30] * 19)
    expected = sample(asked)
    for index in (0, 100, 151):
        assert sample([asked[index]]) == [expected[index]]
    assert sample(asked, slots=30, compact_at=0.0) == expected


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_learner_sees_the_same_probabilities(temperature: float) -> None:
    decoder = build(torch.float64)
    asked = requests(4, [5, 17, 40, 63], [70] * 4)
    responses = sample(asked, decoder, temperature=temperature)
    rows = [[*each.prompt_ids, *each.completion_ids] for each in responses]
    layout = Layout.from_lengths([len(row) for row in rows])
    tokens = torch.tensor([token for row in rows for token in row])
    with torch.no_grad():
        hidden = decoder(tokens, layout)
        logp, _ = decoder.log_probabilities(hidden[:-1], tokens[1:], temperature=temperature)
    at = 0
    for row, response in zip(rows, responses, strict=True):
        first = at + len(response.prompt_ids) - 1
        seen = logp[first : first + len(response.completion_ids)]
        # The decoder computes in float64; log-probabilities are recorded in float32, whose last bit
        # at 8 to 16 nats is 1e-6.
        assert seen.tolist() == pytest.approx(response.logprobs, abs=1e-6)
        at += len(row)


@pytest.mark.parametrize("count", [1, 4, 10_000])
def test_lists_hold_the_likeliest_tokens_and_the_drawn_one(count: int) -> None:
    asked = requests(3, [5, 40], [30, 30])
    plain = sample(asked)
    responses = sample(asked, listed_tokens=count, compact_at=0.0)
    assert [attrs.evolve(each, topk_ids=(), topk_logprobs=()) for each in responses] == plain
    replaced = 0
    for response in responses:
        row = [*response.prompt_ids, *response.completion_ids]
        with torch.no_grad():
            hidden = DECODER(torch.tensor(row), Layout.from_lengths([len(row)]))
            table = DECODER.logits(hidden).log_softmax(-1)[len(response.prompt_ids) - 1 : -1]
        best = table.topk(min(count, table.shape[1]), dim=-1)
        for place, token in enumerate(response.completion_ids):
            ids, nats = response.topk_ids[place], response.topk_logprobs[place]
            assert len(set(ids)) == len(ids) == min(count, table.shape[1])
            assert nats[ids.index(token)] == response.logprobs[place]
            assert nats == pytest.approx(table[place, list(ids)].tolist(), abs=1e-4)
            replaced += token not in best.indices[place].tolist()
            assert sorted(nats[:-1]) == pytest.approx(
                sorted(best.values[place, :-1].tolist()), abs=1e-4
            )
    assert bool(replaced) == (count < table.shape[1])


def test_sampling_leaves_the_decoder_fit_for_training() -> None:
    decoder = build()
    asked = requests(2, [9, 12], [12, 12])
    list(Sampler(decoder, TOKENIZER, seed=1).generate(asked, 0))
    tokens = torch.tensor(asked[0].prompt_ids)
    layout = Layout.from_lengths([len(tokens)])
    logp, _ = decoder.log_probabilities(decoder(tokens, layout), tokens)
    logp.sum().backward()
    assert all(parameter.grad is not None for parameter in decoder.parameters())
