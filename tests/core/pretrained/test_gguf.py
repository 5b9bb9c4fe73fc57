"""Sound GGUF files: what comes out is what transformers and limite read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from limite.core.errors import LimiteError, SettingsError
from limite.core.kernels.layout import Layout
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.gguf import import_gguf
from limite.core.pretrained.gguf_config import ROPE_FACTORS
from limite.core.pretrained.tensor_directory import TensorDirectory
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from tests.core.pretrained import gguf_files, words

PROMPT = (
    "What is the whole of 17 + 23? Don't guess:\n\n  数学 ünï 12345  <|im_end|> \t<think>so</think>"
)
CLOSE = 1e-5
"""Of the largest logit, in float32: the same sums in another order."""


def check_logits(path, theirs):
    """Both load the directory ``path`` and agree with ``theirs``, the model it came from."""
    loaded = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    ids = torch.arange(20) * 7 % 300
    with torch.no_grad():
        expected = theirs(ids[None]).logits[0]
        assert torch.equal(loaded(ids[None]).logits[0], expected)
        decoder = ModelDirectory.open(path).load("float32")
        found = decoder.logits(decoder(ids, Layout.from_lengths([20])))
    assert (found - expected).abs().max() < CLOSE * expected.abs().max()


@pytest.mark.parametrize("quantisation", gguf_files.QUANTISATIONS)
@pytest.mark.parametrize("family", gguf_files.FAMILIES)
def test_weights_and_logits_are_those_of_transformers(family, quantisation, tmp_path):
    made = gguf_files.model(family, quantisation, tied=quantisation != "F16")
    done = import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out", dtype="float32")
    # The model, with its weights as they come back from the quantisation, in its own order of rows.
    lossy = dict(made.theirs.state_dict())
    again = gguf_files.model(family, quantisation, tied=quantisation != "F16")
    again.tensors = {name: made.stored(name) for name in made.tensors}
    again.quantised = {}
    plain = import_gguf(again.write(tmp_path / "plain.gguf"), tmp_path / "plain", dtype="float32")
    read, expected = (load_file(each.path / "model.safetensors") for each in (done, plain))
    assert read.keys() == expected.keys() <= lossy.keys()
    for name in read:
        assert torch.equal(read[name], expected[name]), name
        if quantisation == "F32":
            assert torch.equal(read[name], lossy[name]), name
    made.theirs.load_state_dict(read, strict=False)
    check_logits(done.path, made.theirs)
    assert done.family == family
    assert done.quantisation[quantisation] >= 7 * gguf_files.LAYERS


def test_biases_of_a_llama_are_put_in_order_too(tmp_path):
    made = gguf_files.model(bias=True, tied=False)
    import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out", dtype="float32")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["attention_bias"] is True
    check_logits(tmp_path / "out", made.theirs)


def llama3_factors(factor, base=50000.0, width=gguf_files.HEAD_WIDTH):
    """What Llama 3's scaling divides each frequency by, as llama.cpp's converter stores it."""
    factors = []
    for i in range(width // 2):
        wavelength = 2 * np.pi * base ** (2 * i / width)
        if wavelength < 8192 / 4:
            factors.append(1.0)
        elif wavelength > 8192:
            factors.append(factor)
        else:
            smooth = (8192 / wavelength - 1) / 3
            factors.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(factors, np.float32)


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    ("scaling", "fields"),
    [
        ({"rope_type": "linear", "factor": 2.0}, {"type": "linear", "factor": 2.0}),
        (YARN, {"type": "yarn", "factor": 4.0, "original_context_length": 64, "finetuned": True}),
        (LLAMA3, {}),
    ],
    ids=["linear", "yarn", "llama3"],
)
def test_rotary_scaling_is_taken_over(scaling, fields, tmp_path):
    made = gguf_files.model(config={"rope_parameters": {**scaling, "rope_theta": 50000.0}})
    made.metadata |= {f"llama.rope.scaling.{name}": value for name, value in fields.items()}
    if not fields:
        made.tensors[ROPE_FACTORS] = llama3_factors(8.0)
    import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out", dtype="float32")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["rope_parameters"].items() >= scaling.items()
    check_logits(tmp_path / "out", made.theirs)


def test_factors_of_one_are_no_scaling(tmp_path):
    made = gguf_files.model()
    made.tensors[ROPE_FACTORS] = np.ones(8, np.float32)
    import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["rope_scaling"] is None


def test_other_factors_are_refused(tmp_path):
    made = gguf_files.model()
    made.tensors[ROPE_FACTORS] = np.linspace(1, 9, 8).astype(np.float32)
    with pytest.raises(SettingsError, match=r"rope_freqs.weight: is a rotary scaling"):
        import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "bf16"])
def test_weights_are_rounded_once(dtype, tmp_path):
    path = gguf_files.model(quantisation="Q8_0").write(tmp_path / "x.gguf")
    done = import_gguf(path, tmp_path / "out", dtype=dtype)
    exact = import_gguf(path, tmp_path / "exact", dtype="float32")
    found, expected = (load_file(each.path / "model.safetensors") for each in (done, exact))
    stored = {"bf16": "bfloat16"}.get(dtype, dtype)
    for name, values in expected.items():
        assert torch.equal(found[name], values.to(getattr(torch, stored)))
    assert json.loads((done.path / "config.json").read_text())["dtype"] == done.dtype == stored


def test_a_configuration_says_what_the_metadata_says(tmp_path):
    import_gguf(gguf_files.model().write(tmp_path / "x.gguf"), tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["rms_norm_eps"] == 1e-5  # not the float32 nearest to it
    assert config["tie_word_embeddings"] is True
    assert config["vocab_size"] == 365
    assert (config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]) == (1, 2, 0)


def tokenizers():
    (llama_pattern,) = (
        value
        for value in TikTokenConverter.__init__.__defaults__
        if isinstance(value, str) and r"\p{N}{1,3}" in value
    )
    assert words.PIECES == PRETOKENIZE_REGEX
    return {
        "smollm": gguf_files.digits_apart(),
        "gpt-2": gguf_files.gpt2(),
        "qwen2": words.byte_level(),
        "llama-bpe": gguf_files.llama3(llama_pattern),
    }


@pytest.mark.parametrize("pre", ["smollm", "gpt-2", "qwen2", "llama-bpe"])
def test_ids_and_texts_are_those_of_the_tokenizer_it_was_made_from(pre, tmp_path):
    source = tokenizers()[pre]
    made = gguf_files.model(tokenizer=source, pre=pre)
    if pre == "llama-bpe":
        made.metadata["tokenizer.ggml.bos_token_id"] = 0
    import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "out")
    plain = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    ours = PretrainedTokenizer(path=str(tmp_path / "out"))
    for text in (
        PROMPT,
        "",
        " ",
        *words.TEXTS,
        "e\u0301 naïve\r\n\r\n100000 IT'S it's",
        "\x00\x7f",
    ):
        expected = source.encode(text).ids
        assert plain.encode(text).ids == expected
        assert theirs(text)["input_ids"] == expected
        bare = source.encode(text, add_special_tokens=False).ids
        assert list(ours.encode(text)) == bare
        for special in (True, False):
            shown = source.decode(expected, skip_special_tokens=special)
            assert theirs.decode(expected, skip_special_tokens=special) == shown
            assert plain.decode(expected, skip_special_tokens=special) == shown
    pair = source.encode("one", "two")
    assert plain.encode("one", "two").ids == pair.ids
    assert plain.encode("one", "two").type_ids == pair.type_ids
    assert ours.begin == ((0,) if pre == "llama-bpe" else ())


def test_chats_are_rendered_by_the_template_in_the_file(tmp_path):
    import_gguf(gguf_files.model().write(tmp_path / "x.gguf"), tmp_path / "out")
    chat = [{"role": "user", "content": "2+2?"}]
    theirs = AutoTokenizer.from_pretrained(tmp_path / "out")
    text = theirs.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    assert text == "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"
    assert PretrainedTokenizer(path=str(tmp_path / "out")).render_chat(chat) == text


@pytest.mark.parametrize(
    ("turn_end", "listed", "ends"),
    [(None, 2, (2,)), (2, 2, (2,)), (0, [2, 0], (2, 0))],
)
def test_responses_end_at_the_end_ids_the_file_names(turn_end, listed, ends, tmp_path):
    made = gguf_files.model()
    if turn_end is not None:
        made.metadata["tokenizer.ggml.eot_token_id"] = turn_end
    done = import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation == {"eos_token_id": listed, "bos_token_id": 1, "pad_token_id": 0}
    assert tuple(done.end_tokens.values()) == ends
    assert PretrainedTokenizer(path=str(tmp_path / "out")).eos_ids == ends


def test_begin_and_end_tokens_are_put_around_texts_where_the_file_says_so(tmp_path):
    made = gguf_files.model()
    made.metadata |= {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True}
    import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "out")
    ids = theirs("sum")["input_ids"]
    assert (ids[0], ids[-1]) == (1, 2)
    assert theirs.decode(ids) == "<|im_start|>sum<|im_end|>"


def test_ids_that_only_fill_the_table_are_no_tokens(tmp_path):
    made = gguf_files.model("qwen2")
    tokens = made.metadata["tokenizer.ggml.tokens"]
    for number in range(len(tokens), len(tokens) + 3):
        tokens.append(f"[PAD{number}]")
        made.metadata["tokenizer.ggml.token_type"].append(5)
    import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert len(tokenizer) == len(tokens) - 3
    assert tokenizer.convert_ids_to_tokens(len(tokens) - 4) == "</think>"


def test_further_chat_templates_are_told_to_be_left_out(tmp_path):
    made = gguf_files.model()
    made.metadata["tokenizer.chat_template.tools"] = "{{ tools }}"
    done = import_gguf(made.write(tmp_path / "x.gguf"), tmp_path / "out")
    assert done.notes == (
        "tokenizer.chat_template.tools is left out: only the main chat template is taken",
    )


def test_progress_ends_at_all_the_bytes(tmp_path):
    said = []
    path = gguf_files.model("qwen3").write(tmp_path / "x.gguf")
    import_gguf(path, tmp_path / "out", progress=lambda *step: said.append(step))
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)
    assert said[-1][1] == said[-1][2] > 0
    assert {name for name, _, _ in said} == set(TensorDirectory.open(tmp_path / "out").names)


@pytest.mark.parametrize("package", ["gguf", "tokenizers"])
def test_a_missing_package_is_named_with_its_extra(package, tmp_path, monkeypatch):
    path = gguf_files.model().write(tmp_path / "x.gguf")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(LimiteError, match=rf"package {package}: pip install 'limite\[gguf\]'"):
        import_gguf(path, tmp_path / "out")
    assert [each.name for each in Path(tmp_path).iterdir()] == ["x.gguf"]
