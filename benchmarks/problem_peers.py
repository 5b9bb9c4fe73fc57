"""Libraries that make or judge problems as ``limite`` does, called as their pages say."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

MAKER = "reasoning-gym"
JUDGE = "math-verify"
TRIED = 200
SECONDS = 0.3


def installed(name: str) -> str | None:
    """The version of a peer; None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def datasets() -> list[str]:
    """The data sets of the peer that need no settings."""
    with _quiet():
        factory = importlib.import_module("reasoning_gym.factory")
    return sorted(set(factory.DATASETS) - {"composite"})


def made(name: str) -> dict[str, Any]:
    """How many items a second a data set gives with its own settings, nothing solved again."""
    gym = importlib.import_module("reasoning_gym")
    with _quiet():
        found = gym.create_dataset(name, size=TRIED, seed=1)
        found[0]  # imports and tables
        count, slowest, began = 0, 0.0, time.process_time()
        while count < TRIED and time.process_time() - began < SECONDS:
            before = time.process_time()
            found[count]
            slowest = max(slowest, time.process_time() - before)
            count += 1
        seconds = time.process_time() - began
    return {"family": name, "per_second": count / seconds, "slowest_ms": 1000 * slowest}


def judge() -> Callable[[str, str], bool]:
    """Whether a response states a gold answer, by the peer: in this process."""
    peer = importlib.import_module("math_verify")

    def judged(gold: str, response: str) -> bool:
        return bool(peer.verify(peer.parse(f"${gold}$"), peer.parse(response)))

    return judged


def met(rows: Sequence[dict[str, Any]]) -> int:
    """How many golden rows get their verdict from the peer."""
    judged, count = judge(), 0
    with _quiet():
        for row in rows:
            text = row["answer"] if row["input"] == "response" else f"\\boxed{{{row['answer']}}}"
            try:
                count += judged(row["gold"], text) == row["verdict"]
            except Exception:  # whatever a peer raises is no verdict
                continue
    return count


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what a peer prints or logs as it works."""
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)
