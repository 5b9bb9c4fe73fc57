"""What a verdict depends on, as one hash: the source of a verifier and of what it is made of."""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from pathlib import Path

_IMPORT = re.compile(r"^\s*(?:from|import)\s+([A-Za-z_][\w.]*)", re.MULTILINE)


@cache
def content_hash(verifier: type) -> str | None:
    """SHA-256 of the source files that a verifier's verdicts depend on; None where there are none.

    Those are the files of its folder and of every folder they import from within the same package
    (of ``limite.problems.verifiers.exact`` that is ``limite.problems``), with their names. Other
    packages are known by their versions.
    """
    module = sys.modules.get(verifier.__module__)
    origin = getattr(module, "__file__", None)
    if origin is None or not Path(origin).is_file():
        return None
    parts = verifier.__module__.split(".")
    if len(parts) < 3:  # a file of its own
        return _digest({verifier.__module__: Path(origin)})
    package = ".".join(parts[:2])
    root = Path(origin).parents[len(parts) - 3]
    return _digest(_reached(root, package, tuple(parts[2:])))


def _reached(root: Path, package: str, first: tuple[str, ...]) -> dict[str, Path]:
    """Files by module name: those of each folder that is reached."""
    found: dict[str, Path] = {}
    waiting = [first]
    while waiting:
        parts = waiting.pop()
        folder = root.joinpath(*parts[:-1])
        beside = sorted(folder.glob("*.py")) if len(parts) > 1 else [root / f"{parts[0]}.py"]
        for path in beside:
            name = ".".join([package, *parts[:-1], path.stem])
            if name in found or not path.is_file():
                continue
            found[name] = path
            for target in _IMPORT.findall(path.read_text(encoding="utf-8")):
                if target.startswith(f"{package}."):
                    below = tuple(target.removeprefix(f"{package}.").split("."))
                    inside = root.joinpath(*below).is_dir()
                    waiting.append((*below, "__init__") if inside else below)
    return found


def _digest(files: dict[str, Path]) -> str:
    total = hashlib.sha256()
    for name, path in sorted(files.items()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{name} {content}\n".encode())
    return total.hexdigest()
