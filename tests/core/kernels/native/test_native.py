"""What kernels in C promise beyond the laws of their operations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.native import attention_decode, library
from limite.core.kernels.native.norms import joint_norm
from limite.core.kernels.native.product import Packed
from limite.core.kernels.rotation import Rotation

LENGTHS = (1, 5, 38, 70, 33, 0, 12, 4)
ROWS = 37


def values(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A part for each thread, however little there is to do; and as many threads afterwards."""
    monkeypatch.setattr(library, "LEAST", 1)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def rotation(rows: int, style: str) -> Rotation:
    angles = values(rows, 6, seed=9)
    return Rotation(angles.cos(), angles.sin(), style)  # type: ignore[arg-type]


def mixed(x: Tensor, y: Tensor) -> Tensor:
    own, gates = y[:, :2], y[:, :, 0]  # lying as slices of one projection do
    return ops.head_mix(x, own, torch.linspace(-1, 1, 4), gates)


def first(rows: int, style: str) -> Rotation:
    whole = rotation(ROWS, style)
    return Rotation(whole.cos[:rows], whole.sin[:rows], whole.style)


ROWWISE: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], tuple[int, ...]]] = {
    "rms_norm": (lambda x, y: ops.rms_norm(x), (19,)),
    "weighted rms_norm": (lambda x, y: ops.rms_norm(x, values(35)), (35,)),
    "add_rms_norm": (lambda x, y: ops.add_rms_norm(x, y, weight=values(21))[1], (21,)),
    "swiglu": (ops.swiglu, (43,)),
    "qk_norm_rope": (lambda x, y: ops.qk_norm_rope(x, first(len(x), "adjacent")), (3, 14)),
    "qk_norm_rope of halves": (
        lambda x, y: ops.qk_norm_rope(x, first(len(x), "halves")),
        (3, 14),
    ),
    "heads without turns": (lambda x, y: ops.qk_norm_rope(x, None), (2, 11)),
    "head_mix": (lambda x, y: mixed(x, y), (4, 13)),
    "adjacent rope": (lambda x, y: ops.rope(x, first(len(x), "adjacent")), (3, 14)),
    "rope of halves": (lambda x, y: ops.rope(x, first(len(x), "halves")), (3, 14)),
}


@pytest.mark.parametrize("name", ROWWISE)
def test_a_row_has_the_same_bits_among_any_others_on_any_threads(name: str) -> None:
    """Forward and backward."""
    function, shape = ROWWISE[name]
    wanted: list[Tensor] | None = None
    for rows, threads in itertools.product((ROWS, 1, 5, 36), (1, 3)):
        torch.set_num_threads(threads)
        x, y = (values(ROWS, *shape, seed=seed)[:rows].requires_grad_() for seed in (2, 3))
        out = function(x, y)
        out.backward(values(ROWS, *shape, seed=4)[:rows])
        with torch.no_grad():
            assert torch.equal(function(x, y), out)
        found = [out.detach(), *(each.grad for each in (x, y) if each.grad is not None)]
        if wanted is None:
            wanted = found
        for one, whole in zip(found, wanted, strict=True):
            assert torch.equal(one, whole[:rows]), (rows, threads)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("window", [None, 7])
