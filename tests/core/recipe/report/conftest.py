"""A run folder made up to look like a real one: supervised, reinforced, evaluated twice."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from limite.core import jsonl

SCOPE = (
    "covers resampling of evaluation problems; not variation between training runs, "
    "seeds of training, graders or prompts"
)
STRETCHES = ("0-0.3333", "0.3333-0.6667", "0.6667-1")
FAMILIES = ("linear-equation", "modular-expression", "sum-chain")
RECIPE = """\
name = "quickstart"
seed = 1
loggers = ["console", "jsonl"]

[model]
width = 64
layers = 4
attention = { type = "local-global", window = 16 }

[stages.sft]
type = "sft"
steps = 300
batch = 32

[stages.after-sft]
type = "eval"
count = 400
samples = 4
confidence = 0.95

[stages.rl]
type = "rl"
steps = 75
groups = 128
rollouts = 8

[stages.rl.health]
clipped_token_fraction = 0.05
effective_sample_fraction = 0.95
every = 1

[stages.after-rl]
type = "eval"
count = 400
samples = 4
against = "after-sft"
confidence = 0.95
"""
RECEIPT = {
    "limite": "0.1.0",
    "python": "3.12.4",
    "packages": {"torch": "2.13.0", "numpy": "2.4.1", "triton": None},
    "seeds": {"recipe": 1},
    "git": {"commit": "d04c31c8f6a1", "changes_sha256": None},
    "hardware": {"system": "Linux x86_64", "cpu": "a processor", "cores": 2, "gpus": []},
    "device": "cpu",
    "dtype": "float32",
    "threads": 1,
    "parameters": 203_456,
    "only": ["sft", "after-sft", "rl", "after-rl"],
    "plugins": {"limite": "0.1.0"},
    "recipe_sha256": "9c1185a5c5e9fc54612808977ee8f548b2258d31",
}


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Write a run folder and return its path: ``make_run(rl_steps=75, name="quickstart-1f3a")``."""

    def make(*, rl_steps: int = 75, sft_steps: int = 300, name: str = "quickstart-1f3a") -> Path:
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
        (folder / "recipe.source.py").write_text("recipe = ...\n", encoding="utf-8")
        (folder / "receipt.json").write_text(json.dumps(RECEIPT), encoding="utf-8")
        draw = random.Random(7)
        _supervised(folder / "stages" / "01-sft", sft_steps, draw)
        _evaluated(folder / "stages" / "02-after-sft", "after-sft", 0.373, None, draw)
        _reinforced(folder / "stages" / "03-rl", rl_steps, draw)
        against = {
            "stage": "after-sft",
            "difference": 0.20375,
            "confidence": 0.95,
            "scope": SCOPE,
            "interval": [0.165, 0.243],
            "wording": "improved",
        }
        _evaluated(folder / "stages" / "04-after-rl", "after-rl", 0.57675, against, draw)
        return folder

    return make


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    jsonl.write_jsonl(path, lines)


def write_receipt(stage: Path, /, **fields: Any) -> None:
    stage.mkdir(parents=True, exist_ok=True)
    (stage / "receipt.json").write_text(json.dumps(fields), encoding="utf-8")


def _supervised(stage: Path, steps: int, draw: random.Random) -> None:
    lines = []
    for step in range(1, steps + 1):
        decay = min(1.0, (steps - step) / (0.4 * steps))
        loss = 0.46 + 2.6 * math.exp(-step / (0.11 * steps)) + draw.gauss(0, 0.025)
        lines.append(
            {
                "step": step,
                "time_s": 0.26 * step,
                "tokens": 780 * step,
                "loss": loss,
                "optim/lr": 0.03 * min(1.0, step / 20) * max(decay, 0.02),
                "optim/gradient_norm": 0.5 + 2 * math.exp(-step / 30) + abs(draw.gauss(0, 0.1)),
            }
        )
    write_lines(stage / "metrics.jsonl", lines)
    write_receipt(
        stage, stage="sft", type="sft", status="finished", steps=steps, time_s=79.6, tokens=234_000
    )


