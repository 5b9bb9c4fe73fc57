"""The manifest of a checkpoint: which files belong to it, and what they must hash to.

A folder without a manifest is not a checkpoint. The manifest is written last, and carries a hash
of its own content, so that an edited step or contract is noticed like an edited tensor.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import dumps, read_json, storage_error

FORMAT = "limite-checkpoint"
VERSION = 1
MANIFEST = "manifest.json"
STATE = "state.json"
_BLOCK_BYTES = 1 << 20
_PAYLOAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_STEP = re.compile(r"step-(\d{6,})")
# Names that some file system gives a meaning of its own.
_RESERVED = {"con", "prn", "aux", "nul", "state", "manifest"} | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10)
}


@attrs.frozen(kw_only=True)
class FileRecord:
    """What a file must be. ``aliases`` are further names of tensors stored once (tied weights)."""

    sha256: str
    size_bytes: int
    aliases: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Manifest:
    """Everything that belongs to one checkpoint."""

    step: int
    contract: Mapping[str, Any]
    files: Mapping[str, FileRecord]

    def text(self) -> str:
        """The content of ``manifest.json``."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "step": self.step,
            "contract": dict(self.contract),
            "files": {name: attrs.asdict(record) for name, record in self.files.items()},
        }
        return dumps({**content, "sha256": _digest(content)}) + "\n"


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(dumps(content).encode()).hexdigest()


def step_name(step: int) -> str:
    """``step-000100``."""
    if step < 0:
        raise ValueError(f"a step is at least 0, got {step}")
    return f"step-{step:06d}"


def step_of(name: str) -> int | None:
    """The step of a checkpoint folder's name; None for any other name."""
    match = _STEP.fullmatch(name)
    return int(match[1]) if match and step_name(int(match[1])) == name else None


def check_payload_names(names: Iterable[str]) -> None:
    """Refuses names that could leave the folder, hide in it, or stand for two files at once."""
    seen: dict[str, str] = {}
    for name in names:
        folded = name.casefold()
        if not _PAYLOAD.fullmatch(name) or ".." in name or name.endswith("."):
            raise LimiteError(
                f"a payload's name is letters, digits, '_', '-' and single '.', got {name!r}"
            )
        if folded.split(".")[0] in _RESERVED:
            raise LimiteError(f"the payload name {name!r} is reserved")
        if folded in seen:
            raise LimiteError(
                f"the payload names {seen[folded]!r} and {name!r} differ only in case"
            )
        seen[folded] = name


def payload_file(name: str) -> str:
    """The file of a payload."""
    return f"{name}.safetensors"


def read_manifest(path: Path) -> Manifest:
    """The manifest of the checkpoint ``path``; a LimiteError that names the file and the reason."""
    place = path / MANIFEST
    if not path.is_dir():
        raise LimiteError(f"{path}: no such checkpoint folder")
    if not place.is_file():
        raise LimiteError(f"{path}: not a checkpoint: it has no {MANIFEST}")
    data = read_json(place)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise LimiteError(f"{place}: not the manifest of a limite checkpoint")
    if data.get("version") != VERSION:
        raise LimiteError(
            f"{place}: format version {data.get('version')!r}; this limite reads {VERSION}"
        )
    # The same values written in another way (1E-05 for 1e-05) are an edit as well.
    as_written = place.read_bytes().decode().rstrip("\n") == dumps(data)
    digest = data.pop("sha256", None)
    if digest != _digest(data) or not as_written:
        raise LimiteError(f"{place}: its content does not match its own hash; it was edited")
    # From here on the content is as some limite wrote it, which is still no reason to follow a
    # name out of the folder.
    files = {name: FileRecord(**record) for name, record in data["files"].items()}
    payloads = [name.removesuffix(".safetensors") for name in files if name != STATE]
    check_payload_names(payloads)
    if STATE not in files or set(files) != {STATE, *map(payload_file, payloads)}:
        raise LimiteError(f"{place}: lists files that no checkpoint has")
    step = step_of(path.name)
    if step is not None and step != data["step"]:
        raise LimiteError(f"{place}: it is of step {data['step']}, but the folder says {step}")
    return Manifest(step=data["step"], contract=data["contract"], files=files)


def check_bytes(place: Path, record: FileRecord, size_bytes: int, sha256: str) -> None:
    """Refuses a file whose size or hash is not what the manifest says."""
    if size_bytes != record.size_bytes:
        raise LimiteError(
            f"{place}: {size_bytes} bytes where the manifest says {record.size_bytes}"
        )
    if sha256 != record.sha256:
        raise LimiteError(f"{place}: its content does not match the manifest's hash")


def check_sizes(path: Path) -> Manifest:
    """The quick check: the manifest is sound and each file has its size; nothing is hashed."""
    manifest = read_manifest(path)
    for name, record in manifest.files.items():
        try:
            size = (path / name).stat().st_size
        except OSError as error:
            raise storage_error(error, path / name) from error
        check_bytes(path / name, record, size, record.sha256)
    return manifest


def verify(path: Path) -> Manifest:
    """The full check: the manifest is sound and each of its files hashes to what it says."""
    manifest = read_manifest(path)
    for name, record in manifest.files.items():
        digest = hashlib.sha256()
        size = 0
        try:
            with (path / name).open("rb", buffering=0) as file:
                while block := file.read(_BLOCK_BYTES):
                    digest.update(block)
                    size += len(block)
        except OSError as error:
            raise storage_error(error, path / name) from error
        check_bytes(path / name, record, size, digest.hexdigest())
    return manifest
