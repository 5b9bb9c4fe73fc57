"""Values of sampled responses: those of every row alone, of the states before its tokens."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.kernels.layout import Layout
from limite.core.model.critic import Critic, critic_from
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import preset
from limite.core.train.replay import Row
from limite.core.train.values import replay_values

ids = st.integers(0, 39)
some_rows = st.lists(
    st.builds(
        lambda prompt, completion: Row(prompt=prompt, completion=completion),
        st.lists(ids, min_size=1, max_size=9),
        st.lists(ids, min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module", params=["limite", "llama"])
def critic(request: pytest.FixtureRequest) -> Critic:
    limite = attrs.evolve(preset("limite-tiny"), vocabulary=40, context=64, layers=2)
    llama = LlamaSpec(vocabulary=40, layers=2, context=64)
    spec = limite if request.param == "limite" else llama
    return critic_from(build_decoder(spec.filled(), 3), bias=0.3, seed=2)


@given(some_rows, st.booleans())
def test_values_are_those_of_the_states_before_each_token(
    critic: Critic, rows: list[Row], after: bool
) -> None:
    with torch.no_grad():
        found = replay_values(critic, rows, after=after)
        assert found.mask.sum().item() == sum(len(row.completion) for row in rows)
        for number, row in enumerate(rows):
            tokens, length = [*row.prompt, *row.completion], len(row.completion)
            layout = Layout.from_lengths([len(tokens)])
            whole = critic.values(torch.tensor(tokens), layout)
            first = len(row.prompt) - 1
            # Float32 sums in another order, of values of about unit size.
            close: Any = {"rtol": 0.0, "atol": 1e-5}
            torch.testing.assert_close(
                found.values[number, :length], whole[first : first + length], **close
            )
            assert found.mask[number].tolist() == [
                place < length for place in range(found.mask.shape[1])
            ]
            assert not found.values[number, length:].any()
            if found.after is not None:
                torch.testing.assert_close(found.after[number], whole[-1], **close)
    assert (found.after is not None) == after


def test_the_gradient_reaches_trunk_and_head(critic: Critic) -> None:
    rows = [Row(prompt=[1, 2], completion=[3, 4, 5]), Row(prompt=[6], completion=[7])]
    found = replay_values(critic, rows)
    gradients = torch.autograd.grad(found.values.square().sum(), list(critic.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert sum(bool(gradient.any()) for gradient in gradients) > 0.7 * len(gradients)


def test_a_value_knows_nothing_of_its_token(critic: Critic) -> None:
    with torch.no_grad():
        one, other = (
            replay_values(critic, [Row(prompt=[1, 2, 3], completion=[4, last])]).values
            for last in (5, 6)
        )
    assert torch.equal(one, other)


@given(some_rows, st.booleans())
def test_a_critic_may_say_several_numbers_of_a_state(
    critic: Critic, rows: list[Row], after: bool
) -> None:
    """Each of them is what a critic with that row of the head alone would say, to the bit."""
    several = Critic(critic.trunk, outputs=3)
    torch.nn.init.normal_(several.value_head.weight, generator=torch.Generator().manual_seed(5))
    start = torch.tensor([0.5, -1.0, 2.0])
    bias = several.value_head.bias
    assert bias is not None
    with torch.no_grad():
        bias.copy_(start)
        found = replay_values(several, rows, after=after)
        assert found.values.shape == (*found.mask.shape, 3)
        assert not found.values[~found.mask].any()
        for number in range(3):
            alone = Critic(critic.trunk)
            alone.value_head.weight.copy_(several.value_head.weight[number : number + 1])
            assert alone.value_head.bias is not None
            alone.value_head.bias.copy_(start[number : number + 1])
            one = replay_values(alone, rows, after=after)
            assert torch.equal(found.values[..., number], one.values)
            if one.after is not None:
                assert found.after is not None
                assert torch.equal(found.after[:, number], one.after)
