"""Log-probabilities without logits: the laws on every backend, memory, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from limite.core.kernels import ops, tiles
from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import run
from limite.plugins.conformance.kernels.indexed_logprob import LAWS

BACKENDS = [
    pytest.param(run.REFERENCE, id="reference"),
    pytest.param(run.CPU, id="cpu"),
    pytest.param(run.INTERPRET, id="interpret"),
    pytest.param(run.TRITON, id="triton", marks=pytest.mark.gpu),
]
LIMITE = (23.0, 5.0, 7.5)


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
@pytest.mark.parametrize("backend", BACKENDS)
def test_law(backend: run.Backend, law: run.Law) -> None:
    law(backend)


class _Largest(TorchDispatchMode):
    """Remembers the most bytes that one tensor held."""

    size = 0

    def __torch_dispatch__(
        self, function: Any, _types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        found = function(*arguments, **(named or {}))
        for each in found if isinstance(found, tuple | list) else (found,):
            if isinstance(each, Tensor):
                self.size = max(self.size, each.untyped_storage().nbytes())
        return found


@pytest.mark.parametrize("cap", [None, LIMITE])
def test_logits_are_never_all_there(cap: tuple[float, float, float] | None) -> None:
    rows, vocabulary = 2_000, 3_000
    stream = torch.Generator().manual_seed(0)
    hidden = torch.randn((rows, 4), generator=stream, requires_grad=True)
    weight = torch.randn((vocabulary, 4), generator=stream, requires_grad=True)
    index = torch.randint(0, vocabulary, (rows, 3), generator=stream)
    largest = _Largest()
    with ops.use("cpu"), largest:
        logp, entropy, lse = ops.indexed_logprob(hidden, weight, index, cap=cap)
        assert entropy is not None
        (logp.sum() + entropy.sum() + lse.sum()).backward()
    assert 0 < largest.size <= 4 * rows * vocabulary / 10


def test_tiles_and_the_formula_agree_at_their_full_size() -> None:
    stream = torch.Generator().manual_seed(0)
    hidden = torch.randn((600, 16), generator=stream)
    weight = torch.randn((2_100, 16), generator=stream)
    index = torch.randint(-1, 2_100, (600, 2), generator=stream)
    usual = tiles.tile("indexed_logprob", kind="cpu")
    found = []
    for few in (-1, 1 << 30):
        leaves = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        shape = Tile({**usual.blocks, "FEW": few, "FEW_CAPPED": few})
        with ops.use("cpu"), tiles.use(indexed_logprob=shape):
            logp, entropy, lse = ops.indexed_logprob(*leaves, index, cap=LIMITE)
            assert entropy is not None
            ((logp * logp).sum() + entropy.sum() + lse.sum()).backward()
        found.append((logp, entropy, lse, leaves[0].grad, leaves[1].grad))
    for tiled, whole in zip(*found, strict=True):
        torch.testing.assert_close(tiled, whole, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["reference", "cpu", "interpret"])
@pytest.mark.parametrize(("rows", "each", "width"), [(0, 1, 4), (0, 2, 4), (3, 0, 4), (3, 2, 0)])
def test_nothing_gives_nothing(name: str, rows: int, each: int, width: int) -> None:
    hidden = torch.zeros(rows, width, requires_grad=True)
    weight = torch.ones(5, width, requires_grad=True)
    index = torch.zeros(rows, each, dtype=torch.int64)
    small = Tile({"COLUMNS": 4, "ELEMENTS": 8, "FEW": -1, "FEW_CAPPED": -1})
    with ops.use(f"indexed_logprob={name}"), tiles.use(indexed_logprob=small):
        logp, entropy, lse = ops.indexed_logprob(hidden, weight, index)
        assert entropy is not None
        (logp.sum() + entropy.sum() + lse.sum()).backward()
    assert logp.shape == (rows, each)
    assert entropy.shape == lse.shape == (rows,)
    torch.testing.assert_close(lse, torch.full((rows,), 5.0).log())
    assert hidden.grad is not None
    assert hidden.grad.shape == hidden.shape
    assert weight.grad is not None
    assert not weight.grad.any()


@pytest.mark.parametrize("ids", [[5], [-2], [0, 5], [-2, -1]])
def test_ids_beyond_the_vocabulary_are_refused(ids: list[int]) -> None:
    hidden, weight = torch.zeros(1, 4), torch.zeros(5, 4)
    got = f"got {min(ids)} to {max(ids)}"
    with pytest.raises(ValueError, match=f"index: expected -1 or ids below 5.*{got}"):
        ops.indexed_logprob(hidden, weight, torch.tensor([ids]))


@pytest.mark.parametrize("each", [1, 2])
def test_ids_that_kernels_find_beyond_the_vocabulary_are_nan(each: int) -> None:
    # On a GPU nobody looks at the ids beforehand.
    with ops.use("indexed_logprob=interpret"):
        ops.indexed_logprob(torch.zeros(1, 4), torch.zeros(5, 4), torch.zeros(1, 1).long())
    from limite.core.kernels.triton.indexed_logprob import indexed_logprob

    index = torch.tensor([[5], [4], [-1], [1 << 40]]).expand(4, each)
    hidden, weight = torch.zeros(4, 4), torch.zeros(5, 4)
    logp, _, _ = indexed_logprob(
        hidden, weight, index, cap=None, temperature=1.0, round_logits=None, need_entropy=False
    )
    assert logp.isnan().any(1).tolist() == [True, False, False, True]
    torch.testing.assert_close(logp[1], torch.full((each,), 0.2).log())
    assert not logp[2].any()


def test_views_are_as_good_as_copies() -> None:
    stream = torch.Generator().manual_seed(0)
    hidden, weight = torch.randn((9, 8), generator=stream), torch.randn((17, 8), generator=stream)
    index = torch.randint(-1, 17, (9, 3), generator=stream)
    for name in ("cpu", "interpret"):
        with ops.use(f"indexed_logprob={name}"):
            plain = ops.indexed_logprob(hidden, weight, index)
            for view in (
                lambda x: x.t().contiguous().t(),
                lambda x: torch.cat((x, x), 1)[:, : x.shape[1]],
            ):
                again = ops.indexed_logprob(view(hidden), view(weight), view(index))
                for one, other in zip(plain, again, strict=True):
                    assert one is not None
                    assert other is not None
                    torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
