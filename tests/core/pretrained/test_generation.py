from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import SettingsError
from limite.core.pretrained.generation import GENERATION_FILE, Generation

IDS = st.integers(0, 200_000)
FILE = {
    "bos_token_id": 151643,
    "do_sample": True,
    "eos_token_id": 151643,
    "pad_token_id": 151643,
    "temperature": 0.6,
    "top_p": 0.95,
    "transformers_version": "4.51.0",
    "a_key_of_tomorrow": {"deep": [1, 2]},
}


def parsed(data: Any) -> Generation:
    return Generation.parse(json.dumps(data).encode())


def test_a_file_is_read() -> None:
    generation = parsed(FILE)
    assert generation.eos_ids == (151643,)
    assert (generation.bos_id, generation.pad_id) == (151643, 151643)
    assert (generation.temperature, generation.top_p, generation.top_k) == (0.6, 0.95, None)


@given(st.lists(IDS, min_size=1, max_size=5), IDS, st.one_of(st.none(), IDS))
def test_ends_are_what_the_file_lists_and_never_a_union(
    listed: list[int], config: int, tokenizer: int | None
) -> None:
    generation = parsed({"eos_token_id": listed})
    assert set(generation.end_ids(tokenizer)) == set(listed)
    assert len(generation.end_ids(tokenizer)) == len(set(listed))
    notes = generation.notes({"eos_token_id": config}, tokenizer)
    assert any(f"config.json names end ids {config}" in note for note in notes) == (
        {config} != set(listed)
    )
    assert any("the tokenizer's end token is" in note for note in notes) == (
        tokenizer is not None and tokenizer not in listed
    )


@pytest.mark.parametrize("data", [{}, {"eos_token_id": None}, {"eos_token_id": []}])
@given(end=IDS)
def test_where_it_lists_none_the_tokenizers_end_counts(data: dict[str, Any], end: int) -> None:
    generation = parsed(data)
    assert generation.end_ids(end) == (end,)
    assert generation.end_ids(None) == ()
    assert f"the tokenizer's, {end}, counts" in generation.notes({}, end)[0]
    assert "no end token" in generation.notes({"eos_token_id": 3}, None)[0]


def test_agreement_leaves_no_note() -> None:
    assert parsed(FILE).notes({"eos_token_id": 151643}, 151643) == ()


def test_it_is_written_back_byte_for_byte(tmp_path: Path) -> None:
    source = json.dumps(FILE, indent=4).encode() + b"  \n\n"
    (tmp_path / GENERATION_FILE).write_bytes(source)
    generation = Generation.read(tmp_path)
    (tmp_path / "out").mkdir()
    generation.write(tmp_path / "out")
    assert (tmp_path / "out" / GENERATION_FILE).read_bytes() == source


@given(IDS, st.floats(0.1, 2.0))
def test_a_change_touches_its_own_keys_alone(end: int, temperature: float) -> None:
    changed = attrs.evolve(
        parsed(FILE), eos_ids=(end, end + 1), temperature=temperature, top_p=None
    )
    data = json.loads(changed.text())
    expected = {**FILE, "eos_token_id": [end, end + 1], "temperature": temperature}
    del expected["top_p"]
    assert data == expected
    assert list(data) == [key for key in FILE if key != "top_p"]
    again = Generation.parse(changed.text())
    assert attrs.evolve(again, source=None) == attrs.evolve(changed, source=None)


def test_a_directory_without_one_says_nothing_and_gets_none(tmp_path: Path) -> None:
    generation = Generation.read(tmp_path)
    assert generation == Generation()
    generation.write(tmp_path)
    assert list(tmp_path.iterdir()) == []
    attrs.evolve(generation, eos_ids=(7,)).write(tmp_path)
    assert json.loads((tmp_path / GENERATION_FILE).read_bytes()) == {"eos_token_id": 7}


def test_every_mistake_is_told_at_once() -> None:
    wrong = {
        "eos_token_id": [5, "</s>"],
        "bos_token_id": -1,
        "pad_token_id": True,
        "temperature": "0.6",
        "top_p": 1.5,
        "top_k": 2.5,
        "do_sample": 1,
    }
    with pytest.raises(SettingsError) as caught:
        Generation.parse(json.dumps(wrong).encode(), "m/generation_config.json")
    said = {mistake.path: str(mistake) for mistake in caught.value.mistakes}
    assert set(said) == set(wrong)
    assert said["eos_token_id"].endswith("expected a token id or a list of them, got '</s>'")
    assert said["top_p"].startswith(
        "m/generation_config.json: top_p: expected a number from 0 to 1"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"\x80\x04K\x01.", "not JSON"),
        (b"[1]", "expected a JSON object, got list"),
        (b'{"temperature": NaN}', "bare NaN"),
        (b'{"eos_token_id": 1, "eos_token_id": 2}', "'eos_token_id' is there twice"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / GENERATION_FILE).write_bytes(data)
    with pytest.raises(SettingsError, match=message):
        Generation.read(tmp_path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / GENERATION_FILE).open("wb") as file:
        file.truncate(1 << 25)
    with pytest.raises(SettingsError, match="larger than"):
        Generation.read(tmp_path)
