"""A character tokenizer as files: the same ids elsewhere, and refusals where there are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.pretrained.character_files import character_files
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.tokenizer import ALPHABET, SPECIALS, CharacterTokenizer
from limite.core.types import Answer, Problem

# Letters that combine, pairs that others join or change, and what specials are spelled of.
ODD = "\n\r\t <>|padbosen\u0301é\u00a0\u200d\U0001f600ﬁ\x00\\\"'数\ue000"
ALPHABETS = {"default": ALPHABET, "odd": ODD, "one": "\n"}

Trio = tuple[CharacterTokenizer, PretrainedTokenizer, Any]


def written(directory: Path, alphabet: str) -> Trio:
    ours = CharacterTokenizer(alphabet=alphabet)
    directory.mkdir(parents=True)
    for name, content in character_files(ours, 128).items():
        (directory / name).write_bytes(content)
    return (
        ours,
        PretrainedTokenizer(path=str(directory)),
        transformers.AutoTokenizer.from_pretrained(directory),
    )


@pytest.fixture(scope="module")
def trios(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trio]:
    root = tmp_path_factory.mktemp("alphabets")
    return {name: written(root / name, alphabet) for name, alphabet in ALPHABETS.items()}


@pytest.mark.parametrize("name", ALPHABETS)
def test_the_ids_are_the_same_and_come_back_as_the_text(trios: dict[str, Trio], name: str) -> None:
    ours, read, theirs = trios[name]
    assert read.vocabulary == ours.vocabulary == len(theirs)

    @settings(max_examples=60)
    @given(text=st.text(alphabet=ours.alphabet, max_size=60))
    @example(text=ours.alphabet)
    @example(text="")
    def same(text: str) -> None:
        ids = ours.encode(text)
        assert read.encode(text) == ids
        assert theirs.encode(text, add_special_tokens=False) == list(ids)
        assert read.decode(ids) == text
        assert theirs.decode(list(ids), skip_special_tokens=True) == text
        padded = [ours.pad_id, ours.bos_id, *ids, ours.eos_id]
        assert read.decode(padded) == ours.decode(padded) == text
        assert theirs.decode(padded, skip_special_tokens=True) == text

    same()


@pytest.mark.parametrize("name", ALPHABETS)
def test_a_question_is_put_the_same_way(trios: dict[str, Trio], name: str) -> None:
    ours, read, theirs = trios[name]
    text = ours.alphabet.replace("\n", "") or "\n"
    problem = Problem(problem=text, answer=Answer(type="integer", value="0"))
    prompt = ours.render_prompt(problem)
    assert read.render_prompt(problem) == prompt
    assert theirs(text + "\n")["input_ids"] == list(prompt)
    assert read.chat_template is None


@pytest.mark.parametrize("name", ALPHABETS)
def test_special_ids_are_the_same(trios: dict[str, Trio], name: str) -> None:
    ours, read, theirs = trios[name]
    assert (read.pad_id, read.bos_id, read.eos_ids) == (0, 1, (2,))
    assert (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id) == (0, 1, 2)
    assert theirs.unk_token is None
    assert (read.end_id, read.notes) == (ours.eos_id, ())


def test_specials_are_spelled_so_that_no_text_is_taken_for_one(trios: dict[str, Trio]) -> None:
    _, read, _ = trios["default"]
    assert read.files.named == dict(
        zip(("pad_token", "bos_token", "eos_token"), SPECIALS, strict=True)
    )
    ours, read, theirs = trios["odd"]
    assert set("".join(SPECIALS)) <= set(ours.alphabet)
    for name in SPECIALS:
        assert read.encode(name) == ours.encode(name) == tuple(theirs(name).input_ids[1:])
    assert all(set(name) - set(ours.alphabet) for name in read.files.named.values())


@pytest.mark.parametrize("text", ["1+Σ", "Σ", "A", "\t", "12 \u0301"])
def test_another_character_is_refused_not_replaced(trios: dict[str, Trio], text: str) -> None:
    ours, read, theirs = trios["default"]
    with pytest.raises(LimiteError, match="no "):
        ours.encode(text)
    lacking = ours.lacking([text])
    assert read.lacking([text]) == lacking
    for refused in (lambda: read.encode(text), lambda: read.encode_batch(["1", text])):
        with pytest.raises(LimiteError) as caught:
            refused()
        assert str(caught.value) == f"{read.path}: the tokenizer has no {lacking[0]!r}"
    with pytest.raises(Exception, match="Missing \\[UNK\\] token"):
        theirs.encode(text)


def test_what_no_file_can_hold_is_refused() -> None:
    with pytest.raises(LimiteError, match=r"'\\ud800', half of a surrogate pair"):
        character_files(CharacterTokenizer(alphabet="\n\ud800"), 8)


def test_the_files_say_how_long_a_text_may_be() -> None:
    files = character_files(CharacterTokenizer(), 64)
    assert json.loads(files["tokenizer_config.json"])["model_max_length"] == 64
    assert json.loads(files["generation_config.json"]) == {
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
