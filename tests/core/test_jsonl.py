from __future__ import annotations

import errno
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core import jsonl
from limite.core.errors import LimiteError
from limite.core.jsonl import (
    DamagedFile,
    UnfinishedFile,
    append_jsonl,
    append_text,
    dumps,
    loads,
    read_json,
    read_jsonl,
    read_numbered,
    write_atomic,
    write_json,
    write_jsonl,
)

TEXT = st.text(st.characters(codec=None), max_size=12)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0.0, -0.0, 1e-300, 5e-324, 0.1, -88.0, 1.7976931348623157e308]),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)
SUFFIXES = pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jsonl")


def same(left: Any, right: Any) -> bool:
    """Equal in value and type, and -0.0 is not 0.0."""
    return repr(left) == repr(right)


@given(VALUES)
@example({"half": "\ud800", "\udfff": [1, -0.0], "line": "\u2028\n\x00"})
def test_what_is_written_reads_back_the_same(value: Any) -> None:
    text = dumps(value)
    assert "\n" not in text
    assert same(loads(text.encode()), loads(json.dumps(value, sort_keys=True)))
    assert dumps(loads(text)) == text


def test_the_form_is_fixed() -> None:
    assert dumps({"b": [1, 2.5, None], "a": "é²"}) == '{"a":"é²","b":[1,2.5,null]}'
    assert dumps({"b": 1, "a": 2}, sort_keys=False) == '{"b":1,"a":2}'
    assert dumps((1, (2,))) == "[1,[2]]"


def test_numbers_that_json_lacks_become_text_wherever_they_stand() -> None:
    value = {"a": math.nan, "b": [1.0, math.inf, -math.inf], "c": [math.nan, "x"]}
    assert dumps(value) == '{"a":"NaN","b":[1.0,"Infinity","-Infinity"],"c":["NaN","x"]}'
    with pytest.raises(ValueError, match="bare NaN"):
        loads(b"[NaN]")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1, 2}, r"builtins.set is not JSON"),
        ({"a": [0, {"b": b"x"}]}, r"a\[1\]\.b: builtins.bytes is not JSON"),
        ({"a": {1: 2}}, r"a: a key is 1 \(int\), and must be text"),
        ([1, 2, object()], r"\[2\]: builtins.object is not JSON"),
        ({"a": 1j}, r"a: builtins.complex is not JSON"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(LimiteError, match=message):
        dumps(value)


@SUFFIXES
@given(rows=st.lists(VALUES, max_size=8), cuts=st.lists(st.integers(0, 8), max_size=3))
def test_appending_in_parts_reads_like_writing_at_once(
    folder: Path, suffix: str, rows: list[Any], cuts: list[int]
) -> None:
    whole, parts = folder / f"whole{suffix}", folder / f"parts{suffix}"
    write_jsonl(whole, rows)
    parts.unlink(missing_ok=True)
    places = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for start, end in itertools.pairwise(places):
        append_jsonl(parts, rows[start:end])
    assert same(list(read_jsonl(parts)), list(read_jsonl(whole)))
    assert [dumps(row) for row in read_jsonl(whole)] == [dumps(row) for row in rows]
    if suffix == ".jsonl":
        assert parts.read_bytes() == whole.read_bytes()
    first = whole.read_bytes()
    write_jsonl(whole, rows)
    assert whole.read_bytes() == first


@SUFFIXES
@pytest.mark.parametrize("allow_unfinished", [False, True])
def test_a_file_cut_anywhere_gives_its_first_lines_and_says_how_many(
    tmp_path: Path, suffix: str, allow_unfinished: bool
) -> None:
    rows = [{"step": step, "text": "é" * step, "n": 12345} for step in range(5)]
    path = tmp_path / f"log{suffix}"
    ends = [0]
    for row in rows:
        append_jsonl(path, [row])
        ends.append(path.stat().st_size)
    data = path.read_bytes()
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        got, error = drain(read_jsonl(path, allow_unfinished=allow_unfinished))
        assert got == rows[: len(got)]
        whole = sum(end <= cut for end in ends) - 1
        # A line that lacks nothing but its newline is whole.
        assert len(got) in (whole, whole + 1)
        if error is None:
            assert allow_unfinished or cut in ends or cut + 1 in ends
        else:
            assert not allow_unfinished
            assert cut not in ends
            assert isinstance(error, UnfinishedFile)
            assert error.lines == len(got)
            assert str(path) in str(error)


def drain(rows: Iterable[Any]) -> tuple[list[Any], DamagedFile | None]:
    got = []
    try:
        for row in rows:
            got.append(row)
    except DamagedFile as error:
        return got, error
    return got, None


@given(st.data())
def test_a_flipped_bit_in_a_packed_file_never_changes_a_value(
    folder: Path, data: st.DataObject
) -> None:
    path = folder / "flipped.jsonl.zst"
    rows = [{"step": step, "loss": 1 / (step + 1)} for step in range(20)]
    write_jsonl(path, rows)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) * 8 - 1))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)
    got, error = drain(read_jsonl(path))
    # One bit of a frame's head means nothing to any reader.
    assert (error is not None and path.name in str(error)) or got == rows


