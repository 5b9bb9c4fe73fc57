"""Texts to pretrain on, as token ids: from lines or rows that hold a text, or ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from limite.core.errors import LimiteError, Mistake, sentence
from limite.core.jsonl import NotJSON
from limite.core.tokenizer import Tokenizer
from limite.core.train.data.arrow_rows import rows_from
from limite.core.train.data.places import Place, numbered_from
from limite.core.train.data.records import text_of
from limite.core.train.data.token_files import COLUMNS

Ids = np.ndarray[Any, np.dtype[np.int32]]
IDS = ("ids", "input_ids")
NAMES = (*IDS, "text")


@attrs.frozen(kw_only=True, eq=False)
class TokenDocument:
    """One document: ``ids [N]`` ends with an end token. ``text`` is None where ids were given."""

    ids: Ids
    text: str | None

    def content_hash(self, tokenizer: Tokenizer) -> bytes:
        """What documents have in common that differ in their begin token at most."""
        begin = tokenizer.begin
        has_begin = bool(begin) and tuple(self.ids[: len(begin)].tolist()) == begin
        content = self.ids[len(begin) if has_begin else 0 :]
        return hashlib.sha256(content.tobytes()).digest()[:16]

    def said(self, tokenizer: Tokenizer) -> str:
        """What it says."""
        return tokenizer.decode(self.ids.tolist()) if self.text is None else self.text


def documents_from(
    path: Path, place: Place, tokenizer: Tokenizer
) -> Iterator[tuple[TokenDocument | Mistake, Place]]:
    """Every document of a file from ``place`` on, or what is wrong with its line; and the place
    behind it."""
    if path.name.endswith(COLUMNS):
        found = rows_from(path, place, NAMES)
    else:
        found = numbered_from(path, place)
    for record, behind in found:
        try:
            document: TokenDocument | Mistake = document_of(record, tokenizer)
        except (ValueError, LimiteError) as error:
            document = Mistake(sentence(error), file=str(path), line=behind.line)
        yield document, behind


def document_of(record: Any, tokenizer: Tokenizer) -> TokenDocument:
    """The document of a line: what stands under ``ids`` or ``input_ids``, else ``text``.

    A text begins as texts do that are simply read on; either gets an end token if it has none at
    its end. A ValueError or LimiteError says what is wrong.
    """
    if isinstance(record, NotJSON):
        raise ValueError(f"not JSON: {record}")
    if not isinstance(record, dict):
        raise ValueError("expected an object with 'text' or 'ids'")
    name = next((each for each in IDS if record.get(each) is not None), None)
    text = None
    if name is None:
        text = text_of(record, "text")
        ids = (*tokenizer.begin, *tokenizer.encode(text))
    else:
        ids = _known(name, record[name], tokenizer)
    if ids[-1] not in tokenizer.eos_ids:
        ids = (*ids, tokenizer.eos_id)
    if len(ids) < 2:
        raise ValueError(f"{name}: has nothing but an end token")
    return TokenDocument(ids=np.array(ids, dtype=np.int32), text=text)


def _known(name: str, ids: Any, tokenizer: Tokenizer) -> tuple[int, ...]:
    if not isinstance(ids, list) or not ids or not all(type(each) is int for each in ids):
        raise ValueError(f"{name}: expected a list of token ids, one at least")
    if not 0 <= min(ids) <= max(ids) < tokenizer.vocabulary:
        wrong = next(each for each in ids if not 0 <= each < tokenizer.vocabulary)
        raise ValueError(
            f"{name}: the id {wrong} is outside the vocabulary of {tokenizer.vocabulary}"
        )
    return tuple(ids)
