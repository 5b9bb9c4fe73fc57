"""One process that programs are started from, seen from outside: asked, watched, and replaced."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.problems.sandbox import wire
from limite.problems.sandbox.backends import (
    DEFAULT_LIMITS,
    Setup,
    command,
    config,
    environment,
)
from limite.problems.sandbox.faults import Unavailable
from limite.problems.sandbox.limits import Limits
from limite.problems.sandbox.result import Result, Status

START_S = 60.0
_GRACE_S = 15.0  # for starting and ending a program on a busy machine
_REPLY_BYTES = 256 << 20
_SAID = 1_000  # characters


class Worker:
    """A process of one backend, started at once. Not for several threads at a time."""

    def __init__(self, backend: str, setup: Setup) -> None:
        self.backend = backend
        try:
            self._process = subprocess.Popen(
                command(backend, setup),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(setup),
                cwd="/",
                start_new_session=True,  # Ctrl-C is for the caller; this ends with it
            )
        except (OSError, LimiteError) as error:
            raise Unavailable(str(error)) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._sink, self._source = self._process.stdin.fileno(), self._process.stdout.fileno()
        try:
            wire.send(self._sink, config(backend, setup, DEFAULT_LIMITS))
            hello = self._take(START_S)
        except (wire.Closed, OSError, TimeoutError) as error:
            self.close()
            raise Unavailable("its process ended before it was ready") from error
        except BaseException:
            self.close()
            raise
        if "failed" in hello:
            self.close()
            raise Unavailable(str(hello["failed"]))
        self.layers: tuple[str, ...] = tuple(hello["layers"])
        self.missing: Mapping[str, str] = hello["missing"]
        self.notes: Sequence[str] = hello["notes"]
        self.prefix: str = hello["prefix"]
        self.landlock: int = hello["landlock"]

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, source: str, entry: str, args: Any, limits: Limits) -> Result:
        """Runs one program, its arguments encoded; raises Closed where the process is lost."""
        request = {
            "source": source,
            "entry": entry,
            "args": args,
            "limits": attrs.asdict(limits),
        }
        began_s = time.monotonic()
        try:
            wire.send(self._sink, request)
            facts = self._take(limits.wall_s + _GRACE_S)
        except TimeoutError:
            self.close()
            return self._result(
                "timeout_wall",
                error="its process did not answer in time",
                wall_s=time.monotonic() - began_s,
            )
        except (OSError, wire.Closed) as error:
            self.close()
            raise wire.Closed from error
        except BaseException:
            self.close()  # an interrupt: what is in the pipes belongs to nobody
            raise
        return self._of(facts)

    def close(self) -> None:
        """Ends the process with all that is in it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._let_go()

    def finish(self) -> None:
        """Lets the process end by itself, so that what it took is counted as this one's."""
        self._let_go()
        self._process.wait()

    def forget(self) -> None:
        """Lets go of a process that belongs to the parent of this one."""
        self._let_go()
        self._process.returncode = 0

    def _let_go(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def _take(self, seconds: float) -> dict[str, Any]:
        """The next message, or a TimeoutError."""
        until = time.monotonic() + seconds
        received = bytearray()
        size = wire.HEADER.size
        with selectors.DefaultSelector() as ready:
            ready.register(self._source, selectors.EVENT_READ)
            while len(received) < size:
                left = until - time.monotonic()
                if left <= 0 or not ready.select(left):
                    raise TimeoutError
                part = os.read(self._source, size - len(received))
                if not part:
                    raise wire.Closed
                received += part
                if size == len(received) == wire.HEADER.size:
                    size += wire.HEADER.unpack(received)[0]
                    assert size < _REPLY_BYTES
        message: dict[str, Any] = json.loads(received[wire.HEADER.size :])
        return message

    def _of(self, facts: Mapping[str, Any]) -> Result:
        taken = {
            name: facts[name] for name in ("stdout", "stderr", "cpu_s", "wall_s", "max_rss_bytes")
        }
        ended, code = facts["ended"], facts["code"]
        if not facts["ready"] and ended == "gone":
            said = facts["message"] or f"it ended with {code}"
            return self._result("unavailable", error=f"a layer failed: {said}", **taken)
        if ended == "message":
            return self._said(facts["message"], taken)
        if ended == "wall":
            return self._result("timeout_wall", error="it took too long", **taken)
        if ended == "cpu" or code == -signal.SIGXCPU:
            return self._result("timeout_cpu", error="it computed for too long", **taken)
        if ended == "output":
            return self._result("output_limit", error="it printed too much", **taken)
        if ended == "channel":
            return self._result("bad_value", error="too much came back", **taken)
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            return self._result("killed", signal=-code, error=f"it died of {name}", **taken)
        return self._result(
            "error",
            error_type="EarlyExit",
            error=f"it ended with {code} before anything was returned",
            **taken,
        )

    def _said(self, message: str, taken: Mapping[str, Any]) -> Result:
        """What a program's own process said. It may be forged, and then means no more than that."""
        try:
            said = json.loads(message)
            ((kind, inner),) = said.items()
            if kind == "ok":
                return self._result("ok", value=wire.decode(inner), **taken)
            if kind == "error":
                name, what = inner
                told = {"error_type": _told(name), "error": _told(f"{name}: {what}")}
                return self._result("error", **told, **taken)
            if kind == "memory":
                return self._result("memory", error="it needs too much memory", **taken)
            if kind == "bad_value":
                return self._result("bad_value", error=_told(inner), **taken)
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass
        return self._result("bad_value", error="what came back is not a value", **taken)

    def _result(self, status: Status, **rest: Any) -> Result:
        return Result(status=status, backend=self.backend, layers=self.layers, **rest)


def _told(said: object) -> str:
    """What a program says of itself as text that can be written anywhere, and is not long."""
    return str(said)[:_SAID].encode(errors="replace").decode()
