from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from limite.core.errors import LimiteError, SettingsError
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.types import Answer, Problem
from tests.core.pretrained.chat_templates import TEMPLATES
from tests.core.pretrained.words import (
    CHATML,
    CONFIG,
    END,
    SPECIALS,
    START,
    STOP,
    TEXTS,
    THOUGHT,
    byte_level,
    cut_and_filled,
    pieces,
    words_only,
    write_words,
)

TEXT = st.lists(
    st.text(max_size=12)
    | st.sampled_from([*TEXTS, *SPECIALS, *THOUGHT, "e\u0301", "\u212b", "  \n\n ", "\x00", "'LL"]),
    max_size=6,
).map("".join)


def problem(text: str) -> Problem:
    return Problem(problem=text, answer=Answer(type="integer", value="0"))


def declared(**more: Any) -> dict[str, Any]:
    """Settings that list the added tokens themselves, as those of published models do."""
    tokens = byte_level().get_added_tokens_decoder()
    decoder = {
        str(i): {
            "content": token.content,
            "lstrip": token.lstrip,
            "normalized": token.normalized,
            "rstrip": token.rstrip,
            "single_word": token.single_word,
            "special": token.special,
        }
        for i, token in tokens.items()
    }
    return {**CONFIG, "added_tokens_decoder": decoder, **more}


def marked(flag: str, of: str) -> dict[str, Any]:
    config = declared()
    for token in config["added_tokens_decoder"].values():
        token[flag] ^= token["content"] == of
    return config


MAKERS: dict[str, tuple[Callable[[], Tokenizer], dict[str, Any]]] = {
    "bytes": (byte_level, dict(CONFIG)),
    "bytes, declared": (byte_level, declared()),
    "bytes, begin": (lambda: byte_level(begin=END), {**CONFIG, "bos_token": END}),
    "bytes, cut and filled": (cut_and_filled, dict(CONFIG)),
    "bytes, one token more in the settings": (
        lambda: byte_level(others=["<think>"]),
        declared(extra_special_tokens=[START]),
    ),
    "bytes, a special token of the vocabulary": (byte_level, {**CONFIG, "eos_token": "er"}),
    "bytes, a thought that is special": (byte_level, marked("special", "<think>")),
    "bytes, a token that takes the space before it": (byte_level, marked("lstrip", "<think>")),
    "bytes, special tokens are text": (byte_level, {**CONFIG, "split_special_tokens": True}),
    "bytes, a name of its own": (byte_level, {**CONFIG, "image_token": START}),
    "pieces": (pieces, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}),
    "words only": (words_only, {"eos_token": "</s>", "unk_token": "<unk>"}),
}


@pytest.fixture(scope="module", params=MAKERS)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[PretrainedTokenizer, Any]:
    """A tokenizer, as limite and as transformers read it."""
    maker, config = MAKERS[request.param]
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
    directory = write_words(tmp_path_factory.mktemp("words"), maker(), config=config)
    theirs = AutoTokenizer.from_pretrained(str(directory), local_files_only=True)
    return PretrainedTokenizer(path=str(directory)), theirs


@given(text=TEXT)
def test_ids_and_texts_are_those_of_transformers(
    pair: tuple[PretrainedTokenizer, Any], text: str
) -> None:
    ours, theirs = pair
    ids = ours.encode(text)
    assert list(ids) == theirs(text, add_special_tokens=False)["input_ids"]
    assert ours.encode_batch([text, "", text]) == [ids, (), ids]
    assert ours.decode(ids) == theirs.decode(list(ids), skip_special_tokens=True)
    assert ours.decode(ids, specials=True) == theirs.decode(list(ids))


@given(data=st.data())
def test_any_ids_are_decoded_as_transformers_decodes_them(
    pair: tuple[PretrainedTokenizer, Any], data: st.DataObject
) -> None:
    ours, theirs = pair
    ids = data.draw(st.lists(st.integers(0, ours.vocabulary - 1), max_size=20))
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_sizes_and_special_ids_are_those_of_transformers(
    pair: tuple[PretrainedTokenizer, Any],
) -> None:
    ours, theirs = pair
    assert ours.vocabulary == max(theirs.get_vocab().values()) + 1
    assert (ours.bos_id, ours.end_id) == (theirs.bos_token_id, theirs.eos_token_id)
    assert dict(ours.files.named) == theirs.special_tokens_map
    assert ours.begin == tuple(theirs("", add_special_tokens=True)["input_ids"])


@pytest.mark.parametrize("name", ["chatml", "thinking kept for the last turn"])
@given(text=TEXT, system=st.none() | TEXT)
def test_prompts_are_those_of_transformers(
    tmp_path_factory: pytest.TempPathFactory, name: str, text: str, system: str | None
) -> None:
    directory = tmp_path_factory.getbasetemp() / name
    if not directory.exists():
        write_words(directory, byte_level(begin=END), template=TEMPLATES[name])
    ours = PretrainedTokenizer(path=str(directory), system=system)
    theirs = AutoTokenizer.from_pretrained(str(directory), local_files_only=True)
    messages = [{"role": "user", "content": text}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    chat = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert ours.render_prompt(problem(text)) == tuple(chat)


@given(TEXT)
def test_a_text_comes_back(text: str) -> None:
    import unicodedata

    directory = Path(shared())
    tokenizer = PretrainedTokenizer(path=str(directory))
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids, specials=True) == unicodedata.normalize("NFC", text)
    for special in SPECIALS:
        text = text.replace(special, "")
    assert "<think>" not in text or "<think>" in tokenizer.decode(ids)


