"""Laws must be able to fail: each mistake planted in a component is named by the law it breaks.

``faults/<file>.py`` lists them.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import Phase, settings

import limite
from limite.core.discover import load_registry
from limite.plugins.conformance import laws_for

Fault = tuple[str, str, str, tuple[str, dict[str, Any]], str]

FOLDER = Path(__file__).parent / "faults"
PLUGINS = Path(limite.__file__).parent / "plugins"


def _load(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _listed() -> list[tuple[str, Fault]]:
    found: list[tuple[str, Fault]] = []
    for file in sorted(FOLDER.glob("*.py")):
        module = _load(f"limite_listed_component_faults_{file.stem}", file)
        found += [(file.stem, fault) for fault in module.FAULTS]
    return found


FAULTS = _listed()
IDS = [f"{stem}-{place}-{fault[4]}" for place, (stem, fault) in enumerate(FAULTS)]


def _module(path: str) -> str:
    """The module of a file given relative to ``limite/plugins``."""
    inside = (PLUGINS / path).resolve().relative_to(PLUGINS.parent.parent).with_suffix("")
    return ".".join(inside.parts)


def _target(component: str) -> tuple[str, str]:
    place, _, name = component.partition(":")
    folders, _, dotted = place.rpartition("/")
    path = (
        f"{folders}/{dotted.replace('.', '/')}.py" if folders else f"{place.replace('.', '/')}.py"
    )
    return _module(path), name


KINDS = {entry.target: entry.kind for entry in load_registry().entries()}


def test_there_are_enough_and_no_two_are_the_same() -> None:
    assert len({(fault[0], fault[1], fault[2]) for _, fault in FAULTS}) == len(FAULTS)
    assert len(FAULTS) >= 40
    kinds = {KINDS[":".join(_target(fault[3][0]))] for _, fault in FAULTS}
    assert {"objective", "advantage", "rollout_schedule", "verifier", "attention"} <= kinds


@pytest.fixture(autouse=True)
def _no_shrinking() -> Iterator[None]:
    """That a law fails is enough: the smallest values it fails for cost most of the time."""
    before = settings.get_current_profile_name()
    settings.register_profile("unshrunk", settings(), phases=(Phase.explicit, Phase.generate))
    settings.load_profile("unshrunk")
    yield
    settings.load_profile(before)


@pytest.mark.parametrize("fault", [fault for _, fault in FAULTS], ids=IDS)
def test_a_law_finds_the_fault(fault: Fault, tmp_path: Path) -> None:
    path, old, new, (component, chosen), law = fault
    source = (PLUGINS / path).read_text()
    assert source.count(old) == 1, f"{path} has {old!r} {source.count(old)} times"
    mutant = tmp_path / Path(path).name
    mutant.write_text(source.replace(old, new))
    module, name = _target(component)
    kind = KINDS[f"{module}:{name}"]
    sound = getattr(importlib.import_module(module), name)(**chosen)
    assert law in laws_for(kind, sound), f"{law} is no law of {kind} {name}"
    with _planted(_module(path), mutant):
        faulty = getattr(importlib.import_module(module), name)(**chosen)
        with pytest.raises(
            (AssertionError, ValueError, IndexError, RuntimeError, ZeroDivisionError)
        ):
            laws_for(kind, faulty)[law]()


@contextlib.contextmanager
def _planted(name: str, mutant: Path) -> Iterator[None]:
    """The mutant in place of its module; whatever stands in the same folder is loaded anew."""
    package = name.rpartition(".")[0]
    before = {
        module: sys.modules.pop(module)
        for module in list(sys.modules)
        if module.startswith(f"{package}.")
    }
    parent = importlib.import_module(package)
    names = dict(vars(parent))
    try:
        for module in before:
            vars(parent).pop(module.removeprefix(f"{package}.").partition(".")[0], None)
        setattr(parent, name.rpartition(".")[2], _load(name, mutant))
        yield
    finally:
        for module in [each for each in sys.modules if each.startswith(f"{package}.")]:
            del sys.modules[module]
        sys.modules.update(before)
        vars(parent).clear()
        vars(parent).update(names)
