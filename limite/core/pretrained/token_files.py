"""The files of a tokenizer in a model's directory: found, copied, read, and checked together.

``tokenizer.json`` says how text becomes ids. The settings beside it name the special tokens and
may hold the chat template. Nothing here needs a package beyond limite's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, Mistake, SettingsError, mistakes_of
from limite.core.jsonl import write_atomic
from limite.core.pretrained.json_files import is_id, json_object, read_bytes, read_object

TOKENIZER = "tokenizer.json"
CONFIG = "tokenizer_config.json"
SPECIALS_MAP = "special_tokens_map.json"
ADDED = "added_tokens.json"
TEMPLATE = "chat_template.jinja"
MORE_TEMPLATES = "additional_chat_templates"
NAMES = (
    TOKENIZER,
    CONFIG,
    SPECIALS_MAP,
    ADDED,
    TEMPLATE,
    "chat_template.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "tekken.json",
)
NAMED = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
LARGEST = 1 << 28
"""Bytes of the largest ``tokenizer.json`` that is read; the largest known ones hold 35 million."""

Said = Callable[[str, str], None]
"""How the checks below tell a mistake: its place, and what is wrong there."""

_SHOWN = 8
FLAGS = ("lstrip", "normalized", "rstrip", "single_word", "special")


@attrs.frozen(kw_only=True)
class Token:
    """One added token: found as a whole in a text, whatever surrounds it."""

    content: str
    id: int | None = None
    flags: Mapping[str, bool] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class TokenFiles:
    """What the files say, once they agree. ``source`` is ``tokenizer.json`` as it was read.

    ``added`` is its added tokens with their ids, ``declared`` what the settings say of such;
    ``named`` is the special tokens by name (``eos_token``, ...), ``extra`` those without one.
    ``ids`` is every token with an id.
    """

    directory: Path
    source: bytes
    added: Mapping[str, int]
    config: Mapping[str, Any]
    named: Mapping[str, str]
    extra: tuple[str, ...]
    declared: tuple[Token, ...]
    templates: Mapping[str, str]
    ids: Mapping[str, int] = attrs.field(factory=dict, repr=False)

    @property
    def declared_in(self) -> str:
        """The file that ``declared`` comes from."""
        return CONFIG if "added_tokens_decoder" in self.config else ADDED

    @property
    def vocabulary(self) -> int:
        """How many ids there are, counted to the last one that is a token."""
        return max(self.ids.values(), default=-1) + 1

    def row_mistakes(self, rows: int) -> list[Mistake]:
        """That a token table with so many ``rows`` has none for some of the ids, if so."""
        if self.vocabulary <= rows:
            return []
        message = f"the tokenizer has {self.vocabulary} ids, and the embedding only {rows} rows"
        return [Mistake(message, file=str(self.directory / TOKENIZER))]

    def template_file(self, name: str | None) -> Path:
        """The file that a chat template comes from."""
        own = MORE_TEMPLATES + f"/{name}.jinja" if name not in (None, "default") else TEMPLATE
        return self.directory / (own if (self.directory / own).is_file() else CONFIG)

    @classmethod
    def read(cls, directory: str | Path) -> TokenFiles:
        """Reads and checks a directory's tokenizer; every mistake at once."""
        directory = Path(directory)
        if not (directory / TOKENIZER).is_file():
            raise LimiteError(f"{directory}: holds no {TOKENIZER}")
        mistakes: list[Mistake] = []
        source = read_bytes(directory / TOKENIZER, LARGEST)
        objects: dict[str, dict[str, Any]] = {}
        for name in (TOKENIZER, CONFIG, SPECIALS_MAP, ADDED):
            try:
                path = directory / name
                found = json_object(source, path) if name == TOKENIZER else read_object(path)
                objects[name] = found or {}
            except SettingsError as error:
                mistakes += error.mistakes
        if mistakes:
            raise SettingsError(mistakes)
        config = objects[CONFIG]
        legacy = "added_tokens_decoder" not in config
        special = {**config, **(objects[SPECIALS_MAP] if legacy else {})}

        def said_of(name: str) -> Said:
            file = str(directory / name)
            return lambda path, message: mistakes.append(Mistake(message, path=path, file=file))

        ids = _ids(objects[TOKENIZER], said_of(TOKENIZER))
        if mistakes:  # what the settings say cannot be judged by such a vocabulary
            raise SettingsError(mistakes)
        named, extra = _specials(special, said_of(CONFIG))
        if legacy:
            declared = _legacy_added(objects[ADDED], named, said_of(ADDED))
        else:
            declared = _declared(config, said_of(CONFIG))
        where = ADDED if legacy else CONFIG
        for message in _disagreements(declared, ids):
            said_of(where)("" if legacy else "added_tokens_decoder", message)
        known = {*ids, *(token.content for token in declared)}
        for name, content in [*named.items(), *(("extra_special_tokens", each) for each in extra)]:
            if content not in known:
                said_of(CONFIG)(name, f"names {content!r}, which is no token of {TOKENIZER}")
        try:
            templates = _templates(directory, config, said_of(CONFIG))
        except LimiteError as error:
            mistakes += mistakes_of(error)
        added = objects[TOKENIZER].get("added_tokens") or []
        if mistakes:
            raise SettingsError(mistakes)
        return cls(
            directory=directory,
            source=source,
            added={each["content"]: each["id"] for each in added},
            config=config,
            named=named,
            extra=extra,
            declared=declared,
            templates=templates,
            ids=ids | {each.content: each.id for each in declared if each.id is not None},
        )


