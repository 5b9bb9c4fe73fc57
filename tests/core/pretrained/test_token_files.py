from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limite.core.errors import LimiteError, SettingsError
from limite.core.pretrained.token_files import (
    TokenFiles,
    copy_tokenizer_files,
    tokenizer_files,
    tokenizer_hashes,
)
from tests.core.pretrained.words import CHATML, CONFIG, END, START, STOP, write_words


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return write_words(tmp_path / "words", template=CHATML)


def changed(directory: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """The directory, once ``change`` was made to what its ``tokenizer.json`` says."""
    path = directory / "tokenizer.json"
    data = json.loads(path.read_bytes())
    change(data)
    path.write_text(json.dumps(data))
    return directory


def said(directory: Path) -> list[str]:
    """Every mistake that reading a directory tells, each less the directory's name."""
    with pytest.raises(SettingsError) as caught:
        TokenFiles.read(directory)
    return [str(each).removeprefix(f"{directory}/") for each in caught.value.mistakes]


def test_the_files_are_read(words: Path) -> None:
    files = TokenFiles.read(words)
    assert dict(files.named) == {"eos_token": STOP, "pad_token": END}
    assert files.templates == {"default": CHATML}
    assert set(files.added) == {END, START, STOP, "<think>", "</think>"}
    assert files.source == (words / "tokenizer.json").read_bytes()


def test_templates_in_files_stand_in_place_of_the_settings(tmp_path: Path) -> None:
    both = {"chat_template": "of the settings"}
    alone = write_words(tmp_path / "alone", config=both)
    assert TokenFiles.read(alone).templates == {"default": "of the settings"}
    filed = write_words(tmp_path / "filed", config=both, template="of\r\nthe file")
    assert TokenFiles.read(filed).templates == {"default": "of\nthe file"}
    (filed / "additional_chat_templates").mkdir()
    (filed / "additional_chat_templates" / "tool_use.jinja").write_text("t")
    assert TokenFiles.read(filed).templates == {"default": "of\nthe file", "tool_use": "t"}
    listed = [{"name": "default", "template": "d"}, {"name": "rag", "template": "r"}]
    several = write_words(tmp_path / "several", config={"chat_template": listed})
    assert TokenFiles.read(several).templates == {"default": "d", "rag": "r"}


def test_older_files_name_special_and_added_tokens(words: Path) -> None:
    (words / "special_tokens_map.json").write_text(
        json.dumps({"bos_token": {"content": START, "lstrip": False}, "eos_token": END})
    )
    (words / "added_tokens.json").write_text(json.dumps({"<new>": 365, END: 360}))
    files = TokenFiles.read(words)
    assert files.named == {"eos_token": END, "pad_token": END, "bos_token": START}
    assert [(token.content, token.id) for token in files.declared] == [(END, 360), ("<new>", 365)]
    assert [token.flags["special"] for token in files.declared] == [True, False]


def test_newer_settings_leave_the_older_files_aside(tmp_path: Path) -> None:
    words = write_words(tmp_path, config={**CONFIG, "added_tokens_decoder": {}})
    (words / "special_tokens_map.json").write_text(json.dumps({"eos_token": START}))
    (words / "added_tokens.json").write_text(json.dumps({"<new>": 365}))
    assert TokenFiles.read(words).named["eos_token"] == STOP
    assert TokenFiles.read(words).declared == ()


@pytest.mark.parametrize(
    ("change", "mistakes"),
    [
        (
            lambda data: data["model"]["vocab"].update({"one": 7, "two": 7, "three": -1}),
            ["model.vocab: expected token ids, got 'three': -1", "model.vocab: gives id 7 to "],
        ),
        (
            lambda data: data["model"]["vocab"].update(
                {str(i): "no" for i in range(1000)} | {f"{i}!": True for i in range(3)}
            ),
            ["model.vocab: expected token ids, got "] * 8,
        ),
        (
            lambda data: data["added_tokens"].extend(
                [
                    {"id": 360, "content": "<other>"},
                    {"id": 900, "content": "<think>"},
                    {"id": 3, "content": "<low>"},
                    {"id": "4", "content": "<text>"},
                    "<bare>",
                ]
            ),
            [
                f"added_tokens[5]: gives id 360 to '<other>'; it is '{END}' already",
                "added_tokens[6]: gives '<think>' id 900; it has 363 already",
                "added_tokens[7]: gives id 3 to '<low>'; it is '$' already",
                "added_tokens[8]: expected a token with content and id",
                "added_tokens[9]: expected a token with content and id",
            ],
        ),
        (lambda data: data.update(model=[]), ["model.vocab: expected the tokens"]),
        (lambda data: data["model"].update(vocab=None), ["model.vocab: expected the tokens"]),
        (
            lambda data: data.update(model={"vocab": [["a", 0.0], ["a", 0.0]]}, added_tokens=[]),
            ["model.vocab: holds 'a' more than once"],
        ),
        (
            lambda data: data.update(model={"vocab": [[], 3]}, added_tokens=[]),
            ["model.vocab: expected pairs of a piece and its score"],
        ),
        (lambda data: data.update(added_tokens={"a": 1}), ["added_tokens: expected a list"]),
    ],
)
def test_a_vocabulary_at_odds_with_itself_is_refused(
    words: Path, change: Callable[[dict[str, Any]], Any], mistakes: list[str]
) -> None:
    told = said(changed(words, change))
    assert len(told) == len(mistakes)
    for message, expected in zip(told, mistakes, strict=True):
        assert message.startswith(f"tokenizer.json: {expected}")


def test_settings_at_odds_with_the_vocabulary_are_refused_all_at_once(tmp_path: Path) -> None:
    config = {
        "eos_token": "<|eot|>",
        "pad_token": 7,
        "bos_token": {"content": ""},
        "image_token": "<image>",
        "extra_special_tokens": [END, "<nowhere>", 5],
        "chat_template": [{"name": "default"}],
        "added_tokens_decoder": {
            "900": {"content": "<think>"},
            "361": {"content": "<start>"},
            "x": {"content": "<x>"},
            "-1": {"content": "<y>"},
            "366": "",
        },
    }
    told = said(write_words(tmp_path, config=config))
    assert sorted(message.removeprefix("tokenizer_config.json: ") for message in told) == [
        "added_tokens_decoder.-1: expected an id and a token with content",
        "added_tokens_decoder.366: expected an id and a token with content",
        "added_tokens_decoder.x: expected an id and a token with content",
        "added_tokens_decoder: gives '<think>' id 900; in tokenizer.json it has 363",
        f"added_tokens_decoder: gives id 361 to '<start>'; tokenizer.json to '{START}'",
        "bos_token: expected a token, got {'content': ''}",
        "chat_template: expected a template, or templates each with a name of its own",
        "eos_token: names '<|eot|>', which is no token of tokenizer.json",
        "extra_special_tokens: expected tokens, got 5",
        "extra_special_tokens: names '<nowhere>', which is no token of tokenizer.json",
        "image_token: names '<image>', which is no token of tokenizer.json",
        "pad_token: expected a token, got 7",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.", "not JSON"),
        (b"PK\x03\x04", "not JSON"),
        (b"[]", "expected a JSON object, got list"),
        (b'{"model": {"vocab": {"a": 0, "a": 1}}}', "the key 'a' is there twice"),
        (b'{"a":' * 50_000, "nested too deeply"),
    ],
)
def test_what_is_no_tokenizer_is_refused(words: Path, data: bytes, message: str) -> None:
    (words / "tokenizer.json").write_bytes(data)
    (told,) = said(words)
    assert told.startswith("tokenizer.json: ")
    assert message in told


