"""``make --executor ray``: the bytes of one process, whoever makes them and whatever is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from limite.problems.gen import cluster

ASKED = ("make", "gcd,sum-chain:2", "--count", 700, "--difficulty", "0.1", "--seed", 4)


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(f"traceback of {cause!r}")
        self.cause = cause


class FakeRay(ModuleType):
    """Ray as far as it is used: tasks run when asked for, some of them twice, in one process."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.processors = 3.0
        self.faults: dict[int, Exception] = {}  # by the number of the task
        self.tasks: list[Any] = []
        self.cancelled: list[Any] = []
        self.address: str | None = None
        self.begun = 0
        self.most = 0
        self.draws = random.Random(1)

    def is_initialized(self) -> bool:
        return self.begun > 0

    def init(self, *, address: str | None, **_settings: Any) -> None:
        self.address = address
        self.begun += 1

    def shutdown(self) -> None:
        self.begun -= 1

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.processors}

    def put(self, value: Any) -> Any:
        return value

    def remote(self, **_settings: Any) -> Callable[..., Any]:
        def wrapped(function: Callable[..., Any]) -> Any:
            def call(*arguments: Any) -> int:
                self.tasks.append((function, arguments))
                waiting = len(self.tasks) - sum(task is None for task in self.tasks)
                self.most = max(self.most, waiting)
                return len(self.tasks) - 1

            return SimpleNamespace(remote=call)

        return wrapped

    def get(self, reference: int) -> Any:
        if reference in self.faults:
            raise self.faults.pop(reference)
        function, arguments = self.tasks[reference]
        # A process that was lost did the work already, and another one does it again, later than
        # tasks that were sent after it.
        for other in self.draws.sample(self.tasks, 2) if len(self.tasks) > 1 else ():
            if other is not None:
                other[0](*other[1])
        found = function(*arguments)
        self.tasks[reference] = None
        return found

    def cancel(self, reference: int, *, force: bool) -> None:
        assert force
        self.cancelled.append(reference)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(cluster, "_makers", {})
    return fake


def manifest_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{path}.manifest.json").read_text())
    return found


@pytest.mark.parametrize("workers", [None, 1, 5])
def test_a_cluster_changes_no_byte(
    gen: Callable, tmp_path: Path, ray: FakeRay, workers: int | None
) -> None:
    alone, shared = tmp_path / "alone.jsonl", tmp_path / "shared.jsonl"
    assert gen(*ASKED, "-o", alone).code == 0
    asked = () if workers is None else ("--workers", workers)
    ended = gen(*ASKED, "-o", shared, "--executor", "ray", *asked)
    assert ended.code == 0, ended.err
    assert shared.read_bytes() == alone.read_bytes()
    assert manifest_of(shared) == manifest_of(alone)
    assert manifest_of(alone)["counts"]["duplicates"] > 50
    # Two for each worker, and at most as many again while one family gives hardly anything new.
    assert 2 * (workers or 3) <= ray.most <= 4 * (workers or 3)
    assert ray.begun == 0


