"""Lines of files, from any place on."""

from __future__ import annotations

import itertools
import json

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from limite.core import chunks
from limite.core.jsonl import DamagedFile, NotJSON, UnfinishedFile
from limite.core.train.data.places import Place, bytes_before, numbered_from

PACKER = zstandard.ZstdCompressor()


def packed(text: bytes, cuts: list[int]) -> bytes:
    """Frames that begin and end anywhere, in the middle of lines as well."""
    edges = [0, *sorted(min(each, len(text)) for each in cuts), len(text)]
    return b"".join(PACKER.compress(text[a:b]) for a, b in itertools.pairwise(edges))


@given(
    values=st.lists(st.one_of(st.integers(), st.text(max_size=9)), max_size=7),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    bite=st.integers(1, 20),
    blanks=st.sets(st.integers(0, 8)),
    ended=st.booleans(),
    places_tried=st.sets(st.integers(0, 7), max_size=2),
)
def test_reading_from_any_place_gives_the_rest(
    tmp_path_factory, values, cuts, bite, blanks, ended, places_tried
):
    lines = [json.dumps(each) for each in values]
    for place in blanks:
        lines.insert(place, "  ")
    text = "\n".join(lines).encode() + (b"\n" if ended else b"")
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a.jsonl").write_bytes(text)
    (folder / "a.jsonl.zst").write_bytes(packed(text, cuts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "PLAIN_BYTES", bite)
        patch.setattr(chunks, "PACKED_BYTES", bite)
        for path in sorted(folder.iterdir()):
            found = list(numbered_from(path, Place()))
            assert [value for value, _ in found] == values
            numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
            assert [place.line for _, place in found] == numbers
            for index in places_tried & set(range(len(found))):
                assert list(numbered_from(path, found[index][1])) == found[index + 1 :]


def test_a_place_in_a_packed_file_is_its_frame(tmp_path):
    """So that going on need not unpack what lies before."""
    frames = [PACKER.compress(f'"{each}"\n"{each}"\n'.encode()) for each in "abc"]
    (tmp_path / "a.jsonl.zst").write_bytes(b"".join(frames))
    found = [place for _, place in numbered_from(tmp_path / "a.jsonl.zst", Place())]
    starts = [0, len(frames[0]), len(frames[0] + frames[1])]
    assert [place.offset for place in found] == [start for start in starts for _ in range(2)]
    assert [place.skip for place in found] == [4, 8] * 3


@pytest.mark.parametrize("frames", [1, 16])
def test_how_much_lies_before_a_place_is_known_about(tmp_path, monkeypatch, frames):
    monkeypatch.setattr(chunks, "PACKED_BYTES", 16)
    text = b"".join(f'"{number * 7919 % 10007}"\n'.encode() for number in range(400))
    edges = [len(text) * each // frames for each in range(1, frames)]
    for name, content in (("a.jsonl", text), ("a.jsonl.zst", packed(text, edges))):
        path = tmp_path / name
        path.write_bytes(content)
        found = [place for _, place in numbered_from(path, Place())]
        before = [bytes_before(path, place) / len(content) for place in found]
        assert before == sorted(before)
        assert before[-1] == 1.0
        if frames > 1 or path.suffix != ".zst":
            assert abs(before[200] - 0.5) < 0.1  # a frame comes out whole


def test_lines_that_are_not_json_are_given_and_others_follow(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('1\nnope\n{"a": 1, "a": 2}\n2\n')
    found = list(numbered_from(path, Place()))
    assert [isinstance(value, NotJSON) for value, _ in found] == [False, True, True, False]
    assert [place.line for _, place in found] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "content", "kind", "told"),
    [
        ("a.jsonl", b'1\n{"a"', UnfinishedFile, "line 2 is unfinished"),
        ("a.jsonl.zst", packed(b"1\n2\n", [])[:-3], UnfinishedFile, "frame is cut short"),
        ("a.jsonl.zst", packed(b"1\n", []) + b"rubbish", DamagedFile, "after line 1: not Zstd"),
    ],
)
def test_a_damaged_file_says_how_far_it_was_read(tmp_path, name, content, kind, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(kind, match=told.replace("Zstd", "Zstandard")):
        list(numbered_from(path, Place()))
