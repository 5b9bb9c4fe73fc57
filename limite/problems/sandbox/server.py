"""The process that programs are started from: small, single-threaded, exec'd fresh.

It makes the layers that hold for all programs, finds out which others can be had, says so, and then
forks for each request. No request passes through it: the fork reads it and replies, so that nothing
of one program is ever in the memory of another.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import os
import select
import signal
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, NoReturn

from limite.problems.sandbox import identity, landlock, namespaces, seccomp, wire
from limite.problems.sandbox.confine import ORDER, Confinement, tried
from limite.problems.sandbox.monitor import watch

# Loaded once, so that programs start fast, and have these where they see no files at all.
PRELOADED = (
    "abc", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "collections",
    "collections.abc", "concurrent.futures.thread", "contextlib", "copy", "dataclasses", "datetime",
    "decimal", "difflib", "encodings.idna", "enum", "fractions", "functools", "gc",
    "graphlib", "hashlib", "heapq",
    "inspect", "io", "itertools", "json", "math", "mmap", "numbers", "operator", "os", "pathlib",
    "pickle", "pprint", "queue", "random", "re", "resource", "secrets", "select", "shutil",
    "signal", "socket", "statistics", "string", "struct", "subprocess", "sys", "tempfile",
    "textwrap", "threading", "time", "timeit", "traceback", "types", "typing", "unicodedata",
    "uuid", "warnings", "weakref", "zlib",
)  # fmt: skip

_OWN_ROOT = {
    "mount-namespace", "pid-namespace", "network-namespace", "private-root", "rlimits",
    "no-capabilities", "no-new-privileges",
}  # fmt: skip
_NEEDED = {
    "namespaces": _OWN_ROOT,
    "bwrap": _OWN_ROOT,
    "landlock": {"landlock", "seccomp", "rlimits", "no-new-privileges"},
    "rlimits": {"rlimits"},
}
"""Without these a backend does not start: what is left would not hold."""


def main() -> NoReturn:
    requests, replies = _own_pipes()
    config = wire.receive(requests)
    try:
        confinement, place, hello = _start(config)
    except (OSError, ImportError, AssertionError, Refused) as error:
        wire.send(replies, {"failed": str(error) or type(error).__name__})
        os._exit(1)
    wire.send(replies, hello)
    _serve(confinement, place, requests, replies)


class Refused(Exception):
    """Too little of the backend can be had."""


def _own_pipes() -> tuple[int, int]:
    """Moves the pipes to the caller out of the way of standard input and output."""
    requests, replies = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (0, 1))
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    return requests, replies


def _start(config: Mapping[str, Any]) -> tuple[Confinement, dict[str, Any], dict[str, Any]]:
    backend = config["backend"]
    without = set(config["without"])
    base = os.path.dirname(os.__file__)
    paths = [base, os.path.join(base, "lib-dynload"), *_parents(config["packages"])]
    sys.path[:] = paths
    for name in (*PRELOADED, *config["preload"]):
        importlib.import_module(name)
    readable = [base, *config["packages"]]
    layers = set(config["layers"])
    missing: dict[str, str] = {}
    if backend == "namespaces":
        layers |= {*namespaces.enter(), "private-root"}
        namespaces.hide_name()
        namespaces.become_first()
        namespaces.make_root(readable)
    root = os.geteuid() == 0
    own = "private-root" in layers
    place: dict[str, Any] = {
        "backend": backend,
        "user": identity.some_nobody() if config["own_user"] else identity.NOBODY,
        "hash_seed": config["hash_seed"],
        "paths": paths,
        "null": os.devnull,
        "scratch": namespaces.SCRATCH if own else _nowhere(),
        "readable": [
            *readable,
            *(f"/dev/{each}" for each in ("null", "zero", "random", "urandom")),
        ],
        "writable": [namespaces.SCRATCH] if own else [],
    }
    wanted = _wanted(backend, root, own, layers, missing)
    limits = config["limits"]
    place["layers"] = sorted(layers)
    found = tried(tuple(each for each in wanted if each not in without), place, limits)
    library = found.pop("library", "")
    for layer in wanted:
        if layer in without:
            missing[layer] = "left out on request"
        elif found.get(layer, "not tried"):
            missing[layer] = found.get(layer, "not tried")
        else:
            layers.add(layer)
    lacking = _NEEDED[backend] - layers - without
    if lacking:
        each = "; ".join(f"no {layer}: {missing.get(layer, '')}" for layer in sorted(lacking))
        raise Refused(each)
    place["layers"] = sorted(layers)
    notes = []
    if library:
        notes.append("programs can import only what is loaded already: they see no library")
    hello = {
        "layers": place["layers"],
        "missing": missing,
        "notes": notes,
        "prefix": sys.prefix,
        "landlock": landlock.version(),
    }
    return Confinement(tuple(each for each in ORDER if each in layers), place), place, hello


def _wanted(
    backend: str, root: bool, own: bool, layers: set[str], missing: dict[str, str]
) -> list[str]:
    """The layers to try in a program's own process; why others are out of the question."""
    wanted = [*ORDER]
    if own:
        wanted.remove("empty-root")
    elif backend == "landlock":
        for layer in ("mount-namespace", "pid-namespace", "network-namespace"):
            missing[layer] = "this backend makes no namespaces"
    if backend == "rlimits":
        wanted = ["rlimits", "uid-drop", "no-capabilities", "no-new-privileges"]
        for layer in ("namespaces", "landlock", "seccomp"):
            missing[layer] = "this backend has resource limits alone"
    if not root:
        for layer in ("uid-drop", "empty-root"):
            if layer in wanted:
                wanted.remove(layer)
        missing["uid-drop"] = (
            "not started by root: programs have the caller's user id, which a user namespace hides"
            if own
            else "not started by root: programs have the caller's user id"
        )
        if not own and backend != "rlimits":
            missing["empty-root"] = "not started by root: names and sizes of files can be seen"
    if "landlock" in wanted and not landlock.version():
        wanted.remove("landlock")
        missing["landlock"] = "this kernel offers no Landlock"
    if "seccomp" in wanted and not seccomp.known():
        wanted.remove("seccomp")
        missing["seccomp"] = "the system calls of this architecture are not known here"
    return wanted


