"""The ranks of this process: one alone, or those that torchrun has started."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.distributed
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from limite.core.actor.rendezvous import TIMEOUT_S
from limite.core.device import choose_device
from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.recipe.context import RunStopped
from limite.core.recipe.ranks.ranks import OneRank, Ranks
from limite.core.recipe.ranks.together import OtherRankEnded, Together

TIMEOUT = "LIMITE_RANK_TIMEOUT_S"


def are_several() -> bool:
    """Whether this process is one of several that torchrun started."""
    return int(os.environ.get("WORLD_SIZE", "1") or 1) > 1 and "RANK" in os.environ


def timeout_s() -> float:
    """How long ranks wait for each other, in seconds."""
    told = os.environ.get(TIMEOUT, "").strip()
    if not told:
        return TIMEOUT_S
    try:
        seconds = float(told)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise LimiteError(f"{TIMEOUT}: expected seconds above 0, got {told!r}")
    return seconds


@contextlib.contextmanager
def launched(device: str = "cpu", *, shard: bool = False) -> Iterator[Ranks]:
    """Within it, the ranks of this run, which compute on ``device``: on GPUs each on its own.

    With ``shard`` weights, gradients and moments are shared out over them.
    """
    if not are_several():
        if shard:
            raise LimiteError(
                "--shard: there is one process, and nothing to share out; start several as "
                "torchrun --nproc-per-node N -m limite ..."
            )
        choose_device(device)
        yield OneRank(device)
        return
    seconds = timeout_s()
    if device == "cuda":
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    if choose_device(device).type == "cuda":
        torch.cuda.set_device(device)
    try:
        store, rank, world_size = next(rendezvous("env://", timeout=timedelta(seconds=seconds)))
        torch.distributed.init_process_group(
            "nccl" if device.startswith("cuda") else "gloo",
            store=PrefixStore("limite/collectives", store),
            rank=rank,
            world_size=world_size,
            timeout=timedelta(seconds=seconds),
        )
    except (RuntimeError, ValueError) as error:
        raise RunFailed(
            f"rank {os.environ['RANK']} did not find the others within "
            f"{timedelta(seconds=seconds)}: {error}"
        ) from error
    ranks = Together(
        store,
        reduce,
        rank=rank,
        world_size=world_size,
        timeout_s=seconds,
        device=device,
        sharded=shard,
    )
    try:
        with ranks.alive():
            yield ranks
            ranks.part()
    except LimiteError as error:
        if not rank:
            raise
        if isinstance(error, (OtherRankEnded, RunStopped, SettingsError)):
            # Said by the rank that it is about, or by rank 0, which was told the same.
            raise SystemExit(error.exit_code) from error
        raise RunFailed(f"rank {rank}: {error}") from error
    finally:
        torch.distributed.destroy_process_group()


def reduce(tensor: Tensor, how: str) -> None:
    """Makes ``tensor`` its sum or its maximum over ranks, in place."""
    op = {"sum": torch.distributed.ReduceOp.SUM, "max": torch.distributed.ReduceOp.MAX}[how]
    torch.distributed.all_reduce(tensor, op)
