"""Lets a Python recipe import the files beside it, watched like the recipe itself."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from limite.core.recipe.python_calls import Recorder


@contextmanager
def own_imports(folder: Path, recorder: Recorder) -> Iterator[None]:
    """Inside, modules in ``folder`` can be imported; afterwards they are forgotten again.

    So the next recipe, in another folder, gets its own ``common.py``, and a changed file is read
    anew.
    """
    finder = _Finder(folder, recorder)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.found:
            sys.modules.pop(name, None)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, folder: Path, recorder: Recorder) -> None:
        self._folder = folder.resolve()
        self._shown = folder
        self._recorder = recorder
        self.found: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        parent = name.rpartition(".")[0]
        if (parent and parent not in self.found) or name in sys.stdlib_module_names:
            return None
        where = [str(self._folder)] if path is None else list(path)
        spec = importlib.machinery.PathFinder.find_spec(name, where)
        if spec is None:
            return None
        if spec.origin is None:  # a folder without __init__.py gives way to an installed package
            installed = importlib.machinery.PathFinder.find_spec(name) if not parent else None
            if installed is not None and installed.origin is not None:
                return None
        elif isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(name, spec.origin, self._show(spec.origin), self._recorder)
        self.found.add(name)
        return spec

    def _show(self, file: str) -> str:
        """A file as errors name it: the way the recipe itself was named."""
        return str(self._shown / Path(file).relative_to(self._folder))


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with its calls watched, and keeps no byte code of that."""

    def __init__(self, name: str, path: str, shown: str, recorder: Recorder) -> None:
        super().__init__(name, path)
        self._shown = shown
        self._recorder = recorder

    def get_code(self, fullname: str) -> types.CodeType:
        return self._recorder.compile(self.get_data(self.path), self.path, self._shown)

    def exec_module(self, module: ModuleType) -> None:
        self._recorder.install(module.__dict__)
        super().exec_module(module)
