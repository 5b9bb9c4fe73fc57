"""Every kernel, compiled without a GPU with every tile of the table, keeps within the limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.kernels import aot, aot_compile, tiles
from limite.core.kernels.aot_compile import Job, Result
from limite.core.kernels.tiles import Row, Spill, Tile

ARCHITECTURES = (80, 90)
DTYPES = ("bf16", "fp32")
"""And float16 nightly: its tiles and kernels are those of bfloat16 but for the type of products."""

JOB = Job(module="m", place=0, kernel="k", dtype="bf16", width=None, architecture=90)
FINE = Result(job=JOB, tile="", matrix=True, shared=1024, registers=255, hgmma=8)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the command says of the whole table."""
    return _report(tmp_path_factory.mktemp("aot") / "whole.json", DTYPES)


@pytest.fixture(scope="session")
def half(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same of kernels in float16."""
    return _report(tmp_path_factory.mktemp("aot") / "half.json", ("fp16",))


def _report(file: Path, dtypes: Sequence[str]) -> dict[str, Any]:
    """In a process where Triton does not interpret."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    chosen = [word for each in ARCHITECTURES for word in ("--arch", str(each))]
    chosen += [word for each in dtypes for word in ("--dtype", each)]
    done = subprocess.run(
        [sys.executable, "-m", "limite.core.kernels.aot", *chosen, "--json", str(file)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert file.exists(), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(file.read_text())
    beyond = bool(found["missing"]) or any(row["broken"] for row in found["rows"])
    assert done.returncode == int(beyond), done.stdout
    return found


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("module", aot_compile.modules())
def test_kernels_keep_within_the_limits(
    report: dict[str, Any], module: str, architecture: int
) -> None:
    rows = [
        row
        for row in report["rows"]
        if (row["module"], row["architecture"]) == (module, architecture)
    ]
    assert rows
    for row in rows:
        assert not row["broken"], row


@pytest.mark.nightly
def test_kernels_in_float16_keep_within_the_limits(half: dict[str, Any]) -> None:
    assert {row["architecture"] for row in half["rows"]} == set(ARCHITECTURES)
    for row in half["rows"]:
        assert not row["broken"], row


@pytest.mark.slow
def test_no_line_of_the_table_is_left_out(report: dict[str, Any]) -> None:
    assert not report["missing"]


@pytest.mark.slow
def test_every_listed_spill_is_one(report: dict[str, Any]) -> None:
    _spills_are_there(report, DTYPES)


@pytest.mark.nightly
def test_every_listed_spill_in_float16_is_one(half: dict[str, Any]) -> None:
    assert not half["missing"]
    _spills_are_there(half, ("fp16",))


def _spills_are_there(report: dict[str, Any], dtypes: Sequence[str]) -> None:
    listed = [spill for spill in tiles.SPILLS if spill.dtype in dtypes]
    assert listed
    for spill in listed:
        place = (spill.kernel, spill.dtype, spill.architecture, spill.width)
        found = [
            row
            for row in report["rows"]
            if (row["kernel"], row["dtype"], row["architecture"], row["width"]) == place
        ]
        assert any(row["stack"] or row["loads"] or row["stores"] for row in found), spill


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shared": 227 * 1024 + 1}, "shared memory: 232449 bytes, at most 232448"),
        ({"stack": 8}, "stack: 8, allowed 0"),
        ({"loads": 2}, "loads: 2, allowed 0"),
        ({"stores": 1}, "stores: 1, allowed 0"),
        ({"hgmma": 0}, "no HGMMA"),
        ({"error": "OutOfResources"}, "does not compile: OutOfResources"),
    ],
)
def test_a_broken_limit_is_told(change: dict[str, Any], words: str) -> None:
    assert not FINE.broken
    (told,) = attrs.evolve(FINE, **change).broken
    assert words in told


def test_products_elsewhere_and_in_float32_need_no_hgmma() -> None:
    for other in (attrs.evolve(JOB, architecture=80), attrs.evolve(JOB, dtype="fp32")):
        assert not attrs.evolve(FINE, job=other, hgmma=0).broken


def test_a_listed_spill_is_allowed_up_to_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "SPILLS", (Spill("k", "bf16", 90, stack=8, loads=2),))
    assert not attrs.evolve(FINE, stack=8, loads=2).broken
    assert attrs.evolve(FINE, stack=16).broken == ["stack: 16, allowed 8"]
    assert attrs.evolve(FINE, job=attrs.evolve(JOB, width=64), stack=8).broken


def test_a_line_without_a_kernel_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Row("no_such_kernel", "half", Tile({"BM": 16}))
    monkeypatch.setattr(tiles, "TABLE", (*tiles.TABLE, lost))
    _, missing = aot.plan([90], ["bf16"])
    line = "no_such_kernel, half, width None, sm_None"
    assert line in missing
    assert line not in aot.plan([90], ["fp32"])[1]


def test_a_line_shadowed_in_the_usual_shapes_is_compiled_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = Row("linear_scan_forward", "float32", Tile({"BT": 64}), width=128)
    new = Row("linear_scan_forward", "float32", Tile({"BT": 128}), width=64, architecture=90)
    monkeypatch.setattr(tiles, "TABLE", (*tiles.TABLE, wide, new))
    for architecture, expected in ((80, {None, 256}), (90, {None, 256, 64})):
        jobs, missing = aot.plan([architecture], ["fp32"])
        assert not [line for line in missing if line.startswith("linear_scan")]
        assert {job.width for job in jobs if job.kernel == "linear_scan_forward"} == expected


def test_results_are_kept_for_these_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Job] = []

    def compile_one(job: Job) -> Result:
        calls.append(job)
        return attrs.evolve(FINE, job=job)

    monkeypatch.setattr(aot_compile, "run", compile_one)
    other = attrs.evolve(JOB, place=1)
    first = aot.compile_all([JOB], 1, tmp_path)
    assert aot.compile_all([other, JOB], 1, tmp_path) == [attrs.evolve(FINE, job=other), *first]
    assert calls == [JOB, other]
    monkeypatch.setattr(aot, "source_hash", lambda: "another")
    aot.compile_all([JOB], 1, tmp_path)
    assert calls == [JOB, other, JOB]


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert aot.default_cache() == Path("/somewhere/limite/aot")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert aot.default_cache() == Path.home() / ".cache" / "limite" / "aot"
