from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.replay import Row, pad_rows, replay
from limite.core.types import Answer, Problem

TOKENIZER = CharacterTokenizer()


@pytest.fixture(scope="module")
def decoder():
    spec = ModelSpec(
        width=16, layers=4, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=64
    )
    return build_decoder(spec.filled(TOKENIZER.vocabulary), Seeds(3))


ids = st.integers(3, TOKENIZER.vocabulary - 1)
rows = st.lists(
    st.builds(
        lambda prompt, completion: Row(prompt=tuple(prompt), completion=tuple(completion)),
        st.lists(ids, min_size=1, max_size=9),
        st.lists(ids, min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=15)
@given(rows=rows, temperature=st.sampled_from([0.5, 1.0, 2.0]))
def test_replay_is_the_plain_log_softmax_of_every_row_alone(decoder, rows, temperature):
    said = replay(decoder, rows, temperature=temperature, entropy=True)
    assert said.mask.sum().item() == sum(len(row.completion) for row in rows)
    for number, row in enumerate(rows):
        tokens = torch.tensor([*row.prompt, *row.completion])
        hidden = decoder(tokens, Layout.from_lengths([len(tokens)]))
        logp = (decoder.logits(hidden).double() / temperature).log_softmax(-1)
        first = len(row.prompt) - 1
        table = logp[first : first + len(row.completion)]
        wanted = table[torch.arange(len(row.completion)), torch.tensor(row.completion)]
        length = len(row.completion)
        # Float32 sums in another order, on logits of about 15.
        torch.testing.assert_close(said.logp[number, :length].double(), wanted, atol=2e-5, rtol=0.0)
        entropy = -(table.exp() * table).sum(-1)
        torch.testing.assert_close(
            said.entropy[number, :length].double(), entropy, atol=5e-5, rtol=0.0
        )
        assert not said.logp[number, length:].any()
        assert not said.mask[number, length:].any()


def test_the_learner_agrees_with_what_the_sampler_recorded(decoder):
    problem = Problem(problem="3+4=?", answer=Answer(type="integer", value="7"))
    prompt = TOKENIZER.render_prompt(problem)
    requests = [
        Request(problem=problem, sample_index=index, prompt_ids=prompt, budget_tokens=20)
        for index in range(16)
    ]
    sampler = Sampler(decoder, TOKENIZER, seed=5, temperature=0.8)
    responses = [response for _, response in sampler.generate(requests, policy_version=0)]
    said = replay(
        decoder,
        [Row(prompt=each.prompt_ids, completion=each.completion_ids) for each in responses],
        temperature=0.8,
    )
    recorded = pad_rows([each.logprobs for each in responses], said.mask.shape[1], torch.float32)
    torch.testing.assert_close(said.logp, recorded, atol=2e-5, rtol=0.0)


def test_lists_get_their_log_probabilities_beside_the_completion(decoder):
    rows = [
        Row(prompt=(5, 6), completion=(7, 8, 9), listed=((7, 3), (4, 8), (5, 9))),
        Row(prompt=(4,), completion=(6,), listed=((3, 4),)),
    ]
    said = replay(decoder, rows)
    alone = replay(decoder, [Row(prompt=row.prompt, completion=row.completion) for row in rows])
    torch.testing.assert_close(said.logp, alone.logp, atol=1e-5, rtol=0)
    assert alone.listed_logp is None
    assert said.listed_logp.shape == (2, 3, 2)
    assert not said.listed_logp.requires_grad
    assert not said.listed_logp[1, 1:].any()
    torch.testing.assert_close(said.listed_logp[0, 0, 0], said.logp[0, 0].detach())
    torch.testing.assert_close(said.listed_logp[0, 1, 1], said.logp[0, 1].detach())
    for place, other in ((0, 3), (1, 4), (2, 5)):
        swapped = [7, 8, 9]
        swapped[place] = other
        said_of_it = replay(decoder, [Row(prompt=(5, 6), completion=tuple(swapped))])
        listed = said.listed_logp[0, place, rows[0].listed[place].index(other)]
        torch.testing.assert_close(listed, said_of_it.logp[0, place].detach(), atol=1e-5, rtol=0)
