"""Packed, padded or with prompts shared: the same loss and the same gradient."""

from __future__ import annotations

import attrs
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from limite.core.kernels.layout import Layout
from limite.core.model.branches import Branches
from limite.core.model.critic import Critic, start_head
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.recipe.cost import learner_notes
from limite.core.seeds import Seeds
from limite.core.train.columns import token_batch, totals_of
from limite.core.train.replay import Row, pack, parts, replay
from limite.core.train.values import replay_values
from limite.core.types import Totals
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.attention.simplicial import Simplicial
from limite.plugins.objectives.dppo import DPPO

VOCABULARY = 24
SIZES = {"width": 16, "heads": 4, "kv_heads": 2, "head_width": 8, "mlp_width": 24}


@attrs.frozen(kw_only=True)
class Particular:
    """Attention as others may write it: without rows of several lengths, or shared prompts."""

    ragged: bool = True
    shares_prompts: bool = True

    def build(self, shape):
        mixer = LocalGlobal(window=3, global_every=2).build(shape)
        mixer.ragged, mixer.shares_prompts = self.ragged, self.shares_prompts
        plain = mixer.forward

        def forward(queries, keys, values, inputs, layout):
            assert self.ragged or len(set(layout.lengths)) == 1, f"rows of {layout.lengths}"
            return plain(queries, keys, values, inputs, layout)

        mixer.forward = forward
        return mixer


def decoder_of(attention, dtype=torch.float64):
    spec = ModelSpec(layers=2, context=96, attention=attention, **SIZES)
    return build_decoder(spec.filled(VOCABULARY), Seeds(5)).to(dtype)


@pytest.fixture(scope="module")
def decoders():
    return {
        "windows": decoder_of(LocalGlobal(window=3, global_every=2)),
        "simplicial": decoder_of(Simplicial(window1=4, window2=2, every=2)),
    }


ids = st.integers(0, VOCABULARY - 1)
groups = st.lists(
    st.tuples(
        st.lists(ids, min_size=1, max_size=20),
        st.lists(st.lists(ids, max_size=14), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=3,
).map(
    lambda drawn: [
        Row(prompt=tuple(prompt), completion=tuple(completion))
        for prompt, completions in drawn
        for completion in completions
    ]
)


def padded_logp(decoder, rows):
    """``[B, T]``, from every row padded at the right, each prompt with every response."""
    longest = max(len(row.prompt) + len(row.completion) for row in rows)
    flat = [[*row.prompt, *row.completion] for row in rows]
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in flat])
    hidden = decoder(tokens.flatten(), Layout.from_lengths([longest] * len(rows)))
    table = (decoder.logits(hidden)).log_softmax(-1).unflatten(0, tokens.shape)
    width = max(len(row.completion) for row in rows)
    logp = torch.zeros(len(rows), width, dtype=table.dtype)
    for number, row in enumerate(rows):
        for place, token in enumerate(row.completion):
            logp[number, place] = table[number, len(row.prompt) + place - 1, token]
    return logp


def loss_and_gradient(decoder, logp, mask):
    generator = torch.Generator().manual_seed(7)
    advantage = torch.randn(mask.shape, generator=generator, dtype=torch.float64)
    behavior = logp.detach() + 0.2 * torch.randn(
        mask.shape, generator=generator, dtype=torch.float64
    )
    columns = {"logp": logp, "behavior_logp": behavior.clamp(max=0.0), "advantage": advantage}
    totals = totals_of(mask, response_tokens=mask.shape[1])
    loss = DPPO()(token_batch(mask, columns, totals)).value
    decoder.zero_grad()
    loss.backward()
    grads = [each.grad for each in decoder.parameters()]
    assert all(each is not None for each in grads)
    return loss.item(), torch.cat([each.flatten() for each in grads])