def test_damage_in_the_middle_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a":1}\n\n{"a":\n{"a":2}\n')
    with pytest.raises(DamagedFile, match=r"log\.jsonl:3: not JSON.*; 1 line recovered") as caught:
        list(read_jsonl(path, allow_unfinished=True))
    assert not isinstance(caught.value, UnfinishedFile)
    path.write_bytes(b'{"a":1}\n\xff\n')
    with pytest.raises(DamagedFile, match=r"log\.jsonl:2: not JSON"):
        list(read_jsonl(path))


def test_a_byte_order_mark_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\n{"a":2}\n')
    (first, problem), (second, value) = read_numbered(path)
    assert (first, second, value) == (1, 2, {"a": 2})
    assert str(problem) == "it begins with a byte-order mark; save it as UTF-8 without one"
    with pytest.raises(DamagedFile, match="byte-order mark"):
        list(read_jsonl(path))


def test_a_last_number_without_its_newline_is_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"12\n34")
    with pytest.raises(UnfinishedFile, match="line 2 is unfinished"):
        list(read_jsonl(path))
    path.write_bytes(b'12\n{"a":34}')
    assert list(read_jsonl(path)) == [12, {"a": 34}]


def test_nothing_is_added_behind_an_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a":1}\n{"a"')
    with pytest.raises(UnfinishedFile, match="nothing was added"):
        append_jsonl(path, [{"a": 2}])
    assert path.read_bytes() == b'{"a":1}\n{"a"'


def test_frames_are_bounded_and_hold_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "FRAME_BYTES", 100)
    rows = [{"text": "x" * length} for length in (10, 30, 30, 200, 5, 80)]
    path = tmp_path / "rows.jsonl.zst"
    write_jsonl(path, rows)
    data = path.read_bytes()
    sizes = []
    while data:
        frame = zstandard.get_frame_parameters(data)
        assert frame.has_checksum
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        content = decompressor.decompress(data)
        assert content.endswith(b"\n")
        assert len(content) == frame.content_size
        sizes.append(len(content))
        data = decompressor.unused_data
    assert len(sizes) == 5
    assert all(size <= 100 or size == 200 + len('{"text":""}\n') for size in sizes)
    assert list(read_jsonl(path)) == rows


def test_frames_of_other_programs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl.zst"
    text = b"".join(b'{"n":%d}\n' % number for number in range(30_000))
    packer = zstandard.ZstdCompressor(write_checksum=False, write_content_size=False)
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    # A line may go on in the next frame.
    path.write_bytes(packer.compress(text[:5001]) + skippable + packer.compress(text[5001:]))
    assert list(read_jsonl(path)) == [{"n": number} for number in range(30_000)]


def test_a_file_that_is_not_packed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl.zst"
    path.write_bytes(b'{"a":1}\n')
    with pytest.raises(DamagedFile, match="not Zstandard"):
        list(read_jsonl(path))


def test_a_missing_file_offers_the_nearest(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "metrics.jsonl", [])
    with pytest.raises(LimiteError, match=r"no such file; did you mean 'metrics\.jsonl'\?"):
        list(read_jsonl(tmp_path / "metrisc.jsonl"))


@pytest.mark.parametrize("fault", ["write", "fsync", "replace", "open"])
def test_a_whole_file_is_replaced_or_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    path = tmp_path / "receipt.json"
    write_json(path, {"a": 1})

    def full(*arguments: Any, **more: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, fault, full)
        with pytest.raises(LimiteError, match=r"receipt\.json: no space left"):
            write_json(path, {"a": 2})
    assert read_json(path) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["receipt.json"]
    write_json(path, {"a": 3})
    assert path.read_text() == '{"a":3}\n'


def test_a_whole_file_may_be_interrupted(tmp_path: Path) -> None:
    def pieces() -> Any:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a", pieces())
    assert list(tmp_path.iterdir()) == []


@SUFFIXES
@pytest.mark.parametrize("taken", [0, 1, 5])
def test_an_append_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, taken: int
) -> None:
    path = tmp_path / f"log{suffix}"
    append_jsonl(path, [{"a": 1}])
    before = path.read_bytes()
    really: Callable[..., int] = os.write
    left = taken

    def almost_full(file: int, data: Any) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = really(file, data[:left])
        left -= count
        return count

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", almost_full)
        with pytest.raises(LimiteError, match="no space left to write it"):
            append_jsonl(path, [{"a": 2}])
    assert path.read_bytes() == before
    append_jsonl(path, [{"a": 3}])
    assert list(read_jsonl(path)) == [{"a": 1}, {"a": 3}]


def test_a_value_that_is_refused_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with pytest.raises(LimiteError, match=r"b: builtins\.set"):
        append_jsonl(path, [{"a": 1}, {"b": {1}}])
    assert not path.exists()


def test_text_of_any_kind_can_be_logged(tmp_path: Path) -> None:
    append_text(tmp_path / "log.txt", "no newline")
    append_text(tmp_path / "log.txt", ", \ud800\n")
    assert (tmp_path / "log.txt").read_text() == "no newline, \\ud800\n"


def test_a_whole_json_file_that_is_damaged_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    for content in (b"", b"{", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(DamagedFile, match=r"state\.json: not JSON"):
            read_json(path)
    with pytest.raises(LimiteError, match=r"absent\.json: No such file"):
        read_json(tmp_path / "absent.json")


def test_where_nothing_can_be_written_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any, **_named: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        patch.setattr(Path, "unlink", refuse)  # it refuses even to remove what is not there
        with pytest.raises(LimiteError, match="Read-only file system"):
            jsonl.write_atomic(tmp_path / "a.json", "{}")
