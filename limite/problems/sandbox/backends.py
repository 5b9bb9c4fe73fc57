"""The ways of confining a program, strongest first, and how the process of each is started."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.problems.sandbox.limits import Limits
from limite.problems.sandbox.namespaces import SCRATCH, SCRATCH_BYTES

BACKENDS = ("namespaces", "bwrap", "landlock", "rlimits")
ADEQUATE = ("namespaces", "bwrap", "landlock")
"""Those that hold a program that means harm."""

CHOICE = "LIMITE_SANDBOX"
"""The environment variable that names one backend, and no other is tried."""

_ROOT = str(Path(__file__).parents[3])
_START = (
    "import sys; sys.path.append({root!r}); from limite.problems.sandbox.server import main; main()"
)


@attrs.frozen(kw_only=True)
class Setup:
    """What programs of one kind need of the process they are started from."""

    hash_seed: int = 0
    packages: tuple[str, ...] = ()
    """Packages, by name, that programs may import beside the standard library."""
    own_user: bool = True
    """Whether programs that root starts get a user id that no other process has, if it can be."""
    without: frozenset[str] = frozenset()
    """Layers to leave out, to see what each is for."""


def named(backend: str, *, weak: bool) -> str:
    """A backend's name, checked; one that holds nobody only where that is meant."""
    if backend not in BACKENDS:
        near = did_you_mean(backend, BACKENDS) or f"; there are {', '.join(BACKENDS)}"
        raise LimiteError(f"no sandbox {backend!r}{near}")
    if backend not in ADEQUATE and not weak:
        raise LimiteError(
            f"the sandbox {backend!r} has no walls: it is used only by commands that are given "
            "--allow-weak-sandbox, where they take it"
        )
    return backend


def candidates(*, weak: bool) -> Sequence[str]:
    """The backends to try, strongest first; with ``weak`` the one that holds nobody too."""
    chosen = os.environ.get(CHOICE)
    if chosen:
        return (named(chosen, weak=weak),)
    return BACKENDS if weak else ADEQUATE


def command(backend: str, setup: Setup) -> list[str]:
    """The command of the process; a LimiteError with the reason where there is none."""
    if not sys.platform.startswith("linux"):
        raise LimiteError("programs are confined on Linux alone")
    python = [sys.executable, "-S", "-s", "-P", "-B", "-c", _START.format(root=_ROOT)]
    if backend != "bwrap":
        return python
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise LimiteError("bwrap is not installed")
    # The rest of the system that starting Python needs; Landlock hides it from programs again.
    shown = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", sys.base_prefix]
    shown += [sys.prefix, str(Path(_ROOT, "limite")), *packages(setup)]
    root = os.geteuid() == 0
    kinds = ["ipc", "pid", "net", "uts", "cgroup-try"]
    if not root:
        kinds.append("user")
    arguments = [bwrap, *(f"--unshare-{kind}" for kind in kinds), "--die-with-parent", "--as-pid-1"]
    arguments += ["--new-session", "--dev", "/dev", "--perms", "1777"]
    arguments += ["--size", str(SCRATCH_BYTES), "--tmpfs", SCRATCH]
    above = {str(each) for path in shown for each in Path(path).parents}
    for path in sorted(above - {"/"}, key=len):
        arguments += ["--perms", "0755", "--dir", path]
    for path in shown:
        if os.path.exists(path):
            arguments += ["--ro-bind", path, path]
    if root:
        arguments += ["--cap-drop", "ALL"]
        for name in ("SETUID", "SETGID", "SETPCAP", "KILL", "DAC_READ_SEARCH"):
            arguments += ["--cap-add", f"CAP_{name}"]
    else:
        arguments += ["--uid", "65534", "--gid", "65534"]
    return [*arguments, "--", *python]


def config(backend: str, setup: Setup, limits: Mapping[str, Any]) -> dict[str, Any]:
    """What the process is told first."""
    layers: list[str] = []
    if backend == "bwrap":
        kinds = ["mount", "ipc", "pid", "network", "uts"] + (["user"] if os.geteuid() else [])
        layers = [*(f"{kind}-namespace" for kind in kinds), "private-root"]
    return {
        "backend": backend,
        "hash_seed": setup.hash_seed,
        "packages": packages(setup),
        "preload": [*setup.packages],
        "own_user": setup.own_user,
        "without": sorted(setup.without),
        "layers": layers,
        "limits": dict(limits),
    }


def environment(setup: Setup) -> dict[str, str]:
    """All that the process has of an environment."""
    return {"PYTHONHASHSEED": str(setup.hash_seed), "LC_ALL": "C.UTF-8", "PATH": os.defpath}


def packages(setup: Setup) -> list[str]:
    """Where the packages are, those included that sympy needs."""
    found = []
    for name in (*setup.packages, *(["mpmath"] if "sympy" in setup.packages else [])):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise LimiteError(f"the package {name!r} is not installed")
        folders = spec.submodule_search_locations
        found.append(str(Path(folders[0] if folders else spec.origin).resolve()))
    return found


DEFAULT_LIMITS = attrs.asdict(Limits())
