"""A grafted model in a recipe: two updates by reinforcement, also when stopped between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from limite.core.checkpoint.read import newest_checkpoint
from limite.core.discover import load_registry
from limite.core.model.init import build_decoder
from limite.core.model.memory import cache_bytes
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.graft import graft_directory
from limite.core.pretrained.save import save_pretrained
from limite.core.recipe import engine
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped
from limite.core.tokenizer import CharacterTokenizer
from limite.plugins.attention.simplicial import Simplicial

SFT_STEPS = 60
RECIPE = f"""
name = "grown"
seed = 5
loggers = ["jsonl"]
model = "grown"

[tokenizer]
type = "characters"

[stages.sft]
type = "sft"
problems = {{ sources = {{ linear-equation = 1 }}, difficulty = [0.0, 0.0] }}
documents = 60
steps = {SFT_STEPS}
batch = 16
checkpoint_every = 25
optimizer = {{ type = "muon", lr = 0.04 }}

[stages.rl]
type = "rl"
problems = {{ sources = {{ linear-equation = 1 }}, difficulty = [0.0, 0.0] }}
steps = 2
groups = 24
rollouts = 8
max_tokens = 6
checkpoint_every = 1
optimizer = {{ type = "adamw", lr = 1e-3 }}
"""


def make(folder: Path) -> Path:
    spec = ModelSpec(
        width=16, layers=2, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=64
    )
    save_pretrained(
        build_decoder(spec.filled(CharacterTokenizer().vocabulary), 3), folder / "start"
    )
    graft_directory(folder / "start", folder / "grown", Simplicial(window2=3), [1])
    (folder / "grown.toml").write_text(RECIPE)
    return folder / "grown.toml"


def quiet(_line: str) -> None:
    """An echo that says nothing."""


def test_two_updates_and_an_exact_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: Callable[[Path], dict[str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe, updates = make(tmp_path), 0
    whole = engine.start(recipe, out=tmp_path, name="whole", echo=quiet).path
    receipt = json.loads((whole / "stages/02-rl/receipt.json").read_text())
    assert receipt["updates"] == 2, "too easy, or too hard, to learn from"

    def stop_at_the_last(*_arguments: Any) -> None:
        nonlocal updates
        updates += 1
        if updates == SFT_STEPS + 2:
            raise KeyboardInterrupt

    hook = register_optimizer_step_pre_hook(stop_at_the_last)
    with pytest.raises(RunStopped):
        engine.start(recipe, out=tmp_path, name="stopped", echo=quiet)
    hook.remove()
    assert digest(tmp_path / "stopped") != digest(whole)
    engine.go_on(tmp_path / "stopped", echo=quiet)
    assert digest(tmp_path / "stopped") == digest(whole)

    after = newest_checkpoint(whole / "stages/02-rl/checkpoints", echo=print)
    before = newest_checkpoint(whole / "stages/01-sft/checkpoints", echo=print)
    assert after is not None
    assert before is not None
    start = dict(ModelDirectory.open(tmp_path / "grown").load().named_parameters())
    for which in ("k2", "v2"):
        name = f"layers.1.self_attn.mixer.{which}_proj.weight"
        assert not start[name].any()
        assert before.payloads["model"][name].any()
        assert not torch.equal(before.payloads["model"][name], after.payloads["model"][name])


def test_the_plan_counts_pairs_and_rings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = make(tmp_path)
    grown = check_file(recipe, (), load_registry())[1]
    plain = check_file(recipe, ("model=start",), load_registry())[1]
    assert grown.parameters == plain.parameters + 2 * 8 * 16
    for mine, theirs in zip(grown.stages, plain.stages, strict=True):
        assert mine.operations > theirs.operations
    decoder = ModelDirectory.open(tmp_path / "grown").load()
    # Keys and values of 8 channels: 16 tokens in either layer, 3 more of second ones in the new.
    assert cache_bytes(decoder, 8, 64) == 8 * 4 * 2 * 8 * (16 + 16 + 3)
