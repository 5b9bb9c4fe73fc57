"""Two hosts on one machine: network namespaces with a cable between them, each with its torchrun.

    python hosts.py RECIPE OUT NAME [CUT]

With ``CUT`` the cable is pulled once the run's first stage has logged so many steps; the run then
goes on once it is mended. Prints as JSON how each host ended, and what it said.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PORT = 29577
PATIENCE_S = 6


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True)


class Hosts:
    """Two namespaces, ``left`` and ``right``, with addresses 10.87.0.1 and 10.87.0.2."""

    def __init__(self) -> None:
        self.names = [f"limite-{os.getpid()}-{number}" for number in range(2)]

    def __enter__(self) -> Hosts:
        for name in self.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        self.connect()
        return self

    def connect(self) -> None:
        left, right = self.names
        ip(
            *("link", "add", "cable", "netns", left, "type", "veth"),
            *("peer", "name", "cable", "netns", right),
        )
        for number, name in enumerate(self.names, 1):
            ip("-n", name, "addr", "add", f"10.87.0.{number}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")

    def cut(self) -> None:
        ip("-n", self.names[1], "link", "set", "cable", "down")

    def mend(self) -> None:
        ip("-n", self.names[1], "link", "set", "cable", "up")

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            ip("netns", "del", name, check=False)

    def torchrun(self, number: int, words: list[str], said: Path) -> subprocess.Popen[bytes]:
        """One host's torchrun, which finds the other at its address."""
        with said.open("wb") as sink:
            return subprocess.Popen(
                [
                    *("ip", "netns", "exec", self.names[number]),
                    *(sys.executable, "-m", "torch.distributed.run"),
                    *("--nnodes", "2", "--node-rank", str(number), "--nproc-per-node", "1"),
                    *("--master-addr", "10.87.0.1", "--master-port", str(PORT)),
                    *("-m", "limite", *words),
                ],
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "GLOO_SOCKET_IFNAME": "cable",
                    "OMP_NUM_THREADS": "1",
                    "LIMITE_RANK_TIMEOUT_S": str(PATIENCE_S),
                },
            )


def together(
    hosts: Hosts, words: list[str], folder: Path, log: Path | None = None, cut: int = 0
) -> dict[str, Any]:
    """What came of one command on both hosts; the cable is cut once ``log`` has ``cut`` lines."""
    files = [folder / f"said-{number}" for number in range(2)]
    running = [hosts.torchrun(number, words, said) for number, said in enumerate(files)]
    if log is not None:
        while not log.exists() or log.read_bytes().count(b"\n") < cut:
            if any(each.poll() is not None for each in running):
                break
            time.sleep(0.01)
        hosts.cut()
    codes = [each.wait() for each in running]
    return {"codes": codes, "said": [each.read_text() for each in files]}


def main(recipe: str, out: str, name: str, cut: int) -> list[dict[str, Any]]:
    folder = Path(out)
    told = []
    with Hosts() as hosts:
        words = ["run", recipe, "--out", out, "--name", name]
        if not cut:
            return [together(hosts, words, folder)]
        log = folder / name / "stages/01-sft/metrics.jsonl"
        told.append(together(hosts, words, folder, log, cut))
        hosts.mend()
        told.append(together(hosts, ["resume", str(folder / name)], folder))
    return told


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:4], int(sys.argv[4]) if len(sys.argv) > 4 else 0)))
