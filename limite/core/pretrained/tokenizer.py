"""The tokenizer of a model people already have: ``tokenizer.json`` and the settings beside it.

The same ids as ``transformers`` gives, from the same files. Needs the package ``tokenizers`` (the
extra ``hf``), which is imported when a tokenizer is first used.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.errors import LimiteError, Mistake, SettingsError, mistakes_of, sentence
from limite.core.pretrained.chat import choose_template, needs_extra, render_chat
from limite.core.pretrained.generation import GENERATION_FILE, Generation
from limite.core.pretrained.json_files import read_bytes, read_object
from limite.core.pretrained.token_files import (
    FLAGS,
    TOKENIZER,
    TokenFiles,
    tokenizer_hashes,
)
from limite.core.tokenizer import SEPARATOR, Tokenizer
from limite.core.types import Problem

if TYPE_CHECKING:
    import tokenizers

_QUESTION = ({"role": "user", "content": "1+1=?"},)
UNSETTLED = "\N{REPLACEMENT CHARACTER}"


def _is_date(_instance: Any, attribute: Any, value: Any) -> None:
    try:
        if value is not None:
            date.fromisoformat(value)
    except ValueError:
        raise ValueError(
            f"{attribute.name!r} must be a date like 2026-01-31, got {value!r}"
        ) from None


@attrs.frozen(kw_only=True, slots=False)
class PretrainedTokenizer(Tokenizer):
    """The tokenizer in a model's directory. Nothing is read before it is first used.

    A question is put by the directory's chat template, as one user turn with the assistant's
    opened after it. Without a template, or with ``chat = false``, a model simply reads on: the
    question and a newline, after the begin token where the tokenizer puts one before every text.
    A base model reads so; it has been taught no turns.
    """

    path: str = attrs.field(
        validator=attrs.validators.instance_of(str),
        metadata={"help": "the directory that holds tokenizer.json"},
    )
    chat: bool = attrs.field(
        default=True, metadata={"help": "whether questions are put by the chat template, if any"}
    )
    template: str | None = attrs.field(
        default=None, metadata={"help": "which of several named chat templates; None: the default"}
    )
    system: str | None = attrs.field(
        default=None, metadata={"help": "a system turn before the question; None: none"}
    )
    today: str | None = attrs.field(
        default=None,
        validator=_is_date,
        metadata={"help": "the date a template is told that writes one, like 2026-01-31"},
    )
    options: Mapping[str, bool | int | str] = attrs.field(
        factory=dict, metadata={"help": "further names a template reads, like enable_thinking"}
    )

    def __hash__(self) -> int:
        return hash((self.path, self.chat, self.template, self.system, self.today))

    @cached_property
    def files(self) -> TokenFiles:
        """What the directory's files say."""
        return TokenFiles.read(self.path)

    @cached_property
    def generation(self) -> Generation:
        """What ``generation_config.json`` says."""
        return Generation.read(self.path)

    def mistakes(self) -> list[Mistake]:
        """What is wrong with its files, with its chat template, and with the ids that end a text.

        The template is tried on a small question.
        """
        wrong: list[Mistake] = []

        def ask(question: Callable[[], object]) -> bool:
            try:
                question()
            except LimiteError as error:
                wrong.extend(mistakes_of(error))
                return False
            return True

        generation = ask(lambda: self.generation)
        if ask(lambda: self.inner):
            ask(lambda: self.chat_template and self.render_chat(_QUESTION))
            if generation:
                ask(self._check_ends)
        return wrong

    def _check_ends(self) -> None:
        if self.eos_id not in self._used and self._used.isdisjoint(self.eos_ids):
            shown = ", ".join(map(str, self.eos_ids))
            raise LimiteError(f"{self.path}: no token has the id that ends a response: {shown}")

    @cached_property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file, for receipts: another file is another tokenizer."""
        found = tokenizer_hashes(self.path)
        generation = Path(self.path) / GENERATION_FILE  # it says which ids end a response
        if generation.is_file():
            found[GENERATION_FILE] = hashlib.sha256(read_bytes(generation)).hexdigest()
        return found

    @property
    def sha256(self) -> str:
        """SHA-256 of ``tokenizer.json``, in hexadecimal."""
        return hashlib.sha256(self.files.source).hexdigest()

    @cached_property
    def inner(self) -> tokenizers.Tokenizer:
        """The tokenizer of the package ``tokenizers``, with every special token it should have."""
        return _build(self.files)

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return dict(self.inner.get_vocab(with_added_tokens=True))

    @cached_property
    def vocabulary(self) -> int:
        return max(self._id_of.values(), default=-1) + 1

    @cached_property
    def _used(self) -> frozenset[int]:
        return frozenset(self._id_of.values())

    @cached_property
    def unused_ids(self) -> tuple[int, ...]:
        if len(self._used) == self.vocabulary:
            return ()
        return tuple(each for each in range(self.vocabulary) if each not in self._used)

    def _named(self, name: str) -> int | None:
        content = self.files.named.get(name)
        return None if content is None else self._id_of[content]

    @property
    def end_id(self) -> int | None:
        """The tokenizer's own end token, which counts only where the generation config is mute."""
        return self._named("eos_token")

    @cached_property
    def eos_ids(self) -> tuple[int, ...]:
        return self.generation.end_ids(self.end_id)

    @property
    def eos_id(self) -> int:
        if not self.eos_ids:
            raise LimiteError(
                f"{self.path}: neither generation_config.json nor tokenizer_config.json names an "
                "end token"
            )
        return self.eos_ids[0]

    @cached_property
    def bos_id(self) -> int | None:
        """What the tokenizer calls the begin of a text; it is put before a prompt only if asked."""
        return self._named("bos_token")

    @cached_property
    def pad_id(self) -> int:
        for known in (self._named("pad_token"), self.generation.pad_id, *self.eos_ids):
            if known is not None:
                return known
        return 0

    @cached_property
    def begin(self) -> tuple[int, ...]:
        """What is put before a text that no template writes: the begin token, or nothing.

        ``add_bos_token`` in the settings says so, and where it is not there, ``tokenizer.json``.
        """
        asked = self.files.config.get("add_bos_token")
        if asked is None:
            asked = self.inner.encode("").ids[:1] == [self.bos_id]
        return (self.bos_id,) if asked and self.bos_id is not None else ()

    def encode(self, text: str) -> tuple[int, ...]:
        try:
            return tuple(self.inner.encode(text, add_special_tokens=False).ids)
        except TypeError as error:
            raise LimiteError(f"{self.path}: half of a surrogate pair is no text") from error
        except Exception as error:  # the package has no kind of its own for a text without ids
            raise self._no_ids([text], error) from error

    def encode_batch(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """``encode`` for many texts, on several cores."""
        try:
            many = self.inner.encode_batch(list(texts), add_special_tokens=False)
        except TypeError as error:
            raise LimiteError(f"{self.path}: half of a surrogate pair is no text") from error
        except Exception as error:  # as above
            raise self._no_ids(texts, error) from error
        return [tuple(each.ids) for each in many]

    def _no_ids(self, texts: Iterable[str], error: Exception) -> LimiteError:
        """The refusal of texts that the vocabulary cannot write, with what it lacks."""
        lacking = self.lacking(texts)
        if not lacking:
            return LimiteError(f"{self.path}: a text cannot be encoded: {error}")
        return LimiteError(f"{self.path}: the tokenizer has no {lacking[0]!r}")

    def decode(self, ids: Iterable[int], *, specials: bool = False) -> str:
        """The text of ``ids``. Special tokens leave nothing behind, unless ``specials`` are kept;
        other added tokens, ``<think>`` say, are text like any other."""
        ids = list(ids)
        if ids and not 0 <= min(ids) <= max(ids) < self.vocabulary:
            wrong = next(i for i in ids if not 0 <= i < self.vocabulary)
            raise LimiteError(f"token id {wrong} is outside the vocabulary of {self.vocabulary}")
        return self.inner.decode(ids, skip_special_tokens=not specials)

    def decode_settled(self, ids: Iterable[int]) -> str:
        """The text of ``ids`` as far as no further id changes it.

        A character may take several ids; the last is left out while some of them are to come.
        """
        return self.decode(ids).rstrip(UNSETTLED)

    def lacking(self, texts: Iterable[str]) -> list[str]:
        characters = sorted(set().union(*texts))
        return [each for each in characters if self._lacks(each)]

    def _lacks(self, character: str) -> bool:
        if "\ud800" <= character <= "\udfff":
            return True
        plain = self.inner.normalizer
        expected = character if plain is None else plain.normalize_str(character)
        # A tokenizer of pieces may take the space before a text for the beginning of a word.
        try:
            ids = self.inner.encode(character, add_special_tokens=False).ids
        except Exception:  # a vocabulary without a token for what is unknown refuses
            return True
        back = self.decode(ids, specials=True).strip(" ")
        return back not in (character.strip(" "), expected.strip(" "))

    @property
    def chat_template(self) -> str | None:
        """The template that puts questions; None: they are read as plain text."""
        if not self.chat:
            return None
        templates = self.files.templates
        with self._told_with_file():
            return choose_template(templates, self.template)

    def render_chat(
        self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = True
    ) -> str:
        """A conversation as the chat template writes it; ``encode`` gives its ids."""
        template = self.chat_template
        if template is None:
            raise LimiteError(f"{self.path}: has no chat template")
        day = None if self.today is None else date.fromisoformat(self.today)
        with self._told_with_file():
            return render_chat(
                template,
                messages,
                special_tokens=self.files.named,
                add_generation_prompt=add_generation_prompt,
                today=None if day is None else datetime.combine(day, time()),
                options=self.options,
            )

    @contextlib.contextmanager
    def _told_with_file(self) -> Iterator[None]:
        try:
            yield
        except LimiteError as error:
            raise LimiteError(f"{self.files.template_file(self.template)}: {error}") from error

    def render_prompt(self, problem: Problem) -> tuple[int, ...]:
        system = None if self.system is None else {"role": "system", "content": self.system}
        if self.chat_template is None:
            before = "" if self.system is None else self.system + SEPARATOR
            return (*self.begin, *self.encode(before + problem.problem + SEPARATOR))
        asked = {"role": "user", "content": problem.problem}
        return self.encode(self.render_chat([asked] if system is None else [system, asked]))

    def render_turns(self, turns: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """A conversation as it stands, without the system turn of the settings."""
        return self.encode(self.render_chat(turns))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the files say differently from one another, and what is odd about them."""
        config = read_object(Path(self.path) / "config.json") or {}
        notes = list(self.generation.notes(config, self.end_id))
        unused = self.vocabulary - len(self._used)
        if unused:
            notes.append(f"{unused} of {self.vocabulary} ids are no token; they are never sampled")
        wrong = [each for each in self.eos_ids if each >= self.vocabulary]
        notes += [f"end id {each} is outside the vocabulary of {self.vocabulary}" for each in wrong]
        return tuple(notes)


def _build(files: TokenFiles) -> tokenizers.Tokenizer:
    try:
        import tokenizers
    except ModuleNotFoundError as error:
        raise needs_extra("this tokenizer", error) from error
    try:
        inner = tokenizers.Tokenizer.from_buffer(files.source)
    except ValueError as error:
        raise LimiteError(f"{files.directory / TOKENIZER}: {sentence(error)}") from error
    except BaseException as error:
        # How a failure inside of the package arrives, which derives from no ordinary exception.
        if type(error).__name__ != "PanicException":
            raise
        raise LimiteError(f"{files.directory / TOKENIZER}: {error}") from error
    # A file may ask that every text be cut or filled to one length; here a text is its own ids.
    inner.no_truncation()
    inner.no_padding()
    inner.encode_special_tokens = bool(files.config.get("split_special_tokens", False))
    loaded = {
        i: (token.content, *(getattr(token, name) for name in FLAGS))
        for i, token in inner.get_added_tokens_decoder().items()
    }
    for token in files.declared:
        flags = {name: token.flags.get(name, name == "normalized") for name in FLAGS}
        if token.id in loaded and loaded[token.id] == (token.content, *flags.values()):
            continue
        flags["special"] |= token.content in files.named.values()
        inner.add_tokens([tokenizers.AddedToken(token.content, **flags)])
    known = {token.content for token in inner.get_added_tokens_decoder().values()}
    inner.add_special_tokens(
        [
            tokenizers.AddedToken(each, special=True, normalized=False)
            for each in dict.fromkeys((*files.named.values(), *files.extra))
            if each not in known
        ]
    )
    # The package numbers added tokens through, after the vocabulary, whatever the files say.
    meant = {**files.added, **{token.content: token.id for token in files.declared}}
    wrong = [each for each, own in meant.items() if inner.token_to_id(each) != own]
    if wrong:
        raise SettingsError(
            Mistake(
                f"gives {each!r} id {meant[each]}; counted after the tokens before it, it has "
                f"{inner.token_to_id(each)}",
                file=str(
                    files.directory / (TOKENIZER if each in files.added else files.declared_in)
                ),
            )
            for each in wrong
        )
    return inner
