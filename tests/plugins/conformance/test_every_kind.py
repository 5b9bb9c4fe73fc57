"""Every kind has laws, and whatever limite ships keeps them under its default settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

import limite.plugins.conformance as kit
from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.kinds import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_laws(kind: str) -> None:
    laws_of = getattr(kit, f"{kind}_laws")
    for entry in load_registry().entries(kind):
        laws = kit.laws_for(kind, entry.load())
        assert laws.keys() == laws_of(entry.load()()).keys()
        assert len(laws) >= 2, f"{kind} {entry.name}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="colour_laws"):
        kit.colour_laws  # noqa: B018


def test_a_class_without_default_settings_is_named() -> None:
    class NeedsWidth:
        def __init__(self, width: int) -> None:
            self.width = width

    with pytest.raises(LimiteError, match=r"NeedsWidth need its settings: .*width"):
        kit.laws_for("objective", NeedsWidth)


def test_laws_run_under_their_own_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def laws(component: Any) -> dict[str, Callable[[], None]]:
        def law() -> None:
            seen.append((settings().deadline, settings().database, settings().derandomize))
            raise AssertionError("broken")

        return {"law": law}

    monkeypatch.setattr("limite.plugins.conformance.reward.reward_laws", laws)
    before = settings.get_current_profile_name()
    with pytest.raises(AssertionError, match="broken"):
        kit.laws_for("reward", object())["law"]()
    assert seen == [(None, None, True)]
    assert settings.get_current_profile_name() == before