def _nowhere() -> int:
    """A folder that is no longer there: nothing is in it, and nothing can be put there."""
    path = tempfile.mkdtemp(prefix="limite-")
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.rmdir(path)
    return folder


def _parents(packages: list[str]) -> list[str]:
    return sorted({os.path.dirname(each) for each in packages})


def _serve(
    confinement: Confinement, place: dict[str, Any], requests: int, replies: int
) -> NoReturn:
    if place["scratch"] in place["writable"]:
        place["state"] = _state(place["scratch"])
    confinement.prepare()
    gc.collect()
    gc.freeze()  # collections in a fork leave the shared memory alone
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    while True:
        poll.poll()
        worker = os.fork()
        if not worker:
            try:
                watch(confinement, place, requests, replies)
            except BaseException:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        first = os.getpid() == 1
        if first:
            _end_all()
        if status != 0 or not _clean(confinement, place):
            os._exit(1)  # the one who asks sees it, and starts another


def _end_all() -> None:
    """Kills every process of this namespace but its first, which this is."""
    assert os.getpid() == 1
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _clean(confinement: Confinement, place: dict[str, Any]) -> bool:
    """Whether the next program finds the scratch folder as the last one did."""
    scratch = place["scratch"]
    if scratch not in place["writable"] or _state(scratch) == place["state"]:
        return True
    if place["backend"] != "namespaces":
        return False
    namespaces.fresh_scratch()
    place["state"] = _state(scratch)
    confinement.renew()
    return True


def _state(folder: str) -> tuple[int, ...]:
    """What changes with anything that is done to a folder, or in it, and undone again."""
    found = os.stat(folder)
    return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ctime_ns
