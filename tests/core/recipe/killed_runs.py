"""Runs a recipe in forked children that kill themselves with SIGKILL at chosen points.

    python killed_runs.py RECIPE FOLDER SEED POINTS

Prints one JSON object: how many events an undisturbed run has, and for every point where it was
killed and whether the resumed run left the same bytes. Events are what may stand half done in a
process that dies: an optimizer step, a file opened, written, synced or renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from limite.core.recipe import engine
from limite.core.recipe.engine import go_on, start

KILLED_AT: int | None = None
EVENTS = 0


def event() -> None:
    global EVENTS
    EVENTS += 1
    if EVENTS == KILLED_AT:
        os.kill(os.getpid(), signal.SIGKILL)


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        event()
        return function(*arguments, **options)

    return call


def watch() -> None:
    for name in ("replace", "rename", "fsync", "open", "write"):
        setattr(os, name, counted(getattr(os, name)))
    register_optimizer_step_pre_hook(lambda *_: event())
    register_optimizer_step_post_hook(lambda *_: event())


def in_child(work: Callable[[], None], killed_at: int | None = None) -> tuple[bool, int]:
    """Runs ``work`` in a fork; whether it lived to its end, and how many events it saw."""
    global KILLED_AT
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        KILLED_AT = killed_at
        watch()
        work()
        sys.stdout.flush()
        os.write(writing, str(EVENTS).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return True, int(told)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False, 0
    raise SystemExit(f"a run failed by itself, with status {status}")


def digest(run: Path) -> dict[str, str]:
    """Every file of the run that holds no clock, by its hash; logs without their times."""
    found = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.suffix == ".safetensors" or path.name == "results.json" or ".zst" in path.name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.name in ("metrics.jsonl", "health.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            kept = [
                {key: value for key, value in line.items() if not key.startswith("time")}
                for line in lines
            ]
            found[name] = json.dumps(kept)
    return found


def main(recipe: Path, folder: Path, seed: int, points: int) -> None:
    torch.set_num_threads(1)
    # The report is drawn from what is compared here, and drawing takes longer than the runs.
    engine.write_report = lambda path: path / "report.html"

    def fresh(name: str) -> Callable[[], None]:
        return lambda: void(start(recipe, out=folder, name=name, echo=void))

    def resumed(name: str) -> Callable[[], None]:
        return lambda: void(go_on(folder / name, echo=void))

    _, events = in_child(fresh("undisturbed"))
    wanted = digest(folder / "undisturbed")
    rng = random.Random(seed)
    told = []
    for number, point in enumerate(sorted(rng.sample(range(1, events + 1), points))):
        name = f"killed-{number}"
        lived, _ = in_child(fresh(name), killed_at=point)
        again = None
        if not (folder / name).exists():
            in_child(fresh(name))
        else:
            # Some are killed a second time, while they resume.
            again = rng.randrange(1, events) if rng.random() < 0.5 else None
            if not in_child(resumed(name), killed_at=again)[0]:
                in_child(resumed(name))
        found = digest(folder / name)
        differs = sorted(
            key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key)
        )
        told.append({"point": point, "again": again, "lived": lived, "differs": differs})
    print(json.dumps({"events": events, "files": len(wanted), "runs": told}))


def void(_value: Any) -> None:
    """Takes anything, does nothing."""


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
