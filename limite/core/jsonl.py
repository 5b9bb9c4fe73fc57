"""JSON in files: one way of writing it, and lines that survive a killed process.

Equal values give equal bytes: keys are sorted, nothing is padded, text is UTF-8. A file whose name
ends in ``.zst`` is a row of Zstandard frames, each with a checksum and at most ``FRAME_BYTES`` of
whole lines (or one longer line), so that a cut file loses its last frame alone.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from limite.core.chunks import chunks
from limite.core.errors import LimiteError, RunFailed, did_you_mean

FRAME_BYTES = 1 << 20
TEMPORARY = ".tmp-"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
BYTE_ORDER_MARK = "it begins with a byte-order mark; save it as UTF-8 without one"
_SURROGATE = re.compile("[\ud800-\udfff]")


class DamagedFile(LimiteError):
    """A file that cannot be read to its end; ``lines`` were read before the damage."""

    def __init__(self, message: str, lines: int) -> None:
        super().__init__(message)
        self.lines = lines


class UnfinishedFile(DamagedFile):
    """A file whose last line or last frame was cut short, as a killed process leaves it."""


class _NotPlain(Exception):
    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.path: list[str] = []


_ALIKE = frozenset({str, bool, int, type(None)})


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _ALIKE:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _non_finite(value)
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, (list, tuple)):
        kinds = set(map(type, value))
        # Long rows of numbers are the bulk of what is written; these two checks run in C.
        if kinds <= _ALIKE or (kinds == {float} and all(map(math.isfinite, value))):
            return value
        return [_within(index, item) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        plain = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _NotPlain(f"a key is {key!r} ({type(key).__name__}), and must be text")
            plain[key] = _within(key, item)
        return plain
    raise _NotPlain(f"{kind.__module__}.{kind.__qualname__} is not JSON")


def _within(place: str | int, item: Any) -> Any:
    try:
        return _plain(item)
    except _NotPlain as refused:
        refused.path.append(f"[{place}]" if isinstance(place, int) else f".{place}")
        raise


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def dumps(value: Any, *, sort_keys: bool = True) -> str:
    """``value`` as one line of JSON.

    NaN and the infinities become the strings "NaN", "Infinity", "-Infinity". A value that JSON
    does not know, or a key that is not text, is refused with its place.
    """
    try:
        plain = _plain(value)
    except _NotPlain as refused:
        place = "".join(reversed(refused.path)).lstrip(".")
        raise LimiteError(f"{place}: {refused}" if place else str(refused)) from None
    text = json.dumps(
        plain, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    # Half of a surrogate pair has no UTF-8; escaped it is still the same JSON string.
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _no_constant(name: str) -> Any:
    raise ValueError(f"bare {name} is not JSON")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:80]!r} is there twice")
            seen.add(key)
    return found


def loads(text: str | bytes, *, unique: bool = False) -> Any:
    """The value of one JSON text in UTF-8; ``ValueError`` if it is not that.

    ``unique`` refuses an object that has a key twice, of which JSON's readers take any.
    """
    if isinstance(text, bytes):
        text = text.decode()
    if text.startswith("\ufeff"):
        raise ValueError(BYTE_ORDER_MARK)
    twins = _no_twins if unique else None
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=twins)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def storage_error(error: OSError, place: Path, advice: str = "") -> LimiteError:
    """What went wrong with a file, in the user's words; ``advice`` says what they may do."""
    if error.errno in _FULL:
        return RunFailed(f"{place}: no space left to write it{f'; {advice}' if advice else ''}")
    if error.errno == errno.EISDIR and place.is_dir():
        return LimiteError(f"{place}: expected a file, and this is a folder")
    return LimiteError(f"{place}: {error.strerror or error}")