@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize("width", [16, 32, 48, 128])
def test_packed_attention_is_the_reference_and_rows_have_bits_of_their_own(
    threads: int, window: int | None, softcap: float | None, width: int
) -> None:
    torch.set_num_threads(threads)
    settings = {"scale": 0.3, "window": window, "softcap": softcap}
    heads, kv_heads = 6, 2
    starts = list(itertools.accumulate(LENGTHS, initial=0))

    def gradients(
        backend: str, lengths: tuple[int, ...], part: slice, kind: torch.dtype
    ) -> list[Tensor]:
        given = []
        for seed, count in ((1, heads), (2, kv_heads), (3, kv_heads)):
            x = values(starts[-1], count, width, seed=seed)[part].to(kind)
            given.append(x.requires_grad_())
        q, k, v = (x.transpose(0, 1)[None] for x in given)
        layout = Layout.from_lengths(lengths)
        with ops.use(f"attention={backend}"):
            out, lse = ops.attention(q, k, v, segments=layout, **settings)  # type: ignore[arg-type]
        assert lse is not None
        ups = values(starts[-1], heads, width, seed=5)[part], values(starts[-1], heads)[part]
        torch.autograd.backward(
            [out.squeeze(0).transpose(0, 1), lse.squeeze(0).t()], [each.to(kind) for each in ups]
        )
        return [out.squeeze(0).transpose(0, 1), lse.squeeze(0).t(), *(x.grad for x in given)]  # type: ignore[list-item]

    whole = gradients("native", LENGTHS, slice(None), torch.float32)
    exact = gradients("reference", LENGTHS, slice(None), torch.float64)
    for one, right in zip(whole, exact, strict=True):
        torch.testing.assert_close(one.double(), right, rtol=2e-5, atol=2e-5)
    for row, length in enumerate(LENGTHS):
        if length:
            part = slice(starts[row], starts[row] + length)
            alone = gradients("native", (length,), part, torch.float32)
            for one, many in zip(alone, whole, strict=True):
                assert torch.equal(one, many[part]), row


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("slots", [64, 9, 40])
@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("softcap", [None, 3.0])
def test_a_row_that_decodes_has_bits_of_its_own(
    threads: int, slots: int, window: int | None, softcap: float | None
) -> None:
    torch.set_num_threads(threads)
    lengths = torch.tensor([1, 2, 8, 9, 10, 15, 40, 41, 63, 64, 65, 200, 0])
    rows = len(lengths)
    q = values(rows, 6, 1, 32)
    keys, stored = values(rows, 2, 32, slots, seed=2), values(rows, 2, slots, 32, seed=3)

    def decoded(backend: str, part: slice) -> tuple[Tensor, Tensor]:
        kind = torch.float64 if backend == "reference" else torch.float32
        with ops.use(f"attention_decode={backend}"):
            out, lse = ops.attention_decode(
                q[part].to(kind),
                keys[part].mT.to(kind),
                stored[part].to(kind),
                Moment.of(lengths[part]),
                scale=0.4,
                window=window,
                softcap=softcap,
            )
        assert lse is not None
        return out, lse

    whole = decoded("native", slice(None))
    for one, right in zip(whole, decoded("reference", slice(None)), strict=True):
        torch.testing.assert_close(one.double(), right, rtol=1e-5, atol=1e-5)
    for row in range(rows):
        for one, many in zip(decoded("native", slice(row, row + 1)), whole, strict=True):
            assert torch.equal(one[0], many[row]), row


@pytest.mark.parametrize("columns", [1, 8, 16, 23, 40])
@pytest.mark.parametrize("more", [None, "rows", "all rows the same"])
def test_a_row_of_a_product_has_bits_of_its_own(columns: int, more: str | None) -> None:
    rows, inner = 17, 37
    wide = values(rows, 2 * inner + columns)
    inputs, weight = wide[:, inner : 2 * inner], values(columns, inner, seed=2)
    added = {None: None, "rows": wide[:, 2 * inner :], "all rows the same": values(columns)}[more]
    packed = Packed.of(weight)
    wanted = 1.5 * inputs.double() @ weight.double().t()
    if added is not None:
        wanted = wanted - 0.25 * added.double()
    whole: Tensor | None = None
    for count, threads in itertools.product((rows, 1, 2, 3, 4, 5, 6, 11, 16), (1, 3)):
        torch.set_num_threads(threads)
        some = added[:count] if more == "rows" and added is not None else added
        found = packed(inputs[:count], some, keep=-0.25, scale=1.5)
        whole = found if whole is None else whole
        assert torch.equal(found, whole[:count]), (count, threads)
    assert whole is not None
    torch.testing.assert_close(whole.double(), wanted, rtol=1e-5, atol=1e-5)


def test_keys_and_values_are_written_where_they_are_read() -> None:
    rows, kv_heads, slots, width = 5, 2, 6, 7
    lengths = torch.tensor([1, 6, 7, 13, 3])
    given = values(rows, 3 * kv_heads, width)
    keys, new = given[:, :kv_heads], given[:, kv_heads : 2 * kv_heads]
    stored_keys = torch.zeros(rows, kv_heads, width, slots)
    stored = torch.zeros(rows, kv_heads, slots, width)
    attention_decode.append(keys, new, lengths, stored_keys, stored)
    wanted_keys, wanted = torch.zeros_like(stored_keys), torch.zeros_like(stored)
    for row, length in enumerate(lengths.tolist()):
        wanted_keys[row, :, :, (length - 1) % slots] = keys[row]
        wanted[row, :, (length - 1) % slots] = new[row]
    assert torch.equal(stored_keys, wanted_keys)
    assert torch.equal(stored, wanted)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
