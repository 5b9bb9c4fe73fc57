"""Weights shared out over ranks are those of one process, and travel no more than they must."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.recipe.ranks.agreement import refuse_unsharded
from limite.core.recipe.ranks.launch import launched
from limite.core.recipe.ranks.pieces import Pieces
from limite.core.recipe.ranks.whole_matrices import owners_of

HERE = Path(__file__).parent
PASSES = 2


def passes(ranks: int) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, HERE / "sharded_passes.py", str(ranks)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(told) == ranks
    return told


def full(sizes: Sequence[Sequence[int]], ranks: int) -> int:
    """Bytes of matrices, each padded to as many rows on every rank."""
    return sum(
        ranks * -(-rows // ranks) * math.prod(others) * item for rows, *others, item in sizes
    )


def holds(told: Sequence[Mapping[str, Any]], ranks: int) -> None:
    for name, (same, close) in {
        "adamw": (1e-14, 1e-12),
        "recomputed": (1e-14, 1e-12),
        "muon": (1e-14, 1e-12),
        "float32": (1e-6, 2e-5),
        "bfloat16": (4e-3, 0.05),
    }.items():
        for each in (rank[name] for rank in told):
            # A rank holds its part, at most one row of each matrix above an even one, and all of
            # what is not shared out.
            numbers = [[*shape[:-1], 1] for part in each["sizes"].values() for shape in part]
            whole = each["parameters"] - sum(map(math.prod, numbers))
            assert whole < each["held"] <= whole + full(numbers, ranks) // ranks
            assert each["gathered"] < close
            # The first gradient is taken at the same weights, the second at those that the first
            # update has left apart.
            assert each["norms"][0] < same
            assert each["norms"][1] < 50 * close
            assert each["read"] < 10 * close
            assert each["plain"]
            layers = {key: full(shapes, ranks) for key, shapes in each["sizes"].items()}
            everything = sum(layers.values())
            # Weights travel before a layer computes, forward and backward, but for what is in no
            # layer, which is kept in between; gradients travel once.
            weights = PASSES * (2 * everything - layers["none"])
            assert each["counted"] == [[weights, PASSES * everything]] * 2
            if name == "float32":
                # What a plan says that a rank sends: all but its own part, without what pads it.
                vectors = 2 * 4 * whole
                sent = (weights + PASSES * everything + vectors) * (ranks - 1) / ranks
                assert 0.85 * sent < each["planned"] <= sent
        first = told[0][name]
        assert first["weights"] < close
        # Moments are of gradients at weights that are that far apart.
        assert first["moments"] < 50 * close
        if name in ("adamw", "muon"):
            assert max(each[name]["restored"] for each in told) < close


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [2, 3, 4])  # more than some matrices have rows, too
def test_ranks_hold_a_part_each_and_learn_the_same(ranks: int) -> None:
    holds(passes(ranks), ranks)


@given(st.integers(1, 20), st.integers(1, 9))
def test_pieces_are_all_rows_once(rows: int, ranks: int) -> None:
    whole = torch.arange(rows * 3).view(rows, 3)
    parts = [Pieces(shape=whole.shape, rank=rank, ranks=ranks) for rank in range(ranks)]
    cuts = [each.cut(whole) for each in parts]
    assert torch.equal(torch.cat(cuts), whole)
    assert [cut.shape for cut in cuts] == [each.own_shape for each in parts]
    padded = torch.cat([each.padded(cut) for each, cut in zip(parts, cuts, strict=True)])
    assert torch.equal(padded[:rows], whole)
    assert not padded[rows:].any()
    # As torch cuts it, and FSDP with it.
    torchs = torch.chunk(whole, ranks)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(cuts, torchs, strict=False))


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(1, 5))
def test_no_owner_has_much_more_than_another(sizes: list[int], ranks: int) -> None:
    owners = owners_of(sizes, ranks)
    held = [
        sum(size for size, owner in zip(sizes, owners, strict=True) if owner == rank)
        for rank in range(ranks)
    ]
    assert sum(held) == sum(sizes)
    assert max(held) - min(held) <= max(sizes, default=0)


def test_one_process_has_nothing_to_share_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with (
        pytest.raises(LimiteError, match="--shard: there is one process"),
        launched(shard=True),
    ):
        pass


class Several:
    sharded = True


class Stage:
    trains, shared_out, kind = True, True, "sft"

    def __init__(self, optimizer: Any = None, **other: Any) -> None:
        self.optimizer = optimizer
        for name, value in other.items():
            setattr(self, name, value)


class Whole:
    """An optimizer that says nothing of parts."""


class Parts:
    shards = True


def test_what_cannot_be_shared_out_is_refused_before_the_first_step() -> None:
    recipe: Any = type("Recipe", (), {})()
    recipe.stages = {
        "good": Stage(Parts()),
        "measured": Stage(trains=False),
        "alone": Stage(shared_out=False, kind="preference"),
        "other": Stage(Whole()),
    }
    several: Any = Several()
    refuse_unsharded(several, recipe, ["good", "measured"])
    with pytest.raises(LimiteError) as raised:
        refuse_unsharded(several, recipe, list(recipe.stages))
    told = str(raised.value).splitlines()
    assert len(told) == 2
    assert told[0].startswith("stages.alone: a stage of type 'preference' is trained by rank 0")
    assert told[1].startswith("stages.other.optimizer: Whole does not say")
