"""The published programme: complete, sound once its files are there, and planned for a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limite.core.cli.main import main
from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.jsonl import write_jsonl
from limite.core.recipe.check import check_file
from limite.core.recipe.load import load_recipe
from limite.core.recipe.stages import RL, Pretrain
from tests.core.pretrained.words import CHATML, byte_level, write_words

RECIPE = Path(__file__).parents[2] / "recipes" / "violetto.py"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny files by the names that the recipe gives, and a small tokenizer."""
    folder = tmp_path_factory.mktemp("violetto")
    write_words(folder / "tokenizer", byte_level(), template=CHATML)
    data = folder / "data"
    data.mkdir()
    for number, name in enumerate(
        ("rewritten-web", "problems-with-solutions", "synthetic-knowledge", "best", "validation")
    ):
        texts = [{"text": f"text {line} of {number}"} for line in range(20)]
        write_jsonl(data / f"{name}.jsonl.zst", texts)
    for name, count in (("rl1", 3300), ("rl2", 90), ("held-out", 1600)):
        problems = [
            {
                "problem": f"What is {line} and {line} in the file {name}?",
                "answer": {"type": "integer", "value": str(2 * line)},
                "difficulty": {"pass_rate": 0.5},
            }
            for line in range(count)
        ]
        write_jsonl(data / f"{name}.jsonl.zst", problems)
    traces = [
        {
            "prompt": f"{line}+1=?",
            "completion_ids": [5, 6],
            "topk_ids": [[5, 7], [6, 8]],
            "topk_logprobs": [[-0.1, -3.0], [-0.2, -2.5]],
        }
        for line in range(30)
    ]
    write_jsonl(data / "teacher-top-32.jsonl.zst", traces)
    pairs = [{"prompt": f"{n}*3=?", "chosen": f"{3 * n}", "rejected": "no"} for n in range(30)]
    write_jsonl(data / "pairs.jsonl.zst", pairs)
    return folder


def test_the_published_settings_stand(place: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(place)
    stages = load_recipe(RECIPE, (), load_registry()).recipe.stages
    base, rl1, rl2, rl3 = (stages[name] for name in ("base", "rl1", "rl2", "rl3"))
    assert isinstance(base, Pretrain)
    assert base.batch_tokens == 524_288
    updates = 0
    for stage, off_policy in ((rl1, 19), (rl2, 9), (rl3, 7)):
        assert isinstance(stage, RL)
        assert (stage.groups, stage.rollouts) == (704, 8)
        assert stage.off_policy_updates == off_policy
        updates += stage.steps * (off_policy + 1)
    assert updates == 460  # 461 were made


def test_every_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as error:
        check_file(RECIPE, (), load_registry())
    said = str(error.value)
    for name in ("rewritten-web", "best", "teacher-top-32", "pairs", "rl1", "rl2", "held-out"):
        assert f"data/{name}.jsonl.zst" in said, name
    assert "tokenizer" in said


def test_it_is_sound_once_its_files_are_there_and_a_plan_tells_what_fits(
    place: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(RECIPE), "--gpus", "48", "--gpu", "h100", "--json"])
    assert ended.value.code == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["machine"]["gpus"] == 48
    assert plan["parameters"] == 1_035_254_176
    by_name = {stage["name"]: stage for stage in plan["stages"]}
    parts = {part["name"]: part["bytes"] for part in by_name["rl1"]["parts"]}
    # bfloat16 weights and gradients, float32 masters and two moments, over 48 GPUs.
    per_gpu = -(-1_035_254_176 // 48)
    assert parts["weights"] == pytest.approx(2 * per_gpu, rel=1e-6)
    assert parts["masters"] == pytest.approx(4 * per_gpu, rel=1e-6)
    assert parts["optimizer"] == pytest.approx(8 * per_gpu, rel=1e-3)
    assert by_name["rl1"]["wanted"] == -(-704 * 8 // 48)
    assert 0 < by_name["rl1"]["at_once"] < by_name["rl1"]["wanted"]
    assert by_name["rl3"]["bytes"] > by_name["rl1"]["bytes"] / 2