def _reinforced(stage: Path, steps: int, draw: random.Random) -> None:
    lines, health = [], []
    for step in range(1, steps + 1):
        done = 1 - math.exp(-3 * step / steps)
        accuracy = 0.36 + 0.2 * done + draw.gauss(0, 0.018)
        contrast = 0.78 - 0.2 * done + draw.gauss(0, 0.02)
        wrong = (1 - contrast) * (0.75 - 0.45 * done)
        clipped = max(0.0, draw.gauss(0.0004, 0.0003)) + (0.063 if step == 41 else 0)
        effective = 0.9985 - abs(draw.gauss(0, 0.0006)) - (0.09 if step == 41 else 0)
        lines.append(
            {
                "step": step,
                "time_s": 1.33 * step,
                "tokens": 15_400 * step,
                "reward/mean": accuracy,
                "accuracy/sampled": accuracy,
                "contrast/share": contrast,
                "contrast/all_correct_share": 1 - contrast - wrong,
                "contrast/all_wrong_share": wrong,
                "ratio/clipped_token_fraction": clipped,
                "ratio/effective_sample_fraction": effective,
                "ratio/mean_weight": 1 + draw.gauss(0, 0.001),
                "ratio/masked_fraction": max(0.0, draw.gauss(0.004, 0.002)),
                "length/response_tokens": 11 + 7 * done + draw.gauss(0, 0.4),
                "length/p95_tokens": round(22 + 11 * done + draw.gauss(0, 1)),
                "ending/eos_share": 0.992 + draw.gauss(0, 0.002),
                "ending/length_share": 0.008 - min(0.007, abs(draw.gauss(0, 0.002))),
                "entropy/mean": 0.45 - 0.2 * done + draw.gauss(0, 0.008),
                "optim/gradient_norm": 0.09 + abs(draw.gauss(0, 0.02)),
                "optim/lr": 7e-4 * min(1.0, step / 3, (steps - step + 1) / (0.3 * steps)),
                "time/rollout_s": 0.53 + draw.gauss(0, 0.03),
                "time/learner_s": 0.74 + draw.gauss(0, 0.04),
                "optim/updates": 16 * step,
                "objective/gate_mean": 0.5 + draw.gauss(0, 0.01),
            }
            | {
                f"arm/{family}@{STRETCHES[level]}": min(1.0, 0.8 - 0.25 * level + 0.2 * done)
                for family in FAMILIES
                for level in range(3)
                if draw.random() < 0.8
            }
        )
        for gate, figure, limit, passed in (
            ("ratio/clipped_token_fraction", clipped, "<= 0.05", clipped <= 0.05),
            ("ratio/effective_sample_fraction", effective, ">= 0.95", effective >= 0.95),
            ("ratio/mean_weight", lines[-1]["ratio/mean_weight"], "0.5 .. 2.0", True),
        ):
            health.append(
                {"step": step, "gate": gate, "figure": figure, "limit": limit, "passed": passed}
            )
    write_lines(stage / "metrics.jsonl", lines)
    write_lines(stage / "health.jsonl", health)
    for step in (1, steps // 2, steps):
        write_lines(
            stage / "rollouts" / f"{step:06d}.jsonl.zst", _responses(0.36 if step == 1 else 0.6)
        )
    write_receipt(
        stage, stage="rl", type="rl", status="finished", steps=steps, time_s=99.8, tokens=1_155_000
    )


def _responses(accuracy: float) -> list[dict[str, Any]]:
    draw = random.Random(3)
    lines = []
    for problem in range(12):
        a, b, c = (draw.randint(11, 99) for _ in range(3))
        for sample in range(4):
            right = draw.random() < accuracy
            total = a + b + c + (0 if right else draw.choice((-10, 1, 100)))
            text = f"{a}+{b}={a + b};{a + b}+{c}={total}#{total}"
            lines.append(
                {
                    "problem_id": f"{problem:032x}",
                    "problem": {
                        "problem": f"{a}+{b}+{c}=?",
                        "answer": {"type": "integer", "value": str(a + b + c), "params": {}},
                    },
                    "verdict": {
                        "outcome": "right" if right else "wrong",
                        "extracted": str(total),
                        "reason": "" if right else f"{total} is not {a + b + c}",
                    },
                    "sample_index": sample,
                    "text": text,
                    "reward": 1.0 if right else 0.0,
                    "correct": right,
                    "finish_reason": "eos" if right or sample % 2 else "length",
                    "completion_ids": list(range(len(text) + 1)),
                    "logprobs": [-0.1] * (len(text) + 1),
                }
            )
    return lines


def _held_out_responses(accuracy: float) -> list[dict[str, Any]]:
    return [
        {
            "problem_id": line["problem_id"],
            "problem": line["problem"]["problem"],
            "answer": line["problem"]["answer"]["value"],
            "generated_tokens": len(line["completion_ids"]),
            "finish_reason": line["finish_reason"],
            "correct": line["correct"],
            "grader_status": "ok",
            "grader_reason": line["verdict"]["reason"],
            "text": line["text"],
        }
        for line in _responses(accuracy)
    ]


def _arm(share: float) -> dict[str, Any]:
    correct = round(176 * min(1.0, share))
    return {"problems": 44, "correct": correct, "total": 176, "score": correct / 176}


def _evaluated(
    stage: Path, name: str, score: float, against: dict[str, Any] | None, draw: random.Random
) -> None:
    stage.mkdir(parents=True, exist_ok=True)
    results = {
        "protocol_id": "4f0c",
        "score": score,
        "correct": round(1600 * score),
        "total": 1600,
        "confidence": 0.95,
        "scope": SCOPE,
        "interval": [score - 0.041, score + 0.042],
        "samples": 4,
        "problems": 400,
        "by_arm": {
            f"{family}@{STRETCHES[level]}": _arm(score * (1.7 - 0.6 * level) + draw.gauss(0, 0.02))
            for family in FAMILIES
            for level in range(3)
        },
    }
    results |= {
        "separation": {"text": "no overlap found in the training stages of this run"},
        "endings": {"eos": 1580, "length": 20, "repetition": 0, "stop": 0},
        "pass_at_k": {"1": score, "2": score + 0.07, "4": score + 0.13},
        "grader": {"ok": 1574, "no_answer": 26, "timeout": 0},
        "correct_but_truncated": 2,
        "tokens": {"all": {"count": 1600, "mean": 14.25, "median": 13, "p95": 30}},
        "unreliable": False,
    }
    if against is not None:
        results["against"] = against
    write_lines(stage / "responses.jsonl.zst", _held_out_responses(score))
    (stage / "results.json").write_text(json.dumps(results), encoding="utf-8")
    write_receipt(stage, stage=name, type="eval", status="finished", time_s=6.1, tokens=31_000)
