"""What a stage takes of a GPU: parts by their definitions, responses that fit, advice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.kernels.tiles import TABLE
from limite.core.model.init import build_decoder
from limite.core.recipe.check import plans_of_file
from limite.core.recipe.exchange_plan import Exchange, exchanges_of
from limite.core.recipe.gpus import GPUS
from limite.core.recipe.memory_parts import (
    LOGITS_BYTES,
    Machine,
    MemoryPlan,
    StageMemory,
    state_bytes,
)
from limite.core.recipe.models import model_named
from limite.core.recipe.time_plan import times_of
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.optimizers.muon import Muon

PROGRAMME = Path(__file__).parents[1] / "recipe" / "programme.toml"


def plan(path: Path = PROGRAMME, *sets: str, **machine: Any) -> MemoryPlan:
    given = {"gpus": 1, "gpu_bytes": 10**9, "dtype": "float32", **machine}
    return plans_of_file(path, sets, load_registry(), Machine(**given))[0]


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
    uneven = "'groups' (12) cannot be shared out evenly over 7 GPUs"
    assert any(note.startswith(uneven) for note in stage(plan(gpus=7), "rl").notes)
    assert any(note.endswith("it can over 6") for note in stage(plan(gpus=7), "rl").notes)


def test_more_gpus_are_proposed_only_where_the_groups_go_into_them() -> None:
    on_one = stage(plan(), "rl")
    least = on_one.at("learning") // 2
    assert "fits as it is on 4 such GPUs" in stage(plan(gpu_bytes=least), "rl").notes
    for gpus in (4, 8):  # 12 groups do not go into 8, 16, 32, ...
        told = stage(plan(gpus=gpus, gpu_bytes=1000), "rl").notes
        assert any("does not fit" in note for note in told)
        assert not any("such GPUs" in note for note in told)


def test_caches_of_captured_steps_are_counted_as_long_as_they_are_kept() -> None:
    found = stage(plan(), "rl")
    (kept,) = (part for part in found.parts if part.name == "captured steps")
    (cache,) = (part for part in found.parts if part.name == "cache")
    assert kept.at == "always"
    assert kept.bytes == 2 * cache.bytes  # all capacities up to the longest, and no more
    few = f"stages.rl.engine={{type='built-in', graphs_gib={kept.bytes / 2**31}}}"
    assert parts(plan(PROGRAMME, few), "rl")["captured steps"] == kept.bytes // 2
    none = "stages.rl.engine={type='built-in', graphs=false}"
    assert "captured steps" not in parts(plan(PROGRAMME, none), "rl")
    assert "captured steps" not in parts(plan(), "after")


def test_models_beside_the_policy_are_counted() -> None:
    found = plan(PROGRAMME)
    assert parts(found, "kd")["teacher"] == parts(found, "kd")["weights"]


def test_models_beside_the_policy_are_whole_on_every_gpu() -> None:
    sets = ("stages.rl.reference=base", "stages.rl.objective={type='grpo', beta=0.1}")
    told = parts(plan(PROGRAMME, *sets, gpus=4), "rl")
    assert told["reference"] == 4 * told["weights"]


def test_no_two_parts_of_a_stage_have_one_name() -> None:
    for each in plan(gpus=4).stages:
        names = [part.name for part in each.parts]
        assert len(names) == len(set(names)), names
    told = parts(plan(gpus=4), "rl")
    assert told["all weights gathered"] == 4 * told["weights"]
    # Whole gradients of a layer are beside whole weights of two, of which this model has no more.
    assert 0 < told["layers gathered"] <= 2 * told["all weights gathered"]


def test_a_stage_that_one_rank_does_alone_has_one_gpu() -> None:
    assert parts(plan(gpus=4), "kd")["weights"] == 4 * parts(plan(gpus=4), "rl")["weights"]
    assert stage(plan(gpus=4), "after").wanted == stage(plan(), "after").wanted


@pytest.mark.parametrize("recompute", ["true", "false"])
def test_the_most_tokens_are_those_that_fit(recompute: str) -> None:
    sets = [f"stages.rl.recompute={recompute}"]
    for size in (10**9, 10**8):
        found = plan(PROGRAMME, *sets, gpu_bytes=size)
        most = stage(found, "rl").most_tokens
        rl = next(part.bytes for part in stage(found, "rl").parts if part.name == "activations")
        fixed = stage(found, "rl").at("learning") - rl - parts(found, "rl")["logits"]
        each = rl / stage(found, "rl").tokens
        logits = parts(found, "rl")["logits"] / stage(found, "rl").tokens
        taken = fixed + most * each + min(most * logits, LOGITS_BYTES)
        assert size - 2 * (each + logits) < taken <= size + each


def test_logits_are_bounded_by_the_scratch_of_the_head(tmp_path: Path) -> None:
    bounds = {
        row.tile["SCRATCH"] * (2 if row.kind == "half" else 4)
        for row in TABLE
        if row.kernel == "indexed_logprob_backward" and row.kind != "interpreted"
    }
    assert bounds == {LOGITS_BYTES}
    place = tmp_path / "large.toml"
    place.write_text(
        'name = "large"\nmodel = "limite-1b"\n[stages.rl]\ntype = "rl"\n'
        "problems = { sources = { sum-chain = 1 } }\ngroups = 8\nrollouts = 8\n"
        "max_tokens = 2016\n"
    )
    assert parts(plan(place, dtype="bfloat16"), "rl")["logits"] == LOGITS_BYTES


def test_what_fits_on_more_gpus_is_told() -> None:
    one = plan()
    learning = stage(one, "rl").at("learning")
    notes = stage(plan(gpu_bytes=learning // 2), "rl").notes
    told = next(note for note in notes if note.startswith("fits as it is on "))
    gpus = int(told.removeprefix("fits as it is on ").split()[0].replace(",", ""))
    assert stage(plan(gpus=gpus, gpu_bytes=learning // 2), "rl").at("learning") <= learning // 2
    assert stage(plan(gpus=gpus // 2, gpu_bytes=learning // 2), "rl").bytes > learning // 2


def test_no_stage_is_quicker_than_peaks_allow() -> None:
    registry = load_registry()
    gpu = GPUS["h200"]
    machine = Machine(gpus=1, gpu_bytes=10**9, dtype="float32")
    memory, cost = plans_of_file(PROGRAMME, (), registry, machine)
    one = {each.name: each for each in times_of(memory, cost, gpu)}
    for each in cost.stages:
        if each.name in one:
            assert one[each.name].seconds >= each.operations / (67 * 1e12) * (1 - 1e-9)
    assert one["after"].learning_s == 0 or one["after"].sampling_s > 0
    # Small models are bound by reading weights for every token.
    assert one["rl"].bound_by == "memory"
    slower = attrs.evolve(gpu, memory_gbs=gpu.memory_gbs / 2)
    again = {each.name: each for each in times_of(memory, cost, slower)}
    assert again["rl"].sampling_s == pytest.approx(2 * one["rl"].sampling_s)
    assert again["rl"].learning_s == one["rl"].learning_s
    shared, cost = plans_of_file(PROGRAMME, (), registry, attrs.evolve(machine, gpus=4))
    four = {each.name: each for each in times_of(shared, cost, gpu)}
    assert four["rl"].learning_s >= one["rl"].learning_s / 4
    # One rank does it alone.
    assert four["kd"] == one["kd"]


def test_micro_batches_multiply_what_travels_where_weights_are_shared_out() -> None:
    def told(*sets: str, **machine: Any) -> dict[str, Exchange]:
        given = Machine(**{"gpus": 4, "gpu_bytes": 10**9, "dtype": "float32", **machine})
        memory, cost = plans_of_file(PROGRAMME, sets, load_registry(), given)
        return {each.name: each for each in exchanges_of(memory, cost, GPUS["h100"])}

    found = plan(gpus=4)
    numbers = found.numbers
    assert numbers.in_layers + numbers.outside + numbers.whole == found.parameters
    assert numbers.in_layers > numbers.outside > numbers.whole > 0
    many = told("stages.rl.microbatch_tokens=64")["rl"]
    fewer = told("stages.rl.microbatch_tokens=128")["rl"]
    assert many.micro_batches > 1.5 * fewer.micro_batches > 1.5
    # A batch is sampled once for some updates, whatever the micro-batches.
    each = 3 / 4 * 4 * (3 * numbers.in_layers + 2 * numbers.outside)
    apart = (many.sent_bytes - fewer.sent_bytes) / (many.micro_batches - fewer.micro_batches)
    assert apart == pytest.approx(each, rel=1e-6)
    assert many.seconds == pytest.approx(many.sent_bytes / 450e9)
    # Gradients alone are summed once, whatever the micro-batches.
    sets = "stages.rl.microbatch_tokens=64"
    whole = told(sets, sharded=False)["rl"]
    assert whole.micro_batches == many.micro_batches
    assert whole.sent_bytes == pytest.approx(2 * 3 / 4 * 4 * found.parameters, rel=1e-6)
    # One rank does it alone, and what learns nothing sends nothing of this kind.
    assert not {"kd", "after"} & told().keys()
    assert not told(gpus=1)


def test_mistakes_are_told_before_anything_is_reckoned() -> None:
    with pytest.raises(SettingsError, match="did you mean 'teacher'"):
        plan(PROGRAMME, "stages.kd.teacher=techer")


def test_the_command(limite: Callable[..., Any], monkeypatch: Any) -> None:
    ended = limite("plan", str(PROGRAMME), "--gpu", "h20")
    assert ended.code == 2
    assert "unknown GPU 'h20'; did you mean 'h200'? For others give --gpu-memory" in ended.err
    ended = limite("plan", str(PROGRAMME), "--gpu-memory", "96")
    assert ended.code == 2
    assert "96 without a unit are bytes; did you mean 96GB?" in ended.err
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
    assert "no time is told: name the GPU" in ended.out
    ended = limite("plan", str(PROGRAMME), "--gpus", "8", "--gpu", "h200")
    assert "AT LEAST" in ended.out
    assert "EACH GPU SENDS" in ended.out
    assert "published peaks" in ended.out
    ended = limite("plan", str(PROGRAMME), "--gpu", "h200", "--json")
    assert {each["name"] for each in json.loads(ended.out)["times"]} >= {"rl", "kd"}
    ended = limite("plan", str(PROGRAMME), "--gpus", "2", "--gpu", "h200", "--json")
    assert "rl" in {each["name"] for each in json.loads(ended.out)["exchanged"]}
