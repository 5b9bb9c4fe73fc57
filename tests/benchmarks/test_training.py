"""The benchmark of whole steps runs, its jobs are what they say, and the runner finds it."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from statistics import mean, median

import pytest

from benchmarks import __main__ as runner
from benchmarks import job_floors, jobs, training
from benchmarks.turns import ROOT


def test_a_job_is_measured_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["a", "--tiny", "--json", f"{tmp_path}/"]) == 0
    assert "job a" in capsys.readouterr().out
    (file,) = tmp_path.iterdir()
    page = json.loads(file.read_text())
    assert page["environment"]["OMP_NUM_THREADS"] == "1"
    (found,) = page["rows"]
    assert found["settings"]["groups"] == 2
    (side,) = found["sides"]
    assert set(side["cpu_s"]) == {"contrast", "flat"}
    assert 0 < side["import_cpu_s"] < side["first_step_cpu_s"]
    assert min(side["cpu_s"].values()) > 0


def test_ratios_are_of_the_same_rounds() -> None:
    def side(name: str, seconds: list[float], peak: float | None) -> training.Side:
        return training.Side(
            name=name,
            cpu_s={"contrast": median(seconds)},
            cpu_spread_s={"contrast": 0.0},
            wall_s={"contrast": 1.0},
            rounds_cpu_s={"contrast": seconds},
            import_cpu_s=1.0,
            first_step_cpu_s=2.0,
            peak_mib=peak,
        )

    ratios, spreads = training._ratios(
        [side("limite", [1.0, 10.0, 2.0], 30.0), side("trl", [2.0, 20.0, 4.0], 60.0)]
    )
    assert ratios == {"contrast": 0.5, "import": 1.0, "first step": 1.0, "peak memory": 0.5}
    assert spreads == {"contrast": 0.0}
    assert training._ratios([side("limite", [1.0], None)]) == ({}, {})


def test_the_jobs_are_what_they_say() -> None:
    assert len(jobs.ALPHABET) + 3 == jobs.SMALL["vocabulary"]
    assert len(set(jobs.ALPHABET)) == len(jobs.ALPHABET)
    a, c = jobs.JOBS["a"], jobs.JOBS["c"]
    assert a.trained_tokens == 2048
    assert mean(flat / a.groups for flat in a.flat) == pytest.approx(0.7, abs=0.02)
    assert (median(c.lengths), max(c.lengths)) == (16, 256)
    earned = [jobs.reward(a, row, 6) for row in range(a.rows)]
    assert sum(earned) == 8
    assert not any(earned[:48])
    for job in jobs.JOBS.values():
        prompts = jobs.prompts_of(job, 0)
        assert len(set(prompts)) == job.groups
        tokens = [each.split() if job.pretrained else each for each in prompts]
        assert {len(each) for each in tokens} == {job.prompt_tokens}


@pytest.mark.parametrize("name", ["jobs", "turns", "trl_job"])
def test_a_peer_imports_nothing_of_limite(name: str) -> None:
    tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text())
    named = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    named |= {a.name for each in ast.walk(tree) if isinstance(each, ast.Import) for a in each.names}
    assert {each for each in named if each.startswith(("limite", "benchmarks"))} <= {
        "benchmarks.jobs",
        "benchmarks.turns",
    }


def test_the_runner_knows_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main([]) == 2
    said = capsys.readouterr().out
    for name in (*runner.MODULES, *jobs.JOBS):
        assert f"  {name} " in said
    assert runner.main(["kernles"]) == 2
    assert "'kernles'" in capsys.readouterr().err
    assert runner.main(["updates", "--against", "trl"]) == 2
    assert "no peer, not 'trl'" in capsys.readouterr().err
    assert runner.without_peer(["x", "--against=trl", "y"]) == (["x", "y"], "trl")
    every = {each for _, peers in runner.MODULES.values() for each in peers} | set(training.PEERS)
    assert every == set(runner.PEERS)


def test_an_interpreter_without_the_peer_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'No package metadata was found for trl' >&2\nexit 1\n")
    bare.chmod(0o755)
    assert training.main(["a", "--against", "trl", "--peer-python", str(bare)]) == 1
    told = capsys.readouterr().err
    assert "--peer-python" in told
    assert "trl" in told


def test_operations_are_those_of_the_products() -> None:
    """Of matrices, of queries with the keys they see, and of the head: written out for job a."""
    job = jobs.JOBS["a"]
    shape = job_floors.shape_of(job, None)
    matrices = 4 * (192 * (2 * 192 + 2 * 64) + 3 * 192 * 512)
    read = 8 * 6 + 64 * 32
    pairs = 8 * 21 + 64 * (38 * 39 // 2 - 21)
    once = 2 * read * matrices + 4 * 4 * 192 * pairs + 2 * 2048 * 192 * 64
    assert job_floors.operations(job, shape) == 4 * once
    assert job_floors.operations(job, shape, flat=8) == once
    assert job_floors.rate() > 0
