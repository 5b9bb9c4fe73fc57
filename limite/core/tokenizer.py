"""What a tokenizer is to the rest of limite, and the one for toy problems: an id per character."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import attrs

from limite.core.errors import LimiteError, Mistake
from limite.core.types import Problem

ALPHABET = "0123456789+-*/()=,;.?#| \nabcdefghijklmnopqrstuvwxyz"
SEPARATOR = "\n"
SPECIALS = ("<pad>", "<bos>", "<eos>")


def _is_alphabet(_instance: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{attribute.name!r} must be a string of characters, got {value!r}")
    twice = sorted({character for character in value if value.count(character) > 1})
    if twice:
        raise ValueError(f"{attribute.name!r} holds {twice[0]!r} more than once")
    if SEPARATOR not in value:
        raise ValueError(
            f"{attribute.name!r} lacks the newline {SEPARATOR!r}, which ends every prompt"
        )


@attrs.frozen(kw_only=True, slots=False)
class Tokenizer:
    """Text to token ids and back, and how a model is asked a question."""

    kinds: ClassVar[Mapping[str, type[Tokenizer]]] = {}
    """What ``type`` says in settings files, and the class it stands for."""

    default_kind: ClassVar[str] = "characters"

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """How many ids there are, special ones included."""

    @property
    @abstractmethod
    def pad_id(self) -> int:
        """Fills rows that carry no text; a model is never asked to produce it."""

    @property
    @abstractmethod
    def eos_ids(self) -> tuple[int, ...]:
        """Any of them ends a response. Training texts end with the first."""

    @property
    def eos_id(self) -> int:
        """What training texts end with."""
        return self.eos_ids[0]

    @property
    def unused_ids(self) -> tuple[int, ...]:
        """Ids below ``vocabulary`` that are no token; like those above, they are never sampled."""
        return ()

    def mistakes(self) -> list[Mistake]:
        """What is wrong with the files the tokenizer is read from, all of it."""
        return []

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file the tokenizer is read from, for receipts."""
        return {}

    @property
    def begin(self) -> tuple[int, ...]:
        """What stands before a text that is simply read on: the begin token, or nothing."""
        return ()

    @abstractmethod
    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of ``text``, without special ones added. ``decode`` gives the text back."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``; special ids leave nothing behind."""

    @abstractmethod
    def render_prompt(self, problem: Problem) -> tuple[int, ...]:
        """What the model reads before it answers."""

    def render_turns(self, turns: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """What the model reads of a conversation before it answers; only some can write one."""
        raise LimiteError("the tokenizer has no chat template, so it cannot write a conversation")

    @abstractmethod
    def lacking(self, texts: Iterable[str]) -> list[str]:
        """The characters of ``texts`` that cannot be encoded, in order."""


@attrs.frozen(kw_only=True, slots=False)
class CharacterTokenizer(Tokenizer):
    """One id for each character of ``alphabet``; nothing else can be encoded.

    Three special ids come first (padding, beginning of sequence, end of sequence), then the
    alphabet in its own order, so an id says which character it is by position alone.
    """

    alphabet: str = attrs.field(
        default=ALPHABET,
        validator=_is_alphabet,
        metadata={"help": "the characters, each once, with the newline that ends a prompt"},
    )

    @property
    def pad_id(self) -> int:
        return 0

    @property
    def bos_id(self) -> int:
        """Begins every sequence."""
        return 1

    @property
    def begin(self) -> tuple[int, ...]:
        return (self.bos_id,)

    @property
    def eos_ids(self) -> tuple[int, ...]:
        return (2,)

    @property
    def vocabulary(self) -> int:
        return len(SPECIALS) + len(self.alphabet)

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return {character: len(SPECIALS) + i for i, character in enumerate(self.alphabet)}

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return ("",) * len(SPECIALS) + tuple(self.alphabet)

    def encode(self, text: str) -> tuple[int, ...]:
        ids = self._ids
        try:
            return tuple([ids[character] for character in text])
        except KeyError:
            at = next(i for i, character in enumerate(text) if character not in ids)
            shown = text if len(text) <= 80 else text[max(0, at - 40) : at + 40]
            raise LimiteError(
                f"the tokenizer's alphabet has no {text[at]!r} (position {at} of {shown!r})"
            ) from None

    def decode(self, ids: Iterable[int]) -> str:
        texts = self._texts
        ids = list(ids)
        if ids and not 0 <= min(ids) <= max(ids) < len(texts):
            wrong = next(i for i in ids if not 0 <= i < len(texts))
            raise LimiteError(f"token id {wrong} is outside the vocabulary of {len(texts)}")
        return "".join([texts[i] for i in ids])

    def render_prompt(self, problem: Problem) -> tuple[int, ...]:
        """What the model reads before it answers: beginning of sequence, question, newline."""
        return (self.bos_id, *self.encode(problem.problem + SEPARATOR))

    def lacking(self, texts: Iterable[str]) -> list[str]:
        return sorted(set().union(*texts) - set(self.alphabet))


Tokenizer.kinds = {"characters": CharacterTokenizer}
