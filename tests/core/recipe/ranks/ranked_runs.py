"""Runs a recipe by several forked ranks, as torchrun would start them, and tells how each ended.

    python ranked_runs.py ORDERS

``ORDERS`` is JSON: a list of objects with ``ranks``, the arguments ``command`` of limite, and
perhaps ``kill``: a rank, a signal, and how many ``lines`` the file ``once`` holds when it is sent;
or ``full``: what the disk of all ranks has no room for.
Prints a list of what came of each: how every rank ended, and what it said on standard error.
Forks of one process spare the seconds that each would take to import torch.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # optimizers import it, for seconds: once, before the forks
import torch.distributed

from limite.core.cli.ending import run_program
from limite.core.cli.main import cli
from limite.core.recipe import engine
from limite.core.recipe.context import StageContext
from limite.core.recipe.ranks import launch, sharded  # noqa: F401
from limite.core.recipe.runners import rl, sft  # noqa: F401


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def fill_up(name: str) -> None:
    """From now on the disk has no room for files whose path holds ``name``."""
    sync = os.fsync

    def full(file: int) -> None:
        if name in os.readlink(f"/proc/self/fd/{file}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(file)

    os.fsync = full


def child(
    rank: int, ranks: int, port: int, command: list[str], said: Path, full: str | None
) -> int:
    pid = os.fork()
    if pid:
        return pid
    sink = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    if ranks > 1:
        os.environ.update(
            RANK=str(rank),
            LOCAL_RANK=str(rank),
            WORLD_SIZE=str(ranks),
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(port),
        )
    torch.set_num_threads(1)
    if full is not None:
        fill_up(full)
    try:
        run_program(cli, "limite", [part.replace("{rank}", str(rank)) for part in command])
    except SystemExit as ended:
        sys.stdout.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(99)
    os._exit(0)


def fall(pid: int, what: dict[str, Any]) -> None:
    """Sends a signal to a rank once a log has so many lines."""
    log = Path(what["once"])
    while not log.exists() or log.read_bytes().count(b"\n") < what["lines"]:
        time.sleep(0.005)
    os.kill(pid, getattr(signal, what["signal"]))


def carried_out(order: dict[str, Any], folder: Path) -> dict[str, Any]:
    ranks = order["ranks"]
    os.environ["LIMITE_RANK_TIMEOUT_S"] = str(order.get("timeout_s", 60))
    port = free_port()
    files = [folder / f"said-{rank}" for rank in range(ranks)]
    full = order.get("full")
    pids = [child(rank, ranks, port, order["command"], files[rank], full) for rank in range(ranks)]
    kill = order.get("kill")
    if kill is not None:
        threading.Thread(target=fall, args=(pids[kill["rank"]], kill), daemon=True).start()
    ended = {}
    waiting = set(pids)
    while waiting:
        if kill is not None and waiting == {pids[kill["rank"]]}:
            os.kill(pids[kill["rank"]], signal.SIGKILL)  # it was only stopped
        for pid in list(waiting):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                ended[pid] = os.waitstatus_to_exitcode(status)
                waiting.discard(pid)
        time.sleep(0.01)
    said = [place.read_text() for place in files]
    for place in files:
        place.unlink()
    return {"codes": [ended[pid] for pid in pids], "said": said}


def main(orders: list[dict[str, Any]]) -> None:
    # Rounding in float64 is too small to change what is sampled.
    single = StageContext.new_decoder
    StageContext.new_decoder = lambda self, **how: single(self, **how).double()
    # Drawing takes longer than the runs.
    engine.write_report = lambda path: path / "report.html"
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps([carried_out(order, Path(folder)) for order in orders]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
