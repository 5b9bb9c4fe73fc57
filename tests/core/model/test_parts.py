"""Each part with a hand-written gradient against its plain formula, value and gradient."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from limite.core.model.block import join
from limite.core.model.head import log_probabilities, soft_cap
from limite.core.model.head_mix import head_mix
from limite.core.model.mlp import silu, swiglu
from limite.core.model.norm import EPSILON, rms_norm
from limite.core.model.rope import Rotary, norm_and_rotate

# Float64 throughout: what is left is the order of sums.
CLOSE = {"rtol": 1e-9, "atol": 1e-12}
VALUES = (0.0, 1.0, -1.0, 0.3, -2.5, 1e-3, -1e-5, 30.0)


def tensors(*shapes, values=VALUES):
    """Float64 tensors of these shapes, every value drawn."""

    def one(shape):
        size = torch.Size(shape).numel()
        flat = st.lists(st.sampled_from(values), min_size=size, max_size=size)
        return flat.map(lambda items: torch.tensor(items, dtype=torch.float64).reshape(shape))

    return st.tuples(*map(one, shapes))


def agree(fast, plain, inputs, upstream):
    """Same values, and same gradients of every input for a drawn upstream gradient."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    found, wanted = fast(*inputs), plain(*inputs)
    torch.testing.assert_close(found, wanted, **CLOSE)
    upstream = upstream.reshape(found.shape)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, upstream),
        torch.autograd.grad(wanted, inputs, upstream),
        **CLOSE,
    )


def plain_norm(x):
    return x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt()


@given(tensors((3, 4), (3, 4)))
def test_rms_norm(drawn):
    agree(rms_norm, plain_norm, drawn[:1], drawn[1])


def test_rms_norm_of_zeros_and_of_tiny_values():
    assert torch.equal(rms_norm(torch.zeros(2, 4)), torch.zeros(2, 4))
    tiny = torch.full((1, 4), 1e-4)
    expected = 1e-4 / (1e-8 + EPSILON) ** 0.5
    torch.testing.assert_close(rms_norm(tiny), torch.full((1, 4), expected))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rms_norm_rounds_half_precision_once(dtype):
    values = torch.linspace(-3, 3, 64).reshape(4, 16).to(dtype)
    assert torch.equal(rms_norm(values), plain_norm(values.float()).to(dtype))


@given(tensors((3, 7), (3, 7), values=(*VALUES, -200.0, 200.0, -1e4, 1e4)))
def test_swiglu_with_and_without_gradients(drawn):
    gate, up = drawn
    learning = swiglu(gate, up)
    with torch.no_grad():
        torch.testing.assert_close(swiglu(gate, up), learning, **CLOSE)
    torch.testing.assert_close(silu(gate), F.silu(gate), **CLOSE)


@pytest.mark.parametrize("width", [7, 16, 176])
def test_silu_of_a_row_has_the_same_bits_among_any_others(width):
    values = torch.linspace(-9, 9, 40 * width).reshape(40, width)
    whole = silu(values)
    for rows in range(1, 40):
        assert torch.equal(silu(values[:rows]), whole[:rows])


def test_silu_of_half_precision_is_rounded_once():
    values = torch.linspace(-9, 9, 64).bfloat16()
    assert torch.equal(silu(values), F.silu(values.float()).bfloat16())


@given(tensors((2, 3), (2, 3), (), (), (2, 3)))
def test_join(drawn):
    agree(join, lambda r, o, keep, add: keep * r + add * o, drawn[:4], drawn[4])


def plain_head_mix(outputs, values, alpha, gates):
    groups = outputs.shape[1] // values.shape[1]
    unit = values / values.norm(dim=-1, keepdim=True).clamp(min=1e-4)
    unit = unit.repeat_interleave(groups, dim=1)
    along = (outputs * unit).sum(-1, keepdim=True)
    removed = outputs - alpha.tanh()[:, None] * along * unit
    return removed * 2 * gates.sigmoid()[..., None]


# No exact 0 among the values: the length has no gradient there, and torch's is a convention.
@given(tensors((2, 4, 3), (2, 2, 3), (4,), (2, 4), (2, 4, 3), values=VALUES[1:]))
def test_head_mix(drawn):
    agree(head_mix, plain_head_mix, drawn[:4], drawn[4])


@given(tensors((2, 4, 3), (2, 2, 3), (4,), (2, 4), (2, 4, 3), values=VALUES[1:]))
def test_head_mix_with_half_of_it(drawn):
    outputs, values, alpha, gates, upstream = drawn
    shut = torch.zeros_like(gates)
    agree(
        lambda y, v, a: head_mix(y, v, a, None),
        lambda y, v, a: plain_head_mix(y, v, a, shut),
        (outputs, values, alpha),
        upstream,
    )
    agree(
        lambda y, g: head_mix(y, values, None, g),
        lambda y, g: y * 2 * g.sigmoid()[..., None],
        (outputs, gates),
        upstream,
    )
    assert head_mix(outputs, values, None, None) is outputs


@given(tensors((2, 2, 2), (2, 1, 2), (2,), (2, 2), (2, 2, 2), values=(1e-5, -2e-5, 3e-5)))
def test_head_mix_of_values_shorter_than_its_epsilon(drawn):
    agree(head_mix, plain_head_mix, drawn[:4], drawn[4])


def rotary(pairs=2, width=6, context=40):
    return Rotary(head_width=width, pairs=pairs, base=1024.0, context=context)


