"""What problems are asked for: topics with weights, from a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

from limite.core.config_faults import dotted
from limite.core.config_locate import TomlLines
from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.jsonl import storage_error
from limite.core.seeds import Seeds
from limite.core.types import Answer
from limite.problems.answers import canonical
from limite.problems.author.filters import LANGUAGES

SAMPLES = {
    "boolean": "true", "complex": "1", "equation": "x=1", "expression": "1", "integer": "1",
    "interval": "[0,1]", "matrix": "[[1]]", "modular": "0", "rational": "1", "real": "1",
    "set": "{1}", "string": "a", "tuple": "(1,2)",
}  # fmt: skip
"""The types that may be asked for, each with a value to try its params with."""

SHARED = ("answer_types", "difficulty", "language", "range", "params", "vary")
OWN = ("description", "weight", "examples", "tags")
MOST_VARIANTS = 1_000
"""Of one problem."""

TOPICS = "topics"
Keys = tuple[str, ...]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./ -]*")


@attrs.frozen(kw_only=True)
class Topic:
    """A subject that problems are asked about."""

    name: str
    description: str = ""
    weight: float = 1.0
    answer_types: Sequence[str] = ("integer", "rational")
    difficulty: str = "an exercise that takes several steps"
    language: str = "en"
    range: tuple[Fraction, Fraction] | None = None
    params: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    examples: Sequence[str] = ()
    tags: Sequence[str] = ()
    vary: int | None = None
    """The most problems with other numbers that are made of each."""

    @property
    def plain(self) -> dict[str, Any]:
        """Everything, as a manifest holds it."""
        ends = None if self.range is None else [str(end) for end in self.range]
        found = {**attrs.asdict(self), "range": ends}
        if not self.vary:
            del found["vary"]
        return found


def drawn(topics: Sequence[Topic], seed: int, slot: int) -> Topic:
    """The topic of a request: by weight, and of its number alone."""
    weights = [topic.weight for topic in topics]
    return Seeds(seed).stream("author", "topic", slot).choices(topics, weights)[0]


def read_topics(path: Path) -> list[Topic]:
    """The topics of a file; every mistake in it at once.

    ``[topics.NAME]`` is a table for each; what stands above them holds for all that say nothing
    else.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise storage_error(error, path) from error
    except ValueError as error:
        raise LimiteError(f"{path}: not TOML: {error}") from error
    reader = _Reader(str(path), TomlLines(text))
    tables = data.pop("topics", None)
    reader.known(data, (*SHARED, TOPICS), ())
    misspelt = any(did_you_mean(key, (*SHARED, TOPICS)).count(repr(TOPICS)) for key in data)
    if not isinstance(tables, dict) or not tables:
        if tables is not None or not misspelt:
            reader.wrong((TOPICS,), "expected a table for each topic, as [topics.gcd]")
        tables = {}
    topics = [reader.topic(name, table, data) for name, table in tables.items()]
    if tables and not any(topic.weight > 0 for topic in topics):
        reader.wrong((TOPICS,), "no topic has a weight above 0")
    if reader.mistakes:
        raise SettingsError(sorted(reader.mistakes, key=lambda each: each.line or 0))
    return topics


class _Reader:
    def __init__(self, file: str, lines: TomlLines) -> None:
        self.file = file
        self.lines = lines
        self.mistakes: list[Mistake] = []

    def wrong(self, place: Keys, message: str) -> None:
        mistake = Mistake(message, dotted(place), self.file, self.lines.find(place))
        if mistake not in self.mistakes:  # what is shared is read once for each topic
            self.mistakes.append(mistake)

    def known(self, table: Mapping[str, Any], names: Iterable[str], place: Keys) -> None:
        for key in table:
            if key not in names:
                near = did_you_mean(key, names) or f"; there are {', '.join(sorted(names))}"
                self.wrong((*place, key), f"unknown key{near}")

    def topic(self, name: str, table: Any, shared: Mapping[str, Any]) -> Topic:
        place = (TOPICS, name)
        if not _NAME.fullmatch(name):
            self.wrong(place, "a name is letters, digits and - _ . / between them")
        if not isinstance(table, dict):
            self.wrong(place, "expected a table")
            table = {}
        self.known(table, (*SHARED, *OWN), place)
        given: dict[str, Any] = {}
        for key in (*SHARED, *OWN):
            if key in table:
                value = self.value(key, table[key], (*place, key))
            elif key in shared and key in SHARED:
                value = self.value(key, shared[key], (key,))
            else:
                continue
            if value is not None:
                given[key] = value
        topic = Topic(name=name, **given)
        self.types(topic, place)
        return topic

    def value(self, key: str, value: Any, place: Keys) -> Any:
        """The value of a setting, None where it is wrong, which is told."""
        if key == "language" and isinstance(value, str):
            if value in LANGUAGES:
                return value
            self.wrong(place, f"no language {value!r}; there are {', '.join(sorted(LANGUAGES))}")
            return None
        found = _READ[key](value)
        if found is not None:
            return found
        self.wrong(place, f"expected {_EXPECTED[key]}, got {value!r}")
        return None

    def types(self, topic: Topic, place: Keys) -> None:
        for kind in (*topic.answer_types, *topic.params):
            if kind not in SAMPLES:
                near = did_you_mean(kind, SAMPLES) or f"; there are {', '.join(SAMPLES)}"
                self.wrong((*place, "answer_types"), f"no answer type {kind!r}{near}")
        for kind in topic.answer_types:
            if kind in SAMPLES:
                params = topic.params.get(kind, {})
                try:
                    canonical(Answer(type=kind, value=SAMPLES[kind], params=params))
                except LimiteError as error:
                    reason = str(error).rpartition(": ")[2]
                    self.wrong((*place, "params", kind), reason)


def _text(value: Any) -> str | None:
    return " ".join(value.split()) if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    number = isinstance(value, int) and not isinstance(value, bool)
    return value if number and 0 <= value <= MOST_VARIANTS else None


def _texts(value: Any) -> tuple[str, ...] | None:
    good = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return tuple(value) if good else None


def _weight(value: Any) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and 0 <= value < float("inf") else None


def _ends(value: Any) -> tuple[Fraction, Fraction] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    if any(isinstance(end, bool) or not isinstance(end, (int, float, str)) for end in value):
        return None
    try:
        low, high = (Fraction(str(end)) for end in value)
    except (ValueError, ZeroDivisionError):
        return None
    return (low, high) if low <= high else None


def _tables(value: Any) -> dict[str, Any] | None:
    good = isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())
    return value if good else None


_READ: dict[str, Callable[[Any], Any]] = {
    "description": _text,
    "difficulty": _text,
    "language": lambda _value: None,
    "examples": _texts,
    "tags": _texts,
    "answer_types": lambda value: _texts(value) or None,
    "weight": _weight,
    "vary": _count,
    "range": _ends,
    "params": _tables,
}
_EXPECTED = {
    "description": "a text",
    "difficulty": "a text",
    "language": "a text",
    "examples": "a list of texts",
    "tags": "a list of texts",
    "answer_types": 'a list of types, as ["integer"]',
    "weight": "a number from 0 up",
    "vary": f"a whole number from 0 to {MOST_VARIANTS:,}",
    "range": "two numbers, the smaller one first",
    "params": "a table for each type, as {real = {decimals = 2}}",
}
