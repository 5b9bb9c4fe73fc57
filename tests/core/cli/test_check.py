"""``limite check``: plans, mistakes, exit codes, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOUND = """\
name = "a"
[stages.rl]
type = "rl"
problems = { sources = { gcd = 1 } }
max_tokens = 40
"""
WRONG = """\
name = "a"
seed = 1.5
[stages.rl]
type = "rl"
problems = { sources = { gdc = 1 } }
groups = 4
off_policy_updates = 4
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sound.toml").write_text(SOUND)
    Path("wrong.toml").write_text(WRONG)


def test_what_export_would_refuse_is_told_before_anything_is_trained(
    limite: Callable[..., Any],
) -> None:
    sizes = [f"--set=model.{field}" for field in ("width=48", "heads=2", "head_width=16")]
    ended = limite("check", "sound.toml", *sizes)
    assert ended.code == 0
    said = "not exported: a Limite config.json needs a width of heads times head_width (32), got 48"
    assert said in ended.out
    assert "not exported" not in limite("check", "sound.toml", *sizes, "--set=model.heads=3").out


def test_a_sound_recipe_is_a_plan(limite: Callable[..., Any]) -> None:
    ended = limite("check", "sound.toml")
    assert ended.code == 0
    assert ended.err == ""
    first, heads, row, kernels, reads = ended.out.splitlines()
    assert first.startswith("sound.toml: sound; ")
    assert first.endswith(" parameters")
    assert heads.split() == [
        "STAGE", "TYPE", "STEPS", "UPDATES", "SAMPLED", "TRAINED", "OPERATIONS", "MEMORY",
    ]  # fmt: skip
    assert row.split()[:4] == ["rl", "rl", "100", "100"]
    assert kernels == (
        "kernels: indexed_logprob: cpu (tensors on cpu); rms_norm, add_rms_norm, qk_norm_rope, "
        "swiglu, head_mix, attention, attention_decode: native (compiled for this processor)"
    )
    assert reads == "rl: objective dppo reads advantage, behavior_logp"
    assert "\x1b" not in ended.out


def test_every_mistake_of_every_recipe_and_the_plans_of_the_others(
    limite: Callable[..., Any],
) -> None:
    ended = limite("check", "wrong.toml", "sound.toml", "sond.toml")
    assert ended.code == 2
    assert ended.out.startswith("sound.toml: sound; ")
    assert ended.err.splitlines() == [
        "wrong.toml:2: seed: expected int, got float 1.5",
        "wrong.toml:5: stages.rl.problems.sources.gdc: unknown generator 'gdc'; "
        "did you mean 'gcd'?",
        "wrong.toml:7: stages.rl.off_policy_updates: must be at most 3 with 4 groups, as every "
        "update needs a group of its own, got 4",
        "sond.toml: no such file; did you mean 'sound.toml'?",
    ]


def test_set_changes_what_is_checked(limite: Callable[..., Any]) -> None:
    ended = limite("check", "sound.toml", "--set", "stages.rl.groups=0", "--set", "stages.r.keep=1")
    assert ended.code == 2
    assert ended.err.splitlines() == [
        "--set stages.r.keep=1: stages.r: unknown key; did you mean 'rl'?",
        "--set stages.rl.groups=0: stages.rl.groups: must be >= 1, got 0",
    ]


def test_json(limite: Callable[..., Any]) -> None:
    ended = limite("check", "--json", "wrong.toml", "sound.toml")
    assert ended.code == 2
    assert ended.err == ""
    wrong, sound = json.loads(ended.out)
    assert wrong["plan"] is None
    assert [mistake["line"] for mistake in wrong["mistakes"]] == [2, 5, 7]
    assert wrong["mistakes"][0] == {
        "message": "expected int, got float 1.5",
        "path": "seed",
        "file": "wrong.toml",
        "line": 2,
        "text": "wrong.toml:2: seed: expected int, got float 1.5",
    }
    assert sound["mistakes"] == []
    assert sound["plan"]["stages"][0]["reads"] == ["advantage", "behavior_logp"]
    assert limite("check", "--json", "sound.toml").code == 0


def test_nothing_to_check_is_a_mistake(limite: Callable[..., Any]) -> None:
    assert limite("check").code == 2
