"""The benchmark runs from end to end, counts rightly, and survives whatever fails in it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch

from benchmarks import checks, cpu_cases, floors, gpu_cases, inputs, kernels, measure, peers
from benchmarks.cases import BEST, TARGET, Bound, Case, pick, shape_text, tiny
from benchmarks.clock import Call, CpuClock, Timing, quantile, race
from benchmarks.floors import Ceilings, Work, count, floor_ms, visible_pairs
from benchmarks.rows import Check, Document, PeerFigure, Row
from benchmarks.worker import Failed, reason_of, run_all, worker
from limite.core.kernels import dispatch

ROOT = Path(__file__).parents[2]
ALL = (*gpu_cases.CASES, *cpu_cases.CASES)
H200 = Ceilings(bytes_per_s=4.3e12, flop_per_s=785e12)

IMPOSSIBLE = Case(
    name="three heads on two",
    op="attention",
    sizes={"batch": 1, "tokens": 4, "heads": 3, "kv_heads": 2, "width": 16, "window": None},
    direction="forward",
    dtype="float32",
    importance=9,
    expected_s=0.0,
)
NEVER = attrs.evolve(IMPOSSIBLE, name="never", importance=1, expected_s=1e9)
WITH_PEERS = attrs.evolve(
    tiny(ALL[0]),
    name="two peers",
    dtype="float32",
    peers=("torch", "sdpa cudnn", "nobody"),
    bounds=(Bound(what="time", against=BEST, at_most=1e9),),
)


def run(*argv: str, cases: Sequence[Case] | None = None) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = kernels.main(["--device", "cpu", "--tiny", *argv], cases)
    return code, out.getvalue()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, dict[str, Any]]:
    """Every case at tiny sizes, and three more."""
    path = tmp_path_factory.mktemp("benchmark") / "tiny.json"
    cases = [*kernels.cases_of("cpu", True), IMPOSSIBLE, NEVER, WITH_PEERS]
    code, text = run("--json", str(path), cases=cases)
    return code, text, json.loads(path.read_text(encoding="utf-8"))


def test_every_case_is_a_row_of_the_table_and_of_the_file(
    ran: tuple[int, str, dict[str, Any]],
) -> None:
    _, text, data = ran
    rows = {row["name"]: row for row in data["rows"]}
    assert list(rows) == [*(case.name for case in ALL), IMPOSSIBLE.name, WITH_PEERS.name]
    lines = text.splitlines()
    for name, row in rows.items():
        assert any(line.startswith(f"{name}  ") for line in lines), name
        if name == IMPOSSIBLE.name:
            continue
        assert row["failed"] is None, row["failed"]
        assert row["ms"] > 0
        assert row["spread_ms"] >= 0
        assert row["backend"] in ("cpu", "native"), name
        assert row["floor_fraction"] > 0
        assert row["tb_s"] > 0
        assert row["max_error"] >= 0
        for peer, figure in row["peers"].items():
            assert (figure["failed"] is None) == (figure["ms"] is not None), peer
    assert {row["backend"] for row in rows.values()} >= {"cpu", "native"}
    assert "\x1b" not in text


def test_the_file_has_its_fields_and_nothing_of_this_machine(
    ran: tuple[int, str, dict[str, Any]],
) -> None:
    _, text, data = ran
    assert set(data) == {field.name for field in attrs.fields(Document)}
    assert data["schema"] == 1
    assert data["settings"]["tiny"] is True
    assert data["versions"]["torch"] == torch.__version__
    assert data["device"]["threads"] == 1
    for row in data["rows"]:
        assert set(row) == {field.name for field in attrs.fields(Row)}
        for figure in row["peers"].values():
            assert set(figure) == {field.name for field in attrs.fields(PeerFigure)}
    for check in data["checks"]:
        assert set(check) == {field.name for field in attrs.fields(Check)}
        assert check["failed"] is None, check
        assert check["share_of_allowed"] <= 1, check
    assert set(data["stages_s"]) == {"device", "compile", "check", "time"}
    for private in (socket.gethostname(), str(ROOT), str(Path.home())):
        assert f'"{private}' not in json.dumps(data)
        assert private not in text or len(private) < 6


def test_what_fails_is_a_row_with_its_reason(ran: tuple[int, str, dict[str, Any]]) -> None:
    code, text, data = ran
    rows = {row["name"]: row for row in data["rows"]}
    assert code == 1
    assert "heads" in rows[IMPOSSIBLE.name]["failed"]
    assert f"failed: {IMPOSSIBLE.name}: ValueError" in text
    figures = rows[WITH_PEERS.name]["peers"]
    assert figures["torch"]["ms"] > 0
    assert "KeyError" in figures["nobody"]["failed"]
    assert figures["sdpa cudnn"]["failed"]
    assert rows[WITH_PEERS.name]["best_peer"] == "torch"
    assert rows[WITH_PEERS.name]["verdicts"][0]["verdict"] == "met"


def test_what_does_not_fit_into_the_budget_is_dropped_and_named(
    ran: tuple[int, str, dict[str, Any]],
) -> None:
    _, text, data = ran
    assert data["dropped"] == ["never"]
    assert "dropped for want of time: never" in text


def test_nothing_fits_into_no_time() -> None:
    code, text = run("--budget-s", "0", "--only", "linear_scan")
    assert code == 0
    assert "dropped for want of time: scan forward" in text
    assert "dropped for want of time: check of linear_scan in float32" in text


def test_it_runs_as_a_file_and_lists_its_cases(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "kernels.py", "--device", "cpu", "--list"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert [line.split("  ")[0] for line in ended.stdout.splitlines()] == [
        case.name for case in cpu_cases.CASES
    ]


def test_an_unknown_name_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernels.main(["--device", "cpu", "--only", "nothing"]) == 2
    assert "--list" in capsys.readouterr().err


def test_cases_cover_every_operation_under_names_of_their_own() -> None:
    assert len({case.name for case in ALL}) == len(ALL)
    for cases in (gpu_cases.CASES, cpu_cases.CASES):
        assert {case.op for case in cases} == set(dispatch.MODULES)
    assert set(checks.SIZES) == set(dispatch.MODULES)
    assert all(len(sizes) == 4 for sizes in checks.SIZES.values())
    for case in ALL:
        for name in case.peers:
            assert peers.find(case.op, name)
        for bound in case.bounds:
            assert bound.against in (BEST, TARGET, *case.peers)
            assert bound.against != TARGET or case.target_ms
    assert {case.op for case in pick(ALL, ["attention*"])} == {"attention", "attention_decode"}


@pytest.mark.parametrize(
    ("name", "least_ms"),
    [
        ("norm forward", 0.078),
        ("norm backward", 0.117),
        ("rotary forward", 0.0975),  # 0.0936 for q and k, 0.0039 for the tables of turns
        ("swiglu forward", 0.304),
        ("swiglu backward", 0.507),
        ("attention forward", 1.751),
        ("attention backward", 4.377),
        ("attention window forward", 0.4107),
        ("attention window backward", 1.027),
        ("attention long forward", 56.03),
        ("simplicial forward", 0.848),
        ("simplicial backward", 4.664),
        ("head forward", 8.104),
        ("head both", 32.42),
        ("decode forward", 0.4995),
        ("scan forward", 0.2575),
    ],
)
def test_floors_are_those_counted_by_hand(name: str, least_ms: float) -> None:
    (case,) = (case for case in gpu_cases.CASES if case.name == name)
    assert floor_ms(count(case), H200) == pytest.approx(least_ms, rel=2e-3)


def test_work_is_counted_element_by_element() -> None:
    def work(op: str, direction: str, **sizes: int | None) -> Work:
        return floors.COUNTS[op](sizes, direction, 2)  # type: ignore[arg-type]

    assert work("rms_norm", "both", rows=3, width=5) == Work(5 * 15 * 2)
    heads: dict[str, int | None] = {"heads": 4, "kv_heads": 2, "width": 8}
    # One token sees itself: q, k, v and out; one pair for each head, 8 products and sums, twice.
    assert work("attention", "forward", batch=1, tokens=1, window=None, **heads) == Work(
        (4 + 2 + 2 + 4) * 8 * 2, 4 * 8 * 4
    )
    assert work("attention", "backward", batch=1, tokens=1, window=None, **heads) == Work(
        (4 * 4 + 4 * 2) * 8 * 2 + 4 * 4, 10 * 8 * 4
    )
    assert work("attention_decode", "forward", batch=3, cached=10, window=4, **heads) == Work(
        3 * (2 * 2 * 4 + 2 * 4) * 8 * 2, 4 * 3 * 4 * 4 * 8
    )
    head = {"tokens": 2, "vocabulary": 7, "width": 8, "indices": 3, "entropy": 1}
    assert work("indexed_logprob", "forward", **head) == Work(
        (2 + 7) * 8 * 2 + 2 * 3 * 8 + 2 * (3 + 1 + 1) * 4, 2 * 2 * 7 * 8
    )
    assert work("indexed_logprob", "both", **head).flop == 4 * 2 * 2 * 7 * 8
    assert Work(1, 2) + Work(3, 4) == Work(4, 6)
    assert floor_ms(Work(4.3e9, 1), H200) == pytest.approx(1.0)


@pytest.mark.parametrize("windows", [(), (None,), (3,), (1,), (99,), (3, 5), (5, 3), (None, 2)])
@pytest.mark.parametrize("tokens", [1, 2, 4, 17])
def test_visible_pairs_are_those_counted_one_by_one(
    tokens: int, windows: tuple[int | None, ...]
) -> None:
    total = 0
    for query in range(tokens):
        product = 1
        for window in windows:
            product *= query + 1 if window is None else min(query + 1, window)
        total += product
    assert visible_pairs(tokens, *windows) == total


@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(case, name, id=f"{case.name}, {name}")
        for case in ALL
        for name in case.peers
        if not peers.needs_compiler(name) and name not in ("sdpa cudnn", "sdpa efficient")
        if case.direction != "backward"
    ],
)
def test_peers_do_the_same_work(case: Case, name: str) -> None:
    problem = inputs.make(case.op, tiny(case).sizes, torch.float32, "cpu", 1)
    ours = peers.find(case.op, "plain")(problem, problem.tensors)
    its = peers.find(case.op, name)(problem, problem.tensors)
    assert len(ours) == len(its) == max(problem.weighted, 1)
    for mine, other in zip(ours, its, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


def test_a_worker_outlives_what_ends_its_process() -> None:
    with worker() as one:
        with pytest.raises(Failed, match="exit code 3"):
            one.call(os._exit, 3, limit_s=60)
        with pytest.raises(Failed, match="ValueError: invalid literal"):
            one.call(int, "no number", limit_s=60)
        with pytest.raises(Failed, match="not done within 1 s"):
            one.call(time.sleep, 600, limit_s=1)
        assert one.call(int, "7", limit_s=60) == 7
    late = run_all([(int, "7")], processes=1, deadline=time.monotonic() - 1, limit_s=1)
    assert str(late[0]) == "dropped: no time left for it"
    soon = time.monotonic() + 0.5
    cut, done = run_all([(time.sleep, 600), (int, "7")], processes=2, deadline=soon, limit_s=60)
    assert str(cut) == "dropped: cut off when its time was up"
    assert done == 7 or str(done).startswith("dropped")  # as fast as a process starts


def test_a_reason_is_one_line_without_paths() -> None:
    assert reason_of(ValueError("in /home/some/body/file.py\nand more")) == "ValueError: in file.py"
    assert reason_of(KeyError()) == "KeyError"
    assert len(reason_of(ValueError("x" * 1000))) == 240


class CountingClock(CpuClock):
    """Every call takes as many milliseconds as it returns; notes who was called."""

    def time(self, calls: Sequence[Call]) -> list[float]:
        return [float(str(call())) for call in calls]


def test_contenders_take_turns_and_figures_come_with_their_spread() -> None:
    order: list[str] = []

    def call(name: str, ms: float) -> Call:
        def called() -> float:
            order.append(name)
            return ms

        return called

    found = race({"ours": [call("ours", 20.0)], "peer": [call("peer", 40.0)]}, CountingClock())
    assert found["ours"].ms == 20.0
    assert found["ours"].spread_ms == 0.0
    assert found["ours"].ratio(found["peer"]) == (0.5, 0.0)
    assert len(found["ours"].rounds) == 5
    assert len(found["peer"].rounds) == 3
    assert order[-8:] == ["ours", "peer"] * 3 + ["ours"] * 2
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([0.0, 10.0], 0.9) == pytest.approx(9.0)
    assert Timing(((1.0,), (2.0,), (3.0,))).spread_ms == pytest.approx(0.8)


def test_peak_memory_is_that_of_the_call() -> None:
    clock = CpuClock()
    held = bytearray(32 * 2**20)
    peak = clock.peak_mib(lambda: bytearray(64 * 2**20)[0])
    if sys.platform.startswith("linux"):
        assert peak is not None
        assert 60 < peak < 80
    else:
        assert peak is None
    assert len(held) == 32 * 2**20


def test_verdicts_leave_room_for_the_spread_and_nothing_else() -> None:
    case = attrs.evolve(
        ALL[0],
        target_ms=1.0,
        bounds=(
            Bound(what="time", against="plain", at_most=1.0),
            Bound(what="memory", against="plain", at_most=0.1),
            Bound(what="time", against=BEST, at_most=1.0),
            Bound(what="time", against=TARGET, at_most=1.5),
        ),
    )
    figure = PeerFigure(ms=1.9, time_ratio=1.05, time_ratio_spread=0.1, memory_ratio=0.11)
    fast = attrs.evolve(figure, ms=1.0, time_ratio=2.0)
    row = attrs.evolve(
        kernels.failed_row(case, ""),
        failed=None,
        ms=1.4,
        spread_ms=0.0,
        peers={"plain": figure, "torch": fast},
        best_peer="torch",
    )
    found = [each.verdict for each in measure.verdicts(case, row)]
    assert found == ["within the spread", "missed", "missed", "met"]


def test_shapes_read_in_the_customary_letters() -> None:
    sizes = {"batch": 8, "tokens": 16, "heads": 10, "kv_heads": 2, "width": 128, "window": 9}
    assert shape_text("attention", sizes) == "B8 T16 H10/2 D128 w9"