def write_all(file: int, data: bytes | memoryview) -> None:
    """Writes all of ``data``: one ``os.write`` may take only a part of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def sync_directory(path: Path) -> None:
    """Makes the names in a folder (new files, renames) outlive a power cut."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_file(path: Path) -> None:
    """Makes the disk hold what a file has been given so far."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_atomic(path: str | Path, data: bytes | str | Iterable[bytes | memoryview]) -> None:
    """Writes a whole file aside and renames it: readers see the old content or all of the new."""
    path = Path(path)
    if isinstance(data, (bytes, str)):
        data = (data.encode() if isinstance(data, str) else data,)
    temporary = path.with_name(f".{path.name}{TEMPORARY}{secrets.token_hex(4)}")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            for piece in data:
                write_all(file, piece)
                del piece  # it may be large, and the next is made while this name holds it
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)
        sync_directory(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):  # where nothing can be written, nothing is there
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage_error(error, path, "free some and try again") from error
        raise


def write_json(path: str | Path, value: Any) -> None:
    """Writes one JSON value as a whole file, atomically, in the canonical form."""
    write_atomic(path, dumps(value) + "\n")


def read_json(path: str | Path) -> Any:
    """The JSON value of a whole file."""
    path = Path(path)
    try:
        return loads(path.read_bytes())
    except OSError as error:
        raise storage_error(error, path) from error
    except ValueError as error:
        raise DamagedFile(f"{path}: not JSON: {error}", 0) from error


def _lines(values: Iterable[Any], sort_keys: bool) -> Iterator[bytes]:
    for value in values:
        yield dumps(value, sort_keys=sort_keys).encode() + b"\n"


def _bundles(lines: Iterable[bytes]) -> Iterator[bytes]:
    bundle: list[bytes] = []
    size = 0
    for line in lines:
        if bundle and size + len(line) > FRAME_BYTES:
            yield b"".join(bundle)
            bundle, size = [], 0
        bundle.append(line)
        size += len(line)
    if bundle:
        yield b"".join(bundle)


def _encoded(path: Path, lines: Iterable[bytes]) -> Iterator[bytes]:
    bundles = _bundles(lines)
    if path.suffix != ".zst":
        yield from bundles
        return
    import zstandard

    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
    for bundle in bundles:
        yield compressor.compress(bundle)


def write_jsonl(path: str | Path, values: Iterable[Any], *, sort_keys: bool = True) -> None:
    """Writes a whole ``.jsonl`` or ``.jsonl.zst`` file atomically, one line for each value."""
    path = Path(path)
    write_atomic(path, _encoded(path, _lines(values, sort_keys)))


def write_lines(path: str | Path, lines: Iterable[bytes]) -> None:
    """Like ``write_jsonl``, of lines that are JSON already, each with its end."""
    path = Path(path)
    write_atomic(path, _encoded(path, lines))


def append_jsonl(path: str | Path, values: Iterable[Any], *, sort_keys: bool = True) -> None:
    """Adds a line for each value to a ``.jsonl`` or ``.jsonl.zst`` file, made if need be.

    When it fails (a full disk, a value that is not JSON) the file is as it was before.
    """
    path = Path(path)
    _append(path, b"".join(_encoded(path, _lines(values, sort_keys))))


def append_text(path: str | Path, text: str) -> None:
    """Adds ``text`` to a file, made if need be; when that fails the file is as it was before."""
    _append(Path(path), text.encode(errors="backslashreplace"))


def _append(path: Path, data: bytes) -> None:
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(file).st_size
            if size and path.suffix == ".jsonl" and os.pread(file, 1, size - 1) != b"\n":
                raise UnfinishedFile(f"{path}: the last line is unfinished, nothing was added", 0)
            try:
                write_all(file, data)
            except OSError:
                os.ftruncate(file, size)
                raise
        finally:
            os.close(file)
    except OSError as error:
        raise storage_error(error, path, "free some and resume") from error


def _split(path: Path) -> Iterator[tuple[bytes, bool]]:
    """The lines of a file, and whether each ended in a newline."""
    pending: list[bytes] = []
    for chunk in chunks(path):
        *whole, rest = chunk.data.split(b"\n")
        for piece in whole:
            pending.append(piece)
            yield b"".join(pending), True
            pending.clear()
        if rest:
            pending.append(rest)
    if pending:
        yield b"".join(pending), False


def read_lines(path: str | Path) -> Iterator[bytes]:
    """The lines of a file as they stand in it, each with its end, of which nothing is asked.

    Raises ``UnfinishedFile`` and ``DamagedFile`` as ``read_jsonl`` does.
    """
    path = Path(path)
    count = 0
    try:
        for line, ended in _split(path):
            if not ended:
                raise EOFError("the last line is unfinished")
            yield line + b"\n"
            count += 1
    except EOFError as error:
        raise UnfinishedFile(f"{path}: {error}; {_so_far(count)}", count) from None
    except ValueError as error:
        raise DamagedFile(f"{path}: {error}; {_so_far(count)}", count) from error
    except OSError as error:
        raise _unreadable(error, path) from error


class NotJSON(ValueError):
    """A line that is no JSON value, and why."""


def read_numbered(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The values of a file that people made, with the numbers of their lines from 1.

    A line that is not JSON, or has a key twice, is given as ``NotJSON``, and reading goes on. A
    file that cannot be read to its end raises ``DamagedFile`` there, and ``UnfinishedFile`` where
    its last line or frame was cut short.
    """
    path = Path(path)
    count = 0
    try:
        for number, (line, ended) in enumerate(_split(path), start=1):
            if not line.strip():
                continue
            try:
                value = loads(line, unique=True)
            except ValueError as error:
                if not ended:
                    raise EOFError(f"line {number} is unfinished: {error}") from None
                value = NotJSON(str(error))
            yield number, value
            count += 1
    except EOFError as error:
        raise UnfinishedFile(f"{path}: {error}; {_so_far(count)}", count) from error
    except ValueError as error:
        raise DamagedFile(f"{path}: {error}; {_so_far(count)}", count) from error
    except OSError as error:
        raise _unreadable(error, path) from error


