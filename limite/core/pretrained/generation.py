"""``generation_config.json``: how a model is meant to be sampled, and which ids end a response.

The ids that end a response are exactly those the file lists. Only where it lists none is it the
tokenizer's end token. Sources are never joined: stopping at one id more than a model was trained
to stop at cuts answers short.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import Mistake, SettingsError
from limite.core.jsonl import write_atomic
from limite.core.pretrained.json_files import is_id, json_object, read_bytes

GENERATION_FILE = "generation_config.json"

_NAMES = {
    "eos_ids": "eos_token_id",
    "bos_id": "bos_token_id",
    "pad_id": "pad_token_id",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "do_sample": "do_sample",
    "repetition_penalty": "repetition_penalty",
    "max_new_tokens": "max_new_tokens",
}


def _number(low: float, high: float, expected: str) -> tuple[Callable[[Any], bool], str]:
    def fits(value: Any) -> bool:
        plain = isinstance(value, (int, float)) and not isinstance(value, bool)
        return plain and math.isfinite(value) and low <= value <= high

    return fits, expected


def _whole(low: int) -> tuple[Callable[[Any], bool], str]:
    def fits(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= low

    return fits, f"a whole number of at least {low}"


_ID = (is_id, "a token id")
_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "bos_id": _ID,
    "pad_id": _ID,
    "temperature": _number(0.0, math.inf, "a finite number of at least 0"),
    "top_p": _number(0.0, 1.0, "a number from 0 to 1"),
    "top_k": _whole(0),
    "min_p": _number(0.0, 1.0, "a number from 0 to 1"),
    "do_sample": (lambda value: isinstance(value, bool), "true or false"),
    "repetition_penalty": _number(0.0, math.inf, "a finite number of at least 0"),
    "max_new_tokens": _whole(1),
}


@attrs.frozen(kw_only=True)
class Generation:
    """What ``generation_config.json`` says. None, or no end ids: it does not say.

    ``source`` is the file as read. It is written back byte for byte as long as no field differs
    from it, and otherwise keeps every key this class does not know.
    """

    eos_ids: tuple[int, ...] = ()
    bos_id: int | None = None
    pad_id: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    do_sample: bool | None = None
    repetition_penalty: float | None = None
    max_new_tokens: int | None = None
    source: bytes | None = attrs.field(default=None, repr=False)

    @classmethod
    def read(cls, directory: str | Path) -> Generation:
        """What a model's directory says; nothing where it has no such file."""
        path = Path(directory) / GENERATION_FILE
        return cls.parse(read_bytes(path), path) if path.exists() else cls()

    @classmethod
    def parse(cls, source: bytes, path: str | Path = GENERATION_FILE) -> Generation:
        """What a file says; every mistake in it at once, under the name ``path``."""
        data = json_object(source, Path(path))
        mistakes = [
            Mistake(message, path=_NAMES[field], file=str(path))
            for field, message in _mistakes(data)
        ]
        if mistakes:
            raise SettingsError(mistakes)
        said = {field: data.get(_NAMES[field]) for field in _RULES}
        return cls(eos_ids=listed_ids(data.get("eos_token_id")), source=source, **said)

    def end_ids(self, tokenizer_end: int | None) -> tuple[int, ...]:
        """The ids that end a response: those listed, or else the tokenizer's end token."""
        if self.eos_ids:
            return self.eos_ids
        return () if tokenizer_end is None else (tokenizer_end,)

    def notes(self, config: Mapping[str, Any], tokenizer_end: int | None) -> tuple[str, ...]:
        """Where ``config.json`` or the tokenizer name other ends than the ones that count."""
        ends = self.end_ids(tokenizer_end)
        notes = []
        if not ends:
            notes.append("no end token: neither generation_config.json nor the tokenizer names one")
        elif not self.eos_ids:
            notes.append(
                f"generation_config.json lists no end ids; the tokenizer's, {tokenizer_end}, counts"
            )
        also = listed_ids(config.get("eos_token_id"))
        if also and set(also) != set(ends):
            notes.append(
                f"config.json names end ids {_shown(also)}, which are not used; "
                f"responses end at {_shown(ends)}"
            )
        if self.eos_ids and tokenizer_end is not None and tokenizer_end not in self.eos_ids:
            notes.append(
                f"the tokenizer's end token is {tokenizer_end}, which is not used; "
                f"responses end at {_shown(ends)}"
            )
        return tuple(notes)

    def text(self) -> bytes:
        """The file's content: as read where nothing was changed."""
        data = {} if self.source is None else json_object(self.source, Path(GENERATION_FILE))
        before = Generation() if self.source is None else Generation.parse(self.source)
        changed = [field for field in _NAMES if getattr(self, field) != getattr(before, field)]
        if self.source is not None and not changed:
            return self.source
        for field in changed:
            value = getattr(self, field)
            if field == "eos_ids":
                value = (*value,) if len(value) > 1 else value[0] if value else None
            if value is None:
                data.pop(_NAMES[field], None)
            else:
                data[_NAMES[field]] = value
        return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()

    def write(self, directory: str | Path) -> None:
        """Writes the file into a model's directory, where there is anything to say."""
        if self.source is not None or self != Generation():
            write_atomic(Path(directory) / GENERATION_FILE, self.text())


def listed_ids(value: Any) -> tuple[int, ...]:
    """Ids given as one or as a list, each once; none where the value is no such thing."""
    ids = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(ids)) if all(map(is_id, ids)) else ()


def _mistakes(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    ends = data.get("eos_token_id")
    listed = ends if isinstance(ends, list) else [ends]
    wrong = [each for each in listed if not is_id(each)]
    if ends is not None and wrong:
        yield "eos_ids", f"expected a token id or a list of them, got {wrong[0]!r}"
    for field, (fits, expected) in _RULES.items():
        value = data.get(_NAMES[field])
        if value is not None and not fits(value):
            yield field, f"expected {expected}, got {value!r}"


def _shown(ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, ids)) or "none"