def test_a_task_lost_for_good_is_told_and_gone_on_from(
    gen: Callable, tmp_path: Path, ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limite.problems.gen.output.BUFFER_BYTES", 10_000)
    alone, shared = tmp_path / "alone.jsonl", tmp_path / "shared.jsonl"
    gen(*ASKED, "-o", alone)
    ray.faults = {4: RayError("the node died")}
    ended = gen(*ASKED, "-o", shared, "--executor", "ray")
    assert ended.code == 1
    assert "a worker process was killed" in ended.err
    assert "the same command goes on" in ended.err
    assert ray.begun == 0
    ended = gen(*ASKED, "-o", shared, "--executor", "ray")
    assert "going on after" in ended.out
    assert shared.read_bytes() == alone.read_bytes()


def test_a_machine_that_would_make_other_problems_is_refused(
    gen: Callable, tmp_path: Path, ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = ray.put
    monkeypatch.setattr(ray, "put", lambda value: sent({**value, "limite": "0.0.1"}))
    ended = gen(*ASKED, "-o", tmp_path / "p.jsonl", "--executor", "ray")
    assert ended.code == 1
    assert "cannot make these problems: limite: " in ended.err
    assert "'0.0.1' here" in ended.err


def test_what_a_machine_lacks_is_told(gen: Callable, tmp_path: Path, ray: FakeRay) -> None:
    ray.faults = {0: RayTaskError(ModuleNotFoundError("No module named 'limite'"))}
    ended = gen(*ASKED, "-o", tmp_path / "p.jsonl", "--executor", "ray")
    assert ended.code == 1
    assert "No module named 'limite'" in ended.err
    assert "all need the same limite" in ended.err


def test_a_cluster_without_processors_or_none_at_all_is_told(
    gen: Callable, tmp_path: Path, ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray.processors = 0.0
    ended = gen(*ASKED, "-o", tmp_path / "p.jsonl", "--executor", "ray")
    assert ended.code == 1
    assert "the Ray cluster has no processors" in ended.err
    assert ray.begun == 0

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    for prefix in ("", "ray://"):
        monkeypatch.setenv("RAY_ADDRESS", prefix + address)
        ended = gen(*ASKED, "-o", tmp_path / "p.jsonl", "--executor", "ray")
        assert ended.code == 1
        assert f"no Ray cluster answers at {prefix}{address} (RAY_ADDRESS): " in ended.err
    monkeypatch.delenv("RAY_ADDRESS")
    # A cluster that was killed leaves its address, and is no reason not to begin another.
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(address)
    ray.processors = 1.0
    assert gen(*ASKED, "-o", tmp_path / "q.jsonl", "--executor", "ray").code == 0
    assert ray.address == "local"

    def unreachable(**_settings: Any) -> None:
        raise ConnectionError("ray://nowhere did not answer")

    monkeypatch.setattr(ray, "init", unreachable)
    ended = gen(*ASKED, "-o", tmp_path / "p.jsonl", "--executor", "ray")
    assert ended.code == 1
    assert "no Ray cluster: " in ended.err
    assert "ray://nowhere did not answer" in ended.err


def test_a_cluster_of_ones_own_is_left_as_it_is(
    gen: Callable, tmp_path: Path, ray: FakeRay
) -> None:
    ray.begun = 1
    ray.faults = {0: RayError("lost")}
    assert gen(*ASKED, "-o", tmp_path / "p.jsonl", "--executor", "ray").code == 1
    assert ray.begun == 1
    assert set(ray.cancelled) == set(range(len(ray.tasks)))


def test_without_ray_what_to_install_is_told_before_anything(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "empty"
    (place / "ray").mkdir(parents=True)
    out = tmp_path / "p.jsonl"
    monkeypatch.setitem(sys.modules, "ray", None)
    ended = gen(*ASKED, "-o", out, "--executor", "ray")
    assert ended.code == 2
    assert "pip install 'limite[ray]'" in ended.err
    folder = ModuleType("ray")
    folder.__path__ = [str(place / "ray")]
    monkeypatch.setitem(sys.modules, "ray", folder)
    ended = gen(*ASKED, "-o", out, "--executor", "ray")
    assert ended.code == 2
    assert "pip install 'limite[ray]'" in ended.err
    assert not list(tmp_path.glob("p.jsonl*"))


def processes_of(parent: int) -> list[tuple[int, str]]:
    """All processes below one, with their names."""
    above: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            own = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        above.setdefault(own, []).append(int(place.name))
    found, ahead = [], [parent]
    while ahead:
        for each in above.get(ahead.pop(), []):
            ahead.append(each)
            try:
                found.append((each, Path(f"/proc/{each}/cmdline").read_text()))
            except OSError:
                continue
    return found


@pytest.mark.ray
def test_real_ray_gives_the_same_bytes_though_its_processes_are_killed(
    gen: Callable, tmp_path: Path
) -> None:
    alone, shared = tmp_path / "alone.jsonl", tmp_path / "shared.jsonl"
    asked = [
        str(each) for each in ("make", "linear-system", "--count", 30_000, "--difficulty", 0.7)
    ]
    assert gen(*asked, "-o", alone, "--workers", 2).code == 0
    running = subprocess.Popen(
        [sys.executable, "-m", "limite", "gen", *asked, "-o", shared, "--executor", "ray"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    killed = 0
    part = Path(f"{shared}.part")
    while running.poll() is None and killed < 3:
        time.sleep(0.2)
        if not part.exists() or part.stat().st_size < (killed + 1) << 20:
            continue
        for process, name in processes_of(running.pid):
            if name.startswith("ray::made"):
                os.kill(process, signal.SIGKILL)
                killed += 1
                break
    assert running.wait() == 0
    assert killed == 3
    assert shared.read_bytes() == alone.read_bytes()
    assert manifest_of(shared) == manifest_of(alone)