def tokenizer_files(directory: str | Path) -> tuple[str, ...]:
    """The names of a tokenizer's files that are there, those of its chat templates included."""
    directory = Path(directory)
    there = [name for name in NAMES if (directory / name).is_file()]
    more = sorted((directory / MORE_TEMPLATES).glob("*.jinja"))
    return (*there, *(f"{MORE_TEMPLATES}/{path.name}" for path in more if path.is_file()))


def refuse_unfit_tokenizer(directory: str | Path, rows: int | None) -> None:
    """Refuses a directory whose tokenizer cannot be read, or has ids without a row of the table.

    A directory without a tokenizer is well, and so is a table that is not settled (None).
    """
    if rows is not None and (Path(directory) / TOKENIZER).is_file():
        wrong = TokenFiles.read(directory).row_mistakes(rows)
        if wrong:
            raise SettingsError(wrong)


def copy_tokenizer_files(source: str | Path, target: str | Path) -> tuple[str, ...]:
    """Copies a tokenizer's files byte for byte, and gives their names.

    ``target`` is a directory; a file that is there already is refused and stays as it is.
    """
    source, target = Path(source), Path(target)
    names = tokenizer_files(source)
    there = [name for name in names if (target / name).exists()]
    if there:
        raise LimiteError(f"{target}: holds {', '.join(there)} already")
    for name in names:
        (target / name).parent.mkdir(exist_ok=True)
        write_atomic(target / name, read_bytes(source / name, LARGEST))
    return names


def tokenizer_hashes(directory: str | Path) -> dict[str, str]:
    """SHA-256, in hexadecimal, of each of a tokenizer's files."""
    directory = Path(directory)
    return {
        name: hashlib.sha256(read_bytes(directory / name, LARGEST)).hexdigest()
        for name in tokenizer_files(directory)
    }


def _ids(data: Mapping[str, Any], wrong: Said) -> dict[str, int]:
    """Every token and its id; added tokens come last and must agree with the vocabulary."""
    model = data.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, list):
        pieces = [each[0] if isinstance(each, list) and each else each for each in vocabulary]
        if not all(isinstance(each, str) for each in pieces):
            wrong("model.vocab", "expected pairs of a piece and its score")
            return {}
        for piece in _twice(pieces):
            wrong("model.vocab", f"holds {piece!r} more than once")
        ids = {piece: place for place, piece in enumerate(pieces)}
    elif isinstance(vocabulary, dict):
        ids = vocabulary
        for each in _first(f"{token!r}: {i!r}" for token, i in ids.items() if not is_id(i)):
            wrong("model.vocab", f"expected token ids, got {each}")
            ids = {token: i for token, i in ids.items() if is_id(i)}
        for i in _twice(ids.values()):
            both = ", ".join(repr(token) for token in [t for t, own in ids.items() if own == i][:3])
            wrong("model.vocab", f"gives id {i} to {both}")
    else:
        wrong("model.vocab", "expected the tokens of a vocabulary")
        return {}
    return _with_added(ids, data.get("added_tokens") or [], wrong)


def _with_added(ids: dict[str, int], added: Any, wrong: Said) -> dict[str, int]:
    if not isinstance(added, list):
        wrong("added_tokens", f"expected a list, got {type(added).__name__}")
        return ids
    all_ids = dict(ids)
    tokens = {i: token for token, i in ids.items()}
    for place, each in enumerate(added):
        token = _token(each, each.get("id") if isinstance(each, dict) else None)
        if token is None or token.id is None:
            wrong(f"added_tokens[{place}]", "expected a token with content and id")
        elif tokens.get(token.id, token.content) != token.content:
            message = (
                f"gives id {token.id} to {token.content!r}; it is {tokens[token.id]!r} already"
            )
            wrong(f"added_tokens[{place}]", message)
        elif all_ids.get(token.content, token.id) != token.id:
            message = (
                f"gives {token.content!r} id {token.id}; it has {all_ids[token.content]} already"
            )
            wrong(f"added_tokens[{place}]", message)
        else:
            all_ids[token.content] = token.id
            tokens[token.id] = token.content
    return all_ids


