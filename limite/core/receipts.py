"""Receipts: what ran, so that another can tell whether they run the same.

They hold no host name, no user name and no absolute path, and making one never imports torch.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import limite
from limite.core.errors import LimiteError
from limite.core.jsonl import dumps, read_json, write_json
from limite.core.kernels.tiles import table_hash

PACKAGES = (
    "torch",
    "numpy",
    "triton",
    "zstandard",
    "math-verify",
    "sympy",
    "tokenizers",
    "jinja2",
)
"""Distributions whose version can change a number."""

SEAL = "sha256"
"""The hash of all else in a receipt."""

FINISHED, LEFT = "finished", "left"
"""Of a run's receipt: the hash of each finished stage's receipt, and which words for people it
left."""

BEGUN = "time_begun"
"""When a run was begun; when a stage was finished stands beside its hash."""

CIRCUMSTANCES = ("git", "hardware", "source_sha256", "resumed", BEGUN, FINISHED, LEFT)
"""What may differ between a run and its resumption: it is recorded, and does not forbid it."""


def time_now() -> str:
    """The time, in UTC, to the second: ``2031-05-07T09:30:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def recipe_hash(data: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of plain data, such as a resolved recipe."""
    return hashlib.sha256(dumps(data).encode()).hexdigest()


def write_receipt(place: Path, receipt: Mapping[str, Any]) -> None:
    """Writes a receipt, whole or not at all, with the hash of its own content beside it."""
    write_json(place, {**receipt, SEAL: recipe_hash(receipt)})


def read_receipt(place: Path) -> dict[str, Any]:
    """A receipt without its hash, which is not looked at; a LimiteError where it is none."""
    value = read_json(place)
    if not isinstance(value, dict):
        raise LimiteError(f"{place}: expected a JSON object")
    return {key: item for key, item in value.items() if key != SEAL}


def is_as_written(place: Path) -> bool:
    """Whether a receipt hashes to what it says."""
    receipt = read_receipt(place)
    return bool(read_json(place).get(SEAL) == recipe_hash(receipt))


def make_receipt(
    *,
    recipe: Mapping[str, Any],
    source_text: str | None = None,
    source_path: str | Path | None = None,
    plugins: Mapping[str, str] | None = None,
    kernels: Mapping[str, str] | None = None,
    dtype: str = "float32",
    device: str = "cpu",
    threads: int = 1,
    seeds: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """What ran: versions, plugins (distribution to version), hardware, seeds, and hashes.

    ``kernels`` is operation to implementation; beside it stands the hash of the kernels' tiles.

    ``recipe`` is the resolved recipe as plain data. When ``source_path`` lies in a git tree, its
    commit is recorded, and the hash of what was changed since.
    """
    return {
        "limite": limite.__version__,
        "limite_sha256": own_code_hash(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "plugins": dict(plugins or {}),
        "kernels": dict(kernels or {}),
        "tiles_sha256": table_hash(),
        "recipe_sha256": recipe_hash(recipe),
        "source_sha256": None if source_text is None else _sha256(source_text.encode()),
        "git": None if source_path is None else git_state(Path(source_path)),
        "hardware": hardware(),
        "device": device,
        "dtype": dtype,
        "threads": threads,
        "seeds": dict(seeds or {}),
    }


def own_code_hash() -> str:
    """SHA-256 over limite's own Python files: a change to its code is another version of it."""
    digest = hashlib.sha256()
    root = Path(limite.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def step_handed_on(receipt: Mapping[str, Any]) -> int:
    """The step whose checkpoint a finished stage hands on: its last, unless that was unstable."""
    return int(receipt.get("hands_on_step", receipt["steps"]))


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], *, ignore: Sequence[str] = CIRCUMSTANCES
) -> list[str]:
    """What differs between two receipts (or any plain data), one line each: ``place: old -> new``.

    ``ignore`` names top-level entries to leave out; by default those that may differ on resuming.
    """
    before = {key: value for key, value in old.items() if key not in ignore}
    after = {key: value for key, value in new.items() if key not in ignore}
    return list(_differences("", before, after))


def _differences(place: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        lines = []
        for key in sorted(old.keys() | new.keys()):
            inner = f"{place}.{key}" if place else key
            if key not in new:
                lines.append(f"{inner}: {_short(old[key])} -> (absent)")
            elif key not in old:
                lines.append(f"{inner}: (absent) -> {_short(new[key])}")
            else:
                lines += _differences(inner, old[key], new[key])
        return lines
    # Compared as written, so that a tuple equals the list it was read back as.
    if dumps(old) == dumps(new):
        return []
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for i, (a, b) in pairs for line in _differences(f"{place}[{i}]", a, b)]
    return [f"{place}: {_short(old)} -> {_short(new)}"]


def _short(value: Any) -> str:
    text = dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def git_state(path: Path) -> dict[str, str | None] | None:
    """The commit of the git tree that ``path`` lies in, and the hash of its uncommitted changes.

    ``tree`` is git's hash of the commit's content: a commit that is published later, with another
    history, has the same. None outside a git tree, before the first commit, and without git.
    """
    folder = path if path.is_dir() else path.parent
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    tree = _git(folder, "rev-parse", "--verify", "HEAD^{tree}")
    # Nothing the repository configures may run: only the bare difference is wanted.
    changes = _git(folder, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv")
    return {
        "commit": commit.decode().strip(),
        "tree": None if tree is None else tree.decode().strip(),
        "changes_sha256": _sha256(changes) if changes else None,
    }


def _git(folder: Path, *arguments: str) -> bytes | None:
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def hardware() -> dict[str, Any]:
    """The kind of machine: system, CPU model, cores, GPU models."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "gpus": _gpu_models(),
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.processor() or platform.machine()


def _gpu_models() -> list[str]:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    # Without torch at hand, the driver's own pages say it.
    models = []
    for page in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        for line in page.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "Model":
                models.append(value.strip())
    return models
