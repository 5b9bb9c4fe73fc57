"""The weights of a model directory: one safetensors file, or shards and the index that lists them.

``model.safetensors`` alone, or ``model.safetensors.index.json`` and its shards. A directory that
has both is refused, unless the index names that one file only: which of two sets of weights is
meant is not guessed. Pickles beside them are never opened.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.tensor_header import (
    LARGEST_HEADER,
    NO_PICKLE,
    TensorEntry,
    brief,
    refuse_all,
    shown,
)
from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.jsonl import storage_error, write_atomic
from limite.core.pretrained.json_files import read_object
from limite.core.pretrained.plain_file import is_there, require_inside
from limite.core.pretrained.tensor_file import (
    TensorFile,
    Tensors,
    checked_tensors,
    write_tensor_file,
)

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
SHARD_BYTES = 5_000_000_000
_COMPARED_BYTES = 8 << 20
_HINTS = 20


@attrs.frozen(kw_only=True)
class TensorDirectory:
    """Weights whose every header was read and agrees with the index. Read when asked."""

    path: Path
    files: Mapping[str, TensorFile]
    """By file name; only those that hold tensors of the model."""
    home: Mapping[str, TensorFile]
    """The file that holds each tensor."""

    @classmethod
    def open(cls, path: str | Path) -> TensorDirectory:
        """Reads the index and all headers. A LimiteError tells all that is wrong with them."""
        path = Path(path)
        try:
            names = sorted(os.listdir(path))
        except OSError as error:
            raise LimiteError(
                f"{path}: expected a directory that holds {SINGLE}: {error.strerror}"
            ) from error
        weight_map = _weight_map(path / INDEX) if INDEX in names else None
        if weight_map is None and SINGLE in names:
            return attrs.evolve(cls.of_file(_open_inside(path, SINGLE)), path=path)
        if weight_map is None:
            raise LimiteError(f"{path}: no {SINGLE} and no {INDEX}{_instead(names)}")
        if SINGLE in names and set(weight_map.values()) != {SINGLE}:
            raise LimiteError(
                f"{path}: has both {SINGLE} and {INDEX} with other files; "
                "which weights are meant is not clear, so remove one of them"
            )
        return _sharded(path, weight_map)

    @classmethod
    def of_file(cls, file: TensorFile, prefix: str = "") -> TensorDirectory:
        """The tensors of one file, or those of them whose names begin with ``prefix``."""
        home = {name: file for name in file.entries if name.startswith(prefix)}
        return cls(path=file.path, files={file.path.name: file}, home=home)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all tensors, sorted."""
        return tuple(sorted(self.home))

    @property
    def total_bytes(self) -> int:
        """Of all tensors."""
        return sum(file.total_bytes for file in self.files.values())

    @property
    def passed_over(self) -> tuple[str, ...]:
        """Files of weights that lie beside an index which names no tensor of them."""
        return _unlisted(self.path, self.files) if (self.path / INDEX).is_file() else ()

    def entry(self, name: str) -> TensorEntry:
        """The dtype and shape of a tensor."""
        return self._home(name).entries[name]

    def read_into(self, name: str, destination: Tensor, *, rows: range | None = None) -> None:
        """Gives ``destination`` a tensor's values, as ``TensorFile.read_into`` does."""
        self._home(name).read_into(name, destination, rows=rows)

    def read(self, name: str, *, rows: range | None = None) -> Tensor:
        """A tensor as its file has it, or some ``rows`` of its first dimension."""
        return self._home(name).read(name, rows=rows)

    def deferred(self, name: str, dtype: torch.dtype | None = None) -> DeferredTensor:
        """A tensor to be written elsewhere, read when its turn comes; floats rounded to a dtype."""
        entry = self.entry(name)

        def make() -> Tensor:
            tensor = torch.empty(entry.shape, dtype=dtype or entry.dtype)
            self.read_into(name, tensor)
            return tensor

        return DeferredTensor(dtype=dtype or entry.dtype, shape=entry.shape, make=make)

    def equal(self, name: str, other: str) -> bool:
        """Whether two tensors are the same values in the same dtype, a little at a time."""
        mine, theirs = self.entry(name), self.entry(other)
        if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
            return False
        values = _COMPARED_BYTES // mine.dtype.itemsize
        pairs = zip(
            self._home(name).pieces(name, values=values),
            self._home(other).pieces(other, values=values),
            strict=True,
        )
        # As bits: a NaN is the same as itself.
        return all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in pairs)

    def _home(self, name: str) -> TensorFile:
        if name not in self.home:
            raise LimiteError(
                f"{self.path}: no tensor {shown(name)!r}{did_you_mean(name, self.home)}"
            )
        return self.home[name]


def _weight_map(index: Path) -> dict[str, str]:
    """Tensor to file name. Every file name is a plain one: none leads out of the directory."""
    require_inside(index)
    found = read_object(index, LARGEST_HEADER)
    if found is None or not isinstance(found.get("weight_map"), dict):
        raise LimiteError(
            f"{index}: expected a weight_map of tensors and files, got {brief(found)}"
        )
    weight_map: dict[str, str] = found["weight_map"]
    if not weight_map:
        raise LimiteError(f"{index}: weight_map: expected tensors and their files, got none")
    refuse_all(
        [
            Mistake(
                f"expected the name of a .safetensors file in this directory, got {brief(file)}",
                path=f"weight_map.{shown(name)}",
                file=str(index),
            )
            for name, file in weight_map.items()
            if not _is_plain_name(file)
        ]
    )
    return weight_map


