"""A model's directory with one damaged file: refused in words that name it, or read as it is."""

from __future__ import annotations

import copy
import functools
import json
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.errors import LimiteError
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.directory import ModelDirectory, file_name
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.settings import at
from limite.core.types import Answer, Problem
from tests.core.pretrained.words import CHATML, CONFIG, byte_level

FIRST = "model-00001-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
JSON = ("config.json", INDEX, "generation_config.json", "tokenizer_config.json", "tokenizer.json")
OTHERS = (FIRST, "chat_template.jinja")
QUESTION = Problem(problem="17 + 4 = ?", answer=Answer(type="integer", value="21"))


@functools.cache
def sound() -> dict[str, bytes]:
    """The files of a small model in two shards, with all that a tokenizer may have beside it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        spec = LlamaSpec(
            vocabulary=384, width=8, layers=1, heads=2, kv_heads=1, head_width=4, mlp_width=12
        )
        save_pretrained(build_decoder(spec, 1), folder, shard_bytes=384 * 8 * 4)
        found = {file.name: file.read_bytes() for file in folder.iterdir()}
    said = {"eos_token_id": [0, 2], "temperature": 0.6, "top_p": 0.95, "do_sample": True}
    return found | {
        "generation_config.json": json.dumps(said).encode(),
        "tokenizer.json": byte_level().to_str().encode(),
        "tokenizer_config.json": json.dumps(dict(CONFIG)).encode(),
        "chat_template.jinja": CHATML.encode(),
    }


def edited(content: bytes, data: st.DataObject) -> bytes:
    """A few bytes changed, lost, added or moved, or the file cut short."""
    for _ in range(data.draw(st.integers(1, 3), "edits")):
        kind = data.draw(st.sampled_from(["flip", "cut", "add", "drop", "swap"]), "kind")
        # Half of them at the start, where headers say what the rest is.
        reach = data.draw(st.sampled_from([min(64, len(content)), len(content)]), "reach")
        at = data.draw(st.integers(0, max(reach - 1, 0)), "at")
        size = data.draw(st.integers(1, 40), "size")
        if kind == "flip" and content:
            content = content[:at] + bytes([content[at] ^ size]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "add":
            content = content[:at] + data.draw(st.binary(max_size=8), "more") + content[at:]
        elif kind == "drop":
            content = content[:at] + content[at + size :]
        else:
            content = content[:at] + content[at + size :] + content[at : at + size]
    return content


VALUES = st.one_of(
    st.sampled_from(
        [None, True, False, -1, 0, 1, 2, 7, 2**31, 2**70, -0.5, 1e300, "", "x", [], {}]
    ),
    st.sampled_from(["../x.safetensors", FIRST, "\ud800", "<|endoftext|>", "a" * 3000, [[]], [0]]),
    st.recursive(st.none() | st.integers(-3, 400), lambda x: st.lists(x, max_size=3), max_leaves=4),
)


def rewritten(content: bytes, data: st.DataObject) -> bytes:
    """Still JSON, with something in it replaced, removed or added."""
    value = json.loads(content)
    for _ in range(data.draw(st.integers(1, 2), "edits")):
        inside: Any = value
        while True:
            places: list[Any] = list(inside) if isinstance(inside, dict) else [*range(len(inside))]
            if not places:
                break
            key = places[data.draw(st.integers(0, len(places) - 1), "place")]
            deeper = isinstance(inside[key], dict | list) and data.draw(st.booleans(), "deeper")
            if not deeper:
                if data.draw(st.booleans(), "remove"):
                    del inside[key]
                else:
                    # A copy: it may be changed in its turn.
                    inside[key] = copy.deepcopy(data.draw(VALUES, "value"))
                break
            inside = inside[key]
        if isinstance(inside, dict) and data.draw(st.booleans(), "add"):
            inside[data.draw(st.sampled_from(["x", "rope_scaling", "model_type"]))] = data.draw(
                VALUES
            )
    return json.dumps(value).encode()


def check(name: str, content: bytes) -> None:
    """Looks at the model with ``content`` for one of its files, in every way there is."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        folder.mkdir()
        given = sound() | {name: content}
        for file, what in given.items():
            (folder / file).write_bytes(what)
        wrong = look_at_weights(folder)
        wrong += look_at_words(folder)
        for message in wrong:
            assert str(folder) in message
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == given


def look_at_weights(folder: Path) -> list[str]:
    model = at(folder)
    told = [str(mistake) for mistake in model.mistakes()]
    try:
        decoder = ModelDirectory.open(folder).load("float32")
    except LimiteError as error:
        assert str(error).splitlines() == "\n".join(told).splitlines()  # noqa: PT017
        return told
    assert told == []
    stored: dict[str, Tensor] = {}
    for file in folder.glob("*.safetensors"):
        stored |= safetensors.torch.load_file(file)
    for parameter, value in decoder.named_parameters():
        expected = stored[file_name(parameter)].float()
        assert torch.equal(value.view(torch.int32), expected.view(torch.int32))
    return []


def look_at_words(folder: Path) -> list[str]:
    tokenizer = at(folder).default_tokenizer()
    told = [str(mistake) for mistake in tokenizer.mistakes()]
    if told:
        return told
    try:
        ids = tokenizer.render_prompt(QUESTION)
        assert all(0 <= each < tokenizer.vocabulary for each in ids)
        assert isinstance(tokenizer.decode(ids), str)
        assert tokenizer.eos_ids
        assert tokenizer.pad_id >= 0
    except LimiteError as error:
        return [str(error)]
    return []


def test_as_it_was_it_loads() -> None:
    check("config.json", sound()["config.json"])
    with tempfile.TemporaryDirectory() as place:
        for file, what in sound().items():
            (Path(place) / file).write_bytes(what)
        assert look_at_weights(Path(place)) == look_at_words(Path(place)) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_hidden_layers", 40),
        ("vocab_size", 1 << 24),
        ("intermediate_size", 10**6),
        ("max_position_embeddings", 1 << 24),
    ],
)
def test_sizes_that_no_file_of_weights_has_take_no_memory(field: str, value: int) -> None:
    config = json.loads(sound()["config.json"])
    assert field in config
    usage = resource.getrusage(resource.RUSAGE_SELF)
    check("config.json", json.dumps(config | {field: value, "hidden_size": 8}).encode())
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - usage.ru_maxrss < 300_000  # KiB; a table of that size takes more


WAYS: list[tuple[str, Callable[[bytes, st.DataObject], bytes]]] = [
    *((name, edited) for name in (*JSON, *OTHERS)),
    *((name, rewritten) for name in JSON),
]


@pytest.mark.parametrize(("name", "change"), WAYS)
@given(data=st.data())
def test_a_damaged_file_is_refused_in_words_or_read_as_it_is(
    name: str, change: Callable[[bytes, st.DataObject], bytes], data: st.DataObject
) -> None:
    check(name, change(sound()[name], data))


@pytest.mark.parametrize("name", sorted(sound()))
def test_a_file_that_is_empty_or_gone_or_a_folder(name: str) -> None:
    check(name, b"")
    check(name, b"\0" * 4096)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for file, what in sound().items():
            (folder / file).write_bytes(what)
        (folder / name).unlink()
        for message in look_at_weights(folder) + look_at_words(folder):
            assert place in message
        (folder / name).mkdir()
        for message in look_at_weights(folder) + look_at_words(folder):
            assert place in message
