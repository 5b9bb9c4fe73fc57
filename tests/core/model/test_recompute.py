"""Layers computed again in the backward pass: less is kept, and not one bit differs."""

from __future__ import annotations

import pytest
import torch

from limite.core.model.critic import Critic, start_head
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.memory import training_bytes
from limite.core.model.spec import ModelSpec
from limite.core.seeds import Seeds
from limite.core.train.replay import Row, replay
from limite.core.train.values import replay_values
from limite.plugins.attention.simplicial import Simplicial

SIZES = {"width": 24, "heads": 4, "kv_heads": 2, "head_width": 8, "mlp_width": 40, "context": 128}
SPECS = {
    "limite": ModelSpec(layers=4, **SIZES),
    "simplicial": ModelSpec(layers=2, attention=Simplicial(window1=4, window2=3, every=2), **SIZES),
    "llama": LlamaSpec(layers=3, **SIZES),
}
ROWS = [
    Row(prompt=(3, 4, 5) * 5, completion=(7, 8, 2)),
    Row(prompt=(3, 4, 5) * 5, completion=(9, 2) * 20),
    Row(prompt=(9, 4), completion=(5, 5, 5, 2)),
]


def gradients(decoder, recompute, run):
    """Of every parameter, and how many numbers the backward pass was left."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().size() // 4
        return tensor

    decoder.recompute = recompute
    decoder.zero_grad()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = run()
    loss.backward()
    own = {each.untyped_storage().data_ptr() for each in decoder.parameters()}
    numbers = sum(count for place, count in kept.items() if place not in own)
    return [each.grad.clone() for each in decoder.parameters()], numbers


@pytest.mark.parametrize("name", list(SPECS))
def test_gradients_are_the_same_to_the_bit(name):
    decoder = build_decoder(SPECS[name].filled(40), Seeds(2))

    def run():
        said = replay(decoder, ROWS, entropy=True)
        return (said.logp + 0.1 * said.entropy).square().sum()

    wanted, much = gradients(decoder, False, run)
    found, little = gradients(decoder, True, run)
    assert all(torch.equal(*pair) for pair in zip(wanted, found, strict=True))
    assert little < 0.6 * much


def test_a_layer_runs_twice_where_there_is_a_backward_pass():
    decoder = build_decoder(SPECS["limite"].filled(40), Seeds(2))
    decoder.recompute = True
    runs = []
    decoder.layers[0].register_forward_pre_hook(lambda *_: runs.append(1))
    replay(decoder, ROWS).logp.sum().backward()
    assert len(runs) == 2
    with torch.no_grad():
        replay(decoder, ROWS)
    assert len(runs) == 3


def test_the_trunk_of_a_critic_does_it_too():
    critic = start_head(Critic(build_decoder(SPECS["limite"].filled(40), Seeds(2))), seed=1)
    trunk = critic.trunk

    def run():
        return replay_values(critic, ROWS).values.square().sum()

    (wanted, much), (found, little) = (gradients(trunk, again, run) for again in (False, True))
    assert all(torch.equal(*pair) for pair in zip(wanted, found, strict=True))
    assert little < 0.6 * much


def test_it_is_counted_as_less_memory():
    spec = ModelSpec(layers=10, **SIZES).filled(40)
    much, little = (training_bytes(spec, 1000, 500, recompute=again) for again in (False, True))
    assert little < 0.4 * much
    assert training_bytes(spec, 1000, 0, recompute=True) == training_bytes(spec, 1000, 0)
