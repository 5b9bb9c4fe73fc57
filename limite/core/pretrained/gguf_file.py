"""A GGUF file: its metadata, and where each tensor lies in it. Read strictly, nothing trusted.

The ``gguf`` package knows how weights were quantised and has that read here; its own reader
believes the lengths a file states, so the header is taken apart here, against the file's size.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from limite.core.errors import LimiteError
from limite.core.jsonl import storage_error
from limite.core.pretrained.plain_file import reading

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32
MOST_DIMENSIONS = 4
_STRING, _ARRAY, _BOOL = 8, 9, 7
_SCALARS: Mapping[int, str] = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
"""Number of a plain type in the file, and how numpy calls it."""

_SHORTEST_FIELD, _SHORTEST_TENSOR = 8 + 4 + 1, 8 + 4 + 8 + 4 + 8


def gguf_package() -> Any:
    """The package ``gguf``, or how to get it."""
    try:
        import gguf
    except ImportError:
        raise LimiteError(
            "reading a GGUF file needs the package gguf: pip install 'limite[gguf]'"
        ) from None
    return gguf


@attrs.frozen(kw_only=True)
class GgufTensor:
    """One tensor: ``shape`` is rows first, ``begin`` counts bytes from the start of the file."""

    name: str
    shape: tuple[int, ...]
    kind: Any  # gguf.GGMLQuantizationType
    begin: int
    bytes: int
    row_bytes: int

    @property
    def rows(self) -> int:
        """How many rows there are; each is quantised for itself."""
        return math.prod(self.shape[:-1])


class _Bad(Exception):
    """What is wrong with the file, without its name."""


class GgufFile:
    """An open GGUF file. ``metadata`` is plain Python; ``tensors`` are named as in the file."""

    def __init__(self, path: Path, file: FileIO) -> None:
        """Reads all but the weights. Whatever is wrong with it is a LimiteError."""
        self.path, self._file = path, file
        size = os.fstat(file.fileno()).st_size
        try:
            buffered = io.BufferedReader(file)
            header = _Header(buffered, size, gguf_package())
            buffered.detach()  # otherwise it would close the file when it goes
        except _Bad as error:
            raise LimiteError(f"{path}: {error}") from None
        self.metadata, self.tensors = header.metadata, header.tensors

    @classmethod
    @contextmanager
    def open(cls, path: str | Path) -> Iterator[GgufFile]:
        """The file at ``path``, for as long as a ``with`` lasts."""
        path = Path(path)
        if path.is_dir():
            raise LimiteError(f"{path}: is a folder; name the .gguf file in it")
        with reading(path) as file:
            yield cls(path, file)

    def read_rows(self, tensor: GgufTensor, first: int, count: int) -> np.ndarray[Any, Any]:
        """Rows of a tensor as float32, ``[count, row]``."""
        raw = np.empty((count, tensor.row_bytes), np.uint8)
        left = raw.data.cast("B")
        at = tensor.begin + first * tensor.row_bytes
        while left:
            try:
                read = os.preadv(self._file.fileno(), [left], at)
            except OSError as error:
                raise storage_error(error, self.path) from error
            if not read:
                raise LimiteError(f"{self.path}: became shorter while it was read")
            left, at = left[read:], at + read
        return dequantised(raw, tensor.kind)


def dequantised(raw: np.ndarray[Any, Any], kind: Any) -> np.ndarray[Any, Any]:
    """Rows of bytes as float32. A kind that cannot be read raises NotImplementedError."""
    gguf = gguf_package()
    plain = {"F32": np.float32, "F16": np.float16, "F64": np.float64}.get(kind.name)
    # Scales come from the file and may overflow; the caller looks for what is not finite.
    with np.errstate(all="ignore"):
        values = raw.view(plain) if plain else gguf.quants.dequantize(raw, kind)
        return np.asarray(values, dtype=np.float32)


class _Header:
    """Everything before the weights, each length held against what is left of the file."""

    def __init__(self, file: Any, size: int, gguf: Any) -> None:
        self.file, self.size, self.at = file, size, 0
        if size < len(MAGIC) or self._take(4) != MAGIC:
            raise _Bad("is not a GGUF file")
        version = self._number("<I")
        if version not in VERSIONS:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            what = "big-endian GGUF" if swapped in VERSIONS else f"GGUF version {version}"
            raise _Bad(f"{what} is not supported; versions {VERSIONS[0]} and {VERSIONS[1]} are")
        tensors, fields = self._number("<Q"), self._number("<Q")
        self._check_count(tensors, _SHORTEST_TENSOR, "tensors")
        self._check_count(fields, _SHORTEST_FIELD, "metadata fields")
        self.metadata: dict[str, Any] = {}
        for _ in range(fields):
            key = self._string()
            if key in self.metadata:
                raise _Bad(f"the metadata field {key!r} stands twice")
            self.metadata[key] = self._value(self._number("<I"), key)
        self.gguf = gguf
        described = [self._tensor() for _ in range(tensors)]
        self.tensors = self._placed(described)

    def _take(self, count: int) -> bytes:
        if count > self.size - self.at:
            raise _Bad(f"is cut short or damaged: byte {self.at} promises {count} more")
        data: bytes = self.file.read(count)
        if len(data) != count:
            raise _Bad("became shorter while it was read")
        self.at += count
        return data

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._take(struct.calcsize(form)))[0])

    def _check_count(self, count: int, least_bytes: int, what: str) -> None:
        if count * least_bytes > self.size - self.at:
            raise _Bad(f"is cut short or damaged: it promises {count} {what}")

    def _string(self) -> str:
        data = self._take(self._number("<Q"))
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise _Bad(f"holds text that is not UTF-8, before byte {self.at}") from None

    def _value(self, kind: int, key: str) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._plain(kind, 1, key)[0]
        kind, count = self._number("<I"), self._number("<Q")
        if kind == _STRING:
            self._check_count(count, 8, f"texts in {key!r}")
            return [self._string() for _ in range(count)]
        return self._plain(kind, count, key)

    def _plain(self, kind: int, count: int, key: str) -> list[Any]:
        if kind not in _SCALARS:
            raise _Bad(f"the metadata field {key!r} is of a type that is not known, {kind}")
        form = np.dtype(_SCALARS[kind])
        values = np.frombuffer(self._take(count * form.itemsize), form)
        if kind == _BOOL:
            return [bool(value) for value in values]
        if form.kind == "f" and form.itemsize == 4:
            # The shortest decimal that is this float32: 1e-05 rather than 9.999999747378752e-06.
            return [float(str(value)) for value in values]
        return list(values.tolist())

    def _tensor(self) -> tuple[str, tuple[int, ...], Any, int]:
        name = self._string()
        dimensions = self._number("<I")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise _Bad(f"the tensor {name!r} has {dimensions} dimensions, not 1 to 4")
        # The file counts from the innermost dimension.
        shape = tuple(reversed([self._number("<Q") for _ in range(dimensions)]))
        number, offset = self._number("<I"), self._number("<Q")
        if number not in [int(kind) for kind in self.gguf.GGMLQuantizationType]:
            raise _Bad(f"the tensor {name!r} is of a type that is not known, {number}")
        return name, shape, self.gguf.GGMLQuantizationType(number), offset

    def _placed(self, described: list[tuple[str, tuple[int, ...], Any, int]]) -> dict[str, Any]:
        alignment = self.metadata.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
            raise _Bad(f"'general.alignment' must be a power of two, got {alignment!r}")
        start = -(-self.at // alignment) * alignment
        tensors: dict[str, GgufTensor] = {}
        for name, shape, kind, offset in described:
            block, block_bytes = self.gguf.GGML_QUANT_SIZES[kind]
            if name in tensors:
                raise _Bad(f"the tensor {name!r} stands twice")
            if not all(shape) or shape[-1] % block:
                raise _Bad(f"the tensor {name!r} of {kind.name} cannot have shape {list(shape)}")
            row_bytes = shape[-1] // block * block_bytes
            length = math.prod(shape[:-1]) * row_bytes
            if offset % alignment or start + offset + length > self.size:
                raise _Bad(f"is cut short or damaged: the tensor {name!r} does not lie within it")
            tensors[name] = GgufTensor(
                name=name, shape=shape, kind=kind, begin=start + offset, bytes=length,
                row_bytes=row_bytes,
            )  # fmt: skip
        in_order = sorted(tensors.values(), key=lambda tensor: tensor.begin)
        for left, right in itertools.pairwise(in_order):
            if left.begin + left.bytes > right.begin:
                raise _Bad(f"the tensors {left.name!r} and {right.name!r} overlap")
        return tensors