def read_jsonl(path: str | Path, *, allow_unfinished: bool = False) -> Iterator[Any]:
    """The values of a ``.jsonl`` or ``.jsonl.zst`` file, one by one.

    A last line or frame cut short raises ``UnfinishedFile`` after everything before it was given;
    ``allow_unfinished`` ends there quietly, which is right for a log that a process was killed
    over. Other damage raises ``DamagedFile``; both say how many lines were recovered.
    """
    path = Path(path)
    count = 0
    number = 0
    try:
        for number, (line, ended) in enumerate(_split(path), start=1):
            if not line.strip():
                continue
            try:
                value = loads(line)
                # A number may have lost its last digits; brackets and quotes show their own end.
                whole = ended or isinstance(value, (dict, list, str))
                reason = "cut short"
            except ValueError as error:
                value, whole, reason = None, False, str(error)
            if not whole and ended:
                raise DamagedFile(f"{path}:{number}: not JSON: {reason}; {_so_far(count)}", count)
            if not whole:
                raise EOFError(f"line {number} is unfinished")
            yield value
            count += 1
    except EOFError as error:
        if not allow_unfinished:
            raise UnfinishedFile(f"{path}: {error}; {_so_far(count)}", count) from None
    except ValueError as error:
        raise DamagedFile(f"{path}: {error}; {_so_far(count)}", count) from error
    except OSError as error:
        raise _unreadable(error, path) from error


def _unreadable(error: OSError, path: Path) -> LimiteError:
    if not isinstance(error, FileNotFoundError):
        return storage_error(error, path)
    siblings = [entry.name for entry in path.parent.glob("*.jsonl*")]
    return LimiteError(f"{path}: no such file{did_you_mean(path.name, siblings)}")


def _so_far(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'} recovered before it"
