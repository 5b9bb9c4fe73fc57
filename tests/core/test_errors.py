"""What a person reads when something is wrong."""

from __future__ import annotations

import pytest

from limite.core.errors import (
    SHOWN_MISTAKES,
    LimiteError,
    Mistake,
    RunFailed,
    SettingsError,
    did_you_mean,
    shortened,
)


def test_mistakes_say_where() -> None:
    assert str(Mistake("missing")) == "missing"
    assert str(Mistake("missing", "stages.rl")) == "stages.rl: missing"
    assert str(Mistake("missing", "stages.rl", "a.toml")) == "a.toml: stages.rl: missing"
    assert str(Mistake("missing", "stages.rl", "a.toml", 7)) == "a.toml:7: stages.rl: missing"
    assert str(Mistake("not TOML", file="a.toml", line=7)) == "a.toml:7: not TOML"


def test_a_settings_error_lists_every_mistake() -> None:
    error = SettingsError(
        [Mistake("missing", "a", "f.toml", 1), Mistake("wrong", "b", "f.toml", 2)]
    )
    assert str(error) == "f.toml:1: a: missing\nf.toml:2: b: wrong"
    assert [mistake.path for mistake in error.mistakes] == ["a", "b"]


def test_exit_codes() -> None:
    assert LimiteError("x").exit_code == 2
    assert SettingsError([]).exit_code == 2
    assert RunFailed("x").exit_code == 1


@pytest.mark.parametrize(
    ("word", "known", "offer"),
    [
        ("rolouts", ["rollouts", "groups"], "; did you mean 'rollouts'?"),
        ("Warmup_Stable_Decay", ["warmup-stable-decay"], "; did you mean 'warmup-stable-decay'?"),
        ("DPPO", ["dppo", "grpo"], "; did you mean 'dppo'?"),
        ("zebra", ["rollouts", "groups"], ""),
        ("x", [], ""),
    ],
)
def test_the_nearest_right_word(word: str, known: list[str], offer: str) -> None:
    assert did_you_mean(word, known) == offer


def test_long_lists_are_cut_once() -> None:
    wrong = [Mistake("missing", f"a.{number}", "f.toml") for number in range(30)]
    found = shortened(wrong)
    assert len(found) == SHOWN_MISTAKES + 1
    assert str(found[-1]) == f"f.toml: and {30 - SHOWN_MISTAKES} more mistakes"
    assert shortened(found) == found
    assert shortened(wrong[:SHOWN_MISTAKES]) == wrong[:SHOWN_MISTAKES]
