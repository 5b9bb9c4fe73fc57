"""Runs a recipe in forked children that die by SIGKILL, resumes each, and compares all files.

    python killed_runs.py RECIPE FOLDER SEED POINTS [PATH=VALUE ...]

RECIPE may be a matched comparison.

Prints one JSON object: how many events an undisturbed run has, and for every point where it was
killed and whether the resumed run left the same bytes. Events are what may stand half done in a
process that dies: an optimizer step, a file opened, written, synced or renamed. Every other run is
killed by its parent instead, at any moment of its clock.

A recipe with a ``distill`` stage gets a file of traces, made beforehand.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # optimizers import it, for seconds: once, before the forks
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from limite.core.jsonl import write_jsonl
from limite.core.recipe import engine
from limite.core.recipe.engine import go_on
from limite.core.recipe.matched.folder import is_comparison
from limite.core.recipe.matched.run import resume, start
from limite.core.recipe.matched.verify import verify_comparison
from limite.core.recipe.runners import distill, fit_critic, preference, rl, sft, soup  # noqa: F401
from limite.core.recipe.verify import verify_run
from limite.core.tokenizer import CharacterTokenizer

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


def in_child(
    work: Callable[[], None], killed_at: int | None = None, after_s: float | None = None
) -> tuple[bool, int]:
    """Runs ``work`` in a fork; whether it lived to its end, and how many events it saw.

    It kills itself at the event ``killed_at``, or its parent does when it has used ``after_s``
    seconds of a processor, which a busy machine does not move.
    """
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
    if after_s is not None:
        used = Path(f"/proc/{child}/schedstat")
        while int(used.read_text().split()[0]) < 1e9 * after_s:
            # Its word, or its end: it was faster than that.
            if select.select([reading], [], [], 0.002)[0]:
                break
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return True, int(told)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False, 0
    raise SystemExit(f"a run failed by itself, with status {status}")


CLOCKS = ("time", "resumed", "manifest_sha256", "sha256", "hardware")
"""What begins so is, or follows from, a clock or what a run went through."""


def timeless(value: Any) -> Any:
    """A receipt, a state or a log without clocks, and without hashes of what holds some."""
    if isinstance(value, dict):
        return {
            key: None if key.endswith((".json", ".jsonl")) else timeless(item)
            for key, item in value.items()
            if not key.startswith(CLOCKS)
        }
    return [timeless(item) for item in value] if isinstance(value, list) else value


def digest(run: Path) -> dict[str, str]:
    """Every file of the run by what is in it, clocks aside; the log and the page are for people."""
    found = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.is_dir() or path.name in ("log.txt", "report.html"):
            continue
        if path.suffix == ".jsonl":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            found[name] = json.dumps(timeless(lines))
        elif path.suffix == ".json":
            found[name] = json.dumps(timeless(json.loads(path.read_text())))
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def traces(place: Path) -> Path:
    """What a teacher found likely at each token of thirty texts: a list of its own for each."""
    tokenizer = CharacterTokenizer()
    lines = []
    for number in range(30):
        ids = [*tokenizer.encode(f"#{number + 1}"), tokenizer.eos_id]
        lists = [[token, *(each for each in range(8) if each != token)][:5] for token in ids]
        nats = [-0.5, -1.5, -2.5, -3.5, -4.5]
        lines.append(
            {
                "prompt": f"{number}+1=?",
                "completion": f"#{number + 1}",
                "topk_ids": lists,
                "topk_logprobs": [nats for _ in ids],
                "temperature": 1,
            }
        )
    write_jsonl(place, lines)
    return place


def main(recipe: Path, folder: Path, seed: int, points: int, sets: list[str]) -> None:
    torch.set_num_threads(1)
    # The report is drawn from what is compared here, and drawing takes longer than the runs.
    engine.write_report = lambda path: path / "report.html"
    if "[stages.distill]" in recipe.read_text():
        sets = [*sets, f"stages.distill.traces={traces(folder / 'traces.jsonl.zst')}"]

    def fresh(name: str) -> Callable[[], None]:
        return lambda: void(start(recipe, overrides=sets, out=folder, name=name, echo=void))

    def resumed(name: str) -> Callable[[], None]:
        if is_comparison(folder / name):
            return lambda: void(resume(folder / name, echo=void, live=False))
        return lambda: void(go_on(folder / name, echo=void))

    began_s = os.times().children_user
    _, events = in_child(fresh("undisturbed"))
    seconds = os.times().children_user - began_s
    wanted = digest(folder / "undisturbed")
    rng = random.Random(seed)
    told = []
    for number in range(points):
        name = f"killed-{number}"
        by_clock = number % 2 == 1
        point = rng.randrange(1, events + 1)
        after_s = rng.uniform(0, seconds) if by_clock else None
        lived, _ = in_child(fresh(name), None if by_clock else point, after_s)
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
        verify = verify_comparison if is_comparison(folder / name) else verify_run
        wrong = [str(each) for each in verify(folder / name).violations]
        told.append(
            {
                "point": after_s if by_clock else point,
                "again": again,
                "lived": lived,
                "differs": differs,
                "violations": wrong,
            }
        )
        print(json.dumps(told[-1]), file=sys.stderr, flush=True)
        if not differs and not wrong:
            shutil.rmtree(folder / name)
    print(json.dumps({"events": events, "files": len(wanted), "runs": told}))


def void(_value: Any) -> None:
    """Takes anything, does nothing."""


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
