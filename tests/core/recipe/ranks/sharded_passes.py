"""Forked ranks make passes through one small decoder whose weights they share out.

    python sharded_passes.py RANKS

Prints, as JSON, what each rank counted, and how far everything lies from one process that holds
all of it.
"""

from __future__ import annotations

import copy
import json
import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed
from torch import Tensor, nn

from limite.core.checkpoint.state import optimizer_payload
from limite.core.checkpoint.tensors import DeferredTensor, file_order, make_all
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder, unset_decoder
from limite.core.model.spec import ModelSpec
from limite.core.recipe.exchange_plan import update_bytes
from limite.core.recipe.memory_parts import Machine, Numbers
from limite.core.recipe.ranks.launch import launched
from limite.core.recipe.ranks.sharded import Sharded
from limite.core.train.norms import joint_norm
from limite.core.train.replay import Row, replay
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.optimizers.muon import Muon

SPEC = ModelSpec(
    width=16, layers=3, heads=2, kv_heads=1, head_width=8, mlp_width=20, context=32, vocabulary=50
)
ROWS = [Row(prompt=[1, 2], completion=[3, 4, 5, 6 + number]) for number in range(6)]
PASSES = 2
EPS = 1e-3
"""So large that AdamW does not make steps of the rounding of gradients near zero."""


def loss(decoder: Decoder, rows: list[Row]) -> Tensor:
    said = replay(decoder, rows, entropy=True)
    assert said.entropy is not None
    return said.logp[said.mask].sum() + 0.5 * said.entropy.sum()


def learned(decoder: Decoder, rows: list[Row]) -> None:
    """As many passes as all ranks make, over these rows."""
    for number in range(PASSES):
        part = rows[number::PASSES]
        if part:
            loss(decoder, part).backward()
        else:  # takes part all the same
            (loss(decoder, ROWS[:1]) * 0.0).backward()


def apart(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> float:
    """The largest difference, as a part of the largest number of its tensor if that is over 1."""
    assert list(found) == list(wanted)
    pairs = [(found[name].double(), each.double()) for name, each in wanted.items() if each.numel()]
    return max(
        float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1))
        for ours, theirs in pairs
    )


def written(payload: Mapping[str, Any]) -> dict[str, Tensor]:
    """As rank 0 writes it: one tensor after the other."""
    made = {}
    for name in file_order({name: each.dtype for name, each in payload.items()}):
        each = payload[name]
        made[name] = each.make() if isinstance(each, DeferredTensor) else each
    return {name: made[name] for name in payload}


def tried(ranks: Any, dtype: torch.dtype, optimizer: Any, recompute: bool) -> dict[str, Any]:
    whole = build_decoder(SPEC.filled(50), 3, dtype=dtype)
    decoder = copy.deepcopy(whole)
    decoder.recompute = recompute
    weights = Sharded(decoder, ranks, lambda: unset_decoder(SPEC.filled(50), dtype=dtype))
    held = sum(each.numel() for _, each in weights.named())
    own, other = optimizer.build(weights.named()), optimizer.build(whole.named_parameters())
    weights.prepare(own)
    counted, norms = [], []
    for update in range(2):
        # In the second the last rank has no rows of its own.
        sharing = ranks.world_size - update
        mine = ROWS[ranks.rank :: sharing] if ranks.rank < sharing else []
        ranks.given_bytes = ranks.gathered_bytes = 0
        learned(decoder, mine)
        counted.append([ranks.gathered_bytes, ranks.given_bytes])
        weights.sum_gradients("a test")
        learned(whole, ROWS)
        moved = [each for _, each in weights.named()]
        norm = weights.norm(moved, [each.grad for each in moved if each.grad is not None])
        wanted = joint_norm([each.grad for each in whole.parameters() if each.grad is not None])
        norms.append(abs(norm - wanted) / wanted)
        for each in (own, other):
            each.step()
            each.zero_grad(set_to_none=True)
    with weights.whole("a test") as read, torch.no_grad():
        same = float((replay(read, ROWS).logp - replay(whole, ROWS).logp).abs().max())
        gathered = apart(read.state_dict(), whole.state_dict())
    tensors, plain = optimizer_payload(own)
    saved = {"model": weights.payload(), "optimizer": weights.whole_state(own, tensors)}
    theirs, theirs_plain = optimizer_payload(other)
    found = {}
    if ranks.rank:
        make_all(saved)
    else:
        found = {
            "weights": apart(written(saved["model"]), whole.state_dict()),
            "moments": apart(written(saved["optimizer"]), theirs),
        }
    # What one process has saved goes back to where each rank has its part.
    again = optimizer.build(weights.named())
    weights.restore_optimizer(again, theirs.items(), theirs_plain)
    back, _ = optimizer_payload(again)
    return found | {
        "planned": update_bytes(
            Numbers.of(whole), Machine(gpus=ranks.world_size, gpu_bytes=1, dtype="float32"), PASSES
        ),
        "held": held,
        "parameters": sum(each.numel() for each in whole.parameters()),
        "counted": counted,
        "sizes": sizes(decoder, whole),
        "norms": norms,
        "gathered": gathered,
        "read": same,
        "restored": apart(back, tensors),
        "plain": plain == theirs_plain,
    }


def sizes(decoder: Decoder, whole: nn.Module) -> dict[str, list[list[int]]]:
    """The shapes of matrices that each layer, and what is in none, shares out."""
    found: dict[str, list[list[int]]] = {}
    for name, each in whole.named_parameters():
        if each.ndim > 1 and each.dtype == decoder.dtype:
            parts = name.split(".")
            layer = parts[1] if parts[0] == "layers" else "none"
            found.setdefault(layer, []).append([*each.shape, each.element_size()])
    return found


def one(rank: int, size: int, port: int, place: Path) -> None:
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(size),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        LIMITE_RANK_TIMEOUT_S="60",
    )
    torch.set_num_threads(1)
    with launched(shard=True) as ranks:
        told = {
            "adamw": tried(ranks, torch.float64, AdamW(lr=0.01, eps=EPS, weight_decay=0.1), False),
            "recomputed": tried(ranks, torch.float64, AdamW(lr=0.01, eps=EPS), True),
            "muon": tried(ranks, torch.float64, Muon(lr=0.01), False),
            "float32": tried(ranks, torch.float32, AdamW(lr=0.01, eps=EPS), False),
            "bfloat16": tried(ranks, torch.bfloat16, AdamW(lr=0.01, eps=EPS), False),
        }
    (place / str(rank)).write_text(json.dumps(told))


def main(size: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(
            one, args=(size, port, Path(folder)), nprocs=size, start_method="fork"
        )
        told = [json.loads((Path(folder) / str(rank)).read_text()) for rank in range(size)]
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]))