@pytest.mark.parametrize("name", ["windows", "simplicial"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
@settings(max_examples=5)
@given(rows=groups, order=st.randoms(use_true_random=False), mixed=st.booleans())
def test_packed_rows_and_shared_prompts_equal_padded_ones(
    decoders, name, dtype, tolerance, rows, order, mixed
):
    decoder = decoders[name].to(dtype)
    if mixed:
        order.shuffle(rows)
    if not any(row.completion for row in rows):
        return
    mask = pack(rows, decoder.device).mask
    wanted_loss, wanted = loss_and_gradient(decoder, padded_logp(decoder, rows), mask)
    for share in (False, True):
        said = replay(decoder, rows, share_prompts=share)
        assert torch.equal(said.mask, mask)
        loss, gradient = loss_and_gradient(decoder, said.logp, said.mask)
        assert loss == pytest.approx(wanted_loss, abs=tolerance)
        scale = max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(gradient, wanted, atol=tolerance * scale, rtol=0)


@settings(max_examples=5)
@given(rows=groups, after=st.booleans())
def test_a_critic_says_the_same_of_shared_prompts(decoders, rows, after):
    critic = start_head(Critic(decoders["windows"].to(torch.float64)), seed=3)
    plain = replay_values(critic, rows, after=after, share_prompts=False)
    shared = replay_values(critic, rows, after=after)
    torch.testing.assert_close(shared.values, plain.values, atol=1e-12, rtol=0)
    if after:
        torch.testing.assert_close(shared.after, plain.after, atol=1e-12, rtol=0)


ROWS = [
    Row(prompt=(3, 4, 5, 6), completion=(7, 8, 2)),
    Row(prompt=(3, 4, 5, 6), completion=(9, 2)),
    Row(prompt=(9, 4), completion=(5, 5, 5, 5, 5, 2)),
    Row(prompt=(3, 4, 5, 6), completion=(7,)),
]


def test_a_prompt_stands_once_before_its_responses(decoders):
    packed = pack(ROWS, torch.device("cpu"), share=True)
    assert packed.tokens.tolist() == [3, 4, 5, 6, 7, 8, 9, 9, 4, 5, 5, 5, 5, 5]
    assert packed.layout.layout.lengths == (6, 1, 7, 0)
    assert packed.layout.taken == (0, 4, 0, 4)
    assert packed.layout.positions.tolist() == [0, 1, 2, 3, 4, 5, 4, 0, 1, 2, 3, 4, 5, 6]
    assert packed.predictors.tolist() == [3, 4, 5, 3, 6, 8, 9, 10, 11, 12, 13, 3]
    assert isinstance(pack(ROWS[2:], torch.device("cpu"), share=True).layout, Layout)


@pytest.mark.parametrize(
    ("attention", "shared", "longest"),
    [
        (Particular(), True, 7),
        (Particular(shares_prompts=False), False, 7),
        (Particular(ragged=False), False, 7),
    ],
)
def test_attention_that_cannot_is_given_what_it_takes(attention, shared, longest):
    decoder, plain = decoder_of(attention), decoder_of(LocalGlobal(window=3, global_every=2))
    packed = pack(ROWS, decoder.device, ragged=decoder.ragged, share=decoder.shares_prompts)
    assert isinstance(packed.layout, Branches) == shared
    assert packed.layout.longest == longest
    found = loss_and_gradient(decoder, (said := replay(decoder, ROWS)).logp, said.mask)
    wanted = loss_and_gradient(plain, replay(plain, ROWS).logp, said.mask)
    assert found[0] == pytest.approx(wanted[0], abs=1e-12)
    torch.testing.assert_close(found[1], wanted[1], atol=1e-12, rtol=0)


def test_micro_batches_count_what_is_laid_out(decoders):
    decoder = decoders["windows"]
    rows = [Row(prompt=(4,) * 10, completion=(5,) * 3) for _ in range(4)]
    assert parts(decoder, rows, 19) == [[0, 1, 2], [3]]  # 10 and three times 3
    assert parts(decoder, rows, 19, share_prompts=False) == [[0], [1], [2], [3]]
    assert parts(decoder, rows, 26, share_prompts=False) == [[0, 1], [2, 3]]
    uneven = [*rows[:3], Row(prompt=(4,), completion=(5,))]
    assert parts(decoder_of(Particular(ragged=False)), uneven, 26) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("share", [False, True])
def test_rows_without_tokens_add_nothing_through_the_same_parameters(decoders, share):
    """So a part of an update that has none of its tokens still takes part in what follows."""
    decoder = decoders["windows"].to(torch.float64)
    rows = [Row(prompt=(3, 4, 5), completion=()) for _ in range(3)]
    said = replay(decoder, rows, share_prompts=share)
    columns = {
        "logp": said.logp,
        "behavior_logp": torch.zeros(said.mask.shape),
        "advantage": torch.ones(said.mask.shape),
    }
    totals = Totals(tokens=7, active_rows=2, rows=5, response_tokens=9)  # others have some
    loss = DPPO()(token_batch(said.mask, columns, totals)).value
    decoder.zero_grad()
    loss.backward()
    assert loss.item() == 0.0
    assert all(each.grad is not None and not each.grad.any() for each in decoder.parameters())


def test_branches_that_go_on_from_nothing_are_refused():
    own = Layout.from_lengths([3, 2, 2])
    for parents, taken in (((0, 0, 1), (0, 2, 1)), ((0, 0, 2), (0, 4, 0))):
        with pytest.raises(ValueError, match="cannot go on from"):
            Branches(own, parents, taken)


def test_what_attention_cannot_is_told():
    told = [
        list(learner_notes(decoder_of(attention)))
        for attention in (Particular(), Particular(shares_prompts=False), Particular(ragged=False))
    ]
    assert told[0] == []
    assert told[1] == [
        "the attention of layers 0, 1 does not let rows share a prompt: every response is read "
        "with its own copy of it"
    ]
    assert "rows are padded to the longest beside them" in told[2][0]
