"""One of several options: its label, its text, or both where they belong together."""

from __future__ import annotations

import re
from collections.abc import Mapping

from limite.problems.answers.kind import Params
from limite.problems.reading.decoration import bare
from limite.problems.reading.faults import Unreadable

_MACRO = re.compile(r"\\(?:text|textbf|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_SPACES = re.compile(r"(?:\s|\\[,;: !]|~)+")


def options_of(params: Params) -> Mapping[str, str]:
    options = params.get("options")
    if not isinstance(options, Mapping) or not options:
        raise Unreadable("a choice without options")
    return {str(label): str(text) for label, text in options.items()}


def read(text: str, params: Params) -> str:
    options = options_of(params)
    plain = _plain(text)
    labels = {label.casefold(): label for label in options}
    if plain.casefold() in labels:
        return labels[plain.casefold()]
    label, rest = _parted(plain, labels)
    texts = {name: _plain(each).casefold() for name, each in options.items()}
    if label is not None:
        if not rest or rest.casefold() == texts[label]:
            return label
        raise Unreadable("a label beside a text that is not its own")
    named = [name for name, each in texts.items() if each == plain.casefold()]
    if len(named) != 1:
        raise Unreadable("no label, nor the text of exactly one option")
    return named[0]


def _plain(text: str) -> str:
    return bare(_SPACES.sub(" ", _MACRO.sub(r"\1", bare(text))))


def _parted(text: str, labels: Mapping[str, str]) -> tuple[str | None, str]:
    """A label with its bracket, stop or colon, and what stands behind it."""
    match = re.fullmatch(r"\(\s*([^()\s]{1,20})\s*\)\s*(.*)", text, re.DOTALL) or re.fullmatch(
        r"([^()\s.:]{1,20})\s*[).:]\s*(.*)", text, re.DOTALL
    )
    if match is None or match[1].casefold() not in labels:
        return None, text
    return labels[match[1].casefold()], bare(match[2])


def show(value: str, params: Params) -> str:
    return value


def equal(gold: str, given: str, params: Params) -> bool:
    return gold == given
