"""The bytes of a plain or packed file, a bite at a time, each with the place where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PLAIN_BYTES = 1 << 18
# Zstandard packs repetitive text more than a thousandfold: a small bite keeps its yield small.
PACKED_BYTES = 1 << 13


class Chunk(NamedTuple):
    """Bytes of a text. Of a plain file ``offset`` is the first of them, and ``skip`` is 0; of a
    packed one a frame begins at ``offset``, and ``skip`` bytes that it unpacks to stand before."""

    offset: int
    skip: int
    data: bytes


def chunks(path: Path, *, offset: int = 0, skip: int = 0) -> Iterator[Chunk]:
    """What a file holds, unpacked where its name ends in ``.zst``.

    Reading begins at ``offset``, where a packed file has a frame, and leaves out ``skip`` bytes of
    that. A ValueError says that the file is not packed, EOFError that its last frame is cut.
    """
    return (_unpacked if path.suffix == ".zst" else _plain)(path, offset, skip)


def _plain(path: Path, offset: int, skip: int) -> Iterator[Chunk]:
    with path.open("rb", buffering=0) as file:
        begin = file.seek(offset + skip)
        while data := file.read(PLAIN_BYTES):
            yield Chunk(begin, 0, data)
            begin += len(data)


def _unpacked(path: Path, offset: int, skip: int) -> Iterator[Chunk]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    with path.open("rb", buffering=0) as file:
        begin = file.seek(offset)  # of the frame
        behind, left = begin, skip  # read of the file; to be left out of the frame
        frame, made = None, 0
        try:
            while block := file.read(PACKED_BYTES):
                behind += len(block)
                while block:
                    frame = frame or decompressor.decompressobj()
                    data = frame.decompress(block)
                    before, made = made, made + len(data)
                    if made > left:
                        cut = max(left - before, 0)
                        yield Chunk(begin, before + cut, data[cut:])
                    block = frame.unused_data if frame.eof else b""
                    if frame.eof:
                        begin, frame, made, left = behind - len(block), None, 0, 0
        except zstandard.ZstdError as error:
            raise ValueError(f"not Zstandard: {error}") from error
        if frame is not None:
            raise EOFError("the last Zstandard frame is cut short")