@given(TEXT)
def test_settled_text_only_grows(text: str) -> None:
    tokenizer = PretrainedTokenizer(path=shared())
    ids = tokenizer.encode(text)
    whole = tokenizer.decode(ids)
    settled = [tokenizer.decode_settled(ids[:count]) for count in range(len(ids) + 1)]
    for before, after in zip(settled, [*settled[1:], whole], strict=True):
        assert after.startswith(before)


_SHARED: list[str] = []


def shared() -> str:
    """One directory for all examples of a test."""
    return _SHARED[0]


@pytest.fixture(scope="module", autouse=True)
def _shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    _SHARED[:] = [str(write_words(tmp_path_factory.mktemp("shared")))]


def test_a_base_model_reads_on(tmp_path: Path) -> None:
    plain = PretrainedTokenizer(path=str(write_words(tmp_path / "plain")))
    assert plain.render_prompt(problem("1+1")) == plain.encode("1+1\n")
    config = {**CONFIG, "bos_token": END}
    asked = write_words(tmp_path / "asked", byte_level(begin=END), config=config, template=CHATML)
    begun = PretrainedTokenizer(path=str(asked), chat=False)
    assert begun.render_prompt(problem("1+1")) == (begun.bos_id, *begun.encode("1+1\n"))
    told = attrs.evolve(begun, system="Add.")
    assert told.render_prompt(problem("1+1")) == (begun.bos_id, *begun.encode("Add.\n1+1\n"))
    by_settings = write_words(tmp_path / "by", config={**config, "add_bos_token": True})
    assert PretrainedTokenizer(path=str(by_settings)).begin == (begun.bos_id,)
    against = write_words(
        tmp_path / "no", byte_level(begin=END), config={**config, "add_bos_token": False}
    )
    assert PretrainedTokenizer(path=str(against)).begin == ()


def test_ends_follow_the_generation_config_alone(tmp_path: Path) -> None:
    first, _, third = range(256, 259)
    only = PretrainedTokenizer(path=str(write_words(tmp_path / "only")))
    first, third = only._id_of[END], only._id_of[STOP]
    assert only.eos_ids == (third,)
    assert "the tokenizer's" in only.notes[0]
    listed = write_words(tmp_path / "listed", generation={"eos_token_id": first})
    (listed / "config.json").write_text(json.dumps({"eos_token_id": third}))
    tokenizer = PretrainedTokenizer(path=str(listed))
    assert tokenizer.eos_ids == (first,)
    assert tokenizer.eos_id == first
    assert len(tokenizer.notes) == 2
    several = write_words(tmp_path / "several", generation={"eos_token_id": [third, first, 9999]})
    tokenizer = PretrainedTokenizer(path=str(several))
    assert tokenizer.eos_ids == (third, first, 9999)
    assert tokenizer.notes == (f"end id 9999 is outside the vocabulary of {tokenizer.vocabulary}",)
    silent = write_words(tmp_path / "silent", config={})
    with pytest.raises(LimiteError, match="names an end token"):
        _ = PretrainedTokenizer(path=str(silent)).eos_id


def test_padding_has_an_id_even_where_none_is_named(tmp_path: Path) -> None:
    by_name = PretrainedTokenizer(path=str(write_words(tmp_path / "a")))
    assert by_name.decode([by_name.pad_id], specials=True) == END
    said = write_words(tmp_path / "b", config={}, generation={"pad_token_id": 5})
    assert PretrainedTokenizer(path=str(said)).pad_id == 5
    ended = write_words(tmp_path / "c", config={}, generation={"eos_token_id": [7, 8]})
    assert PretrainedTokenizer(path=str(ended)).pad_id == 7
    assert PretrainedTokenizer(path=str(write_words(tmp_path / "d", config={}))).pad_id == 0


@pytest.mark.parametrize("beyond", [-1, 100_000, 2**40])
def test_an_id_outside_the_vocabulary_is_refused(beyond: int) -> None:
    with pytest.raises(LimiteError, match=f"token id {beyond} is outside the vocabulary of"):
        PretrainedTokenizer(path=shared()).decode([3, beyond])


def test_what_cannot_be_encoded_is_named(tmp_path: Path) -> None:
    everything = PretrainedTokenizer(path=shared())
    assert everything.lacking(["é数\x00 \n", "e\u0301\U0001f600"]) == []
    assert everything.lacking(["a\ud800b"]) == ["\ud800"]
    with pytest.raises(LimiteError, match="surrogate"):
        everything.encode("a\ud800b")
    with pytest.raises(LimiteError, match="surrogate"):
        everything.encode_batch(["a", "a\ud800b"])
    fallen = write_words(tmp_path / "pieces", pieces(), config={"unk_token": "<unk>"})
    assert PretrainedTokenizer(path=str(fallen)).lacking(["aλ 数\n"]) == []
    narrow = write_words(tmp_path / "words", words_only(), config={"unk_token": "<unk>"})
    assert PretrainedTokenizer(path=str(narrow)).lacking(["the λ, the \U0001f600"]) == [
        "λ",
        "\U0001f600",
    ]


