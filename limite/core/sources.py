"""What a class named by ``"package.module:Class"`` says of itself, without importing it."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path


def first_doc_line(target: str) -> str:
    """The first line of the docstring of the class at ``target``, or an empty string.

    Read from the source, so that listing components imports none of them (and no torch).
    """
    module, _, name = target.partition(":")
    source = _source(module)
    header = re.search(rf"^class {re.escape(name)}\b", source, re.MULTILINE)
    if header is None:
        return ""
    # Parsing the one class is several times quicker than parsing its file; a class that holds
    # text at the left margin is cut short by this and needs the whole file.
    end = re.search(r"^[^\s#)]", source[header.end() :], re.MULTILINE)
    body = source[header.start() : header.end() + end.start()] if end else source[header.start() :]
    for text in (body, source):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return (ast.get_docstring(node) or "").partition("\n")[0].strip()
    return ""


def missing_target(target: str) -> str | None:
    """Why ``target`` cannot be there: no such module, or a module without the name. Else None."""
    module, _, name = target.partition(":")
    if module in sys.modules:
        return None
    spec = _find(module)
    if spec is None:
        return f"there is no module {module!r}"
    source = _source(module)
    if source and not re.search(rf"\b{re.escape(name.partition('.')[0])}\b", source):
        return f"the module {module!r} has no {name!r}"
    return None


def forget() -> None:
    """Look at the files again: for a process whose modules have changed on disk."""
    _find.cache_clear()
    _source.cache_clear()


@functools.cache
def _find(module: str) -> ModuleSpec | None:
    """The spec of a module. Its parent packages are looked up, but never imported."""
    parent, _, _ = module.rpartition(".")
    if module in sys.modules:
        return sys.modules[module].__spec__
    try:
        if not parent:
            return importlib.util.find_spec(module)
        above = _find(parent)
        if above is None or above.submodule_search_locations is None:
            return None
        return PathFinder.find_spec(module, list(above.submodule_search_locations))
    except (ImportError, ValueError):
        return None


@functools.cache
def _source(module: str) -> str:
    spec = _find(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    try:
        return Path(spec.origin).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
