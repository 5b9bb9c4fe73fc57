"""The stream of tokens that pretraining reads, held against documents laid end to end."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.jsonl import write_json, write_jsonl
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.data.places import Place
from limite.core.train.data.token_documents import document_of, documents_from
from limite.core.train.data.token_files import bound_files, text_files
from limite.core.train.data.token_stream import TokenSource, TokenStream

TOKENIZER = CharacterTokenizer()
END = TOKENIZER.eos_id


def nothing(_document: Any) -> bool:
    """Leaves no document out."""
    return False


def source_of(
    said: Path, *, buffer: int = 1, seed: int = 1, leave_out: Any = nothing
) -> TokenSource:
    return TokenSource(
        str(said), TOKENIZER, Seeds(seed), shuffle_documents=buffer, leave_out=leave_out
    )


def write_ids(path: Path, documents: list[list[int]]) -> Path:
    write_jsonl(path, [{"ids": ids} for ids in documents])
    return path


# Documents differ in their second id, so that each is known by it.
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=7)


def numbered(lengths: list[int]) -> list[list[int]]:
    return [[3, 10 + number, *range(20, 20 + length)] for number, length in enumerate(lengths)]


@given(lengths=LENGTHS, takes=st.lists(st.integers(1, 25), max_size=6), longest=st.integers(1, 8))
def test_unshuffled_pieces_are_the_documents_end_to_end(tmp_path_factory, lengths, takes, longest):
    documents = numbered(lengths)
    path = write_ids(tmp_path_factory.mktemp("texts") / "a.jsonl", documents)
    stream = TokenStream([source_of(path)], [1.0], longest=longest)
    taken = [stream.take(each) for each in takes]
    targets = itertools.cycle([each for ids in documents for each in [*ids[1:], END]])
    before = itertools.cycle([each for ids in documents for each in ids])
    for pieces, count in zip(taken, takes, strict=True):
        assert sum(len(piece) - 1 for piece in pieces) == count
        for piece in pieces:
            assert 2 <= len(piece) <= longest + 1
            assert piece[1:].tolist() == [next(targets) for _ in piece[1:]]
            assert piece[:-1].tolist() == [next(before) for _ in piece[:-1]]


@given(lengths=LENGTHS, buffer=st.integers(1, 9), seed=st.integers(0, 5))
def test_every_pass_has_every_document_once(tmp_path_factory, lengths, buffer, seed):
    documents = [[*ids, END] for ids in numbered(lengths)]
    folder = tmp_path_factory.mktemp("texts")
    write_ids(folder / "a.jsonl", documents[::2])
    write_ids(folder / "b.jsonl.zst", documents[1::2])
    source = source_of(folder, buffer=buffer, seed=seed)
    for number in range(3):
        drawn = [source.draw().tolist() for _ in documents]
        assert sorted(drawn) == sorted(documents)
        assert source.cursor.passes == number
        assert len(source.buffer) == 0


@given(
    lengths=LENGTHS,
    buffer=st.integers(1, 5),
    before=st.integers(0, 60),
    packed=st.booleans(),
)
def test_going_on_is_never_having_stopped(tmp_path_factory, lengths, buffer, before, packed):
    folder = tmp_path_factory.mktemp("texts")
    first = write_ids(folder / f"a.jsonl{'.zst' if packed else ''}", numbered(lengths))
    second = write_ids(folder / "b.jsonl", [[4, 5, 6], [7, 8]])

    def stream() -> TokenStream:
        sources = [source_of(first, buffer=buffer), source_of(second, buffer=2)]
        return TokenStream(sources, [2.0, 1.0], longest=5)

    whole, stopped, again = stream(), stream(), stream()
    for each in (whole, stopped):
        if before:
            each.take(before)
    again.restore(json.loads(json.dumps(stopped.state())), stopped.kept())
    assert again.state() == stopped.state()
    for _ in range(4):
        ours, theirs = again.take(11), whole.take(11)
        assert [piece.tolist() for piece in ours] == [piece.tolist() for piece in theirs]
    assert all(
        np.array_equal(ours.numpy(), theirs.numpy())
        for ours, theirs in zip(again.kept().values(), whole.kept().values(), strict=True)
    )


def test_a_buffer_shuffles_by_the_seed(tmp_path):
    path = write_ids(tmp_path / "a.jsonl", numbered([1] * 40))

    def order(buffer: int, seed: int) -> list[int]:
        source = source_of(path, buffer=buffer, seed=seed)
        return [int(source.draw()[1]) - 10 for _ in range(40)]

    assert order(1, 1) == list(range(40))
    assert order(8, 1) == order(8, 1) != order(8, 2)
    # A document is drawn once it is in the buffer, and no earlier.
    assert all(place >= number - 7 for place, number in enumerate(order(8, 1)))
    assert sum(abs(a - b) for a, b in enumerate(order(40, 1))) > 200
    source = source_of(path, buffer=40)
    passes = [[int(source.draw()[1]) for _ in range(40)] for _ in range(2)]
    assert passes[0] != passes[1]


def test_sources_give_by_their_weights(tmp_path):
    paths = [
        write_ids(tmp_path / f"{number}.jsonl", [[3, number, *[9] * length]])
        for number, length in enumerate((5, 2, 11))
    ]
    stream = TokenStream([source_of(path) for path in paths], [5.0, 3.0, 2.0], longest=8)
    stream.take(10_000)
    for targets, weight in zip(stream.given, (5, 3, 2), strict=True):
        assert abs(targets - 1_000 * weight) < 40  # a few documents
    assert [source.cursor.passes > 10 for source in stream.sources] == [True] * 3


def test_texts_begin_and_end(tmp_path):
    assert document_of({"text": "a1"}, TOKENIZER).ids.tolist() == [
        TOKENIZER.bos_id,
        *TOKENIZER.encode("a1"),
        END,
    ]
    assert document_of({"ids": [5, 6, END], "text": "x"}, TOKENIZER).ids.tolist() == [5, 6, END]
    assert document_of({"input_ids": [5], "ids": None}, TOKENIZER).ids.tolist() == [5, END]
    assert document_of({"ids": [*TOKENIZER.encode("ab")]}, TOKENIZER).said(TOKENIZER) == "ab"


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"txt": "a"}, "lacks the key 'text'; did you mean"),
        ({"text": ""}, "text: the text is empty"),
        ({"text": 3}, "text: expected text, got the number 3"),
        ({"text": "É"}, "the tokenizer's alphabet has no 'É'"),
        ({"ids": [1, 400]}, "ids: the id 400 is outside the vocabulary of"),
        ({"ids": [1, "2"]}, "ids: expected a list of token ids"),
        ({"input_ids": []}, "input_ids: expected a list of token ids"),
        ({"ids": [END]}, "ids: has nothing but an end token"),
        ([1], "expected an object with 'text' or 'ids'"),
    ],
)
def test_mistakes_are_told_by_their_line(tmp_path, record, told):
    write_jsonl(tmp_path / "a.jsonl", [{"text": "fine"}, record])
    _, (mistake, place) = documents_from(tmp_path / "a.jsonl", Place(), TOKENIZER)
    assert isinstance(mistake, Mistake)
    assert (mistake.line, place.line) == (2, 2)
    assert told in str(mistake)
    with pytest.raises(SettingsError, match=r"a\.jsonl:2: "):
        TokenStream([source_of(tmp_path / "a.jsonl")], [1.0], longest=4).take(99)


def test_what_must_not_be_trained_on_is_left_out_and_counted(tmp_path):
    path = write_ids(tmp_path / "a.jsonl", numbered([1, 2, 3]))
    source = source_of(path, leave_out=lambda document: document.ids[1] == 11)
    assert [int(source.draw()[1]) for _ in range(4)] == [10, 12, 10, 12]
    assert source.cursor.left_out == 2
    with pytest.raises(LimiteError, match="no document of it can be trained on"):
        source_of(path, leave_out=lambda _: True).draw()


def test_folders_and_what_is_none(tmp_path):
    with pytest.raises(LimiteError, match="there is no file or folder"):
        text_files(str(tmp_path / "none.jsonl"))
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(LimiteError, match=r"ends in \.jsonl"):
        text_files(str(tmp_path / "a.txt"))
    with pytest.raises(LimiteError, match="holds no file"):
        text_files(str(tmp_path))
    write_ids(tmp_path / "train.jsonl", [[3]])
    with pytest.raises(LimiteError, match=r"did you mean 'train\.jsonl'"):
        text_files(str(tmp_path / "trian.jsonl"))
    write_ids(tmp_path / "a.jsonl.zst", [[3]])
    assert [each.name for each in text_files(str(tmp_path))] == ["a.jsonl.zst", "train.jsonl"]
    assert bound_files("nowhere.jsonl") == ["nowhere.jsonl"]


def save_arrow(folder: Path, files: list[list[dict[str, Any]]]) -> None:
    """As ``Dataset.save_to_disk`` leaves it; batches of two rows."""
    folder.mkdir()
    names = [f"data-{number:05d}-of-{len(files):05d}.arrow" for number in range(len(files))]
    write_json(folder / "state.json", {"_data_files": [{"filename": name} for name in names]})
    arrow = importlib.import_module("pyarrow")
    for name, rows in zip(names, files, strict=True):
        table = arrow.Table.from_pylist(rows)
        with (
            arrow.OSFile(str(folder / name), "wb") as sink,
            arrow.ipc.new_stream(sink, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=2)


def test_a_saved_data_set_is_what_its_lines_are(tmp_path):
    rows = [{"text": f"text {number}", "url": "u"} for number in range(7)]
    folder = tmp_path / "saved"
    if importlib.util.find_spec("pyarrow") is None:
        (tmp_path / "a.arrow").write_bytes(b"")
        with pytest.raises(LimiteError, match=r"pip install 'limite\[data\]'"):
            list(documents_from(tmp_path / "a.arrow", Place(), TOKENIZER))
        return
    save_arrow(folder, [rows[:5], rows[5:]])
    write_jsonl(tmp_path / "a.jsonl", rows)
    ours, theirs = source_of(folder), source_of(tmp_path / "a.jsonl")
    drawn = [ours.draw().tolist() for _ in range(9)]
    assert drawn == [theirs.draw().tolist() for _ in range(9)]
    for count in range(9):
        first, second = source_of(folder), source_of(folder)
        for _ in range(count):
            first.draw()
        second.restore(first.state(), first.buffer)
        assert [second.draw().tolist() for _ in range(9 - count)] == drawn[count:]
    assert bound_files(str(folder))[0].endswith("state.json")
    write_json(tmp_path / "dataset_dict.json", {"splits": ["saved"]})
    with pytest.raises(LimiteError, match="holds splits of a data set, and one is needed: saved"):
        text_files(str(tmp_path))
    (folder / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(LimiteError, match="lists data-00001-of-00002"):
        text_files(str(folder))
    (folder / "data-00000-of-00002.arrow").write_bytes(b"rubbish, and no columns")
    with pytest.raises(LimiteError, match="not a readable Arrow file"):
        list(documents_from(folder / "data-00000-of-00002.arrow", Place(), TOKENIZER))
