"""``limite export`` of critics: fitted ones and those beside a policy, to the bit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.errors import LimiteError
from limite.core.jsonl import write_jsonl
from limite.core.kernels.layout import Layout
from limite.core.model.critic import Critic
from limite.core.model.init import unset_decoder
from limite.core.pretrained.critic import load_critic
from limite.core.recipe.context import model_of
from limite.core.recipe.engine import start
from limite.core.recipe.trained import critic_of, trained
from tests.tiny_recipe import head, llama

RECIPE = (
    head("toy", llama(2))
    + """[stages.sft]
type = "sft"
problems = { sources = { linear-equation = 1 }, difficulty = [0.0, 0.0] }
documents = 40
steps = 1
[stages.dpo]
type = "preference"
pairs = "pairs.jsonl"
steps = 1
batch = 2
held_out = 0.0
[stages.rl]
type = "rl"
problems = { sources = { linear-equation = 1 }, difficulty = [0.0, 0.0] }
steps = 2
groups = 4
rollouts = 2
max_tokens = 4
stop_after_flat_batches = 99
[stages.fit]
type = "fit-critic"
mixed_only = false
steps = 2
batch = 4
[stages.more]
type = "rl"
problems = { sources = { linear-equation = 1 }, difficulty = [0.0, 0.0] }
steps = 1
groups = 4
rollouts = 2
max_tokens = 4
objective = "ppo-critic"
stop_after_flat_batches = 99
critic = { start = "fit" }
"""
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds a run with two critics, under ``runs/toy``."""
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_jsonl(
            Path("pairs.jsonl"),
            [{"prompt": f"{n}+1=?", "chosen": f"#{n + 1}", "rejected": "#0"} for n in range(4)],
        )
        Path("toy.toml").write_text(RECIPE)
        start(Path("toy.toml"), out=Path("runs"), name="toy", echo=lambda _line: None)
    return folder


@pytest.fixture(autouse=True)
def there(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)


def stored(stage: str) -> Critic:
    """The critic of a stage, from its checkpoint."""
    found = critic_of("runs/toy", stage)
    critic = Critic(unset_decoder(model_of(found.recipe), device="cpu", head=False))
    critic.load_state_dict(dict(read_checkpoint(found.checkpoint).payloads["critic"]))
    return critic.eval()


@pytest.mark.parametrize(
    ("options", "stage"),
    [
        (("--stage", "fit"), "fit"),
        (("--stage", "fit", "--critic"), "fit"),
        (("--stage", "more", "--critic"), "more"),
        (("--critic",), "more"),
    ],
)
def test_its_values_are_those_of_the_run(limite, tmp_path, options, stage):
    ended = limite("export", "toy", "--to", str(tmp_path / "out"), *options)
    assert (ended.code, ended.err) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in ended.out.splitlines() if " " in line)
    assert rows["weights"].startswith(f"of the critic of stage {stage}, step ")
    assert rows["family"] == "llama (LlamaForTokenClassification)"
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["num_labels"], config["torch_dtype"]) == (1, "float32")
    assert (tmp_path / "out" / "tokenizer.json").is_file()
    tokens = torch.tensor([5, 9, 11, 4, 7, 30])
    layout = Layout.from_lengths([4, 2])
    with torch.no_grad():
        found = load_critic(tmp_path / "out").values(tokens, layout)
        assert torch.equal(found, stored(stage).values(tokens, layout))


def test_matrices_are_rounded_and_the_head_is_not(limite, tmp_path):
    arguments = ("--stage", "fit", "--dtype", "bf16", "--json")
    page = json.loads(limite("export", "toy", "--to", str(tmp_path / "out"), *arguments).out)
    assert page["dtype"] == "bfloat16"
    assert page["origin"]["critic"] is True
    critic = load_critic(tmp_path / "out")
    assert critic.value_head.weight.dtype == torch.float32
    assert torch.equal(critic.value_head.weight, stored("fit").value_head.weight)


def test_the_policy_of_a_stage_with_a_critic_is_exported_as_ever(limite, tmp_path):
    arguments = ("--stage", "more", "--json")
    page = json.loads(limite("export", "toy", "--to", str(tmp_path / "out"), *arguments).out)
    assert (page["architecture"], page["origin"]["critic"]) == ("LlamaForCausalLM", False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--stage", "sft", "--critic"), "--stage: 'sft' leaves no critic; stages that do are"),
        (("--stage", "fitt", "--critic"), "has no stage 'fitt'; did you mean 'fit'?"),
    ],
)
def test_a_stage_without_a_critic_is_refused(limite, tmp_path, options, message):
    ended = limite("export", "toy", "--to", str(tmp_path / "out"), *options)
    assert ended.code == 2
    assert message in " ".join(ended.err.split())
    assert not (tmp_path / "out").exists()


def test_a_critic_that_says_logits_says_so(limite, tmp_path):
    logits = '{ type = "value-regression", kind = "bce" }'
    start(
        Path("toy.toml"),
        out=tmp_path,
        name="bce",
        overrides=[f"stages.{each}.objective={logits}" for each in ("fit", "more.critic")],
        echo=lambda _line: None,
    )
    for options in (("--stage", "fit"), ("--critic",)):
        place = tmp_path / options[0]
        ended = limite("export", str(tmp_path / "bce"), "--to", str(place), *options)
        assert "note: it says a logit" in ended.out


def test_a_critic_is_no_policy(limite, tmp_path):
    with pytest.raises(LimiteError, match="'fit' leaves a critic and no policy"):
        trained("runs/toy", "fit")
    limite("export", "toy", "--to", str(tmp_path / "out"), "--stage", "sft")
    ended = limite("export", str(tmp_path / "out"), "--to", str(tmp_path / "x"), "--critic")
    assert ended.code == 2
    assert "which has no stages" in ended.err


def test_a_critic_of_several_numbers_has_no_directory(limite, tmp_path):
    bins = '{ type = "value-regression", kind = "bins" }'
    start(
        Path("toy.toml"),
        out=tmp_path,
        name="bins",
        overrides=[f"stages.{each}.objective={bins}" for each in ("fit", "more.critic")],
        only=["sft", "dpo", "rl", "fit"],
        echo=lambda _line: None,
    )
    ended = limite("export", str(tmp_path / "bins"), "--to", str(tmp_path / "x"), "--stage", "fit")
    assert ended.code == 2
    assert "holds one value a token" in " ".join(ended.err.split())
