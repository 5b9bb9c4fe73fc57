"""The tokenizer in a GGUF file as ``tokenizer.json``, with the files that stand beside it.

Only byte-level BPE. A file names its way of cutting text into words and does not describe it, so
each way that is known is written down here; any other is refused, since nothing tells it apart
from a wrong one but worse answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.core.pretrained.gguf_config import Mistakes

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@attrs.frozen(kw_only=True)
class Cut:
    """A way of cutting text into the words that BPE then builds from bytes.

    ``pattern`` is that of GPT-2 where None; ``add_bos`` is what holds if the file does not say.
    """

    pattern: str | None = None
    single_digits: bool = False
    composed: bool = False  # Unicode's NFC first
    whole_words: bool = False  # a word that is a token is not built by merges
    add_bos: bool = False


_GPT2 = Cut()
_SMOLLM = Cut(single_digits=True)
_QWEN = Cut(pattern=_WORDS.format(digits=r"\p{N}"), composed=True)
_LLAMA = Cut(pattern=_WORDS.format(digits=r"\p{N}{1,3}"), whole_words=True, add_bos=True)

CUTS: Mapping[str, Cut] = {
    "gpt-2": _GPT2,
    "smollm": _SMOLLM,
    "qwen2": _QWEN,
    "deepseek-r1-qwen": _QWEN,
    "llama-bpe": _LLAMA,
    "llama3": _LLAMA,
    "llama-v3": _LLAMA,
}
"""By ``tokenizer.ggml.pre``, the name llama.cpp gives it."""

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = range(1, 7)
_SPECIAL_IDS = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "unk": "unknown_token_id",
    "pad": "padding_token_id",
}
_MOST_TOLD = 5
"""How many tokens or merges are named one by one: a damaged file has thousands."""


@attrs.frozen(kw_only=True)
class Words:
    """A tokenizer as the file tells it, all of it checked.

    ``tokens`` has None for ids no text becomes; ``special`` are control tokens, ``added`` those
    that are found in text whole and kept when text is shown.
    """

    cut_name: str
    tokens: Sequence[str | None]
    merges: Sequence[tuple[str, str]]
    special: Sequence[str]
    added: Sequence[str]
    ids: Mapping[str, int | None]
    end_ids: tuple[int, ...]
    add_bos: bool
    add_eos: bool
    chat_template: str | None
    notes: tuple[str, ...] = ()

    @property
    def cut(self) -> Cut:
        return CUTS[self.cut_name]


def words_from_metadata(
    metadata: Mapping[str, Any], *, vocabulary: int | None, wrong: Mistakes
) -> Words | None:
    """The tokenizer, or None once ``wrong`` was told what is the matter.

    ``vocabulary`` is how many ids the model has a row for.
    """

    def get(field: str) -> Any:
        return metadata.get(f"tokenizer.ggml.{field}")

    def refuse(field: str, message: str) -> None:
        wrong.add(f"tokenizer.ggml.{field}", message)

    before = len(wrong.found)
    cut = _cut(get("model"), get("pre"), refuse)
    tokens, merges, kinds = get("tokens"), get("merges"), get("token_type")
    if not _texts(tokens) or not tokens:
        refuse("tokens", "expected a list of tokens")
    if not _texts(merges):
        refuse("merges", "expected a list of merges")
    if len(wrong.found) > before or cut is None:
        return None
    if vocabulary is not None and len(tokens) > vocabulary:
        refuse("tokens", f"{len(tokens)} tokens, but the model has rows for {vocabulary}")
    kinds = [_NORMAL] * len(tokens) if kinds is None else kinds
    if not _numbers(kinds) or len(kinds) != len(tokens) or not set(kinds) <= {*range(1, 7)}:
        refuse("token_type", f"expected {len(tokens)} numbers from 1 to 6")
        return None
    if _BYTE in kinds:
        refuse("token_type", "byte tokens have no place in byte-level BPE")
    kept = [
        None if kind == _UNUSED and token == f"[PAD{number}]" else token
        for number, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
    ]
    _check_once(kept, refuse)
    pairs = _pairs(merges, {token for token in kept if token is not None}, refuse)
    ids = {role: _id(get(field), field, kept, refuse) for role, field in _SPECIAL_IDS.items()}
    turn_end = _id(get("eot_token_id"), "eot_token_id", kept, refuse)
    if ids["eos"] is None and get("eos_token_id") is None:
        refuse("eos_token_id", "missing: nothing tells where a response ends")
    add_bos = _flag(get("add_bos_token"), CUTS[cut].add_bos, "add_bos_token", refuse)
    add_eos = _flag(get("add_eos_token"), False, "add_eos_token", refuse)
    if add_bos and get("bos_token_id") is None:
        refuse("bos_token_id", "missing, though texts are to begin with it")
    template = metadata.get("tokenizer.chat_template")
    if template is not None and not isinstance(template, str):
        wrong.add("tokenizer.chat_template", "expected text")
    if len(wrong.found) > before:
        return None
    others = sorted(key for key in metadata if key.startswith("tokenizer.chat_template."))
    return Words(
        cut_name=cut,
        tokens=kept,
        merges=pairs,
        special=[token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL],
        added=[token for token, kind in zip(tokens, kinds, strict=True) if kind == _USER],
        ids=ids,
        # In the order of the file; no other token ends a response, whatever its name.
        end_ids=tuple(dict.fromkeys(i for i in (ids["eos"], turn_end) if i is not None)),
        add_bos=add_bos,
        add_eos=add_eos,
        chat_template=template,
        notes=tuple(f"{key} is left out: only the main chat template is taken" for key in others),
    )


def _cut(model: Any, name: Any, refuse: Any) -> str | None:
    if model != "gpt2":
        what = {
            None: "missing: the file has no tokenizer",
            "llama": "SentencePiece tokenizers ('llama') cannot be imported, only 'gpt2' (BPE)",
        }
        known = f"tokenizers of kind {model!r} cannot be imported, only 'gpt2' (BPE)"
        refuse("model", what.get(model, known) if _plain(model) else known)
        return None
    if _plain(name) and name in CUTS:
        return str(name)
    known = ", ".join(map(repr, CUTS))
    near = did_you_mean(name, CUTS) if isinstance(name, str) else ""
    refuse("pre", f"how text is cut into words must be one of {known}, got {name!r:.60}{near}")
    return None


def _check_once(tokens: Sequence[str | None], refuse: Any) -> None:
    seen: dict[str, int] = {}
    told = 0
    for number, token in enumerate(tokens):
        if token is not None and seen.setdefault(token, number) != number:
            told += 1
            if told <= _MOST_TOLD:
                refuse("tokens", f"{token!r:.60} stands twice, at {seen[token]} and {number}")
    if told > _MOST_TOLD:
        refuse("tokens", f"and {told - _MOST_TOLD} more stand twice")


def _pairs(merges: Sequence[str], known: set[str], refuse: Any) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    told = 0
    for number, merge in enumerate(merges):
        left, _, right = merge.partition(" ")
        if left in known and right in known and left + right in known:
            pairs.append((left, right))
            continue
        told += 1
        if told <= _MOST_TOLD:
            refuse("merges", f"merge {number}, {merge!r:.60}, is not of tokens that are there")
    if told > _MOST_TOLD:
        refuse("merges", f"and {told - _MOST_TOLD} more are not")
    return pairs


def _id(value: Any, field: str, tokens: Sequence[str | None], refuse: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(tokens):
        refuse(field, f"expected the id of one of {len(tokens)} tokens, got {value!r:.60}")
        return None
    if tokens[value] is None:
        refuse(field, f"{value} is an id that no token has")
        return None
    return value


def _flag(value: Any, default: bool, field: str, refuse: Any) -> bool:
    if value is not None and not isinstance(value, bool):
        refuse(field, f"expected true or false, got {value!r:.60}")
    return value if isinstance(value, bool) else default


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and (not value or isinstance(value[0], str))


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int for number in value)


def tokenizer_json(words: Words) -> str:
    """The text of ``tokenizer.json``. Needs the package ``tokenizers``."""
    try:
        import tokenizers
    except ImportError:
        raise LimiteError(
            "writing tokenizer.json needs the package tokenizers: pip install 'limite[gguf]'"
        ) from None
    from tokenizers import decoders, models, normalizers, pre_tokenizers

    cut = words.cut
    vocabulary = {token: i for i, token in enumerate(words.tokens) if token is not None}
    tokenizer = tokenizers.Tokenizer(
        models.BPE(vocab=vocabulary, merges=list(words.merges), ignore_merges=cut.whole_words)
    )
    if cut.composed:
        tokenizer.normalizer = normalizers.NFC()
    steps: list[Any] = []
    if cut.single_digits:
        steps.append(pre_tokenizers.Digits(individual_digits=True))
    if cut.pattern is not None:
        steps.append(pre_tokenizers.Split(tokenizers.Regex(cut.pattern), behavior="isolated"))
    own = cut.pattern is None
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=own))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.post_processor = _post_processor(words)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([_added(tokenizers, token) for token in words.special])
    tokenizer.add_tokens([_added(tokenizers, token) for token in words.added])
    return str(tokenizer.to_str(pretty=True))


def _added(tokenizers: Any, token: str) -> Any:
    return tokenizers.AddedToken(token, normalized=False, special=False)


def _post_processor(words: Words) -> Any:
    from tokenizers import processors

    plain = processors.ByteLevel(trim_offsets=False)
    begin = words.ids["bos"] if words.add_bos else None
    end = words.ids["eos"] if words.add_eos else None
    marks = [(str(words.tokens[i]), i) for i in dict.fromkeys((begin, end)) if i is not None]
    if not marks:
        return plain

    def around(part: str) -> list[str]:
        first = [str(words.tokens[begin])] if begin is not None else []
        last = [str(words.tokens[end])] if end is not None else []
        return [*first, part, *last]

    # A pair of texts is two texts, each with its marks.
    template = processors.TemplateProcessing(
        single=around("$A"),
        pair=[*around("$A"), *(f"{part}:1" for part in around("$B"))],
        special_tokens=marks,
    )
    return processors.Sequence([plain, template])


def tokenizer_config(words: Words, *, context: int) -> dict[str, Any]:
    """``tokenizer_config.json``: special tokens by role, and the chat template."""
    roles = {
        f"{role}_token": words.tokens[number]
        for role, number in words.ids.items()
        if number is not None
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": words.add_bos,
        "add_eos_token": words.add_eos,
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
        **roles,
    }
    if words.chat_template is not None:
        config["chat_template"] = words.chat_template
    return config


def generation_config(words: Words) -> dict[str, Any]:
    """``generation_config.json``: the ids that end a response, and those that begin and fill."""
    ends: Any = words.end_ids[0] if len(words.end_ids) == 1 else list(words.end_ids)
    config: dict[str, Any] = {"eos_token_id": ends}
    for name, role in (("bos_token_id", "bos"), ("pad_token_id", "pad")):
        if words.ids[role] is not None:
            config[name] = words.ids[role]
    return config
