"""What a page takes for granted: recipes, runs, models and files, all as small as they can be.

Keys are as in ``table``: what is named is made before a command, or a block, is come to.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.core.recipe.engine import start
from limite.problems.procedural import chain
from limite.problems.procedural.combinatorics import stars_and_bars
from limite.problems.procedural.composed import triangles
from limite.problems.procedural.geometry import lattice_points, polygon_angles, right_triangle_sides
from limite.problems.procedural.number_theory import modular_inverse
from tests.core.pretrained.words import CHATML, byte_level, write_words
from tests.docs import shell
from tests.docs.blocks import ROOT, blocks

MY = """\
from limite import RL, SFT, Eval, Mix, ModelSpec, Recipe

problems = Mix({"sum-chain": 1, "modular-expression": 1}, difficulty=(0.0, 0.3))
recipe = Recipe(
    name="my",
    model=ModelSpec(width=16, layers=2, heads=2, head_width=8, mlp_width=24, context=96),
    stages={
        "sft": SFT(problems=problems, documents=40, steps=4, batch=8),
        "before": Eval(problems=problems, count=4, samples=1, max_tokens=8),
        "rl": RL(problems=problems, steps=2, groups=2, rollouts=2, max_tokens=8,
                 stop_after_flat_batches=100),
        "after": Eval(problems=problems, count=4, samples=1, max_tokens=8, against="before"),
    },
)
"""
SHARED = ("recipes", "examples", "docs/objectives", "benchmarks")
DATE = "2026-01-02T03-04-05.678901"
Place = Callable[[Path], dict[str, Any] | None]


def furnish(folder: Path) -> None:
    """What a clone holds and commands name; a copy, for some write beside it."""
    for name in SHARED:
        shutil.copytree(ROOT / name, folder / name)


def recipe(name: str = "my.py", text: str = MY) -> Place:
    def put(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return put


def run_named(*names: str, text: str = MY) -> Place:
    """Finished runs, each with the seed of its place, as the last letters of a name are made up."""

    def put(folder: Path) -> None:
        recipe()(folder)
        made = folder / "made.py"
        made.write_text(text, encoding="utf-8")
        for seed, name in enumerate(names, 1):
            overrides = (f"seed={seed}", "stages.before.seed=1", "stages.after.seed=1")
            if not (folder / "runs" / name).exists():
                start(
                    made,
                    out=folder / "runs",
                    name=name,
                    overrides=overrides,
                    echo=lambda _line: None,
                )

    return put


def model(*names: str, layers: int = 1, context: int = 2048) -> Place:
    """Directories of models that were never trained, with a tokenizer of some hundred words."""

    def put(folder: Path) -> None:
        words = byte_level()
        spec = LlamaSpec(
            width=16, layers=layers, heads=2, kv_heads=1, head_width=8, mlp_width=24,
            context=context, vocabulary=words.get_vocab_size(),
            padded_vocabulary=words.get_vocab_size() + 3,
        )  # fmt: skip
        end = words.token_to_id("<|im_end|>")
        written = write_words(
            folder / "words", words, template=CHATML, generation={"eos_token_id": end}
        )
        for seed, name in enumerate(names, 1):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            bare = folder / "bare" / name
            bare.parent.mkdir(parents=True, exist_ok=True)
            save_pretrained(build_decoder(spec.filled(), seed), bare)
            config = json.loads((bare / "config.json").read_text(encoding="utf-8"))
            config["eos_token_id"] = end
            (written / "config.json").write_text(json.dumps(config), encoding="utf-8")
            save_pretrained(
                build_decoder(spec.filled(), seed), path, source=ModelDirectory.open(written)
            )

    return put


def texts(*names: str) -> Place:
    """Files of documents."""

    def put(folder: Path) -> None:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_jsonl(folder / name, [{"text": f"of {name}"}, {"ids": [17, 4, 2]}])

    return put


def problems(*names: str, count: int = 40) -> Place:
    """Files of problems that were measured."""

    def put(folder: Path) -> None:
        for start_at, name in enumerate(names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_jsonl(
                folder / name,
                [
                    {
                        "problem": f"{number}+{1 + start_at * count}=?",
                        "answer": {"type": "integer", "value": str(number + 1 + start_at * count)},
                        "solutions": {"direct": f"#{number + 1 + start_at * count}"},
                        "difficulty": {"level": 20, "pass_rate": 0.5},
                    }
                    for number in range(count)
                ],
            )

    return put


def all_of(*places: Place) -> Place:
    def put(folder: Path) -> None:
        for place in places:
            place(folder)

    return put


def exported(run: str, to: str) -> Place:
    """A directory with what a run has trained."""

    def put(folder: Path) -> None:
        (folder / to).parent.mkdir(parents=True, exist_ok=True)
        assert shell.run(f"limite export {run} --to {to}", folder).code == 0

    return put


def replies(folder: Path) -> None:
    """What a server has made of a file of requests: nothing that can be read."""
    reply = {"choices": [{"message": {"content": "No."}, "finish_reason": "stop"}]}
    asked = list(read_jsonl(folder / "p.jsonl.requests.jsonl"))
    write_jsonl(
        folder / "results.jsonl",
        [
            {
                "custom_id": each["custom_id"],
                "response": {"status_code": 200, "body": reply},
                "error": None,
            }
            for each in asked
        ],
    )


def responses(folder: Path) -> None:
    """The response that the page shows."""
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    write_jsonl(folder / "responses.jsonl.zst", [json.loads(text) for text in blocks(page, "json")])


def foreign(folder: Path) -> None:
    """What lm-eval has written, with the names of the page."""
    place = folder / "results" / "org__m"
    place.mkdir(parents=True)
    for file in (ROOT / "tests" / "evaluate" / "foreign" / "org__toy").iterdir():
        kind = file.name.partition("_")[0]
        task = "_gsm8k" * (kind == "samples")
        text = file.read_text(encoding="utf-8").replace("toy", "gsm8k")
        text = text.replace("strict", "strict-match").replace("2026-11-30T19-34-27.458121", DATE)
        (place / f"{kind}{task}_{DATE}{file.suffix}").write_text(text, encoding="utf-8")


def other(folder: Path) -> None:
    """The same of another model, imported."""
    place = folder / "results" / "org__other"
    place.mkdir()
    for file in (folder / "results" / "org__m").iterdir():
        text = file.read_text(encoding="utf-8").replace("org/gsm8k", "org/other")
        (place / file.name).write_text(text, encoding="utf-8")
    metric = "--metric exact_match,strict-match"
    ended = shell.run(f"limite eval --import results/org__other {metric} -o other", folder)
    assert ended.code == 0, ended.said


def names(**found: Any) -> Place:
    return lambda _folder: found


def families(_folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"pytest": pytest}
    questions = (lattice_points, polygon_angles, right_triangle_sides, stars_and_bars)
    for module in (*questions, triangles, modular_inverse, chain):
        found |= vars(module)
    return found


PLACES: dict[str, dict[str, Place]] = {
    "README.md": {
        "limite recipes copy quickstart my.py": lambda folder: (folder / "my.py").unlink(True),
        "limite check my.py": all_of(recipe(), run_named("my-1f3a")),
    },
    "docs/authoring.md": {
        "sh 1": model("models/some-model"),
        "limite-gen collect p.jsonl results.jsonl": replies,
    },
    "docs/evaluation.md": {
        "sh 1": all_of(
            run_named("my-1f3a"), model("out", context=512), problems("aime.jsonl", count=2)
        ),
        "sh 2": foreign,
        "limite compare m other": other,
    },
    "docs/limite-gen.md": {
        "limite-gen calibrate p.jsonl.zst --model runs/quickstart-1f3a --samples 8 "
        "-o measured.jsonl.zst": all_of(
            run_named("quickstart-1f3a"), problems("p.jsonl.zst", count=4)
        ),
    },
    "docs/models.md": {
        "toml 1": model("models/SmolLM2-135M-Instruct", "models/actor", "a", "b", "c"),
        "sh 2": run_named("my-1f3a"),
        "python 1": names(tokens=torch.tensor([3, 4, 5]), lengths=[3]),
        "limite graft models/start --to models/grown --attention simplicial --layers 3,7 "
        "--set window2=8": model("models/start", layers=8),
        "limite soup a b c --to best --greedy --benchmark problems.jsonl --samples 4": problems(
            "problems.jsonl", count=4
        ),
    },
    "docs/families.md": {
        "python 1": families,
        "python 3": names(ModularInverse=modular_inverse.ModularInverse),
    },
    "docs/objectives/topk-kd.md": {
        "limite export runs/smoke --stage sft --to runs/teacher": run_named("smoke"),
    },
    "docs/problems.md": {"toml 1": problems("data/measured.jsonl")},
    "docs/ranks.md": {"sh 1": all_of(recipe("recipe.py"), run_named("recipe-1f3a"))},
    "docs/recipes.md": {"sh 1": recipe()},
    "docs/runs.md": {"sh 1": run_named("small-1f3a", text=MY.replace("context=96", "context=200"))},
    "docs/stages/eval.md": {"toml 1": problems("worked.jsonl", count=2)},
    "docs/scaling.md": {"sh 2": run_named("my-1f3a")},
    "docs/troubleshooting.md": {"sh 1": run_named("my-1f3a")},
    "docs/stages/preference.md": {
        "toml 1": all_of(run_named("teacher"), exported("runs/teacher", "models/teacher")),
    },
    "docs/stages/pretrain.md": {
        "": texts("web.jsonl.zst", "solutions/a.jsonl", "held-out.jsonl", "best.jsonl.zst"),
    },
    "docs/stages/rl.md": {"toml 1": problems("train.jsonl", "mixed.jsonl")},
    "docs/statistics.md": {
        "": all_of(run_named("a-seed-1", "a-seed-2", "b-seed-1", "b-seed-2"), responses),
    },
}
