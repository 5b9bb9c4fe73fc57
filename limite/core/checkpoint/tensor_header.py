"""The header of a safetensors file: what its tensors are and where their bytes lie.

Eight bytes of length (little-endian), a JSON object of names, then the bytes of every tensor. The
header is all that is ever parsed; it is held to the letter of the format, so that whatever passes
can be read without a further check.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import torch

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean, shortened
from limite.core.jsonl import loads

LENGTH_BYTES = 8
LARGEST_HEADER = 100_000_000
METADATA = "__metadata__"
FIELDS = ("dtype", "shape", "data_offsets")

DTYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "U16": torch.uint16,
    "I16": torch.int16,
    "U32": torch.uint32,
    "I32": torch.int32,
    "U64": torch.uint64,
    "I64": torch.int64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

NO_PICKLE = "loading one can run code, so limite never does; ask for safetensors, or convert it"

_LARGEST = 2**63 - 1
_MOST_DIMENSIONS = 64


@attrs.frozen
class TensorEntry:
    """One tensor of a file: its bytes are ``[begin, end)`` of what follows the header."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def size_bytes(self) -> int:
        return self.end - self.begin


@attrs.frozen
class Header:
    """What a file says of its tensors, in the order of its header."""

    entries: Mapping[str, TensorEntry]
    metadata: Mapping[str, str]


def header_bytes(
    tensors: Mapping[str, tuple[torch.dtype, Iterable[int]]], metadata: Mapping[str, str]
) -> bytes:
    """A whole header, length included, for tensors whose bytes follow in the order given.

    Padded so that they begin at a multiple of eight bytes.
    """
    header: dict[str, object] = {METADATA: dict(sorted(metadata.items()))} if metadata else {}
    offset = 0
    for name, (dtype, sizes) in tensors.items():
        shape = list(sizes)
        end = offset + math.prod(shape) * dtype.itemsize
        header[name] = {"dtype": NAMES[dtype], "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def header_length(start: bytes, file_bytes: int, where: str) -> int:
    """The length that the first eight bytes of a file tell, if a file of that size can hold it."""
    length = int.from_bytes(start, "little")
    if len(start) < LENGTH_BYTES:
        raise LimiteError(
            f"{where}: expected a safetensors file, got {file_bytes} bytes, too few for a header"
        )
    if length > LARGEST_HEADER:
        raise LimiteError(
            f"{where}: expected a safetensors header of at most {LARGEST_HEADER} bytes, "
            f"got {length}{_other_format(start)}"
        )
    if length > file_bytes - LENGTH_BYTES:
        raise LimiteError(
            f"{where}: the header is cut short: expected {length} bytes, "
            f"got {file_bytes - LENGTH_BYTES}{_other_format(start)}"
        )
    return length


def parse_header(text: bytes, data_bytes: int, where: str) -> Header:
    """The header whose JSON is ``text``, before ``data_bytes`` bytes of tensors.

    A LimiteError tells all that is wrong: fields, types, shapes, and bytes that overlap, belong to
    no tensor or are not there.
    """
    try:
        if not text.startswith(b"{"):
            raise ValueError(f"expected an object, got {text[:16]!r}")
        given: dict[str, Any] = loads(text, unique=True)
    except ValueError as error:
        raise LimiteError(f"{where}: the header is not JSON: {error}") from error
    wrong: list[Mistake] = []
    metadata = given.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        why = f"expected an object of texts, got {brief(metadata)}"
        wrong.append(Mistake(why, path=METADATA, file=where))
        metadata = {}
    entries = {}
    for name, fields in given.items():
        try:
            entries[name] = _entry(fields)
        except ValueError as error:
            wrong.append(Mistake(str(error), path=shown(name), file=where))
    # Where one tensor makes no sense, what is said of its neighbours would not either.
    wrong = wrong or _misplaced(entries, data_bytes, where)
    refuse_all(wrong)
    return Header(entries=entries, metadata=metadata)


def refuse_all(wrong: list[Mistake]) -> None:
    """Raises what is wrong, if anything is; a long list is cut."""
    if wrong:
        raise SettingsError(shortened(wrong))


def shown(name: str) -> str:
    """A name from a file as a message may print it: no control characters, not too long."""
    return name if name.isprintable() and 0 < len(name) <= 200 else brief(name)


def brief(value: object) -> str:
    """A value from a file, cut to a length that a message can bear."""
    return reprlib.repr(value)


def _entry(fields: object) -> TensorEntry:
    if not isinstance(fields, dict) or set(fields) != set(FIELDS):
        got = f"fields {brief(sorted(fields))}" if isinstance(fields, dict) else brief(fields)
        raise ValueError(f"expected the fields {', '.join(FIELDS)}, got {got}")
    name, sizes, offsets = (fields[field] for field in FIELDS)
    if not isinstance(name, str) or name not in DTYPES:
        near = (
            did_you_mean(name.upper(), DTYPES) if isinstance(name, str) and len(name) < 20 else ""
        )
        raise ValueError(f"expected a dtype of {', '.join(DTYPES)}, got {brief(name)}{near}")
    dtype = DTYPES[name]
    if not isinstance(sizes, list) or not all(map(_is_size, sizes)):
        raise ValueError(f"expected a shape of whole numbers from 0, got {brief(sizes)}")
    # An empty tensor's other sizes count as well: strides are made of them.
    if (
        len(sizes) > _MOST_DIMENSIONS
        or math.prod(max(size, 1) for size in sizes) * dtype.itemsize > _LARGEST
    ):
        raise ValueError(f"the shape {brief(sizes)} is larger than a tensor can be")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise ValueError(f"expected data_offsets [begin, end], got {brief(offsets)}")
    begin, end = offsets
    expected = math.prod(sizes) * dtype.itemsize
    if end - begin != expected:
        raise ValueError(
            f"expected {expected} bytes for {name} of shape {brief(sizes)}, "
            f"got {end - begin} (data_offsets {brief(offsets)})"
        )
    return TensorEntry(dtype=dtype, shape=tuple(sizes), begin=begin, end=end)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _misplaced(entries: Mapping[str, TensorEntry], data_bytes: int, where: str) -> list[Mistake]:
    """Where the bytes of tensors overlap, leave a hole, or reach past the end of the file."""
    wrong = []
    reached, before = 0, ""
    for name in sorted(entries, key=lambda name: (entries[name].begin, entries[name].end)):
        entry = entries[name]
        span = f"bytes {entry.begin} to {entry.end}"
        if entry.end > data_bytes:
            why = f"the file is cut short: expected {span}, got {data_bytes} bytes of tensors"
            wrong.append(Mistake(why, path=shown(name), file=where))
        elif entry.begin < reached:
            why = f"its {span} overlap those of {shown(before)}, which end at {reached}"
            wrong.append(Mistake(why, path=shown(name), file=where))
        elif entry.begin > reached:
            why = f"expected it to begin at byte {reached}, got {span}: a hole before it"
            wrong.append(Mistake(why, path=shown(name), file=where))
        reached, before = max(reached, entry.end), name
    if reached < data_bytes:
        why = f"{data_bytes - reached} bytes after the last tensor belong to none"
        wrong.append(Mistake(why, file=where))
    return wrong


def _other_format(start: bytes) -> str:
    """What a file that is no safetensors file seems to be."""
    if start.startswith(b"GGUF"):
        return "; it looks like a GGUF file"
    if start.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")):
        return f"; it looks like a pickle: {NO_PICKLE}"
    if start.startswith(b"version "):
        return "; it looks like the pointer that Git LFS leaves where a file was not downloaded"
    return ""
