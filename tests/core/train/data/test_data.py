"""Files of texts: records and their mistakes, prompts, pairs as ids, columns on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from limite.core.errors import LimiteError, Mistake
from limite.core.jsonl import DamagedFile, NotJSON, read_numbered, write_jsonl
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.data.counts import Counts
from limite.core.train.data.packed import ColumnWriter, Ragged, read_column
from limite.core.train.data.pairs import PairIds, ended, fitted, pair_ids, pair_of
from limite.core.train.data.prompts import prompt_of
from limite.core.train.data.records import read_records

TOKENIZER = CharacterTokenizer()


@attrs.frozen(kw_only=True, slots=False)
class Chatty(CharacterTokenizer):
    """Writes turns as ``role:content;``, and takes ``|`` for its end token."""

    @property
    def eos_ids(self) -> tuple[int, ...]:
        return (2, *self.encode("|"))

    def render_turns(self, turns: Any) -> tuple[int, ...]:
        return self.encode("".join(f"{turn['role']}=={turn['content']};" for turn in turns))


def test_lines_are_numbered_and_reading_goes_on_after_a_bad_one(tmp_path: Path) -> None:
    place = tmp_path / "a.jsonl"
    place.write_bytes(b'{"a": 1}\n\n{"a": \n\xff\n{"b": 1, "b": 2}\n{"a": NaN}\n3')
    found = list(read_numbered(place))
    assert [number for number, _ in found] == [1, 3, 4, 5, 6, 7]
    assert [isinstance(value, NotJSON) for _, value in found] == [False, True, True, True, True, 0]
    assert found[0][1] == {"a": 1}
    assert found[-1][1] == 3
    with pytest.raises(LimiteError, match=r"no such file; did you mean 'a\.jsonl'"):
        list(read_numbered(tmp_path / "b.jsonl"))
    cut = tmp_path / "c.jsonl.zst"
    write_jsonl(cut, [{"a": "b" * 99}])
    cut.write_bytes(cut.read_bytes()[:-3])
    with pytest.raises(DamagedFile, match="cut short"):
        list(read_numbered(cut))


def test_a_record_is_a_value_or_a_mistake_with_its_line(tmp_path: Path) -> None:
    place = tmp_path / "a.jsonl.zst"
    write_jsonl(place, [{"prompt": "a", "chosen": "b", "rejected": "c"}, {"prompt": 3}, None])
    (_, first), (_, second), (_, third) = read_records(place, pair_of)
    assert not isinstance(first, Mistake)
    assert (first.prompt.said, first.chosen, first.rejected) == ("a", "b", "c")
    assert str(second) == f"{place}:2: prompt: expected text, got the number 3"
    assert str(third) == f"{place}:3: expected an object, got null"


def test_both_sides_share_their_prompt_and_end_once() -> None:
    pair = pair_of({"prompt": "1+1=?", "chosen": "2", "rejected": "3|", "note": "any"})
    plain = pair_ids(pair, TOKENIZER)
    assert TOKENIZER.decode(plain.prompt) == "1+1=?\n"
    assert list(plain.chosen) == [*TOKENIZER.encode("2"), 2]
    assert list(plain.rejected) == [*TOKENIZER.encode("3|"), 2]
    brought = pair_ids(pair, Chatty())
    assert list(brought.rejected) == [*TOKENIZER.encode("3|")]
    assert list(brought.chosen) == [*TOKENIZER.encode("2"), 2]
    with pytest.raises(ValueError, match="chosen: an end token stands in the middle, as token 2"):
        ended("chosen", "1|2", Chatty())


def test_turns_are_written_by_the_chat_template_as_they_stand() -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    asked = {"prompt": [*turns, {"role": "user", "content": "c"}]}
    prompt = prompt_of(asked)
    assert Chatty().decode(prompt.ids(Chatty())) == "user==a;assistant==b;user==c;"
    assert prompt.asked == ("a", "c")
    assert len(prompt.hashes) == 2
    with pytest.raises(LimiteError, match="no chat template"):
        prompt.ids(TOKENIZER)
    with pytest.raises(ValueError, match="the last turn is the assistant's"):
        prompt_of({"prompt": turns})
    with pytest.raises(ValueError, match=r"prompt\[0\]: lacks the key 'content'"):
        prompt_of({"prompt": [{"role": "user"}]})
    with pytest.raises(ValueError, match="no turn of the role 'user'"):
        prompt_of({"prompt": [{"role": "system", "content": "a"}]})


def test_a_prompt_is_on_one_side_whatever_else_stands_beside_it() -> None:
    texts = [f"{number}+1=?" for number in range(400)]
    apart = {text for text in texts if prompt_of({"prompt": text}).held_out(0.25)}
    assert 60 < len(apart) < 140
    assert not any(prompt_of({"prompt": text}).held_out(0.0) for text in texts)
    more = {text for text in texts if prompt_of({"prompt": text}).held_out(0.5)}
    assert apart < more
    spaced = {text for text in texts if prompt_of({"prompt": f" {text} "}).held_out(0.25)}
    assert spaced == apart


ids = st.lists(st.integers(3, 6), min_size=1, max_size=6)


@given(prompt=ids, chosen=ids, rejected=ids, limit=st.integers(2, 14))
def test_what_is_kept_begins_what_was_there_and_fits(
    prompt: list[int], chosen: list[int], rejected: list[int], limit: int
) -> None:
    counts = Counts()
    whole = PairIds(prompt=prompt, chosen=chosen, rejected=rejected)
    kept = fitted(whole, limit, counts)
    room = limit - len(prompt)
    alike = chosen[: max(room, 0)] == rejected[: max(room, 0)]
    assert (kept is None) == (room < 1 or alike) == bool(counts.dropped)
    if kept is None:
        return
    assert kept.prompt == prompt
    assert (kept.chosen, kept.rejected) == (chosen[:room], rejected[:room])
    assert kept.longest <= limit
    assert bool(counts.cut) == (whole.longest > limit)


@given(
    rows=st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), max_size=5),
    dtype=st.sampled_from([torch.int32, torch.int64, torch.float32]),
)
def test_columns_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], dtype: torch.dtype
) -> None:
    place = tmp_path_factory.mktemp("column") / "values.safetensors"
    with ColumnWriter(place, dtype) as column:
        for row in rows:
            column.add(row)
    found = read_column(place)
    flat = torch.tensor([value for row in rows for value in row]).to(dtype)
    assert found.tolist() == flat.tolist()
    # Anyone can read it.
    assert load_file(place)["values"].tolist() == flat.tolist()
    ends = np.cumsum([len(row) for row in rows])
    ragged = Ragged(found, ends)
    assert [ragged[index].tolist() for index in range(len(ragged))] == [
        torch.tensor(row).to(dtype).tolist() for row in rows
    ]
    wide = Ragged(np.repeat(found, 2), ends, width=2)
    assert [len(wide[index]) for index in range(len(wide))] == [len(row) for row in rows]


def test_a_column_that_was_not_finished_is_no_column(tmp_path: Path) -> None:
    place = tmp_path / "values"
    column = ColumnWriter(place, torch.int32)
    column.add([1, 2, 3])
    column.__exit__(KeyError, KeyError(), None)
    with pytest.raises(LimiteError):
        read_column(place)
    with pytest.raises(LimiteError, match="File exists"):
        ColumnWriter(place, torch.int32)
    with pytest.raises(LimiteError, match="No such file"):
        read_column(tmp_path / "other")
