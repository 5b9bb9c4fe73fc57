"""Measures what each of two ranks takes at its fullest that share out weights, as peaks.py does.

Prints, as JSON, that and what a plan says of it, in bytes: weights, gradients, moments, gathered
weights and activations of a second micro-batch.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed

from limite.core.model.init import build_decoder, unset_decoder
from limite.core.model.memory import BYTES, training_bytes
from limite.core.model.settings import DecoderSpec
from limite.core.recipe.memory_parts import Machine, Numbers, gathered_bytes, state_bytes
from limite.core.recipe.ranks.launch import launched
from limite.core.recipe.ranks.sharded import Sharded
from limite.core.train.replay import Row, replay
from limite.plugins.optimizers.adamw import AdamW
from tests.core.recipe.peaks import OTHERS, TILE, peak_bytes

RANKS = 2


def both(ranks: Any, spec: DecoderSpec, rows: int, length: int, recompute: bool) -> dict[str, int]:
    decoder = build_decoder(spec, 1)
    decoder.recompute = recompute
    numbers = Numbers.of(decoder)
    kept = state_bytes(decoder, AdamW())
    weights = Sharded(decoder, ranks, lambda: unset_decoder(spec))
    optimizer = AdamW().build(weights.named())
    texts = [
        Row(prompt=[1], completion=[(7 * row + place) % 50 for place in range(length - 1)])
        for row in range(rows)
    ]

    def learn() -> None:
        (-replay(cast(Any, decoder), texts).logp.sum() / rows).backward()

    learn()
    weights.sum_gradients("a test")
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    # The second micro-batch of an update is measured, beside the gradients of the first.
    learn()
    gc.collect()
    own = BYTES * sum(each.numel() for _, each in weights.named())
    peak = peak_bytes(learn)
    # What the first of them has left gathered: matrices outside of layers stay until an update.
    left = BYTES * numbers.outside
    tokens = rows * length
    machine = Machine(gpus=RANKS, gpu_bytes=1, dtype="float32")
    whole = BYTES * (numbers.matrices + numbers.whole)
    planned = (
        2 * machine.shared(whole)
        + machine.shared(kept)
        + gathered_bytes(numbers, spec.layers, machine)
        + training_bytes(spec, 0, tokens, recompute=recompute)
        + BYTES * min(tokens * (spec.padded_vocabulary or 0), TILE)
    )
    weights.sum_gradients("a test")
    return {"measured": 2 * own + kept // RANKS + left + peak, "planned": planned}


def one(rank: int, port: int, place: Path) -> None:
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(RANKS),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        LIMITE_RANK_TIMEOUT_S="60",
    )
    torch.set_num_threads(1)
    with launched(shard=True) as ranks:
        told = {
            f"{name}, {rows} rows of {length}, recompute {again}": both(
                ranks, spec, rows, length, again
            )
            for name, (spec, rows, length) in OTHERS.items()
            for again in (False, True)
        }
    (place / str(rank)).write_text(json.dumps(told))


def main() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(RANKS):
            pid = os.fork()
            if not pid:
                try:
                    one(rank, port, Path(folder))
                except BaseException:
                    import traceback

                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            children.append(pid)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        if any(codes):
            sys.exit(f"ranks ended with {codes}")
        told = [json.loads((Path(folder) / str(rank)).read_text()) for rank in range(RANKS)]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
