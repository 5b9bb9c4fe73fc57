"""The recipe on a published model: with a small one in its place, and, where it is, with itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, read_jsonl
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.gguf import import_gguf
from limite.core.pretrained.save import save_pretrained
from limite.core.recipe.check import check_file
from limite.core.recipe.engine import RunResult, start
from limite.core.recipe.export import run_source
from limite.core.recipe.trained import trained
from limite.core.rollout.store import read_groups
from limite.core.train.replay import Row, replay
from tests.core.pretrained.test_gguf_pretrained import gguf_file
from tests.core.pretrained.words import CHATML, byte_level, write_words

RECIPE = Path(__file__).parents[2] / "recipes" / "smollm2_arithmetic.py"
EVALS = ("as-published", "before", "after")
SMALL = [f"stages.{name}.{setting}" for name in EVALS for setting in ("count=16", "samples=1")]
# The weights that RL begins with are still there when it has ended.
RL_ONLY = ["stages.rl.steps=2", "stages.rl.off_policy_updates=0", "stages.sft.keep=9"]


def run(model: Path, out: Path, settings: Sequence[str]) -> RunResult:
    overrides = [f"model={model}", *SMALL, "stages.before.samples=2", "stages.after.samples=2"]
    return start(
        RECIPE, out=out, overrides=[*overrides, *RL_ONLY, *settings], echo=lambda _line: None
    )


def weights(result: RunResult, stage: str, model: Path) -> torch.nn.Module:
    """A decoder with what a stage has ended with."""
    decoder = ModelDirectory.open(model).load("float32")
    source = run_source(trained(result.path, stage))
    for name, parameter in decoder.named_parameters():
        parameter.data = source.tensors.deferred(source.tensor_of[name]).make()
    return decoder


def assert_it_learns(result: RunResult, model: Path, groups: int, rollouts: int) -> None:
    """Rewards were recorded, sampling and learner agree, and weights moved."""
    assert all(receipt["status"] == "finished" for receipt in result.stages.values())
    before, after = (weights(result, stage, model) for stage in ("sft", "rl"))
    moved = [
        name
        for name, parameter in before.named_parameters()
        if not torch.equal(parameter, after.get_parameter(name))
    ]
    folder = next(result.path.glob("stages/*-rl"))
    metrics = list(read_jsonl(folder / "metrics.jsonl"))
    assert len(metrics) == 2
    contrast = 0
    for step, line in enumerate(metrics, start=1):
        held = list(read_groups(read_jsonl(folder / "rollouts" / f"{step:06d}.jsonl.zst")))
        assert [len(group.responses) for group in held] == [rollouts] * groups
        rewards = [reward for group in held for reward in group.rewards]
        assert set(rewards) <= {0.0, 1.0}
        assert line["reward/mean"] == pytest.approx(sum(rewards) / len(rewards))
        contrast += sum(len(set(group.rewards)) > 1 for group in held)
        if step == 1:  # sampled from the very weights that the supervised stage has left
            responses = [each for group in held for each in group.responses]
            rows = [
                Row(prompt=each.prompt_ids, completion=each.completion_ids) for each in responses
            ]
            said = replay(before, rows)
            recorded = torch.tensor([p for each in responses for p in each.logprobs])
            torch.testing.assert_close(said.logp[said.mask], recorded, rtol=1e-4, atol=1e-4)
    assert contrast
    assert moved
    results = read_json(next(result.path.glob("stages/*-after")) / "results.json")
    assert results["against"]["stage"] == "before"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama of random weights with a chat template."""
    path = tmp_path_factory.mktemp("toy") / "model"
    words = byte_level()
    spec = LlamaSpec(
        width=32, layers=2, heads=2, kv_heads=1, head_width=16, mlp_width=64, context=128,
        vocabulary=words.get_vocab_size(),
    )  # fmt: skip
    save_pretrained(build_decoder(spec.filled(), 1), path)
    return write_words(path, words, template=CHATML)


def test_it_is_sound_on_a_directory(toy):
    loaded, plan = check_file(RECIPE, [f"model={toy}"], load_registry())
    assert list(loaded.recipe.stages) == ["as-published", "sft", "before", "rl", "after"]
    assert loaded.recipe.tokenizer.render_prompt is not None
    assert plan.plain()


def test_without_the_directory_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LimiteError) as caught:
        check_file(RECIPE, [], load_registry())
    assert "model: there is no directory './smollm2-135m'; --set model=DIR" in str(caught.value)
    assert "limite import gguf FILE --to DIR" in str(caught.value)


def test_two_updates_of_a_small_model(toy, tmp_path):
    result = run(
        toy,
        tmp_path,
        # Long enough for a model of random weights to learn the form of an answer.
        ["stages.sft.steps=120", "stages.sft.optimizer.lr=1e-2", "stages.rl.groups=32"],
    )
    assert_it_learns(result, toy, groups=32, rollouts=8)


@pytest.mark.pretrained
def test_two_updates_of_the_published_model(tmp_path):
    model = import_gguf(gguf_file(), tmp_path / "smollm2-135m").path
    result = run(
        model,
        tmp_path / "runs",
        ["stages.sft.steps=16", "stages.sft.documents=128", "stages.sft.batch=8"],
    )
    assert_it_learns(result, model, groups=16, rollouts=8)