def test_ids_that_are_no_token_are_noted_and_leave_no_text(tmp_path: Path) -> None:
    data = json.loads(byte_level(specials=(), others=()).to_str())
    last = max(data["model"]["vocab"], key=data["model"]["vocab"].__getitem__)
    data["model"]["vocab"][last] += 40
    write_words(tmp_path, config={})
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    tokenizer = PretrainedTokenizer(path=str(tmp_path))
    far = data["model"]["vocab"][last]
    assert tokenizer.vocabulary == far + 1
    assert tokenizer.decode([far - 1, far]) == tokenizer.decode([far]) != ""
    assert f"40 of {far + 1} ids are no token; they are never sampled" in tokenizer.notes


def test_added_tokens_that_would_get_other_ids_are_refused(tmp_path: Path) -> None:
    data = json.loads(byte_level().to_str())
    for place in (-1, -2):
        data["added_tokens"][place]["id"] += 40
    write_words(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(SettingsError, match=r"'</think>' id 404; counted .* it has 364") as caught:
        PretrainedTokenizer(path=str(tmp_path)).encode("a")
    assert len(caught.value.mistakes) == 2


def test_settings_are_plain_data_and_compare(tmp_path: Path) -> None:
    one = PretrainedTokenizer(path=shared(), options={"enable_thinking": False})
    one.encode("read")
    assert attrs.evolve(one) == one
    assert hash(attrs.evolve(one)) == hash(one)
    assert attrs.evolve(one, system="Think.") != one
    assert PretrainedTokenizer(**attrs.asdict(one)) == one
    again = write_words(tmp_path / "again")
    assert PretrainedTokenizer(path=str(again)).hashes == one.hashes
    assert one.hashes["tokenizer.json"] == one.sha256
    (again / "chat_template.jinja").write_text(CHATML)
    other = PretrainedTokenizer(path=str(again))
    assert other.sha256 == one.sha256
    assert other.hashes != one.hashes
    with pytest.raises(ValueError, match="must be a date like"):
        PretrainedTokenizer(path="x", today="31.1.2026")


def test_options_and_the_date_reach_the_template(tmp_path: Path) -> None:
    template = "{{ strftime_now('%Y-%m-%d') }} {{ enable_thinking }} {{ messages[0].content }}"
    path = str(write_words(tmp_path, template=template))
    tokenizer = PretrainedTokenizer(
        path=path, today="2026-01-31", options={"enable_thinking": False}
    )
    assert tokenizer.render_chat([{"content": "1+1"}]) == "2026-01-31 False 1+1"
    with pytest.raises(LimiteError, match="asks for today's date"):
        attrs.evolve(tokenizer, today=None).render_prompt(problem("1+1"))
    with pytest.raises(LimiteError, match="has no chat template"):
        attrs.evolve(tokenizer, chat=False).render_chat([{"content": "1+1"}])
    with pytest.raises(LimiteError, match="no chat template 'defualt'; did you mean 'default'"):
        attrs.evolve(tokenizer, template="defualt").render_prompt(problem("1+1"))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        ("normalizer", {"type": "Nothing"}),
        ("model", {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}),
        ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}),
    ],
)
def test_a_file_that_the_package_refuses_is_refused_by_name(
    tmp_path: Path, part: str, value: Any
) -> None:
    data = {**json.loads(byte_level().to_str()), part: value, "added_tokens": []}
    write_words(tmp_path, config={})
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(LimiteError, match=r"tokenizer\.json: "):
        PretrainedTokenizer(path=str(tmp_path)).encode("a")


def test_a_declared_token_that_would_get_another_id_is_refused(tmp_path: Path) -> None:
    config = declared()
    config["added_tokens_decoder"]["900"] = {"content": "<far>"}
    write_words(tmp_path, config=config)
    with pytest.raises(LimiteError, match=r"_config.json: .*'<far>' id 900; .* it has 365"):
        PretrainedTokenizer(path=str(tmp_path)).encode("a")


def test_a_directory_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LimiteError, match=r"holds no tokenizer\.json"):
        PretrainedTokenizer(path=str(tmp_path)).encode("a")
    (tmp_path / "tokenizer.json").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(SettingsError, match="not JSON"):
        PretrainedTokenizer(path=str(tmp_path)).encode("a")


def test_importing_it_needs_no_package_of_the_extra() -> None:
    code = (
        "import sys, limite.core.pretrained.tokenizer as t\n"
        "late = ('torch', 'numpy', 'tokenizers', 'jinja2')\n"
        "print([name for name in late if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(LimiteError, match=r"pip install 'limite\[hf\]'"):
        PretrainedTokenizer(path=shared()).encode("a")
