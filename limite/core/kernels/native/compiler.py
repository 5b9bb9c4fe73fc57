"""Compiles what lies in ``source`` for the processor at hand, once, and keeps it for later."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent / "source"

FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math",
         "-ffp-contract=fast")  # fmt: skip
"""Sums keep their order; a product may be added to one without being rounded before."""

SECONDS = 120
"""That a compiler may take; it needs one or two."""


class CannotCompile(Exception):
    """There is no compiler, or it failed, or there is no place for what it makes."""


def command() -> list[str] | None:
    """The C compiler: what ``CC`` says, or ``cc``, ``gcc`` or ``clang``; None: there is none."""
    given = shlex.split(os.environ.get("CC", ""))
    if given:
        return [shutil.which(given[0]) or given[0], *given[1:]]
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found is not None:
            return [found]
    return None


def library() -> Path:
    """The compiled kernels of this version, on this processor; compiles them where they are not.

    They lie in ``$XDG_CACHE_HOME/limite/kernels``, or ``~/.cache/limite/kernels``, under a name
    that says all that they were made of.
    """
    compiler = command()
    if compiler is None:
        raise CannotCompile("there is no C compiler (cc, gcc or clang, or what CC names)")
    arguments = [*compiler, *FLAGS, *_for_this_processor()]
    path = _folder() / f"{_name(arguments)}.so"
    if not path.exists():
        _compile(arguments, path)
    return path


def _for_this_processor() -> tuple[str, ...]:
    if platform.machine().lower() in ("arm64", "aarch64"):
        return ("-mcpu=native",)  # compilers for it understand this one everywhere
    return ("-march=native",)


def _folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(given) if os.path.isabs(given) else Path("~/.cache").expanduser()
    except RuntimeError as error:
        raise CannotCompile(f"no place to keep them: {error}") from error
    return home / "limite" / "kernels"


def _name(arguments: list[str]) -> str:
    made_of = hashlib.sha256()
    for part in (*arguments, *_processor()):
        made_of.update(part.encode() + b"\0")
    for file in sorted(SOURCE.iterdir()):
        made_of.update(file.name.encode() + b"\0" + file.read_bytes())
    return made_of.hexdigest()[:32]


@cache
def _processor() -> tuple[str, ...]:
    """What tells apart processors of other instructions, or else the machine's name."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        known = ("model name", "flags", "Features", "CPU part", "CPU implementer")
        found = {line for line in lines if line.split("\t")[0].strip() in known}
        if found:
            return tuple(sorted(found))
    return platform.machine(), platform.processor(), platform.node()


def _compile(arguments: list[str], path: Path) -> None:
    sources = [str(file) for file in sorted(SOURCE.glob("*.c"))]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(".so", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise CannotCompile(f"no place to keep them: {error}") from error
    try:
        done = subprocess.run(
            [*arguments, *sources, "-o", made, "-lm"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines()
            first = next((line for line in told if "error" in line), told[0] if told else "")
            raise CannotCompile(f"{arguments[0]} failed: {first or done.returncode}")
        # Whole or not at all, for other processes; and whoever is first, the content is the same.
        os.replace(made, path)
    except OSError as error:
        raise CannotCompile(f"{arguments[0]} could not be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise CannotCompile(f"{arguments[0]} took more than {SECONDS} seconds") from error
    finally:
        Path(made).unlink(missing_ok=True)
