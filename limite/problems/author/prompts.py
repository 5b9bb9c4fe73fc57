"""What is sent to a model: templates in files that anybody may change."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import attrs

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.jsonl import storage_error

HERE = Path(__file__).parent / "prompts"
FIELDS = {
    "ask": (
        "topic", "description", "difficulty", "language", "answer_types", "variant", "examples",
        "avoid",
    ),
    "solve": ("problem", "method", "answer_type"),
    "read": ("problem",),
    "vary": ("problem", "answer_type", "program"),
    "solve-all": ("problem", "method", "answer_type", "quantities", "names"),
}  # fmt: skip
"""The templates, and what each may name between double braces."""

VARYING = ("vary", "solve-all")
"""Those that are used where problems are varied."""

NEEDED = {
    "ask": ("topic", "answer_types", "variant"),
    "solve": ("problem",),
    "read": ("problem",),
    "vary": ("problem", "program"),
    "solve-all": ("problem", "quantities", "names"),
}
_FIELD = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@attrs.frozen
class Template:
    """A prompt with places to be filled."""

    name: str
    text: str

    @property
    def mark(self) -> str:
        """Its name and 64 bits of its hash, as records hold them."""
        return f"{self.name}:{hashlib.sha256(self.text.encode()).hexdigest()[:16]}"

    def filled(self, values: Mapping[str, str]) -> str:
        """The prompt. What is filled in is never looked at for places again."""
        return _FIELD.sub(lambda found: values[found[1]], self.text)


def read_templates(folder: Path | None) -> dict[str, Template]:
    """The templates of a folder; those that it does not have are the built-in ones."""
    wrong: list[Mistake] = []
    if folder is not None:
        if not folder.is_dir():
            raise LimiteError(f"{folder}: no such folder of prompts")
        for path in sorted(folder.glob("*.txt")):
            if path.stem not in FIELDS:
                near = did_you_mean(path.stem, FIELDS) or f"; there are {', '.join(FIELDS)}"
                wrong.append(Mistake(f"no prompt is called {path.stem!r}{near}", file=str(path)))
    found = {}
    for name in FIELDS:
        path = HERE / f"{name}.txt"
        if folder is not None and (folder / path.name).exists():
            path = folder / path.name
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise storage_error(error, path) from error
        except UnicodeDecodeError:
            wrong.append(Mistake("not text in UTF-8", file=str(path)))
            continue
        wrong += _mistakes(name, text, path)
        found[name] = Template(name, text)
    if wrong:
        raise SettingsError(wrong)
    return found


def _mistakes(name: str, text: str, path: Path) -> list[Mistake]:
    wrong, named = [], set()
    for number, line in enumerate(text.splitlines(), start=1):
        for field in _FIELD.findall(line):
            named.add(field)
            if field not in FIELDS[name]:
                near = did_you_mean(field, FIELDS[name])
                near = near or f"; there are {', '.join(FIELDS[name])}"
                wrong.append(Mistake(f"nothing fills {{{{{field}}}}}{near}", "", str(path), number))
    for field in NEEDED[name]:
        if field not in named:
            wrong.append(Mistake(f"{{{{{field}}}}} has no place in it", file=str(path)))
    return wrong


def write_templates(folder: Path) -> None:
    """Copies the built-in templates into a folder, to be changed there; none is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    there = [name for name in FIELDS if (folder / f"{name}.txt").exists()]
    if there:
        raise LimiteError(f"{folder / there[0]}.txt exists; templates are written to a new folder")
    for name in FIELDS:
        text = (HERE / f"{name}.txt").read_text(encoding="utf-8")
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
