"""A critic: values against plain arithmetic, its own memory, exact state, and that it learns."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.checkpoint.read import read_checkpoint
from limite.core.checkpoint.state import (
    module_payload,
    optimizer_payload,
    restore_module,
    restore_optimizer,
)
from limite.core.checkpoint.write import write_checkpoint
from limite.core.kernels.layout import Layout
from limite.core.model.critic import Critic, critic_from, start_head
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder, count_parameters
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import preset
from limite.core.seeds import Seeds
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.simplicial import Simplicial
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.optimizers.muon import Muon

# Values of about unit size, through the float32 of two layers in another order.
ROUNDING: Any = {"rtol": 0, "atol": 2e-4}
LLAMA = LlamaSpec(vocabulary=40, layers=2, context=64, tied_head=False)
LIMITE = attrs.evolve(preset("limite-tiny"), vocabulary=40, context=64)
SPECS = {
    "llama": LLAMA,
    "qwen3": attrs.evolve(LLAMA, query_key_norm=True, tied_head=True),
    "limite": LIMITE,
    "global": attrs.evolve(LIMITE, attention=Global()),
    "local": attrs.evolve(LLAMA, attention=Local(window=4)),
    "simplicial": attrs.evolve(LIMITE, attention=Simplicial(window1=6, window2=3, every=2)),
}
EVERY = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
BOTH = pytest.mark.parametrize("spec", [LLAMA, LIMITE], ids=["llama", "limite"])

token_rows = st.lists(st.lists(st.integers(0, 39), min_size=1, max_size=30), min_size=1, max_size=4)


def actor_of(spec: Any, dtype: torch.dtype = torch.float32) -> Decoder:
    """A decoder whose norms, gates and biases count."""
    decoder = build_decoder(spec.filled(), 3, dtype=dtype)
    noise = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=noise) * 0.1)
    return decoder


def packed(rows: list[list[int]]) -> tuple[Tensor, Layout]:
    flat = [token for row in rows for token in row]
    return torch.tensor(flat, dtype=torch.int64), Layout.from_lengths([len(row) for row in rows])


def values(critic: Critic, rows: list[list[int]]) -> Tensor:
    with torch.no_grad():
        return critic.values(*packed(rows))


@pytest.fixture(scope="module", params=["llama", "limite", "simplicial"])
def critic(request: pytest.FixtureRequest) -> Critic:
    return critic_from(actor_of(SPECS[request.param]), bias=0.3, seed=2)


ROWS = [[1, 2, 3, 39, 5, 6, 7], [8], [9, 10, 11, 12]]


@EVERY
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_a_value_is_the_hidden_state_times_a_vector(spec: Any, dtype: torch.dtype) -> None:
    actor = actor_of(spec, dtype)
    critic = critic_from(actor, bias=0.3, seed=2)
    found = values(critic, ROWS)
    assert found.shape == (12,)
    assert found.dtype == critic.value_head.weight.dtype
    assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    with torch.no_grad():
        hidden = actor(*packed(ROWS)).double()
        head = {name: each.double() for name, each in critic.value_head.named_parameters()}
        expected = hidden @ head["weight"][0] + head["bias"]
    assert expected.std() > 0.1
    # The sum of one dot product, in float32 or better.
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)


@given(st.integers(0, 40), st.integers(0, 2**16))
def test_a_value_is_the_same_bits_among_any_others(critic: Critic, others: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    hidden = torch.randn(1 + others, critic.spec.width, generator=draw)
    alone = torch.stack([critic.score(state) for state in hidden])
    assert torch.equal(critic.score(hidden), alone)


@given(token_rows)
def test_rows_do_not_touch(critic: Critic, rows: list[list[int]]) -> None:
    alone = torch.cat([values(critic, [row]) for row in rows])
    torch.testing.assert_close(values(critic, rows), alone, **ROUNDING)


@given(token_rows, st.data())
def test_later_tokens_do_not_change_earlier_values(
    critic: Critic, rows: list[list[int]], data: st.DataObject
) -> None:
    kept = [data.draw(st.integers(1, len(row))) for row in rows]
    changed = [
        row[:keep] + [39 - token for token in row[keep:]]
        for row, keep in zip(rows, kept, strict=True)
    ]
    before = values(critic, rows).split([len(row) for row in rows])
    after = values(critic, changed).split([len(row) for row in rows])
    for one, other, keep in zip(before, after, kept, strict=True):
        torch.testing.assert_close(one[:keep], other[:keep], **ROUNDING)
    short = values(critic, [rows[0][: kept[0]]])
    torch.testing.assert_close(short, before[0][: kept[0]], **ROUNDING)


@EVERY
def test_gradients_are_slopes(spec: Any) -> None:
    """Against central differences in float64, along a random direction of every parameter."""
    critic = critic_from(actor_of(spec, torch.float64), bias=0.3, seed=2)
    tokens, layout = packed(ROWS)
    upstream = torch.linspace(-1, 2, 12, dtype=torch.float64)
    (critic.values(tokens, layout) * upstream).sum().backward()
    draw = torch.Generator().manual_seed(1)
    step, steep = 1e-6, []
    for name, parameter in critic.named_parameters():
        direction = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
        assert parameter.grad is not None, name
        sides = []
        with torch.no_grad():
            for sign in (1, -1):
                parameter.add_(direction, alpha=sign * step)
                sides.append((critic.values(tokens, layout) * upstream).sum().item())
                parameter.sub_(direction, alpha=sign * step)
        slope = (sides[0] - sides[1]) / (2 * step)
        found = (parameter.grad * direction).sum().item()
        assert found == pytest.approx(slope, rel=1e-5, abs=1e-6), name
        steep.append(abs(found) > 1e-3)
    assert sum(steep) > 0.7 * len(steep), "most parameters matter"


@BOTH
def test_gradients_in_float32_are_those_of_float64(spec: Any) -> None:
    gradients = []
    for dtype in (torch.float32, torch.float64):
        critic = critic_from(actor_of(spec).to(dtype), bias=0.3)
        start_head(critic, bias=0.3, seed=2)
        loss = critic.values(*packed(ROWS)).double().square().mean()
        found = torch.autograd.grad(loss, list(critic.parameters()))
        # Each learned scale sums products over the whole stream, which nearly cancel for some: what
        # rounding leaves of them is in proportion to the stream, and so to the largest of them.
        scales = [each.flatten() for each in found if not each.dim()]
        gradients.append(
            [*(each for each in found if each.dim()), *([torch.cat(scales)] if scales else [])]
        )
    for found, expected in zip(*gradients, strict=True):
        far = (found.double() - expected).abs().max()
        assert far <= 1e-4 * expected.abs().max() + 1e-7


@EVERY
def test_a_new_head_says_its_bias_everywhere(spec: Any) -> None:
    critic = critic_from(actor_of(spec), bias=0.37)
    assert torch.equal(values(critic, ROWS), torch.full((12,), 0.37))
    loss = (critic.values(*packed(ROWS)) - 1).square().mean()
    loss.backward()
    trunk = [parameter.grad for parameter in critic.trunk.parameters()]
    assert all(gradient is not None and not gradient.any() for gradient in trunk)
    head = [parameter.grad for parameter in critic.value_head.parameters()]
    assert all(gradient is not None and gradient.any() for gradient in head)


def test_a_head_of_several_outputs_says_its_biases() -> None:
    actor = actor_of(LLAMA)
    critic = critic_from(actor, bias=[0.25, -1.0, 3.0])
    assert critic.outputs == 3
    tokens, layout = packed([[1, 2, 3], [4]])
    assert critic.values(tokens, layout).tolist() == [[0.25, -1.0, 3.0]] * 4
    with pytest.raises(ValueError, match="bias must be 3 numbers, got 1"):
        start_head(critic, bias=0.5)


def test_a_drawn_head_follows_its_seed() -> None:
    actor = actor_of(LLAMA)
    first, again, other = (critic_from(actor, seed=seed) for seed in (4, Seeds(4), 5))
    weight = first.value_head.weight
    assert torch.equal(weight, again.value_head.weight)
    assert not torch.equal(weight, other.value_head.weight)
    assert weight.std().item() == pytest.approx(LLAMA.width**-0.5, rel=0.4)
    before = torch.random.get_rng_state()
    critic_from(actor, seed=6)
    assert torch.equal(torch.random.get_rng_state(), before)


@EVERY
def test_the_copy_shares_nothing(spec: Any) -> None:
    actor = actor_of(spec).requires_grad_(False).eval()
    critic = critic_from(actor)
    names = {name for name, _ in critic.named_parameters()}
    assert not [name for name in names if "lm_head" in name]
    table = 0 if actor.spec.tied_head else actor.head_weight.numel()
    assert count_parameters(critic) == count_parameters(actor) - table + actor.spec.width + 1
    memory = {each.untyped_storage().data_ptr() for each in (*actor.parameters(), *actor.buffers())}
    for each in (*critic.parameters(), *critic.buffers()):
        assert each.untyped_storage().data_ptr() not in memory
    assert all(parameter.requires_grad for parameter in critic.parameters())
    before = {name: each.clone() for name, each in actor.state_dict().items()}
    start_head(critic, seed=1)
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    critic.values(*packed(ROWS)).sum().backward()
    optimizer.step()
    assert all(torch.equal(each, before[name]) for name, each in actor.state_dict().items())
    assert all(parameter.grad is None for parameter in actor.parameters())
    with torch.no_grad():
        assert not torch.equal(critic.trunk(*packed(ROWS)), actor(*packed(ROWS)))


@BOTH
def test_a_trunk_is_shared_where_that_is_asked_for(spec: Any) -> None:
    actor = actor_of(spec)
    logits = actor.logits(actor(*packed(ROWS)))
    critic = critic_from(actor, share=True)
    start_head(critic, seed=1)
    mine = {parameter.data_ptr() for parameter in actor.parameters()}
    assert all(parameter.data_ptr() in mine for parameter in critic.trunk.parameters())
    assert torch.equal(actor.logits(actor(*packed(ROWS))), logits), "the actor keeps its head"
    critic.values(*packed(ROWS)).sum().backward()
    assert actor.embed_tokens.weight.grad is not None
    assert not any("lm_head" in name for name, _ in critic.named_parameters())


def test_an_untied_head_is_gone_and_a_tied_one_is_the_table() -> None:
    assert "lm_head.weight" in dict(actor_of(LLAMA).named_parameters())
    critic = critic_from(actor_of(LLAMA))
    with pytest.raises(AssertionError, match="without its output head"):
        _ = critic.trunk.head_weight
    tied = critic_from(actor_of(SPECS["qwen3"]))
    assert tied.trunk.head_weight is tied.trunk.embed_tokens.weight


@BOTH
@pytest.mark.parametrize("settings", [Muon(weight_decay=0.1), AdamW(weight_decay=0.1)], ids=repr)
def test_optimizers_take_the_head_for_no_hidden_matrix(spec: Any, settings: Any) -> None:
    critic = critic_from(actor_of(spec))
    optimizer = settings.build(critic.named_parameters())
    groups = {id(each): group for group in optimizer.param_groups for each in group["params"]}
    hidden = groups[id(critic.trunk.get_parameter("layers.0.self_attn.q_proj.weight"))]
    others = groups[id(critic.value_head.weight)]
    assert hidden is not others
    assert groups[id(critic.value_head.bias)] is others
    assert groups[id(critic.trunk.embed_tokens.weight)] is others
    assert (hidden["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    if isinstance(settings, Muon):
        assert (hidden["algorithm"], others["algorithm"]) == ("muon", "adamw")
    assert len(groups) == len(list(critic.parameters()))


def train(critic: Critic, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        rows = [[(step * 7 + i * j) % 40 for i in range(5 + j)] for j in range(1, 4)]
        tokens, layout = packed(rows)
        loss = (critic.values(tokens, layout) - (tokens % 2)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("settings", [Muon(), AdamW()], ids=["muon", "adamw"])
def test_a_restored_critic_goes_on_bit_for_bit(
    spec: Any, dtype: torch.dtype, settings: Any, tmp_path: Path
) -> None:
    actor = actor_of(spec, dtype)
    critic = critic_from(actor, bias=0.5)
    optimizer = settings.build(critic.named_parameters())
    train(critic, optimizer, range(3))
    tensors, numbers = optimizer_payload(optimizer)
    payloads = {"critic": module_payload(critic), "critic-optimizer": tensors}
    path = write_checkpoint(tmp_path, 3, payloads, {"optimizer": numbers}, {}, 1)
    saved = {name: each.clone() for name, each in critic.state_dict().items()}
    train(critic, optimizer, range(3, 6))

    read = read_checkpoint(path)
    again = critic_from(actor, bias=9.0)
    other = settings.build(again.named_parameters())
    restore_module(again, read.payloads["critic"])
    restore_optimizer(other, read.payloads["critic-optimizer"], read.state["optimizer"])
    for name, each in again.state_dict().items():
        assert each.dtype == saved[name].dtype
        assert torch.equal(each, saved[name]), name
    assert again.value_head.weight.dtype == torch.float32
    train(again, other, range(3, 6))
    for name, each in again.state_dict().items():
        assert torch.equal(each, critic.state_dict()[name]), name
    assert not torch.equal(again.value_head.weight, saved["value_head.weight"])


@BOTH
def test_a_critic_learns_what_a_state_is_worth(spec: Any) -> None:
    """The return is 1 where the third token names the sum of the first two, modulo 4.

    Before the third token the return is 1 in a quarter of all rows, after it nothing is left open.
    The best constant errs by 3 / 16 everywhere.
    """
    rows = [[a, b, 4 + c] for a, b, c in itertools.product(range(4), repeat=3)]
    returns = torch.tensor([float((a + b) % 4 == c - 4) for a, b, c in rows])
    tokens, layout = packed(rows)
    targets = returns.repeat_interleave(3)
    small = attrs.evolve(spec, vocabulary=8, layers=2, context=8)
    critic = critic_from(build_decoder(small.filled(), 1), bias=returns.mean().item())
    constant = returns.var(correction=0).item()
    assert constant == pytest.approx(3 / 16)
    first = (critic.values(tokens, layout) - targets).square().mean().item()
    assert first == pytest.approx(constant), "it starts as the best constant"
    optimizer = AdamW(lr=3e-3).build(critic.named_parameters())
    for _ in range(120):
        loss = (critic.values(tokens, layout) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = values(critic, rows).view(64, 3)
    assert (found[:, 2] - returns).square().mean() < 0.01 * constant
    # What remains open is judged as it is: a quarter, whatever the first two tokens are.
    assert (found[:, :2] - 0.25).square().mean() < 0.01 * constant
