"""Several ranks do what one does, and end together when one of them cannot go on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from limite.core.jsonl import read_json, read_jsonl

HERE = Path(__file__).parent
SFT, RL = "stages/01-sft", "stages/03-rl"
CLOSE = 1e-10


def order(folder: Path, name: str, ranks: int, *more: str, **other: Any) -> dict[str, Any]:
    recipe = folder / "recipe.toml"
    command = ["run", str(recipe), "--out", str(folder), "--name", name, *more]
    return {"ranks": ranks, "command": command, **other}


def again(folder: Path, name: str, ranks: int, *more: str) -> dict[str, Any]:
    return {"ranks": ranks, "command": ["resume", str(folder / name), *more]}


def declared(folder: Path, orders: dict[str, tuple[int, str]]) -> None:
    """Has runs go on with other ranks: refused as they are, with ``told``, and then declared."""
    refused = carried_out({name: again(folder, name, ranks) for name, (ranks, _) in orders.items()})
    tokens = {}
    for name, (_, told) in orders.items():
        # Others may be ended by the first that refuses.
        assert 0 not in refused[name]["codes"]
        assert 2 in refused[name]["codes"], refused[name]["said"]
        said = refused[name]["said"][0]
        assert told in said
        (tokens[name],) = re.findall(r"--declare (\S+)", said)
        assert tokens[name].startswith("ranks=")
    done = carried_out(
        {
            name: again(folder, name, ranks, "--declare", tokens[name])
            for name, (ranks, _) in orders.items()
        }
    )
    for name in orders:
        assert set(done[name]["codes"]) == {0}, done[name]["said"]
        (change,) = read_json(folder / name / "receipt.json")["changes"]
        assert change["exact_distributed_rng_resume"] is False


def fallen(folder: Path, name: str, stage: str, lines: int, rank: int, sign: str) -> dict[str, Any]:
    log = folder / name / stage / "metrics.jsonl"
    return {"rank": rank, "signal": sign, "once": str(log), "lines": lines}


def carried_out(orders: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, HERE / "ranked_runs.py", json.dumps(list(orders.values()))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(orders, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_recipes(tmp_path_factory.mktemp("ranks"))


def with_recipes(made: Path) -> Path:
    """A folder that runs of any name can be made in."""
    text = (HERE / "several.toml").read_text()
    (made / "recipe.toml").write_text(text)
    (made / "recipe-0.toml").write_text(text)
    (made / "recipe-1.toml").write_text(text.replace("lr = 0.04", "lr = 0.03"))
    return made


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, dict[str, Any]]:
    """What came of runs by one and by two ranks, and of runs of which one rank falls."""
    other = order(folder, "different", 2)
    other["command"][1] = str(folder / "recipe-{rank}.toml")
    killed = fallen(folder, "killed", RL, 1, 1, "SIGKILL")
    stopped = fallen(folder, "hangs", SFT, 10, 1, "SIGSTOP")
    return carried_out(
        {
            "one": order(folder, "one", 1),
            "two": order(folder, "two", 2),
            "sharded": order(folder, "sharded", 2, "--shard"),
            "killed": order(folder, "killed", 2, timeout_s=4, kill=killed),
            "killed, again": again(folder, "killed", 2),
            "hangs": order(folder, "hangs", 2, timeout_s=3, kill=stopped),
            "three": order(folder, "three", 3),
            "different": other,
        }
    )


def tensors(run: Path) -> dict[str, torch.Tensor]:
    """Every number of every checkpoint."""
    return {
        f"{place.relative_to(run)}: {name}": tensor
        for place in sorted(run.rglob("*.safetensors"))
        for name, tensor in load_file(place).items()
    }


def responses(run: Path) -> list[Any]:
    """What was sampled, but for log-probabilities, which round."""
    return [
        [line[key] for key in ("problem", "sample_index", "completion_ids", "finish_reason")]
        for place in sorted(run.rglob("rollouts/*.jsonl.zst"))
        for line in read_jsonl(place)
    ]


def metrics(run: Path, stage: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in line.items() if not key.startswith("time")}
        for line in read_jsonl(run / stage / "metrics.jsonl")
    ]


def test_ranks_learn_what_one_process_learns(folder: Path, told: dict[str, dict[str, Any]]) -> None:
    assert told["two"]["codes"] == [0, 0], told["two"]["said"]
    learned_alike(folder, "two")


def test_ranks_that_share_out_the_weights_learn_the_same(
    folder: Path, told: dict[str, dict[str, Any]]
) -> None:
    assert told["sharded"]["codes"] == [0, 0], told["sharded"]["said"]
    learned_alike(folder, "sharded")
    assert read_json(folder / "sharded" / "receipt.json")["hardware"]["sharded"] is True
    files = [
        {str(each.relative_to(run)) for each in run.rglob("*")}
        for run in (folder / "one", folder / "sharded")
    ]
    assert files[0] == files[1]


@pytest.mark.nightly
def test_shared_out_weights_on_more_ranks_and_on_others_later(tmp_path: Path) -> None:
    folder = with_recipes(tmp_path)
    falls = {
        name: fallen(folder, name, stage, lines, rank, "SIGKILL")
        for name, stage, lines, rank in (
            ("killed-in-sft", SFT, 25, 1),
            ("killed-in-rl", RL, 1, 0),
            ("then-whole", SFT, 25, 3),
            ("then-more", RL, 2, 2),
        )
    }
    shard = ("--shard",)
    done = carried_out(
        {
            "one": order(folder, "one", 1),
            "two": order(folder, "two", 2, *shard),
            "four": order(folder, "four", 4, *shard),
            "eight": order(folder, "eight", 8, *shard),
            "killed-in-sft": order(
                folder, "killed-in-sft", 2, *shard, timeout_s=4, kill=falls["killed-in-sft"]
            ),
            "killed-in-rl": order(
                folder, "killed-in-rl", 2, *shard, timeout_s=4, kill=falls["killed-in-rl"]
            ),
            "then-whole": order(
                folder, "then-whole", 4, *shard, timeout_s=4, kill=falls["then-whole"]
            ),
            "then-more": order(
                folder, "then-more", 4, *shard, timeout_s=4, kill=falls["then-more"]
            ),
            "killed-in-sft, again": again(folder, "killed-in-sft", 2),
            "killed-in-rl, again": again(folder, "killed-in-rl", 2),
        }
    )
    for name, each in done.items():
        if name in falls:
            assert 0 not in each["codes"], name
        else:
            assert set(each["codes"]) == {0}, each["said"]
    declared(
        folder,
        {
            "then-whole": (1, "ranks: 4 -> 1\n  sharded: true -> false"),
            "then-more": (8, "ranks: 4 -> 8"),
        },
    )
    for run in ("two", "four", "eight", *falls):
        learned_alike(folder, run)
    for run in ("killed-in-sft", "killed-in-rl"):
        wanted, found = tensors(folder / "two"), tensors(folder / run)
        assert [name for name in wanted if not torch.equal(wanted[name], found[name])] == []
        assert metrics(folder / "two", RL) == metrics(folder / run, RL)


@pytest.mark.nightly
def test_more_ranks_and_a_run_that_goes_on_with_another_number(tmp_path: Path) -> None:
    folder = with_recipes(tmp_path)
    begun = {"hangs": 2, "dies": 8}
    signs = {"hangs": "SIGSTOP", "dies": "SIGKILL"}
    falls = {name: fallen(folder, f"{name}-first", SFT, 25, 1, signs[name]) for name in begun}
    done = carried_out(
        {
            "one": order(folder, "one", 1),
            "four": order(folder, "four", 4),
            "eight": order(folder, "eight", 8),
            "two": order(folder, "two", 2, "--shard"),
            "full": order(folder, "full", 2, "--shard", timeout_s=5, full="step-000040"),
            "full, again": again(folder, "full", 2),
            **{
                name: order(folder, f"{name}-first", ranks, timeout_s=5, kill=falls[name])
                for name, ranks in begun.items()
            },
        }
    )
    assert done["hangs"]["codes"] == [1, -9]
    assert 0 not in done["dies"]["codes"]
    assert 0 not in done["full"]["codes"]
    assert "checkpoints/step-000040: no space left to write it" in done["full"]["said"][0]
    declared(folder, {"hangs-first": (1, "ranks: 2 -> 1"), "dies-first": (4, "ranks: 8 -> 4")})
    for name in ("four", "eight", "full, again"):
        assert set(done[name]["codes"]) == {0}, done[name]["said"]
    for run in ("four", "eight", "full", "hangs-first", "dies-first"):
        learned_alike(folder, run)
    wanted, found = tensors(folder / "two"), tensors(folder / "full")
    assert [name for name in wanted if not torch.equal(wanted[name], found[name])] == []


def learned_alike(folder: Path, ranks: str) -> None:
    """Holds a run by several ranks to that by one."""
    one, several = tensors(folder / "one"), tensors(folder / ranks)
    assert one.keys() == several.keys()
    assert len(one) > 100
    for name, wanted in one.items():
        torch.testing.assert_close(several[name], wanted, rtol=0, atol=CLOSE, msg=name)
    assert responses(folder / ranks) == responses(folder / "one")
    assert len(responses(folder / "one")) > 200
    for stage in (SFT, RL):
        for ours, wanted in zip(
            metrics(folder / ranks, stage), metrics(folder / "one", stage), strict=True
        ):
            assert ours == pytest.approx(wanted, rel=1e-9, abs=CLOSE)
    # The test would pass if nothing had been learned.
    assert metrics(folder / "one", RL)[-1]["optim/updates"] > 1


def test_one_rank_writes_and_the_receipt_counts_them(
    folder: Path, told: dict[str, dict[str, Any]]
) -> None:
    assert told["two"]["codes"] == [0, 0]
    assert read_json(folder / "two" / "receipt.json")["hardware"]["ranks"] == 2
    assert "ranks" not in read_json(folder / "one" / "receipt.json")["hardware"]
    files = [
        {str(each.relative_to(run)) for each in run.rglob("*")}
        for run in (folder / "one", folder / "two")
    ]
    assert files[0] == files[1]
    assert told["two"]["said"][1] == ""
    log = (folder / "two" / "log.txt").read_text()
    assert log.count("held-out accuracy") == 1


def test_a_rank_that_is_killed_is_named_and_the_run_goes_on_exactly(
    folder: Path, told: dict[str, dict[str, Any]]
) -> None:
    assert told["killed"]["codes"][1] == -9
    assert told["killed"]["codes"][0] == 1
    assert "rank 1 of 2 gives no sign of life" in told["killed"]["said"][0]
    assert f"\n  limite resume {folder / 'killed'}\n" in told["killed"]["said"][0]
    assert told["killed, again"]["codes"] == [0, 0], told["killed, again"]["said"]
    wanted, found = tensors(folder / "two"), tensors(folder / "killed")
    assert wanted.keys() == found.keys()
    assert [name for name in wanted if not torch.equal(wanted[name], found[name])] == []
    assert metrics(folder / "two", RL) == metrics(folder / "killed", RL)


def test_a_rank_that_hangs_is_named_and_ends_the_run_in_time(
    told: dict[str, dict[str, Any]],
) -> None:
    assert told["hangs"]["codes"] == [1, -9]
    said = told["hangs"]["said"][0]
    assert "rank 1 of 2 gives no sign of life" in said or "rank 1 of 2, which did not" in said


def test_ranks_that_groups_cannot_be_dealt_to_are_refused(
    folder: Path, told: dict[str, dict[str, Any]]
) -> None:
    assert 0 not in told["three"]["codes"]
    assert (
        "stages.rl.groups: 8 groups cannot be dealt evenly to 3 ranks" in told["three"]["said"][0]
    )
    assert "take 2 ranks, or 9 groups" in told["three"]["said"][0]
    assert not (folder / "three").exists()


def test_ranks_with_other_recipes_are_refused(
    folder: Path, told: dict[str, dict[str, Any]]
) -> None:
    assert 0 not in told["different"]["codes"]
    said = told["different"]["said"][0]
    assert "rank 1: recipe.stages.sft.optimizer.lr: 0.04 -> 0.03" in said
    assert not (folder / "different").exists()
