"""Small tokenizers in the layout of real ones, made on the spot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIALS = (END, START, STOP)
THOUGHT = ("<think>", "</think>")
PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXTS = (
    "The sum of 17 and 23 is 40, so the answer is \\boxed{40}.\n",
    "Compute the product. Show your reasoning step by step, then answer.\n",
    "assistant user system\nWir fügen ein ü und ein ß ein; 数学の問題を解く。\n",
)
CONFIG: Mapping[str, Any] = {
    "add_prefix_space": False,
    "bos_token": None,
    "eos_token": STOP,
    "pad_token": END,
    "unk_token": None,
    "clean_up_tokenization_spaces": False,
    "model_max_length": 131072,
    "tokenizer_class": "PreTrainedTokenizerFast",
}
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content']"
    " + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def byte_level(
    specials: Sequence[str] = SPECIALS, others: Sequence[str] = THOUGHT, begin: str | None = None
) -> Tokenizer:
    """Byte-level BPE after the manner of Qwen2; ``begin`` is put before every text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=360,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_special_tokens(list(specials))
    tokenizer.add_tokens([AddedToken(each, special=False, normalized=False) for each in others])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if begin is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A",
            pair=f"{begin} $A {begin} $B",
            special_tokens=[(begin, tokenizer.token_to_id(begin))],
        )
    return tokenizer


def pieces() -> Tokenizer:
    """Pieces with a mark for the space before a word and bytes to fall back on, like Llama 2."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:3]  # bytes are pieces, not tokens of a text
    return Tokenizer.from_str(json.dumps(data))


def words_only() -> Tokenizer:
    """No bytes to fall back on: what is not in the training text cannot be encoded."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    trainer = trainers.BpeTrainer(
        vocab_size=120, show_progress=False, special_tokens=["<unk>", "</s>"]
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def cut_and_filled() -> Tokenizer:
    tokenizer = byte_level()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=16, pad_id=3)
    return tokenizer


def write_words(
    directory: Path,
    tokenizer: Tokenizer | None = None,
    *,
    config: Mapping[str, Any] | None = CONFIG,
    generation: Mapping[str, Any] | None = None,
    template: str | None = None,
) -> Path:
    """Writes the files of a tokenizer into ``directory``, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    (tokenizer or byte_level()).save(str(directory / "tokenizer.json"))
    if config is not None:
        (directory / "tokenizer_config.json").write_text(json.dumps(config))
    if generation is not None:
        (directory / "generation_config.json").write_text(json.dumps(generation))
    if template is not None:
        (directory / "chat_template.jinja").write_text(template)
    return directory