def _token(value: Any, i: Any) -> Token | None:
    """An added token as settings write it: its text, or an object with its text and flags."""
    if isinstance(value, str) and value:
        return Token(content=value)
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, str) or not content or not (i is None or is_id(i)):
        return None
    flags = {name: value[name] for name in FLAGS if isinstance(value.get(name), bool)}
    return Token(content=content, id=i, flags=flags)


def _specials(config: Mapping[str, Any], wrong: Said) -> tuple[dict[str, str], tuple[str, ...]]:
    """Special tokens by name, and those without one."""
    values = {name: config[name] for name in NAMED if config.get(name) is not None}
    others = {
        name: value
        for name, value in config.items()
        if name.endswith("_token") and name not in NAMED and isinstance(value, (str, dict))
    }
    extra = config.get("extra_special_tokens") or config.get("additional_special_tokens") or []
    if isinstance(extra, dict):
        others |= extra
        extra = []
    if not isinstance(extra, list):
        wrong("extra_special_tokens", f"expected a list or an object, got {extra!r}")
        extra = []
    named = {}
    for name, value in {**values, **others}.items():
        token = _token(value, None)
        if token is None:
            wrong(name, f"expected a token, got {value!r}")
        else:
            named[name] = token.content
    nameless = [_token(each, None) for each in extra]
    if None in nameless:
        wrong("extra_special_tokens", f"expected tokens, got {extra[nameless.index(None)]!r}")
    return named, tuple(token.content for token in nameless if token is not None)


def _declared(config: Mapping[str, Any], wrong: Said) -> tuple[Token, ...]:
    declared = []
    decoder = config["added_tokens_decoder"]
    if not isinstance(decoder, dict):
        wrong("added_tokens_decoder", f"expected an object, got {type(decoder).__name__}")
        return ()
    for key, value in decoder.items():
        token = _token(value, int(key)) if key.isascii() and key.isdecimal() else None
        if token is None or token.id is None:
            wrong(f"added_tokens_decoder.{key}", "expected an id and a token with content")
        else:
            declared.append(token)
    return tuple(sorted(declared, key=lambda token: token.id or 0))


def _legacy_added(
    added: Mapping[str, Any], named: Mapping[str, str], wrong: Said
) -> tuple[Token, ...]:
    declared = []
    for content, i in added.items():
        if not is_id(i) or not content:
            wrong(content, f"expected a token id, got {i!r}")
            continue
        special = content in named.values()
        flags = {"special": special, "normalized": not special}
        declared.append(Token(content=content, id=i, flags=flags))
    return tuple(sorted(declared, key=lambda token: token.id or 0))


def _disagreements(declared: Iterable[Token], ids: Mapping[str, int]) -> Iterator[str]:
    tokens = {i: token for token, i in ids.items()}
    for token in declared:
        if ids.get(token.content, token.id) != token.id:
            has = ids[token.content]
            yield f"gives {token.content!r} id {token.id}; in {TOKENIZER} it has {has}"
        elif token.id is not None and tokens.get(token.id, token.content) != token.content:
            yield f"gives id {token.id} to {token.content!r}; {TOKENIZER} to {tokens[token.id]!r}"


def _templates(directory: Path, config: Mapping[str, Any], wrong: Said) -> dict[str, str]:
    """Chat templates by name. Those in files of their own stand in place of the settings'."""
    files = {}
    if (directory / TEMPLATE).is_file():
        files["default"] = directory / TEMPLATE
    for path in sorted((directory / MORE_TEMPLATES).glob("*.jinja")):
        files[path.stem] = path
    if files:
        return {name: _text(path) for name, path in files.items()}
    said = config.get("chat_template")
    if said is None:
        return {}
    if isinstance(said, str):
        return {"default": said}
    if isinstance(said, list) and all(isinstance(each, dict) for each in said):
        pairs = [(each.get("name"), each.get("template")) for each in said]
    else:
        pairs = list(said.items()) if isinstance(said, dict) else [(None, None)]
    named = {n: t for n, t in pairs if isinstance(n, str) and isinstance(t, str)}
    if len(named) < len(pairs):
        wrong("chat_template", "expected a template, or templates each with a name of its own")
    return named


def _text(path: Path) -> str:
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise LimiteError(f"{path}: not UTF-8: {error}") from error
    # As text files are read: whatever ends a line is a newline.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _first(values: Iterable[Any]) -> list[Any]:
    """The first few, so that a file that is wrong throughout does not fill the screen."""
    return [value for value, _ in zip(values, range(_SHOWN), strict=False)]


def _twice(values: Iterable[Any]) -> list[Any]:
    seen: set[Any] = set()
    repeated = (value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
    return _first(dict.fromkeys(repeated))
