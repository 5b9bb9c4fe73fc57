"""Whether models can be averaged, and if not, what differs between them, with both values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.core.checkpoint.tensor_header import brief, shown
from limite.core.errors import Mistake, SettingsError
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.directory import CONFIG_FILE, file_name
from limite.core.pretrained.export import Source

Named = tuple[str, Source]
Difference = tuple[str, str, str]
"""Where, what the first has, and what the other has."""

PROVENANCE = frozenset(
    {"transformers_version", "_name_or_path", "name_or_path", "_from_model_config", "_commit_hash"}
)
"""What files say of where they come from; it changes no number."""

DTYPES = frozenset({"dtype", "torch_dtype"})
"""The dtypes of the tensors themselves are compared."""

SHOWN = 6
"""The most differences of one kind that are told of two models; of more there is the count."""

LACKING = "no such tensor"


def refuse_different(models: Sequence[Named], *, dtypes: bool = True) -> None:
    """A SettingsError that tells how models differ from the first, all of it at once."""
    first = models[0]
    wrong = [each for other in models[1:] for each in differences(first, other, dtypes=dtypes)]
    if wrong:
        raise SettingsError(wrong)


def notes(models: Sequence[Named]) -> list[str]:
    """Where configurations differ in what changes no number: the first one's is taken."""
    first = models[0]
    return [
        f"{CONFIG_FILE}: {path}: {first[0]} has {mine}, {other[0]} has {theirs}; the first is taken"
        for other in models[1:]
        for path, mine, theirs in _config_differences(first, other)
        if _numbers(first[1]) == _numbers(other[1])
    ]


def differences(first: Named, other: Named, *, dtypes: bool = True) -> Iterator[Mistake]:
    """How a model differs from the first; without ``dtypes`` those of tensors may be any."""
    (_, mine), (_, theirs) = first, other
    names = (first[0], other[0])
    if _numbers(mine) != _numbers(theirs):
        told = _config_differences(first, other)
        specs = ("", _short(str(mine.spec)), _short(str(theirs.spec)))
        yield from _together(told or [specs], names, CONFIG_FILE)
    if type(mine.spec) is type(theirs.spec):
        kinds: dict[Any, list[Difference]] = {}
        for each in _tensor_differences(mine, theirs, dtypes):
            kinds.setdefault((each[1] == LACKING, each[2] == LACKING), []).append(each)
        for (lacks, other_lacks), group in kinds.items():
            if len(group) > 1 and (lacks or other_lacks):
                has, not_there = reversed(names) if lacks else names
                some = _listed([path for path, _, _ in group])
                message = f"{has} has {len(group):,} that {not_there} lacks: {some}"
                yield Mistake(message, "tensors")
            else:
                yield from _together(group, names, "tensors", place="")
    for file in sorted(mine.files.keys() | theirs.files.keys()):
        found = _file_differences(file, mine.files.get(file), theirs.files.get(file))
        yield from _together([*found], names, file)


def _numbers(source: Source) -> DecoderSpec:
    """What the computation follows from: all but which rows of the table are tokens.

    Tokenizers say that, and are compared by themselves.
    """
    spec: Any = source.spec
    found: DecoderSpec = attrs.evolve(spec, vocabulary=spec.padded_vocabulary)
    return found


def _together(
    found: Sequence[Difference], names: tuple[str, str], what: str, *, place: str | None = None
) -> Iterator[Mistake]:
    """All differences of a kind in one sentence, if there are any.

    Of a single one the path stands after ``place``, by default ``what`` it is of.
    """
    name, other = names
    if len(found) == 1:
        path, mine, theirs = found[0]
        where = ": ".join(filter(None, (what if place is None else place, path)))
        yield Mistake(f"{name} has {mine}, {other} has {theirs}", where)
    elif found:
        some = _listed([f"{path} ({mine} and {theirs})" for path, mine, theirs in found])
        yield Mistake(f"{name} and {other} differ in {len(found):,}: {some}", what)


def _listed(items: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    shown = [*items] if len(items) <= SHOWN + 1 else [*items[:SHOWN]]
    more = len(items) - len(shown)
    return ", ".join(shown) + (f", and {more:,} more" if more else "")


def _config_differences(first: Named, other: Named) -> list[Difference]:
    mine, theirs = first[1].config, other[1].config
    kind = "model_type"
    if mine.get(kind) != theirs.get(kind):
        return [(kind, _value(mine.get(kind)), _value(theirs.get(kind)))]
    return [
        each
        for each in _plain_differences("", mine, theirs)
        if each[0].partition(".")[0] not in PROVENANCE | DTYPES
    ]


def _tensor_differences(mine: Source, theirs: Source, dtypes: bool) -> Iterator[Difference]:
    for parameter in dict.fromkeys((*mine.tensor_of, *theirs.tensor_of)):
        ours, others = _kind(mine, parameter, dtypes), _kind(theirs, parameter, dtypes)
        if ours != others:
            yield shown(file_name(parameter)), ours, others


def _kind(source: Source, parameter: str, dtypes: bool) -> str:
    own = source.tensor_of.get(parameter)
    if own is None:
        return LACKING
    entry = source.tensors.entry(own)
    shape = str(list(entry.shape))
    return f"{str(entry.dtype).removeprefix('torch.')} {shape}" if dtypes else shape


def _file_differences(file: str, mine: bytes | None, theirs: bytes | None) -> Iterator[Difference]:
    """Of JSON the values that differ, however they are written; of other files that they do."""
    if mine == theirs:
        return
    if mine is None or theirs is None:
        yield "", "none" if mine is None else "one", "none" if theirs is None else "one"
        return
    try:
        ours, others = json.loads(mine), json.loads(theirs)
    except ValueError:
        yield "", f"one of {len(mine):,} bytes", f"another of {len(theirs):,} bytes"
        return
    if isinstance(ours, dict) and isinstance(others, dict):
        ours, others = (
            {key: value for key, value in each.items() if key not in PROVENANCE}
            for each in (ours, others)
        )
    yield from _plain_differences("", ours, others)


def _plain_differences(path: str, mine: Any, theirs: Any) -> Iterator[Difference]:
    """Null is as good as not being there."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for key in dict.fromkeys((*mine, *theirs)):
            inner = f"{path}.{shown(key)}" if path else shown(key)
            yield from _plain_differences(inner, mine.get(key), theirs.get(key))
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for number, (ours, others) in enumerate(zip(mine, theirs, strict=True)):
            yield from _plain_differences(f"{path}[{number}]", ours, others)
    elif _exact(mine) != _exact(theirs):
        yield path, _value(mine), _value(theirs)


def _exact(value: Any) -> tuple[bool, Any]:
    """True is not 1."""
    return isinstance(value, bool), value


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list) and len(value) > 4:
        return f"a list of {len(value):,}"
    return brief(value)


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."
