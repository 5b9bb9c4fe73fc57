"""A critic fitted to recorded rollouts knows more of new problems than the mean reward."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.checkpoint.state import restore_module
from limite.core.jsonl import write_jsonl
from limite.core.model.critic import Critic
from limite.core.model.init import build_decoder
from limite.core.recipe.context import model_of
from limite.core.recipe.engine import start
from limite.core.recipe.load import load_recipe
from limite.core.recipe.runners.lessons import split
from limite.core.rollout.store import group_lines
from limite.core.seeds import Seeds
from limite.core.separation import text_hash
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.replay import Row
from limite.core.train.values import replay_values
from limite.core.types import Answer, Group, Problem, Response

LETTERS = "ab"
RECIPE = """
name = "judge"
seed = 3
loggers = ["jsonl"]
model = { width = 32, layers = 2, heads = 2, head_width = 16, mlp_width = 64, context = 32 }

[stages.fit]
type = "fit-critic"
rollout_files = ["FILE"]
steps = 160
batch = 64
eval_every = 10
patience = 6
objective = { type = "value-regression", kind = "KIND" }
optimizer = { type = "muon", lr = RATE }
"""


def asked(number: int, tokenizer: CharacterTokenizer, chance: random.Random) -> Group:
    """Eight answers to "which letter comes last?": four are right, and all run on for a while."""
    first, second, last = (chance.choice(LETTERS) for _ in range(3))
    problem = Problem(
        problem=f"{number} {first}{second}{last}?", answer=Answer(type="text", value=last)
    )
    responses = []
    rewards = []
    for index in range(8):
        right = index % 2 == 0
        letter = last if right else chance.choice([each for each in LETTERS if each != last])
        text = letter + "." * chance.randint(2, 4)
        ids = (*tokenizer.encode(text), tokenizer.eos_id)
        responses.append(
            Response(
                problem_id=problem.id,
                sample_index=index,
                prompt_ids=tokenizer.render_prompt(problem),
                completion_ids=ids,
                logprobs=(-1.0,) * len(ids),
                finish_reason="eos",
                completion_budget=8,
                policy_version=0,
                text=text,
            )
        )
        rewards.append(float(right))
    return Group(
        problem=problem,
        responses=responses,
        rewards=rewards,
        correct=[reward > 0 for reward in rewards],
    )


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    chance = random.Random(7)
    tokenizer = CharacterTokenizer()
    return [asked(number, tokenizer, chance) for number in range(100, 220)]


# At these rates every one of five seeds came above 0.59; at 0.02 one of `mse` stayed at 0.34.
@pytest.mark.parametrize(("kind", "rate"), [("mse", 0.01), ("bce", 0.01), ("bins", 0.02)])
def test_held_out_outcomes_are_foreseen(
    groups: list[Group], tmp_path: Path, kind: str, rate: float
) -> None:
    records = tmp_path / "records.jsonl.zst"
    write_jsonl(records, group_lines(groups))
    recipe = tmp_path / "judge.toml"
    recipe.write_text(
        RECIPE.replace("FILE", str(records)).replace("KIND", kind).replace("RATE", str(rate))
    )
    result = start(recipe, out=tmp_path / "runs", echo=lambda _line: None)
    receipt = result.stages["fit"]
    found = receipt["held_out"]
    # Before its first token nothing can be known of a response; from then on everything can. So
    # the best critic explains about four fifths of how outcomes vary over tokens.
    assert found["explained_variance"] > 0.5
    assert found["loss"] < 0.7 * found["constant_loss"]
    assert receipt["held_out_problems"] == 24
    assert receipt["responses"] == 96 * 8
    if kind != "mse":
        return
    assert found["constant_loss"] == pytest.approx(0.125, rel=1e-3)  # half of the variance 1 / 4
    log = result.path / "stages/01-fit/metrics.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["step"] for line in lines if "held_out/loss" in line][:2] == [10, 20]
    # The receipt's word against the weights themselves, on the problems that were held out.
    loaded = load_recipe(recipe).recipe
    critic = Critic(build_decoder(model_of(loaded), 0))
    place = result.path / f"stages/01-fit/checkpoints/step-{receipt['steps']:06d}"
    restore_module(critic, read_checkpoint(place).payloads["critic"])
    seeds = Seeds(3).child("stage", "fit")
    held = split([text_hash(group.problem.problem) for group in groups], 0.2, seeds)
    errors, outcomes = [], []
    for group in groups:
        if text_hash(group.problem.problem) not in held:
            continue
        rows = [Row(prompt=r.prompt_ids, completion=r.completion_ids) for r in group.responses]
        with torch.no_grad():
            said = replay_values(critic, rows)
        targets = torch.tensor(group.rewards)[:, None].expand(said.mask.shape)
        errors.append((targets - said.values)[said.mask])
        outcomes.append(targets[said.mask])
    error, outcome = torch.cat(errors).double(), torch.cat(outcomes).double()
    explained = 1 - error.var(correction=0) / outcome.var(correction=0)
    assert explained.item() == pytest.approx(found["explained_variance"], rel=1e-5)
