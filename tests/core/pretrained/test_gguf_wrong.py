"""GGUF files that are whole and say what cannot be taken over: all of it is told at once."""

from __future__ import annotations

import numpy as np
import pytest

from limite.core.errors import SettingsError
from limite.core.pretrained.gguf import import_gguf
from tests.core.pretrained import gguf_files


def change(**fields):
    """Metadata changed before writing; None leaves a field out. ``__`` stands for a dot."""

    def apply(made):
        for name, value in fields.items():
            key = name.replace("__", ".")
            made.metadata.pop(key, None)
            if value is not None:
                made.metadata[key] = value

    return apply


def tensor(name, values=None, kind=None):
    def apply(made):
        made.quantised[name] = kind or "F32"
        if values is None:
            del made.tensors[name]
        else:
            made.tensors[name] = values

    return apply


def ggml(name, make):
    """One field of the tokenizer, made from what it was."""

    def apply(made):
        key = f"tokenizer.ggml.{name}"
        made.metadata[key] = make(made.metadata.get(key))

    return apply


WRONG = {
    "architecture": (
        change(general__architecture="lama"),
        ["general.architecture: 'lama' cannot be imported, only 'llama', 'qwen2', 'qwen3'; did you "
         "mean 'llama'?"],
    ),
    "adapter": (change(general__type="adapter"), ["general.type: expected 'model', got 'adapter'"]),
    "part": (change(split__count=3), ["split.count: this is one part of several"]),
    "missing": (
        change(llama__block_count=None, llama__attention__layer_norm_rms_epsilon=None),
        ["llama.block_count: missing", "llama.attention.layer_norm_rms_epsilon: missing"],
    ),
    "unknown": (
        change(llama__rope__freq_bas=2.0),
        ["llama.rope.freq_bas: unknown field; did you mean 'rope.freq_base'?"],
    ),
    "experts": (change(llama__expert_count=8), ["only 0 is understood, got 8"]),
    "per layer": (
        change(llama__attention__head_count=[4, 4]),
        ["llama.attention.head_count: expected a whole number of at least 1, got a list of 2"],
    ),
    "part of a head turns": (
        change(llama__rope__dimension_count=8),
        ["only rotation of whole heads (16) can be imported, got 8"],
    ),
    "values": (
        change(llama__attention__value_length=8),
        ["only values as wide as keys (16) can be imported, got 8"],
    ),
    "heads": (
        change(llama__attention__head_count=5, llama__rope__dimension_count=None),
        ["llama.attention.head_count: must divide the width, 64, got 5",
         "llama.attention.head_count_kv: must divide the 5 heads"],
    ),
    "scaling": (
        change(llama__rope__scaling__type="yarm"),
        ["expected 'none', 'linear' or 'yarn', got 'yarm'; did you mean 'yarn'?"],
    ),
    "yarn": (
        change(llama__rope__scaling__type="yarn"),
        ["llama.rope.scaling.factor: missing",
         "llama.rope.scaling.original_context_length: missing"],
    ),
    "factors": (
        tensor("rope_freqs.weight", np.zeros((2, 8), np.float32)),
        ["rope_freqs.weight: expected one row of float32 numbers"],
    ),
    "vocabulary": (
        change(llama__vocab_size=7),
        ["llama.vocab_size: expected 365, as token_embd.weight has rows, got 7"],
    ),
    "too few tensors": (
        change(llama__block_count=1 << 31), ["2147483648 layers, but only 20 tensors"]
    ),
    "one layer more": (change(llama__block_count=3), ["blk.2.attn_q.weight: missing"]),
    "one layer less": (
        change(llama__block_count=1), ["blk.1.attn_q.weight: no tensor of such a model"]
    ),
    "lost tensor": (tensor("output_norm.weight"), ["output_norm.weight: missing"]),
    "lost table": (tensor("token_embd.weight"), ["token_embd.weight: missing"]),
    "spare tensor": (
        tensor("blk.0.attn_q.bais", np.zeros(64, np.float32)),
        ["blk.0.attn_q.bais: no tensor of such a model"],
    ),
    "shape": (
        tensor("blk.0.ffn_up.weight", np.zeros((96, 32), np.float32)),
        ["blk.0.ffn_up.weight: expected shape [96, 64], got [96, 32]"],
    ),
    "some biases": (
        tensor("blk.0.attn_q.bias", np.zeros(64, np.float32)),
        ["blk.0.attn_k.bias: missing", "blk.1.attn_output.bias: missing"],
    ),
    "pieces": (
        change(tokenizer__ggml__model="llama"),
        ["SentencePiece tokenizers ('llama') cannot be imported, only 'gpt2' (BPE)"],
    ),
    "no tokenizer": (
        change(tokenizer__ggml__model=None), ["tokenizer.ggml.model: missing"]
    ),
    "cut": (
        change(tokenizer__ggml__pre="qwen22"),
        ["must be one of 'gpt-2', 'smollm', 'qwen2', 'deepseek-r1-qwen', 'llama-bpe', 'llama3', "
         "'llama-v3', got 'qwen22'; did you mean 'qwen2'?"],
    ),
    "no cut": (change(tokenizer__ggml__pre=None), ["how text is cut into words must be one of"]),
    "tokens": (ggml("tokens", lambda _: [1, 2]), ["tokenizer.ggml.tokens: expected a list of"]),
    "merges": (ggml("merges", lambda _: "a b"), ["tokenizer.ggml.merges: expected a list of"]),
    "merge of nothing": (
        ggml("merges", lambda merges: [*merges, "zq xv", "", "a  b"]),
        ["'zq xv', is not of tokens that are there", "'', is not of tokens", "'a  b', is not"],
    ),
    "many merges": (
        ggml("merges", lambda merges: [*merges, *["zq xv"] * 9]), ["and 4 more are not"]
    ),
    "token twice": (
        ggml("tokens", lambda tokens: [*tokens[:-1], tokens[5]]),
        ["stands twice, at 5 and 359"],
    ),
    "more tokens than rows": (
        ggml("tokens", lambda tokens: [*tokens, *map(str, range(100, 110))]),
        ["370 tokens, but the model has rows for 365"],
    ),
    "types": (
        ggml("token_type", lambda kinds: kinds[:-1]),
        ["tokenizer.ggml.token_type: expected 360 numbers from 1 to 6"],
    ),
    "kind of token": (
        ggml("token_type", lambda kinds: [9, *kinds[1:]]), ["360 numbers from 1 to 6"]
    ),
    "bytes": (
        ggml("token_type", lambda kinds: [6, *kinds[1:]]), ["byte tokens have no place"]
    ),
    "end": (
        change(tokenizer__ggml__eos_token_id=None),
        ["tokenizer.ggml.eos_token_id: missing: nothing tells where a response ends"],
    ),
    "end elsewhere": (
        change(tokenizer__ggml__eos_token_id=360),
        ["tokenizer.ggml.eos_token_id: expected the id of one of 360 tokens, got 360"],
    ),
    "begin": (
        change(tokenizer__ggml__bos_token_id=None, tokenizer__ggml__add_bos_token=True),
        ["tokenizer.ggml.bos_token_id: missing, though texts are to begin with it"],
    ),
    "flag": (change(tokenizer__ggml__add_bos_token=1), ["expected true or false, got 1"]),
    "template": (change(tokenizer__chat_template=3), ["tokenizer.chat_template: expected text"]),
    "everything": (
        change(
            llama__expert_count=8, tokenizer__ggml__pre="smol", tokenizer__ggml__model="bert",
            llama__context_length=None,
        ),
        ["llama.expert_count: only 0", "llama.context_length: missing",
         "tokenizers of kind 'bert' cannot be imported"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_everything_wrong_is_told_before_anything_is_written(name, tmp_path):
    apply, said = WRONG[name]
    made = gguf_files.model()
    apply(made)
    path = made.write(tmp_path / "bad.gguf")
    with pytest.raises(SettingsError) as told:
        import_gguf(path, tmp_path / "out")
    for sentence in said:
        assert sentence in str(told.value)
    assert {mistake.file for mistake in told.value.mistakes} == {str(path)}
    assert list(tmp_path.iterdir()) == [path]
