"""The program's own process: behind every layer, then the source, its entry, and its value."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import random
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from limite.problems.sandbox import wire
from limite.problems.sandbox.confine import Confinement

READY = b"R"
NAME = "program"
_HIDDEN: list[types.ModuleType] = []  # out of sight, and not taken apart, which would take time
_SHOWN = 500  # the most characters of what an exception says


def run_program(
    request: Mapping[str, Any],
    confinement: Confinement,
    place: Mapping[str, Any],
    channel: int,
    nonce: bytes,
) -> NoReturn:
    """Runs what was asked for and ends. What was returned goes into ``channel`` after the nonce.

    Before any of the program runs ``R`` goes there, so that nothing it does is taken for a failure
    of the sandbox. Its answer is only ever its own: it could return what it forges.
    """
    try:
        confinement(request["limits"])
    except BaseException as error:
        _write(channel, f"{type(error).__name__}: {error}".encode())
        os._exit(1)
    try:
        _write(channel, READY)
        message = _outcome(request, place)
        _finish(channel, nonce, message)
    except MemoryError:
        with contextlib.suppress(BaseException):
            _write(channel, nonce + b'{"memory": true}\n')
    finally:
        os._exit(0)


def _outcome(request: Mapping[str, Any], place: Mapping[str, Any]) -> dict[str, Any]:
    module = _clean(place)
    try:
        entry = _entry(request["source"], request["entry"], module)
        if entry is None:
            return {"error": ["MissingEntry", f"the program defines no {request['entry']}()"]}
        value = entry(*wire.decode(request["args"]))
    except MemoryError:
        return {"memory": True}
    except BaseException as error:
        return {"error": _told(error)}
    try:
        encoded = wire.encode(value)
    except wire.BadValue as error:
        return {"bad_value": str(error)}
    except MemoryError:
        return {"memory": True}
    except BaseException as error:  # a value may be of any class
        return {"bad_value": f"it cannot be read: {type(error).__name__}"}
    size = len(json.dumps(encoded))
    most = request["limits"]["value_bytes"]
    if size > most:
        return {"bad_value": f"{size} bytes, of at most {most}"}
    return {"ok": encoded}


def _clean(place: Mapping[str, Any]) -> types.ModuleType:
    """A module for the program, in an interpreter that shows nothing of ours."""
    sys.setrecursionlimit(2_000)
    sys.set_int_max_str_digits(0)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8")
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    sys.argv, sys.orig_argv = [NAME], [NAME]
    sys.path[:] = place["paths"]
    os.environ.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "limite"]:
        _HIDDEN.append(sys.modules.pop(name))
    # What is random is the same in every run; a program that depends on it shows with two seeds.
    random.seed(place["hash_seed"])
    module = types.ModuleType(NAME)
    sys.modules[NAME] = module
    return module


def _entry(source: str, entry: str, module: types.ModuleType) -> Callable[..., Any] | None:
    code = compile(source, f"<{NAME}>", "exec", dont_inherit=True)
    exec(code, module.__dict__)
    found = module.__dict__.get(entry)
    return found if callable(found) else None


def _told(error: BaseException) -> list[str]:
    """The class of an exception, and what it says, with the line of the program."""
    name = type(error).__name__
    with contextlib.suppress(BaseException):
        said = str(error)[:_SHOWN]
        lines = [
            number
            for frame, number in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == f"<{NAME}>"
        ]
        return [name, said + (f" (line {lines[-1]})" if lines else "")]
    return [name, ""]


def _finish(channel: int, nonce: bytes, message: dict[str, Any]) -> None:
    """Output first, so that none is lost; then the one message that counts."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    gc.disable()
    _write(channel, nonce + json.dumps(message).encode() + b"\n")


def _write(channel: int, data: bytes) -> None:
    while data:
        data = data[os.write(channel, data) :]
