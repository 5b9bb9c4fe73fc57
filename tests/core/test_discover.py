"""Plugins found through entry points: good ones, broken ones, and who may come in."""

from __future__ import annotations

from typing import Any

import pytest

from limite.core.discover import build_registry, chosen, load_registry
from limite.core.errors import LimiteError

GOOD = """
    import attrs
    from limite import hookimpl

    @attrs.frozen(kw_only=True)
    class Flat:
        '''Always one.'''

        def __call__(self, step, total_steps, /):
            return 1.0

    @hookimpl
    def limite_register(registry):
        registry.lr_schedule("flat", Flat)
"""
BROKEN = {
    "import": ("import limite_nowhere", "ModuleNotFoundError: No module named 'limite_nowhere'"),
    "exit": ("raise SystemExit(3)", "SystemExit: 3"),
    "syntax": ("def x(:", "SyntaxError"),
    "misspelt": (
        "from limite import hookimpl\n@hookimpl\ndef limite_regster(registry): ...",
        "unknown hook 'limite_regster'",
    ),
    "argument": (
        "from limite import hookimpl\n@hookimpl\ndef limite_register(registry, other): ...",
        "other",
    ),
    "unmarked": ("def limite_register(registry): ...", "has no limite_register marked"),
    "raises": (
        "from limite import hookimpl\n@hookimpl\ndef limite_register(registry):\n"
        "    registry.lr_schedule('early', 'limite_nowhere:Early')\n    1 / 0",
        "ZeroDivisionError: division by zero",
    ),
    "method": (
        "from limite import hookimpl\n@hookimpl\ndef limite_register(registry):\n"
        "    registry.objektive('x', 'a:B')",
        "AttributeError: .*objektive",
    ),
    "target": (
        "from limite import hookimpl\n@hookimpl\ndef limite_register(registry):\n"
        "    registry.objective('x', 'a.B')",
        "objective 'x': a target reads 'package.module:Class'",
    ),
}


def test_components_know_their_distribution(install: Any) -> None:
    registry = build_registry(install("limite-good", GOOD))
    entry = registry.get("lr_schedule", "flat")
    assert (entry.distribution, entry.version) == ("limite-good", "1.5")
    assert entry.summary == "Always one."
    assert entry.load()()(0, 10) == 1.0
    assert not registry.broken


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_stops_nothing_else(case: str, install: Any) -> None:
    code, reason = BROKEN[case]
    install("limite-bad", code)
    registry = build_registry(install("limite-good", GOOD))
    assert registry.get("lr_schedule", "flat").load()
    (broken,) = registry.broken
    assert (broken.distribution, broken.version) == ("limite-bad", "1.5")
    with pytest.raises(LimiteError, match=f"limite-bad.*broken: .*{reason}"):
        registry.get("objective", "limite-bad/x")
    with pytest.raises(LimiteError, match=f"limite-bad.*broken: .*{reason}"):
        registry.get("objective", "softclip")


@pytest.mark.parametrize("case", BROKEN)
def test_strict_raises_instead(case: str, install: Any) -> None:
    code, reason = BROKEN[case]
    with pytest.raises(LimiteError, match=rf"plugin limite-bad \(limite_bad\): .*{reason}"):
        build_registry(install("limite-bad", code), strict=True)


def test_what_a_failing_hook_registered_is_broken_with_its_reason(install: Any) -> None:
    registry = build_registry(install("limite-bad", BROKEN["raises"][0]))
    with pytest.raises(LimiteError, match=r"'early' comes from the plugin limite-bad.*Zero"):
        registry.get("lr_schedule", "early")
    assert registry.names("lr_schedule") == ()


def test_a_plugin_that_takes_a_name_of_its_own_class_twice(install: Any) -> None:
    twice = GOOD + "        registry.lr_schedule('level', Flat)\n"
    registry = build_registry(install("limite-twice", twice))
    (broken,) = registry.broken
    assert "one class has one name" in broken.reason


def test_an_older_hook_may_take_fewer_arguments(install: Any) -> None:
    code = "from limite import hookimpl\n@hookimpl\ndef limite_register(): ..."
    registry = build_registry(install("limite-old", code))
    assert not registry.broken


def test_environment_picks_plugins(install: Any) -> None:
    install("limite-a", GOOD)
    install("limite-b", GOOD)
    points = install("limite", GOOD)

    def picked(words: str) -> list[str]:
        return [point.name for point in chosen(points, words)]

    assert picked("all") == ["limite", "limite_a", "limite_b"]
    assert picked("none") == ["limite"]
    assert picked("ALL") == picked("all")
    assert picked("None") == picked("none")
    assert picked("Limite_B") == ["limite", "limite_b"]
    assert picked("limite-b, limite-a") == ["limite", "limite_a", "limite_b"]
    with pytest.raises(LimiteError, match="no installed plugin 'limite-c'; did you mean"):
        picked("limite-c")


def test_built_ins_come_through_the_entry_point() -> None:
    registry = load_registry()
    assert {entry.distribution for entry in registry.entries()} == {"limite"}
    assert not registry.broken


def test_every_built_in_loads_and_is_summed_up() -> None:
    registry = load_registry()
    for entry in registry.entries():
        assert registry.name_of(entry.load()) == entry.name
        assert entry.summary == (entry.load().__doc__ or "").partition("\n")[0].strip(), entry
        assert entry.summary, entry


def test_a_failing_built_in_is_a_bug_and_keeps_its_traceback(
    install: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limite.core.discover.BUILT_IN", "limite-bad")
    with pytest.raises(ZeroDivisionError):
        build_registry(install("limite-bad", BROKEN["raises"][0]))
