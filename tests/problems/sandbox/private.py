"""Runs a Python file in private namespaces, where an attack that succeeds harms nobody.

As root in namespaces of mounts, processes, network, names and shared memory, with a loopback
device; with ``nobody`` as the first argument the file then runs as uid 65534. What Python needs is
shown again where folders that only root may enter hide it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

_LIBC = ctypes.CDLL(None, use_errno=True)
_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x20000000 | 0x40000000
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    names = [None if each is None else each.encode() for each in (source, target, kind)]
    if _LIBC.mount(*names, ctypes.c_ulong(flags), data.encode() or None) != 0:
        raise OSError(ctypes.get_errno(), f"mount on {target}")


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH22x", b"lo", 1))


def show_again(paths: list[str]) -> None:
    """Makes folders that only root may enter empty but for what is on the paths."""
    held = [(path, os.open(path, os.O_PATH), closed_above(path)) for path in paths]
    for folder in {closed for _, _, closed in held if closed}:
        mount("tmpfs", folder, "tmpfs", 0, "mode=755")
    for path, place, closed in held:
        if closed:
            os.makedirs(path, exist_ok=True)
            mount(f"/proc/self/fd/{place}", path, None, _BIND | _RECURSIVE)


def closed_above(path: str) -> str:
    """The first folder on the way to ``path`` that others may not enter, or an empty text."""
    names = path.split("/")[1:]
    above = ("/" + "/".join(names[:count]) for count in range(1, len(names)))
    return next((each for each in above if not os.stat(each).st_mode & 1), "")


def main() -> None:
    arguments = sys.argv[1:]
    nobody = arguments[0] == "nobody"
    if _LIBC.unshare(_NAMESPACES) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    child = os.fork()
    if child:
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    _LIBC.prctl(1, 9, 0, 0, 0)
    mount("none", "/", None, _RECURSIVE | _PRIVATE)
    mount("proc", "/proc", "proc", 0)
    loopback_up()
    if nobody:
        roots = [sys.base_prefix, sys.prefix, os.environ["PYTHONPATH"]]
        show_again([os.path.realpath(each) for each in roots])
        os.environ["HOME"] = "/tmp"
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    os.chdir("/tmp")
    os.execv(sys.executable, [sys.executable, *arguments[nobody:]])


if __name__ == "__main__":
    main()
