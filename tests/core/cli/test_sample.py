"""``limite sample``: what it reads, what it prints, and how it refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import torch

from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.engine import start
from tests.core.pretrained.words import CHATML, write_words
from tests.tiny_recipe import head, llama, taught

SPEC = LlamaSpec(
    width=16, layers=1, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=64,
    vocabulary=370,
)  # fmt: skip
QUESTION = "2+2=?"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a run that began with it, and a run that reads characters."""
    folder = tmp_path_factory.mktemp("sample")
    save_pretrained(build_decoder(SPEC.filled(), 1), folder / "model")
    write_words(folder / "model", generation={"eos_token_id": 0}, template=CHATML)
    for name, model in (("words", f'model = "{folder / "model"}"\n'), ("letters", llama())):
        (folder / f"{name}.toml").write_text(head(name, model) + taught("linear-equation"))
        start(folder / f"{name}.toml", out=folder / "runs", name=name, echo=lambda _line: None)
    return folder


@pytest.fixture(autouse=True)
def there(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)


@pytest.fixture
def page(limite):
    """What ``--json`` prints."""

    def ask(*arguments: str):
        ended = limite("sample", *arguments, "--json")
        assert (ended.code, ended.err) == (0, "")
        return json.loads(ended.out)

    return ask


def likeliest(prompt: tuple[int, ...], count: int, end: int = 0) -> list[int]:
    """The likeliest tokens, without a cache: the whole row is read again for each."""
    decoder = ModelDirectory.open("model").load("float32")
    known = PretrainedTokenizer(path="model").vocabulary
    row = list(prompt)
    for _ in range(count):
        with torch.no_grad():
            hidden = decoder(torch.tensor(row), Layout.from_lengths([len(row)]))
            row.append(int(decoder.logits(hidden)[-1, :known].argmax()))
        if row[-1] == end:
            break
    return row[len(prompt) :]


def test_temperature_0_takes_the_likeliest_tokens(page):
    found = page("model", QUESTION, "--max-tokens", "8", "--temperature", "0")
    tokenizer = PretrainedTokenizer(path="model")
    prompt = tokenizer.encode(
        tokenizer.render_chat([{"role": "user", "content": QUESTION}], add_generation_prompt=True)
    )
    assert found["prompt_tokens"] == len(prompt)
    (response,) = found["responses"]
    assert response["token_ids"] == likeliest(prompt, 8)
    assert response["text"] == tokenizer.decode(response["token_ids"])


def test_text_alone_is_printed_and_a_cut_is_told_beside_it(limite, page):
    arguments = ("model", QUESTION, "--max-tokens", "3")
    (response,) = page(*arguments)["responses"]
    ended = limite("sample", *arguments)
    assert (ended.code, ended.out) == (0, response["text"] + "\n")
    assert response["finish_reason"] == "length"
    assert ended.err == "note: the response was cut off after 3 tokens; see --max-tokens\n"


def test_a_seed_and_a_number_name_a_sample(page):
    def tokens(*arguments: str) -> list[list[int]]:
        found = page("model", QUESTION, "--max-tokens", "6", *arguments)
        return [each["token_ids"] for each in found["responses"]]

    four = tokens("--samples", "4")
    assert len({tuple(each) for each in four}) == 4
    assert tokens("--samples", "2") == four[:2]
    assert tokens("--seed", "2") != four[:1]


def test_samples_are_told_apart(limite):
    ended = limite("sample", "model", QUESTION, "--max-tokens", "2", "--samples", "2")
    assert ended.out.startswith("--- 1 of 2\n")
    assert "\n\n--- 2 of 2\n" in ended.out
    assert "2 of 2 responses were cut off after 2 tokens" in ended.err


def test_the_longest_response_follows_from_the_context(page):
    found = page("model", "a", "--raw")
    assert found["max_tokens"] == SPEC.context - found["prompt_tokens"] == 63


def test_raw_text_is_read_on(page):
    found = page("model", QUESTION, "--raw", "--max-tokens", "4", "--temperature", "0")
    prompt = PretrainedTokenizer(path="model").encode(QUESTION)
    assert found["prompt_tokens"] == len(prompt)
    assert found["responses"][0]["token_ids"] == likeliest(prompt, 4)


def test_a_system_turn_comes_first(page):
    found = page("model", "1", "--system", "2", "--max-tokens", "2")
    turns = [{"role": "system", "content": "2"}, {"role": "user", "content": "1"}]
    assert found["prompt_tokens"] == len(PretrainedTokenizer(path="model").render_turns(turns))


@pytest.mark.parametrize("run", ["words", "letters"])
def test_a_run_answers_as_what_it_exports(limite, page, tmp_path, run):
    exported = str(tmp_path / "out")
    assert limite("export", run, "--to", exported).code == 0
    terms = ("x=1", "--max-tokens", "6")
    found = page(f"runs/{run}", *terms, "--stage", "sft")
    assert found["origin"] == {"run": f"runs/{run}", "stage": "sft", "step": 1}
    assert found["responses"] == page(exported, *terms)["responses"]
    assert page(run, *terms)["responses"] == found["responses"]
    raw = page(run, *terms, "--raw")
    assert raw["responses"] == page(exported, *terms, "--raw")["responses"]


def test_a_prompt_from_standard_input(page, monkeypatch):
    expected = page("model", "ü\n2", "--max-tokens", "4")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ü\n2\n".encode())))
    assert page("model", "--max-tokens", "4") == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("model", "x", "--temperature", "-1"), "--temperature: expected a finite number of at"),
        (("model", "x", "--temperature", "nan"), "--temperature: expected a finite number of at"),
        (("model", "x", "--temperature", "0", "--samples", "2"), "--samples 2: with --temperature"),
        (("model", "x", "--raw", "--system", "y"), "--system: belongs to a turn"),
        (("model", "", "--raw"), "PROMPT: expected a text, got none"),
        (("model", "x" * 99), "leaves no room for a response"),
        (("model", "x", "--raw", "--max-tokens", "64"), "context of 64 has room for 63"),
        (("model", "x", "--stage", "sft"), "--stage: model is a model's directory"),
        (("letters", "x", "--system", "y"), "--system: this model knows no turns"),
        (("letters", "X"), "the tokenizer's alphabet has no 'X'"),
        (("letters", "x", "--stage", "stf"), "has no stage 'stf'; did you mean 'sft'?"),
        (("modle", "x"), "modle: no such run and no such directory; did you mean 'model'?"),
    ],
)
def test_it_refuses(limite, arguments, told):
    ended = limite("sample", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


def test_a_terminal_is_not_waited_for(limite, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    ended = limite("sample", "model")
    assert (ended.code, ended.out) == (2, "")
    assert "PROMPT: expected a text behind the model, or one on standard input" in ended.err


def test_standard_input_that_is_no_text(limite, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab\xff")))
    ended = limite("sample", "model")
    assert (ended.code, ended.out) == (2, "")
    assert "expected text in UTF-8 on standard input; byte 3 is none" in ended.err


def test_all_that_is_wrong_with_the_files_is_told_at_once(limite, models, tmp_path):
    for file in (models / "model").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    (tmp_path / "tokenizer.json").write_text("{")
    ended = limite("sample", str(tmp_path), "x")
    assert (ended.code, ended.out) == (2, "")
    assert "model.safetensors" in ended.err
    assert "tokenizer.json" in ended.err
