"""What the files of a tokenizer say, for somebody who looks at a model, and where they disagree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import attrs

from limite.core.errors import LimiteError, Mistake, mistakes_of
from limite.core.pretrained.generation import GENERATION_FILE, Generation
from limite.core.pretrained.json_files import is_id
from limite.core.pretrained.token_files import CONFIG, TOKENIZER, TokenFiles
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.tokenizer import SPECIALS, CharacterTokenizer

NO_LIMIT = 1 << 30
"""A ``model_max_length`` above this is what files say that know of none."""

Found = TypeVar("Found")


@attrs.frozen(kw_only=True)
class Words:
    """A tokenizer: its kind, how many ids it has, the special ones, and its chat templates.

    ``ends`` are the ids that end a response with their texts, ``ends_from`` what says so.
    ``unopened`` says why the tokenizer itself was not tried; empty if it was.
    """

    kind: str
    vocabulary: int
    begin: int | None
    pad: int | None
    ends: Mapping[int, str | None]
    ends_from: str
    templates: tuple[str, ...]
    unopened: str = ""


@attrs.define(kw_only=True)
class Told:
    """What is found on the way. Mistakes keep a model from being loaded, warnings do not."""

    mistakes: list[Mistake] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)

    def try_to(self, look: Callable[[], Found]) -> Found | None:
        """What ``look`` finds, or None where that is refused."""
        try:
            return look()
        except LimiteError as error:
            self.mistakes += mistakes_of(error)
            return None


def words_of(tokenizer: CharacterTokenizer) -> Words:
    """A character tokenizer, which is in no file."""
    return Words(
        kind="characters",
        vocabulary=tokenizer.vocabulary,
        begin=tokenizer.bos_id,
        pad=tokenizer.pad_id,
        ends={i: SPECIALS[i] for i in tokenizer.eos_ids},
        ends_from="the tokenizer",
        templates=(),
    )


def words_in(path: Path, config: Mapping[str, Any], rows: int | None, told: Told) -> Words | None:
    """The tokenizer of a directory, as far as its files can be read."""
    generation = told.try_to(lambda: Generation.read(path))
    if not (path / TOKENIZER).is_file():
        told.warnings.append(f"there is no {TOKENIZER}: the model cannot read or write text")
        return None
    files = told.try_to(lambda: TokenFiles.read(path))
    if files is None:
        return None
    unopened = ""
    try:
        _ = PretrainedTokenizer(path=str(path)).vocabulary
    except LimiteError as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            unopened = f"not opened: {error}"
        else:
            told.mistakes += mistakes_of(error)
    generation = generation or Generation()
    vocabulary = files.vocabulary
    named = {name: files.ids[content] for name, content in files.named.items()}
    end = named.get("eos_token")
    ends = generation.end_ids(end)
    texts = {i: content for content, i in files.ids.items()}
    if rows is not None:
        told.mistakes += files.row_mistakes(rows)
    pad = named.get("pad_token", generation.pad_id)
    told.warnings += _warnings(files, generation, config, named, vocabulary)
    return Words(
        kind=_kind(files),
        vocabulary=vocabulary,
        begin=named.get("bos_token"),
        pad=next(iter(ends), None) if pad is None else pad,
        ends={i: texts.get(i) for i in ends},
        ends_from=GENERATION_FILE if generation.eos_ids else CONFIG if ends else "",
        templates=tuple(sorted(files.templates)),
        unopened=unopened,
    )


def _warnings(
    files: TokenFiles,
    generation: Generation,
    config: Mapping[str, Any],
    named: Mapping[str, int],
    vocabulary: int,
) -> Iterator[str]:
    """Where the files say different things, and which of them counts."""
    yield from generation.notes(config, named.get("eos_token"))
    for i in generation.end_ids(named.get("eos_token")):
        if i >= vocabulary:
            yield (
                f"the end id {i} is none of the tokenizer's {vocabulary} ids: if nothing else "
                "ends a response, it runs to its budget"
            )
    for word, field, own in (
        ("begin", "bos", generation.bos_id),
        ("padding", "pad", generation.pad_id),
    ):
        said = {
            "config.json": config.get(f"{field}_token_id"),
            GENERATION_FILE: own,
            "the tokenizer": named.get(f"{field}_token"),
        }
        given = {place: i for place, i in said.items() if is_id(i)}
        if len(set(given.values())) > 1:
            listed = ", ".join(f"{place} says {i}" for place, i in given.items())
            used = "the tokenizer" if "the tokenizer" in given else GENERATION_FILE
            if field == "bos" and used != "the tokenizer":
                yield f"{word} tokens differ: {listed}; limite puts none"
            else:
                yield f"{word} tokens differ: {listed}; limite uses what {used} says"
    longest, context = files.config.get("model_max_length"), config.get("max_position_embeddings")
    if is_size(longest) and is_size(context) and longest != context and longest < NO_LIMIT:
        yield (
            f"{CONFIG} says texts have at most {longest:,.0f} tokens, config.json {context:,}: "
            "limite goes by the latter, others may cut texts at the former"
        )


def is_size(value: Any) -> TypeGuard[float]:
    """Whether it is a number above 0, whole or not: some files write whole ones as ``1e30``."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _kind(files: TokenFiles) -> str:
    """What ``tokenizer.json`` calls its model: ``BPE``, ``Unigram``, ``WordLevel``."""
    return str(json.loads(files.source)["model"].get("type") or "BPE")
