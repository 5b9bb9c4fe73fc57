"""The worker's own half: reads requests from its input, writes verdicts to its output.

Started by exec, never a fork of its caller. It limits its own memory, and a timer of its own ends
it should the caller be gone while something hangs.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Mapping
from typing import Any

HEADER = struct.Struct(">I")
LOADING_S = 120.0
"""What starting Python and loading computer algebra may take, on a busy machine."""


def main(memory_bytes: int, deadline_s: float) -> None:
    """Serves requests until the input ends."""
    requests, verdicts = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Whatever prints goes nowhere, so that verdicts are all that the caller reads.
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller decides what an interrupt means
    from limite.core.types import Answer
    from limite.problems.algebra import symbolic
    from limite.problems.verifiers.judge import judge
    from limite.problems.verifiers.math_verify_equal import compared

    def answered(request: Mapping[str, Any]) -> dict[str, Any]:
        if "gold" in request:  # two answers, for another package to compare
            if "math_verify" not in sys.modules:
                around_loading(True)
                importlib.import_module("math_verify")
                around_loading(False)
            return compared(request["gold"], request["stated"])
        answer = Answer(
            type=request["type"], value=request["value"], params=request.get("params") or {}
        )
        try:
            verdict = judge(
                answer,
                request["text"],
                extract=request["extract"],
                fallbacks=request.get("fallbacks", ()),
            )
        except MemoryError:
            return {"outcome": "unreadable", "reason": "limit: it needs too much memory"}
        except RecursionError:
            return {"outcome": "unreadable", "reason": "limit: it is nested too deep"}
        return {
            "outcome": verdict.outcome,
            "extracted": verdict.extracted,
            "reason": verdict.reason,
        }

    encode = json.JSONEncoder().encode

    def send(message: Mapping[str, Any]) -> None:
        data = encode(message).encode()
        verdicts.write(HEADER.pack(len(data)) + data)
        verdicts.flush()

    def around_loading(begins: bool) -> None:
        """No answer's deadline pays for the second or two that computer algebra takes to load."""
        signal.setitimer(signal.ITIMER_REAL, LOADING_S if begins else 2 * deadline_s + 1)
        send({"loading": begins})

    symbolic.AROUND_LOADING.append(around_loading)
    send({"loading": False})
    while True:
        header = requests.read(HEADER.size)
        if len(header) < HEADER.size:
            return
        (size,) = HEADER.unpack(header)
        request = json.loads(requests.read(size))
        signal.setitimer(signal.ITIMER_REAL, 2 * deadline_s + 1)
        message = answered(request)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(message)
