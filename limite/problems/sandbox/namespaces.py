"""Private namespaces: a process that sees no network, no other processes and an empty root."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import struct
from collections.abc import Iterable

from limite.problems.sandbox import kernel
from limite.problems.sandbox.identity import NOBODY

_KINDS = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "pid": 0x20000000,
    "network": 0x40000000,
}
_USER = 0x10000000

_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT = 1, 2, 4, 8, 32
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_DETACH = 2
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100

HOST = "sandbox"
SCRATCH = "/tmp"
SCRATCH_BYTES = 16 << 20
_FILES = 1024
_DEVICES = ("null", "zero", "full", "random", "urandom")
_PLACES = ("/srv", "/media", "/opt", "/home", "/var", "/tmp")  # something to put the new root on


def enter() -> list[str]:
    """Private namespaces for what this process starts next; the names of the layers.

    Root makes them outright; others, and a root that may not, in a user namespace of their own.
    """
    every = sum(_KINDS.values())
    layers = [f"{kind}-namespace" for kind in _KINDS]
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            kernel.call("unshare", every)
            return layers
    user, group = os.geteuid(), os.getegid()
    kernel.call("unshare", every | _USER)
    with contextlib.suppress(FileNotFoundError):
        _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{NOBODY} {group} 1")
    return ["user-namespace", *layers]


def become_first() -> None:
    """Forks: the child returns, as the first process of its own kind; the parent waits and ends."""
    alive, held = os.pipe()
    child = os.fork()
    if child:
        os.close(alive)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _, status = os.waitpid(child, 0)
        os._exit(min(os.waitstatus_to_exitcode(status) & 0xFF, 255))
    os.close(held)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.set_blocking(alive, False)
    with contextlib.suppress(BlockingIOError):
        if os.read(alive, 1) == b"":  # the parent went before it could be heard of
            os._exit(1)
    os.close(alive)
    assert os.getpid() == 1


def hide_name() -> None:
    """Gives the machine another name in this process's namespace of names."""
    socket.sethostname(HOST)


def make_root(readable: Iterable[str]) -> None:
    """Moves this process into an empty root: the readable folders, a scratch folder, devices."""
    kernel.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE)
    sources = [(path, os.open(path, os.O_PATH)) for path in readable if os.path.exists(path)]
    devices = [(f"/dev/{name}", os.open(f"/dev/{name}", os.O_PATH)) for name in _DEVICES]
    base = next(place for place in _PLACES if os.path.isdir(place)).encode()
    here = os.open("/proc/self/fd", os.O_PATH | os.O_DIRECTORY)
    kernel.mount(b"tmpfs", base, b"tmpfs", _NOSUID | _NODEV, b"mode=755,size=1m,nr_inodes=4096")
    root = os.fsdecode(base)
    for path, place in sources:
        target = root + path
        if os.path.isdir(path):
            os.makedirs(target, exist_ok=True)
        else:
            _empty_file(target)
        _bind(here, place, target, _RDONLY | _NOSUID | _NODEV)
    for path, place in devices:
        _empty_file(root + path)
        _bind(here, place, root + path, _NOSUID | _NOEXEC)
    os.makedirs(root + SCRATCH, exist_ok=True)
    for place in [here, *(place for _, place in (*sources, *devices))]:
        os.close(place)
    os.chdir(root)
    kernel.call("pivot_root", b".", b".")  # the old root then lies on top of the new one
    kernel.unmount(b".", _DETACH)
    os.chdir("/")
    fresh_scratch()
    kernel.mount(b"none", b"/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def fresh_scratch() -> None:
    """An empty scratch folder in the place of the former."""
    with contextlib.suppress(OSError):
        while True:
            kernel.unmount(SCRATCH.encode(), _DETACH)
    options = f"mode=1777,size={SCRATCH_BYTES},nr_inodes={_FILES}".encode()
    kernel.mount(b"tmpfs", SCRATCH.encode(), b"tmpfs", _NOSUID | _NODEV | _NOEXEC, options)


def _bind(here: int, place: int, target: str, flags: int) -> None:
    """Shows a place that is held open elsewhere too, with all that is mounted below it."""
    source = f"/proc/self/fd/{place}".encode()
    kernel.mount(source, target.encode(), None, _BIND | _RECURSIVE)
    attribute = struct.pack("=QQQQ", flags, 0, 0, 0)
    kernel.call(
        "mount_setattr",
        _AT_FDCWD,
        target.encode(),
        _AT_RECURSIVE,
        ctypes.create_string_buffer(attribute, 32),
        32,
    )


def _empty_file(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii"):
        pass


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
