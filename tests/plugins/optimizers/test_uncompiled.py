"""Optimizers do what torch's do, bit for bit, and leave its compiler alone."""

from __future__ import annotations

import subprocess
import sys

import torch

from limite.plugins.optimizers.uncompiled import FusedAdamW

ALONE = """
import sys
import torch
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.optimizers.muon import Muon
for settings in (AdamW(), Muon()):
    names = ("layers.0.mlp.up_proj.weight", "embed_tokens.weight")
    parameters = {name: torch.nn.Parameter(torch.ones(4, 3)) for name in names}
    optimizer = settings.build(parameters.items())
    for each in parameters.values():
        each.grad = torch.ones(4, 3)
    optimizer.step()
    optimizer.zero_grad()
    optimizer.load_state_dict(optimizer.state_dict())
print(sorted({"torch._dynamo", "sympy"} & set(sys.modules)))
"""


def test_no_compiler_is_imported() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.strip() == "[]"


def test_it_is_adamw_of_torch_bit_for_bit() -> None:
    stream = torch.Generator().manual_seed(3)
    start = [torch.randn(shape, generator=stream) for shape in ((5, 7), (3,), ())]
    both = []
    for kind in (torch.optim.AdamW, FusedAdamW):
        parameters = [torch.nn.Parameter(each.clone()) for each in start]
        settings = {"lr": 1e-2, "betas": (0.8, 0.9), "weight_decay": 0.1}
        fused = {"fused": True} if kind is torch.optim.AdamW else {}
        optimizer = kind(parameters, **settings, **fused)
        draws = torch.Generator().manual_seed(4)
        for step in range(4):
            if step == 2:  # what was saved serves both
                optimizer.load_state_dict(optimizer.state_dict())
            for each in parameters:
                each.grad = torch.randn(each.shape, generator=draws)
            optimizer.step()
            optimizer.zero_grad()
            assert all(each.grad is None for each in parameters)
        both.append((parameters, optimizer.state_dict()))
    (theirs, their_state), (ours, our_state) = both
    for a, b in zip(theirs, ours, strict=True):
        assert torch.equal(a, b)
    assert our_state["param_groups"] == their_state["param_groups"]
    for index, state in their_state["state"].items():
        assert all(torch.equal(state[name], our_state["state"][index][name]) for name in state)


def test_a_closure_is_called_with_gradients() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = FusedAdamW([parameter], lr=0.1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) == 2.0
    assert float(parameter.detach().max()) < 1.0