def plain_rotation(x, positions, pairs=2):
    """Channels (2j, 2j+1) turned by minus theta, from the formula; norm first."""
    x = plain_norm(x)
    frequency = torch.tensor(1 / 1024.0) ** torch.linspace(0, 1, pairs)
    angle = positions.float()[:, None] * frequency
    cosine = angle.cos().bfloat16().double()[:, None]
    sine = angle.sin().bfloat16().double()[:, None]
    a, b = x[..., 0 : 2 * pairs : 2], x[..., 1 : 2 * pairs : 2]
    turned = torch.stack((a * cosine + b * sine, b * cosine - a * sine), -1).flatten(-2)
    return torch.cat((turned, x[..., 2 * pairs :]), -1)


@given(
    tensors((3, 2, 6), (3, 2, 6)),
    st.lists(st.integers(0, 39), min_size=3, max_size=3).map(torch.tensor),
)
def test_norm_and_rotation(drawn, positions):
    phase = rotary().phase(positions, 2, torch.float64)
    agree(
        lambda x: norm_and_rotate(x, phase),
        lambda x: plain_rotation(x, positions),
        drawn[:1],
        drawn[1],
    )
    agree(lambda x: norm_and_rotate(x, None), plain_norm, drawn[:1], drawn[1])


def test_rotation_in_bfloat16_rounds_each_product():
    positions = torch.tensor([0, 7, 39])
    values = torch.linspace(-2, 2, 36).reshape(3, 2, 6).bfloat16()
    found = norm_and_rotate(values, rotary().phase(positions, 2, torch.bfloat16))
    exact = plain_rotation(values.double(), positions)
    assert found.dtype == torch.bfloat16
    # Two roundings of values below 2.5: at most two steps of 2^-7 relative.
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=2.5 * 2**-7)


def test_no_pairs_leave_the_norm():
    positions = torch.tensor([3, 9])
    values = torch.linspace(-2, 2, 24, dtype=torch.float64).reshape(2, 2, 6)
    phase = rotary(pairs=0).phase(positions, 2, torch.float64)
    torch.testing.assert_close(norm_and_rotate(values, phase), plain_norm(values), **CLOSE)


CAP = (23.0, 5.0, 7.5)


def plain_log_probabilities(hidden, table, targets, temperature):
    logits = 23 * ((hidden @ table.T + 5) / 7.5).sigmoid() / temperature
    logp = logits.log_softmax(-1)
    entropy = -(logp.exp() * logp).sum(-1)
    return torch.stack((logp.gather(-1, targets[:, None]).squeeze(-1), entropy))


@given(
    tensors((5, 3), (4, 3), (2, 5)),
    st.lists(st.integers(0, 3), min_size=5, max_size=5).map(torch.tensor),
    st.sampled_from((1, 4, 9, 1000)),
    st.sampled_from((1.0, 0.6)),
)
def test_log_probabilities_and_entropy(drawn, targets, elements, temperature):
    def fast(hidden, table):
        return torch.stack(
            log_probabilities(
                hidden,
                table,
                targets,
                cap=CAP,
                temperature=temperature,
                entropy=True,
                elements=elements,
            )
        )

    agree(
        fast,
        lambda hidden, table: plain_log_probabilities(hidden, table, targets, temperature),
        drawn[:2],
        drawn[2],
    )


def test_chunks_change_no_more_than_rounding():
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(50, 8, generator=generator, requires_grad=True)
    table = torch.randn(30, 8, generator=generator, requires_grad=True)
    targets = torch.arange(50) % 30
    upstream = torch.randn(50, generator=generator)
    found = []
    for elements in (30, 170, 1 << 20):
        logp, entropy = log_probabilities(hidden, table, targets, cap=CAP, elements=elements)
        assert entropy is None
        found.append((logp, *torch.autograd.grad(logp, (hidden, table), upstream)))
    for other in found[1:]:
        for left, right in zip(found[0], other, strict=True):
            torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


def test_probabilities_sum_to_one_and_the_cap_bounds_logits():
    hidden = torch.linspace(-40, 40, 6).reshape(2, 3)
    table = torch.linspace(-9, 9, 12).reshape(4, 3)
    rows = hidden.repeat_interleave(4, 0)
    logp, _ = log_probabilities(rows, table, torch.arange(4).repeat(2), cap=CAP)
    torch.testing.assert_close(logp.view(2, 4).exp().sum(-1), torch.ones(2))
    logits = soft_cap(hidden @ table.T, CAP)
    assert logits.min() >= 0
    assert logits.max() <= 23
    assert soft_cap(torch.zeros(()), CAP).item() == pytest.approx(15.2, abs=0.05)


@pytest.mark.parametrize("precision", ["rounded", "float32"])
def test_bfloat16_heads(precision):
    generator = torch.Generator().manual_seed(2)
    hidden = torch.randn(6, 16, generator=generator).bfloat16().requires_grad_()
    table = torch.randn(9, 16, generator=generator).bfloat16().requires_grad_()
    targets = torch.arange(6)
    logp, _ = log_probabilities(hidden, table, targets, cap=CAP, precision=precision)
    assert logp.dtype == torch.float32
    raw = hidden.float() @ table.float().T
    raw = raw.bfloat16().float() if precision == "rounded" else raw
    wanted = soft_cap(raw, CAP).log_softmax(-1)[torch.arange(6), targets]
    torch.testing.assert_close(logp, wanted, rtol=1e-5, atol=1e-5)
    gradients = torch.autograd.grad(logp.sum(), (hidden, table))
    assert [g.dtype for g in gradients] == [torch.bfloat16] * 2
