"""Lines of a file one by one, each with the place behind it, at which reading can begin again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from limite.core import chunks
from limite.core.jsonl import DamagedFile, NotJSON, UnfinishedFile, loads, storage_error


@attrs.frozen
class Place:
    """Where reading goes on.

    Of a plain file ``offset`` is the next byte. Of a packed one a frame begins at ``offset``, and
    ``skip`` bytes that are unpacked from there have been read. Of columns ``offset`` is a batch of
    rows and ``skip`` a row in it. ``line`` counts what was read.
    """

    offset: int = 0
    skip: int = 0
    line: int = 0


def numbered_from(path: Path, place: Place) -> Iterator[tuple[Any, Place]]:
    """The JSON values of a ``.jsonl`` or ``.jsonl.zst`` file, each with the place behind its line.

    ``place.line`` is then the number of that line, from 1. A line that is not JSON, or has a key
    twice, is given as ``NotJSON``. A file that cannot be read to its end raises ``DamagedFile``.
    """
    line = place.line
    try:
        for text, ended, offset, skip in _lines(path, place):
            line += 1
            if not text.strip():
                continue
            try:
                value = loads(text, unique=True)
            except ValueError as error:
                if not ended:
                    raise EOFError(f"line {line} is unfinished: {error}") from None
                value = NotJSON(str(error))
            yield value, Place(offset, skip, line)
    except EOFError as error:
        raise UnfinishedFile(f"{path}: {error}", line) from error
    except ValueError as error:
        raise DamagedFile(f"{path}: after line {line}: {error}", line) from error
    except OSError as error:
        raise storage_error(error, path) from error


def bytes_before(path: Path, place: Place) -> int:
    """How many bytes of the file lie before a place, about: what was unpacked is packed again by
    reading it once more."""
    if path.suffix != ".zst":
        return place.offset
    import zstandard

    decompressor = zstandard.ZstdDecompressor().decompressobj()
    with path.open("rb", buffering=0) as file:
        behind, made = file.seek(place.offset), 0
        while (
            made < place.skip and not decompressor.eof and (block := file.read(chunks.PACKED_BYTES))
        ):
            made += len(decompressor.decompress(block))
            behind += len(block) - len(decompressor.unused_data)
    return behind


def _lines(path: Path, place: Place) -> Iterator[tuple[bytes, bool, int, int]]:
    """Lines, whether each ended in a newline, and the place behind each."""
    packed = path.suffix == ".zst"
    pending: list[bytes] = []
    offset, skip = place.offset, place.skip
    for chunk in chunks.chunks(path, offset=place.offset, skip=place.skip):
        begin = 0
        while (end := chunk.data.find(b"\n", begin)) >= 0:
            pending.append(chunk.data[begin:end])
            begin = end + 1
            behind = (chunk.offset, chunk.skip + begin) if packed else (chunk.offset + begin, 0)
            yield b"".join(pending), True, *behind
            pending.clear()
        pending.append(chunk.data[begin:])
        read = len(chunk.data)
        offset, skip = (chunk.offset, chunk.skip + read) if packed else (chunk.offset + read, 0)
    if rest := b"".join(pending):
        yield rest, False, offset, skip
