"""What a stage takes of a GPU: parts by their definitions, responses that fit, advice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.model.init import build_decoder
from limite.core.recipe.check import memory_of_file
from limite.core.recipe.memory_plan import Machine, MemoryPlan, StageMemory, state_bytes
from limite.core.recipe.models import model_named
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.optimizers.muon import Muon

PROGRAMME = Path(__file__).parents[1] / "recipe" / "programme.toml"


def plan(path: Path = PROGRAMME, *sets: str, **machine: Any) -> MemoryPlan:
    given = {"gpus": 1, "gpu_bytes": 10**9, "dtype": "float32", **machine}
    return memory_of_file(path, sets, load_registry(), Machine(**given))


def stage(found: MemoryPlan, name: str) -> StageMemory:
    return next(each for each in found.stages if each.name == name)


def parts(found: MemoryPlan, name: str) -> dict[str, int]:
    return {part.name: part.bytes for part in stage(found, name).parts}


@pytest.mark.parametrize("optimizer", [AdamW(), Muon()], ids=["adamw", "muon"])
def test_what_an_optimizer_keeps_is_what_it_keeps(optimizer: Any) -> None:
    decoder = build_decoder(model_named("limite-tiny").filled(55), 1)
    named = list(decoder.named_parameters())
    for _, parameter in named:
        parameter.grad = torch.ones_like(parameter)
    made = optimizer.build(named)
    made.step()
    kept = [
        value for state in made.state.values() for value in state.values() if torch.is_tensor(value)
    ]
    real = sum(each.numel() * each.element_size() for each in kept)
    assert state_bytes(decoder, optimizer) == real > 0


def test_parts_follow_from_the_number_of_weights() -> None:
    found = plan()
    size = found.parameters
    told = parts(found, "rl")
    assert told["weights"] == told["gradients"] == 4 * size
    assert "masters" not in told
    assert told["optimizer"] >= 8 * size
    narrow = parts(plan(dtype="bfloat16"), "rl")
    assert narrow["weights"] == narrow["gradients"] == 2 * size
    assert narrow["masters"] == 4 * size
    assert narrow["optimizer"] == told["optimizer"]
    shared = parts(plan(gpus=4), "rl")
    assert shared["weights"] == size
    assert parts(plan(gpus=4, sharded=False), "rl")["weights"] == 4 * size
    # A stage that only measures holds weights and a cache.
    assert set(parts(found, "after")) == {"weights", "cache"}


def test_recomputing_layers_takes_less() -> None:
    told = stage(plan(), "rl")
    assert told.activations_recomputed < told.activations_kept
    kept = {part.name: part.bytes for part in told.parts}
    assert kept["activations"] == told.activations_kept


def test_only_so_many_responses_are_sampled_at_once_as_fit() -> None:
    roomy = stage(plan(), "rl")
    assert roomy.at_once == roomy.wanted == 12 * 8
    cache = next(part.bytes for part in roomy.parts if part.name == "cache")
    always = sum(part.bytes for part in roomy.parts if part.at == "always")
    tight = stage(plan(gpu_bytes=always + cache // 4), "rl")
    assert tight.at_once == 24
    assert "96 responses of a GPU are sampled 24 at a time" in "; ".join(tight.notes)


def test_what_does_not_fit_is_told_with_what_would_help() -> None:
    told = stage(plan(), "rl")
    most = told.at("learning") - (told.activations_kept - told.activations_recomputed)
    assert "does not fit; it does with recompute = true" in stage(plan(gpu_bytes=most), "rl").notes
    few = stage(plan(gpu_bytes=most // 8), "rl")
    assert "does not fit; lower 'microbatch_tokens'" in few.notes
    assert any("cannot be shared out evenly" in note for note in stage(plan(gpus=7), "rl").notes)


def test_models_beside_the_policy_are_counted() -> None:
    found = plan(PROGRAMME)
    assert parts(found, "kd")["teacher"] == parts(found, "kd")["weights"]


def test_mistakes_are_told_before_anything_is_reckoned() -> None:
    with pytest.raises(SettingsError, match="did you mean 'teacher'"):
        plan(PROGRAMME, "stages.kd.teacher=techer")


def test_the_command(limite: Callable[..., Any], monkeypatch: Any) -> None:
    ended = limite("plan", str(PROGRAMME), "--gpu", "h20")
    assert ended.code == 2
    assert "unknown GPU 'h20'; did you mean 'h200'?" in ended.err
    ended = limite("plan", str(PROGRAMME))
    assert ended.code == 2
    assert "--gpu-memory" in ended.err
    ended = limite("plan", str(PROGRAMME), "--gpus", "2", "--gpu-memory", "16GB")
    assert ended.code == 0
    first, heads, *rows = ended.out.splitlines()
    assert first.endswith("in bfloat16, shared out over 2 GPUs of 14.9 GiB")
    assert heads.split()[:4] == ["STAGE", "TYPE", "LEARNING", "SAMPLING"]
    assert rows[0].split()[:2] == ["base", "pretrain"]
    assert any(line.startswith("rl: activations ") for line in rows)
