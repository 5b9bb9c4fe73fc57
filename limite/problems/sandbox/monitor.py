"""Watches one program: its time, its output, its message; then it is killed, whatever it does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import secrets
import select
import signal
import time
from collections.abc import Mapping
from typing import Any

from limite.problems.sandbox import kernel, wire
from limite.problems.sandbox.confine import Confinement
from limite.problems.sandbox.program import READY, run_program

_SLACK_BYTES = 1 << 12  # what the message is longer than its value
_CORES = os.cpu_count() or 1
_BLOCK_BYTES = 1 << 16


def watch(confinement: Confinement, place: Mapping[str, Any], requests: int, replies: int) -> None:
    """Takes one request, runs its program in a process of its own, and replies what became of it.

    Runs in a process that ends afterwards, so that nothing of a program is left in the memory that
    the next one is started from.
    """
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    request = wire.receive(requests)
    wire.send(replies, _Run(request, confinement, place, requests).facts())


class _Run:
    def __init__(
        self,
        request: Mapping[str, Any],
        confinement: Confinement,
        place: Mapping[str, Any],
        requests: int,
    ) -> None:
        self.limits = request["limits"]
        self.may_fork = "seccomp" not in confinement.layers
        self.requests = requests
        self.nonce = secrets.token_hex(16).encode()
        pipes = [os.pipe() for _ in range(3)]
        self.began_s = time.monotonic()
        self.child = os.fork()
        if not self.child:
            self._become(request, confinement, place, [sink for _, sink in pipes])
        for source, sink in pipes:
            os.close(sink)
            os.set_blocking(source, False)
        self.output, self.errors, self.channel = (source for source, _ in pipes)
        self.received: dict[int, bytearray] = {source: bytearray() for source, _ in pipes}

    def _become(
        self,
        request: Mapping[str, Any],
        confinement: Confinement,
        place: Mapping[str, Any],
        sinks: list[int],
    ) -> None:
        """The child: its descriptors are those of its own pipes and no other."""
        try:
            for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(sign, signal.SIG_DFL)
            os.setsid()
            os.chdir(place["scratch"])
            rules = confinement.rules() if "landlock" in confinement.layers else -1
            inputs = os.open(place["null"], os.O_RDONLY)
            wanted = [inputs, *sinks] + ([rules] if rules >= 0 else [])
            for number, each in enumerate(
                [fcntl.fcntl(each, fcntl.F_DUPFD, 32) for each in wanted]
            ):
                os.dup2(each, number)
            os.closerange(len(wanted), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            if rules >= 0:
                confinement.rules_are(len(wanted) - 1)
            run_program(request, confinement, place, 3, self.nonce)
        finally:
            os._exit(1)

    def facts(self) -> dict[str, Any]:
        """What became of the program, as far as it can be seen from outside."""
        ended = self._wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGKILL)
        _, status, usage = os.wait4(self.child, 0)
        wall_s = time.monotonic() - self.began_s
        if self.may_fork:
            _end_all()
        self._drain()
        code = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        if ended == "gone" and code < 0 and cpu_s >= self.limits["cpu_s"]:
            ended = "cpu"
        kept = self.limits["output_bytes"]
        output, errors = self.received[self.output], self.received[self.errors]
        if max(len(output), len(errors)) > kept:
            ended = "output"
        message = bytes(self.received[self.channel])
        return {
            "ended": ended,
            "code": code,
            "ready": message.startswith(READY),
            "message": self._message(message),
            "stdout": bytes(output[:kept]).decode("utf-8", "replace"),
            "stderr": bytes(errors[:kept]).decode("utf-8", "replace"),
            "cpu_s": cpu_s,
            "wall_s": wall_s,
            "max_rss_bytes": usage.ru_maxrss * 1024,
        }

    def _message(self, received: bytes) -> str:
        """What came after the nonce; before the program ran, why it did not."""
        if not received.startswith(READY):
            return received.decode("utf-8", "replace")
        if self._complete(received):
            said = received[len(READY) + len(self.nonce) :]
            return said.partition(b"\n")[0].decode("ascii", "replace")
        return ""

    def _complete(self, received: bytes | bytearray) -> bool:
        return received.startswith(READY + self.nonce) and received.endswith(b"\n")

    def _wait(self) -> str:
        """Until there is a message, or nothing more to wait for: why."""
        until = self.began_s + self.limits["wall_s"]
        clock = (~self.child << 3) | 2  # the time that the child used, from the kernel's own count
        poll = select.poll()
        poll.register(self.requests, 0)  # tells when the one who asked is gone
        for source in self.received:
            poll.register(source, select.POLLIN)
        left = len(self.received)
        while left:
            wall_left = until - time.monotonic()
            if wall_left <= 0:
                return "wall"
            try:
                cpu_left = self.limits["cpu_s"] - time.clock_gettime(clock)
            except OSError:
                cpu_left = self.limits["cpu_s"]  # it ended; its pipes say so next
            if cpu_left <= 0:
                return "cpu"
            wait_s = max(0.005, min(wall_left, cpu_left / _CORES))
            for source, event in poll.poll(wait_s * 1000):
                if source == self.requests:
                    if event & (select.POLLHUP | select.POLLERR):
                        return "abandoned"
                elif not self._read(source):
                    poll.unregister(source)
                    left -= 1
            why = self._enough()
            if why:
                return why
            if self._complete(self.received[self.channel]):
                return "message"
        return self._gone(until, clock)

    def _gone(self, until: float, clock: int) -> str:
        """All pipes are closed, by its end or by itself: a program without pipes still has time."""
        while time.monotonic() < until:
            if os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return "gone"
            with contextlib.suppress(OSError):
                if time.clock_gettime(clock) >= self.limits["cpu_s"]:
                    return "cpu"
            time.sleep(0.002)
        return "wall"

    def _read(self, source: int) -> bool:
        try:
            data = os.read(source, _BLOCK_BYTES)
        except BlockingIOError:  # the program has opened its own pipe, and read it first
            return True
        self.received[source] += data
        return bool(data)

    def _enough(self) -> str:
        most = self.limits["output_bytes"]
        if len(self.received[self.output]) > most or len(self.received[self.errors]) > most:
            return "output"
        if len(self.received[self.channel]) > self.limits["value_bytes"] + _SLACK_BYTES:
            return "channel"
        return ""

    def _drain(self) -> None:
        """What was written before the end and not read yet, up to what is kept."""
        for source, received in self.received.items():
            before = -1
            while before < len(received) <= self.limits["output_bytes"]:
                before = len(received)
                self._read(source)


def _end_all() -> None:
    """Ends what the program left behind, as far as it is in sight.

    In a namespace of its own nothing is: there the first process kills every other afterwards.
    """
    while children := _children():
        for process in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for process in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)


def _children() -> list[int]:
    """The processes whose parent is this one, those that lost theirs included."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                        found.append(int(name))
    return found