def test_what_lies_beside_float32_may_be_of_another_dtype(kind: torch.dtype) -> None:
    """Read as it is, its gradients in its own dtype."""
    a, b = values(4, 24, seed=1), values(4, 24, seed=2)

    def both(backend: str, wide: torch.dtype) -> list[Tensor]:
        x, y = (each.to(wide, copy=True).requires_grad_() for each in (a, b))
        weight = values(24, seed=3).to(kind).requires_grad_()
        keep = torch.tensor([0.75], dtype=kind, requires_grad=True)
        add = torch.tensor([-1.5], dtype=kind, requires_grad=True)
        with ops.use(f"rms_norm={backend},add_rms_norm={backend}"):
            total, normal = ops.add_rms_norm(x, y, keep=keep, add=add, weight=weight)
            (ops.rms_norm(normal, weight) * total).sum().backward()
        found = [each.grad for each in (x, y, weight, keep, add)]
        assert all(each is not None for each in found)
        return [total, normal, *found]  # type: ignore[list-item]

    for one, right in zip(
        both("native", torch.float32), both("reference", torch.float64), strict=True
    ):
        assert one.dtype in (torch.float32, kind)
        loose = 2e-2 if one.dtype.itemsize == 2 else 1e-5  # rounded to the parameter's own dtype
        torch.testing.assert_close(one.double(), right.double(), rtol=loose, atol=loose)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_strengths_and_gates_may_be_of_another_dtype(kind: torch.dtype) -> None:
    outputs, own = values(40, 4, 24, seed=1), values(40, 2, 24, seed=2)

    def found(backend: str, wide: torch.dtype) -> list[Tensor]:
        y, v = (each.to(wide, copy=True).requires_grad_() for each in (outputs, own))
        alpha = torch.linspace(-1, 1, 4).to(kind).requires_grad_()
        gates = values(40, 4, seed=3).to(kind).requires_grad_()
        with ops.use(f"head_mix={backend}"):
            out = ops.head_mix(y, v, alpha, gates)
        out.backward(values(40, 4, 24, seed=4).to(wide))
        return [out, *(each.grad for each in (y, v, alpha, gates))]  # type: ignore[list-item]

    for one, right in zip(
        found("native", torch.float32), found("reference", torch.float64), strict=True
    ):
        assert one.dtype in (torch.float32, kind)
        loose = 2e-2 if one.dtype.itemsize == 2 else 1e-5  # rounded to the parameter's own dtype
        torch.testing.assert_close(one.double(), right.double(), rtol=loose, atol=loose)


def test_turns_may_be_of_another_dtype() -> None:
    x, turns = values(4, 3, 14), rotation(4, "halves")
    rounded = Rotation(turns.cos.bfloat16(), turns.sin.bfloat16(), "halves")
    with ops.use("rope=reference"):
        wanted = ops.rope(x.double(), rounded)
    torch.testing.assert_close(ops.rope(x, rounded).double(), wanted, rtol=1e-6, atol=1e-6)


def test_gradients_of_weights_sum_many_rows_closely() -> None:
    """A sum in float32 from row to row would lose a thousandth of these."""
    x = torch.ones(200_000, 4, requires_grad=False)
    weight = torch.ones(4, requires_grad=True)
    torch.set_num_threads(1)
    ops.rms_norm(x, weight).backward(torch.full_like(x, 0.1))
    assert weight.grad is not None
    exact = 200_000 * float(torch.tensor(0.1)) / (1 + ops.EPSILON) ** 0.5
    assert weight.grad.tolist() == pytest.approx([exact] * 4, rel=1e-5)


def test_nothing_is_kept_where_no_gradient_is_asked_for() -> None:
    x = values(3, 8)
    turns = rotation(3, "halves")
    heads = values(3, 2, 12)
    for found in (
        ops.rms_norm(x),
        *ops.add_rms_norm(x, x),
        ops.swiglu(x, x),
        ops.rope(heads, turns),
        ops.qk_norm_rope(heads, None),
        ops.head_mix(heads, heads, values(2), None),
    ):
        assert found.grad_fn is None


def test_the_joint_norm_is_summed_in_double_precision() -> None:
    parts = [values(5, 7), values(1), values(100_003, seed=2) * 1e20, torch.zeros(0)]
    every = torch.cat([each.double().flatten() for each in parts]).tolist()
    wanted = math.sqrt(math.fsum(number * number for number in every))
    for threads in (1, 3):
        torch.set_num_threads(threads)
        assert joint_norm(parts) == pytest.approx(wanted, rel=1e-13)
    assert joint_norm([torch.tensor([float("nan")])]) != joint_norm([torch.tensor([float("nan")])])
    assert joint_norm([torch.tensor([float("-inf")])]) == float("inf")