def test_a_file_cut_short_anywhere_is_refused(words: Path) -> None:
    whole = (words / "tokenizer.json").read_bytes()
    for kept in range(0, len(whole) - 1, len(whole) // 23):
        (words / "tokenizer.json").write_bytes(whole[:kept])
        assert "not JSON" in said(words)[0]


def test_mistakes_of_several_files_are_told_together(words: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "added_tokens.json"):
        (words / name).write_bytes(b"{")
    assert [each.partition(":")[0] for each in said(words)] == [
        "tokenizer.json",
        "tokenizer_config.json",
        "added_tokens.json",
    ]


def test_a_huge_file_is_not_read(words: Path) -> None:
    with (words / "tokenizer_config.json").open("wb") as file:
        file.truncate(1 << 30)
    assert "larger than" in said(words)[0]


def test_a_template_that_is_no_text_is_refused(words: Path) -> None:
    (words / "chat_template.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(LimiteError, match=r"chat_template\.jinja: not UTF-8"):
        TokenFiles.read(words)


def test_files_are_copied_byte_for_byte(words: Path, tmp_path: Path) -> None:
    (words / "additional_chat_templates").mkdir()
    (words / "additional_chat_templates" / "rag.jinja").write_bytes(b"r\r\n")
    (words / "config.json").write_text("{}")
    (words / "tokenizer_config.json").write_bytes(b' {"a": 1}\r\n')
    (words / "merges.txt").symlink_to(words / "config.json")
    (tmp_path / "out").mkdir()
    names = copy_tokenizer_files(words, tmp_path / "out")
    assert names == (
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "merges.txt",
        "additional_chat_templates/rag.jinja",
    )
    assert names == tokenizer_files(tmp_path / "out")
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (words / name).read_bytes()
    assert not (tmp_path / "out" / "config.json").exists()
    assert tokenizer_hashes(words) == tokenizer_hashes(tmp_path / "out")
    expected = hashlib.sha256((words / "tokenizer.json").read_bytes()).hexdigest()
    assert tokenizer_hashes(words)["tokenizer.json"] == expected


def test_a_file_that_is_there_is_not_written_over(words: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "chat_template.jinja").write_text("mine")
    with pytest.raises(LimiteError, match=r"holds chat_template\.jinja already"):
        copy_tokenizer_files(words, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["chat_template.jinja"]
    assert (tmp_path / "out" / "chat_template.jinja").read_text() == "mine"
