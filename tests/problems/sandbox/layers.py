"""Prints what each layer holds by itself. For ``private.py``, as root."""

from __future__ import annotations

import json
import warnings

from limite.problems.sandbox.backends import Setup
from limite.problems.sandbox.confine import ORDER
from limite.problems.sandbox.escapes.trial import ATTEMPTS, trial
from limite.problems.sandbox.pool import Pool

ALONE: dict[str, tuple[str, list[str]]] = {
    "rlimits": (
        "rlimits",
        [
            "take memory in one piece",
            "take memory in small pieces",
            "take shared memory",
            "open many files",
        ],
    ),
    "uid-drop": (
        "rlimits",
        [
            "write to the library",
            "become root",
            "mount a file system",
            "signal its parent",
            "send what is no TCP and no UDP",
            "rename the machine",
        ],
    ),
    "no-capabilities": ("rlimits", ["mount a file system", "rename the machine"]),
    "empty-root": (
        "landlock",
        ["read a file", "see a file's size", "list the root folder", "list all processes"],
    ),
    "landlock": (
        "landlock",
        [
            "read a file",
            "read a file by system calls",
            "write to a file",
            "remove a file",
            "list a folder",
            "connect by TCP",
            "listen for others",
            "connect to a socket without a folder",
            "kill another",
            "start a shell",
        ],
    ),
    "seccomp": (
        "landlock",
        [
            "kill another",
            "have a file signal another",
            "trace another",
            "read another's memory by a call",
            "fork",
            "fork by the newest system call",
            "become a shell",
            "send by UDP",
            "ask the kernel for the network",
            "use the network through io_uring",
            "make a user namespace",
            "mount a file system",
            "change a file's mode",
            "keep a key in the kernel",
            "call the kernel as a 32-bit program",
        ],
    ),
    "namespaces": (
        "namespaces",
        [
            "read a file",
            "see a file's size",
            "write to a file",
            "kill another",
            "see whether another is there",
            "list all processes",
            "read another's memory",
            "send by UDP",
            "connect by TCP",
            "connect to a socket in a folder",
            "connect to a socket without a folder",
            "leave a daemon behind",
            "use a descriptor that was left open",
        ],
    ),
}
"""For each layer a backend to have it in, and the attempts it holds with no other layer."""

warnings.simplefilter("ignore")


def main() -> None:
    found = {}
    for layer, (backend, names) in ALONE.items():
        some = [each for each in ATTEMPTS if each.name in names]
        assert len(some) == len(names), layer
        setup = Setup(without=frozenset(ORDER) - {layer}, own_user=False)
        with Pool(backend=backend, size=1, allow_weak=True, setup=setup) as pool:
            found[layer] = {
                each.attempt.name: each.how for each in trial(pool, some) if each.escaped
            }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
