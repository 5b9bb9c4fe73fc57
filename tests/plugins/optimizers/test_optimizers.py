"""Muon against its formula and torch's own; AdamW against torch's; who gets which."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.optimizers.muon import QUINTIC, Muon, newton_schulz, orthogonalise
from limite.plugins.optimizers.roles import split

shapes = st.tuples(st.integers(1, 7), st.integers(1, 7))
numbers = st.lists(st.sampled_from((1.0, -0.5, 0.0, 3.0, 1e-3, -2.0)), min_size=11, max_size=11)


def matrix(shape: tuple[int, ...], values: list[float], shift: int = 0) -> Tensor:
    size = math.prod(shape)
    flat = torch.tensor(values[shift:] + values[:shift]).repeat(size // len(values) + 1)
    return flat[:size].reshape(shape).clone()


def by_singular_values(values: Tensor, steps: int) -> Tensor:
    """The same polynomial, applied in float64 to singular values: no matrix products at all."""
    left, singular, right = torch.linalg.svd(values.double(), full_matrices=False)
    singular = singular / values.double().norm().clamp(min=1e-7)
    a, b, c = QUINTIC
    for _ in range(steps):
        singular = a * singular + b * singular**3 + c * singular**5
    return left @ singular.diag() @ right


@given(several=st.lists(shapes, min_size=1, max_size=5), values=numbers)
def test_orthogonalising_acts_on_singular_values_alone(
    several: list[tuple[int, int]], values: list[float]
) -> None:
    matrices = [matrix(shape, values, index) for index, shape in enumerate(several)]
    for given_matrix, result in zip(matrices, orthogonalise(matrices, 5), strict=True):
        assert result.shape == given_matrix.shape
        # Five quintic steps multiply a rounding error of float32 by at most 3.4445^5, about 500.
        expected = by_singular_values(given_matrix, 5)
        torch.testing.assert_close(result.double(), expected, rtol=0, atol=5e-4)


def test_stacked_matrices_are_orthogonalised_one_by_one() -> None:
    stack = torch.linspace(-1, 1, 24).cos().reshape(2, 3, 4)
    one_by_one = torch.stack([newton_schulz(each, 5) for each in stack])
    torch.testing.assert_close(newton_schulz(stack, 5), one_by_one)


@given(values=numbers)
def test_muon_follows_torch(values: list[float]) -> None:
    start = matrix((6, 4), values)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    mine = Muon(lr=0.1, weight_decay=0.2).build([("layers.0.q_proj.weight", ours)])
    reference = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.2)
    for shift in range(3):
        for parameter, optimizer in ((ours, mine), (theirs, reference)):
            parameter.grad = matrix((6, 4), values, shift)
            optimizer.step()
    # torch iterates in bfloat16 (8 bits of precision): a few hundredths of each step of 0.1.
    torch.testing.assert_close(ours, theirs, rtol=0, atol=3 * 0.1 * math.sqrt(6 / 4) * 0.08)


@given(values=numbers)
def test_everything_else_follows_torchs_adamw(values: list[float]) -> None:
    names = {"embed_tokens.weight": (5, 4), "layers.0.attn_gate": (2, 3), "scale": ()}
    ours = {name: nn.Parameter(matrix(shape, values)) for name, shape in names.items()}
    theirs = {name: nn.Parameter(p.detach().clone()) for name, p in ours.items()}
    hidden = nn.Parameter(torch.zeros(4, 4))
    mine = Muon(lr=0.2, weight_decay=0.3).build([*ours.items(), ("q_proj.weight", hidden)])
    reference = torch.optim.AdamW(
        theirs.values(), lr=0.2 * 0.15, betas=(0.9, 0.95), weight_decay=0.0, fused=True
    )
    for shift in range(3):
        for named, optimizer in ((ours, mine), (theirs, reference)):
            for name, shape in names.items():
                named[name].grad = matrix(shape, values, shift)
            optimizer.step()
    for name, parameter in theirs.items():
        assert torch.equal(ours[name], parameter)


def test_only_hidden_matrices_are_hidden_matrices() -> None:
    shapes = {
        "embed_tokens.weight": (8, 4),
        "value_embeds.weight": (8, 4),
        "lm_head.weight": (8, 4),
        "layers.0.self_attn.q_proj.weight": (4, 4),
        "layers.0.self_attn.attn_gate": (2, 4),
        "layers.0.self_attn.ve_gate": (2, 4),
        "layers.0.mlp.gate_proj.weight": (6, 4),
        "layers.0.mlp.down_proj.weight": (4, 6),
        "layers.0.bias": (4,),
        "layers.0.resid": (),
    }
    named = [(name, nn.Parameter(torch.zeros(shape))) for name, shape in shapes.items()]
    frozen = nn.Parameter(torch.zeros(4, 4), requires_grad=False)
    matrices, others = split([*named, ("layers.1.q_proj.weight", frozen)])
    assert [name for name, _ in matrices] == [
        "layers.0.self_attn.q_proj.weight",
        "layers.0.mlp.gate_proj.weight",
        "layers.0.mlp.down_proj.weight",
    ]
    assert len(others) == 7


def test_a_schedule_scales_every_group() -> None:
    named = [("embed.weight", nn.Parameter(torch.zeros(3, 2))), ("a", nn.Parameter(torch.eye(2)))]
    optimizer = Muon(lr=0.04).build(named)
    assert [group["initial_lr"] for group in optimizer.param_groups] == pytest.approx([0.04, 0.006])
    optimizer = AdamW(lr=0.04, weight_decay=0.1).build(named)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.1, 0.0]
    assert [group["initial_lr"] for group in optimizer.param_groups] == [0.04, 0.04]


def test_a_closure_is_evaluated() -> None:
    parameter = nn.Parameter(torch.eye(2))
    optimizer = Muon().build([("a", parameter)])

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) == 2.0
    assert float(parameter.detach().square().sum()) < 2.0


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (AdamW, {"lr": -1e-3}),
        (AdamW, {"lr": float("nan")}),
        (AdamW, {"betas": (0.9, 1.0)}),
        (AdamW, {"weight_decay": -0.1}),
        (Muon, {"lr": 0.0}),
        (Muon, {"momentum": 1.0}),
        (Muon, {"other_lr_ratio": 0.0}),
        (Muon, {"newton_schulz_steps": 0}),
    ],
)
def test_settings_are_checked(kind: type, settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        kind(**settings)