def _is_plain_name(file: object) -> bool:
    return (
        isinstance(file, str)
        and file.isprintable()
        and file.endswith(".safetensors")
        and not {"/", "\\"} & set(file)
    )


def _sharded(path: Path, weight_map: Mapping[str, str]) -> TensorDirectory:
    index = str(path / INDEX)
    wrong: list[Mistake] = []
    files: dict[str, TensorFile] = {}
    listed_files = sorted(set(weight_map.values()))
    for file in listed_files:
        if not is_there(path / file):
            near = did_you_mean(file, _unlisted(path, listed_files))
            why = f"no such file, though {INDEX} names it{near}"
            wrong.append(Mistake(why, file=str(path / file)))
            continue
        try:
            files[file] = _open_inside(path, file)
        except SettingsError as error:
            wrong.extend(error.mistakes)
        except LimiteError as error:
            wrong.append(Mistake(str(error)))
    for name, file in weight_map.items():
        if file in files and name not in files[file].entries:
            holders = [other for other in files if name in files[other].entries]
            hint = f"; it is in {holders[0]}" if holders else ""
            if not holders and len(wrong) < _HINTS:
                hint = did_you_mean(name, files[file].entries)
            why = f"expected it in {file}, which does not hold it{hint}"
            wrong.append(Mistake(why, path=shown(name), file=index))
    for file, opened in files.items():
        for name in opened.entries:
            listed = weight_map.get(name)
            if listed is None:
                why = "this tensor is not in the index"
                wrong.append(Mistake(why, path=shown(name), file=str(path / file)))
            elif listed != file and listed in files and name in files[listed].entries:
                why = f"this tensor is also in {listed}, where the index has it"
                wrong.append(Mistake(why, path=shown(name), file=str(path / file)))
    refuse_all(wrong)
    return TensorDirectory(
        path=path, files=files, home={name: files[file] for name, file in weight_map.items()}
    )


def _unlisted(path: Path, listed: Collection[str]) -> tuple[str, ...]:
    """The safetensors files of a directory that are not among those listed."""
    names = {name for name in os.listdir(path) if name.endswith(".safetensors")}
    return tuple(sorted(names - {*listed}))


def _open_inside(path: Path, file: str) -> TensorFile:
    require_inside(path / file)
    return TensorFile.open(path / file)


def _instead(names: list[str]) -> str:
    """What a directory without the weights expected has in their place."""
    tensors = [name for name in names if name.endswith(".safetensors")]
    if tensors:
        return f"; it holds {', '.join(tensors[:3])}: expected that name, or an index"
    gguf = [name for name in names if name.endswith(".gguf")]
    if gguf:
        return f"; it holds {gguf[0]}, a GGUF file"
    pickles = [name for name in names if name.endswith(PICKLES)]
    if pickles:
        return f"; it holds {', '.join(pickles[:3])}, a pickle: {NO_PICKLE}"
    return ""


def write_tensor_directory(
    path: str | Path,
    tensors: Tensors,
    *,
    shard_bytes: int = SHARD_BYTES,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a model's weights into a directory, made if need be: one file, or shards and an index.

    Shards are filled in the order given, each with at most ``shard_bytes`` of tensors (or one
    larger tensor), and named as other readers expect. The index comes last, so that weights are
    there whole or not at all; when writing fails, the directory is as it was before. Weights that
    are there already are refused.
    """
    path = Path(path)
    given = checked_tensors(tensors, str(path))
    shards = _shards(given, shard_bytes)
    made = not is_there(path)
    written: list[Path] = []
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = [name for name in sorted(os.listdir(path)) if _holds_weights(name)]
        if taken:
            raise LimiteError(
                f"{path}: has weights already ({taken[0]}), and nothing is overwritten"
            )
        for file, names in shards.items():
            written.append(path / file)
            write_tensor_file(path / file, {name: given[name] for name in names}, metadata)
        if len(shards) > 1:
            written.append(path / INDEX)
            write_atomic(path / INDEX, _index(given, shards))
    except BaseException as error:
        for file_written in reversed(written):
            file_written.unlink(missing_ok=True)
        if made:
            with contextlib.suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError):
            raise storage_error(error, path) from error
        raise


def _shards(
    tensors: Mapping[str, Tensor | DeferredTensor], shard_bytes: int
) -> dict[str, list[str]]:
    if shard_bytes < 1:
        raise LimiteError(f"shard_bytes: expected at least 1, got {shard_bytes}")
    shards: list[list[str]] = [[]]
    room = shard_bytes
    for name, tensor in tensors.items():
        size = _size_bytes(tensor)
        if size > room and shards[-1]:
            shards.append([])
            room = shard_bytes
        shards[-1].append(name)
        room -= size
    if len(shards) == 1:
        return {SINGLE: shards[0]}
    return {
        f"model-{number:05d}-of-{len(shards):05d}.safetensors": names
        for number, names in enumerate(shards, start=1)
    }


def _size_bytes(tensor: Tensor | DeferredTensor) -> int:
    return math.prod(tensor.shape) * tensor.dtype.itemsize


def _index(tensors: Mapping[str, Tensor | DeferredTensor], shards: Mapping[str, list[str]]) -> str:
    index = {
        "metadata": {"total_size": sum(map(_size_bytes, tensors.values()))},
        "weight_map": {name: file for file, names in shards.items() for name in names},
    }
    return json.dumps(index, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _holds_weights(name: str) -> bool:
    return name == INDEX or name.endswith((".safetensors", *PICKLES))
