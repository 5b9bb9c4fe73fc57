"""A character tokenizer as the files that other programs read: ``tokenizer.json`` and settings.

They give the same ids for every text of the alphabet, and refuse any other character: the
vocabulary has no token for what is unknown, so there is nothing to put in its place. A text that
is to be read on from is put after the begin token, as ``render_prompt`` does it: with the question
and a newline, and no chat template. ``transformers`` adds that token by itself.
"""

from __future__ import annotations

import json
from typing import Any

from limite.core.errors import LimiteError
from limite.core.pretrained.generation import GENERATION_FILE
from limite.core.pretrained.token_files import CONFIG, TOKENIZER
from limite.core.tokenizer import SPECIALS, CharacterTokenizer

UNKNOWN = "<unk>"
"""Named as the format demands, and no token: what has no id is an error, not another id."""

_PRIVATE_USE = range(0xE000, 0xF900)


def character_files(tokenizer: CharacterTokenizer, context: int) -> dict[str, bytes]:
    """The files of a tokenizer by name; ``context`` is the most tokens that its model reads."""
    _refuse_surrogates(tokenizer.alphabet)
    specials = _specials(tokenizer.alphabet)
    pad, begin, end = specials
    added = [_added(name) for name in specials]
    config = {
        "added_tokens_decoder": {str(i): token for i, token in enumerate(added)},
        "bos_token": begin,
        "clean_up_tokenization_spaces": False,
        "eos_token": end,
        "model_max_length": context,
        "pad_token": pad,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": None,
    }
    generation = {
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
        "pad_token_id": tokenizer.pad_id,
    }
    return {
        TOKENIZER: _text(_tokenizer(tokenizer, specials)),
        CONFIG: _text(config),
        GENERATION_FILE: _text(generation),
    }


def _tokenizer(tokenizer: CharacterTokenizer, specials: tuple[str, ...]) -> dict[str, Any]:
    begin = specials[tokenizer.bos_id]
    tokens = (*specials, *tokenizer.alphabet)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, **_added(name)} for i, name in enumerate(specials)],
        "normalizer": None,
        # Every character alone, whatever it is: the full stop of a pattern leaves newlines out.
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": r"[\s\S]"},
            "behavior": "Isolated",
            "invert": False,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_special(begin, 0), _sequence("A", 0)],
            "pair": [_special(begin, 0), _sequence("A", 0), _sequence("B", 1)],
            "special_tokens": {begin: {"id": begin, "ids": [tokenizer.bos_id], "tokens": [begin]}},
        },
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "WordLevel",
            "vocab": {token: i for i, token in enumerate(tokens)},
            "unk_token": UNKNOWN,
        },
    }


def _specials(alphabet: str) -> tuple[str, ...]:
    """The special tokens, spelled so that no text of the alphabet can be taken for one."""
    if not any(set(name) <= set(alphabet) for name in SPECIALS):
        return SPECIALS
    mark = next(chr(code) for code in _PRIVATE_USE if chr(code) not in alphabet)
    return tuple(f"{mark}{name.strip('<>')}{mark}" for name in SPECIALS)


def _refuse_surrogates(alphabet: str) -> None:
    halves = [character for character in alphabet if "\ud800" <= character <= "\udfff"]
    if halves:
        raise LimiteError(
            f"the tokenizer's alphabet holds {halves[0]!r}, half of a surrogate pair, which no "
            "file of a tokenizer can"
        )


def _added(name: str) -> dict[str, Any]:
    return {
        "content": name,
        "lstrip": False,
        "normalized": False,
        "rstrip": False,
        "single_word": False,
        "special": True,
    }


def _special(name: str, segment: int) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": segment}}


def _sequence(name: str, segment: int) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": segment}}


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
