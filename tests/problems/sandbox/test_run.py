"""Programs come to their ends, each told as what it is, and nothing of one is seen by the next."""

from __future__ import annotations

import os
import pickle
import signal
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from limite.core.errors import LimiteError
from limite.problems.sandbox.backends import Setup
from limite.problems.sandbox.faults import NoSandbox
from limite.problems.sandbox.limits import Limits, limits_of
from limite.problems.sandbox.pool import Pool, WeakSandbox

SHORT = Limits(cpu_s=0.2, wall_s=20.0)

ENDS: list[tuple[str, str, str]] = [
    ("def f(): return 1/0", "error", "ZeroDivisionError: division by zero (line 1)"),
    ("def f(): return (", "error", "SyntaxError"),
    ("def g(): return 1", "error", "no f()"),
    ("f = 3", "error", "no f()"),
    ("def f(): raise SystemExit(0)", "error", "SystemExit"),
    ("import os\ndef f(): os._exit(0)", "error", "it ended with 0"),
    ("import os\ndef f(): os._exit(7)", "error", "it ended with 7"),
    ("def f():\n    while True: pass", "timeout_cpu", "computed"),
    ("while True: pass\ndef f(): return 1", "timeout_cpu", "computed"),
    ("def f(): return bytearray(1 << 36)", "memory", "memory"),
    ("def f(): return [0] * 10**9", "memory", "memory"),
    ("def f(): return 'x' * 70_000", "bad_value", "of at most"),
    ("def f(): return object()", "bad_value", "type object"),
    ("def f(): return float('nan')", "bad_value", "nan"),
    ("def f():\n    x = []\n    x.append(x)\n    return x", "bad_value", "deep"),
    ("def f():\n    while True: print('x' * 1000)", "output_limit", "printed"),
    (
        "import sys\ndef f():\n    while True: sys.stderr.write('x' * 1000)",
        "output_limit",
        "printed",
    ),
    ("import ctypes\ndef f(): ctypes.string_at(0)", "killed", "SIGSEGV"),
    ("import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGKILL)", "killed", "SIGKILL"),
    (
        "import sys\nsys.setrecursionlimit(10**9)\n"
        "class A:\n    def __repr__(self): return repr(self)\ndef f(): return repr(A())",
        "killed",
        "SIGSEGV",
    ),
    ("def f(): return f()", "error", "RecursionError"),
]


@pytest.mark.parametrize(("source", "status", "said"), ENDS, ids=[each[0][:40] for each in ENDS])
def test_each_end_is_told_as_what_it_is(pool: Pool, source: str, status: str, said: str) -> None:
    result = pool.run(source, "f", limits=SHORT)
    assert result.status == status, result
    assert said in result.error
    assert result.value is None


def test_a_program_that_sleeps_is_stopped(pool: Pool) -> None:
    result = pool.run("import time\ndef f(): time.sleep(60)", "f", limits=Limits(wall_s=0.3))
    assert result.status == "timeout_wall"
    assert 0.3 <= result.wall_s < 30


def test_a_program_without_pipes_is_stopped_too(pool: Pool) -> None:
    source = "import os, time\ndef f():\n    os.closerange(0, 64)\n    time.sleep(60)"
    assert pool.run(source, "f", limits=Limits(wall_s=0.3)).status == "timeout_wall"


def test_values_are_exact_both_ways(pool: Pool) -> None:
    value: list[Any] = [10**5000 + 1, -3, Fraction(1, 3**50), Decimal("0.10"), 0.1, "é", None, True]
    value += [(1, 2), frozenset({1, 2}), {1: "a"}, 2j, []]
    result = pool.run("def f(x): return x", "f", [value], Limits(value_bytes=1 << 20))
    assert result.value == value
    assert [type(each) for each in result.value] == [type(each) for each in value]


PRINTS = """
import sys
def f():
    print('out')
    print('err', file=sys.stderr)
    return len(bytearray(10**8))
"""


def test_what_it_took_is_told(pool: Pool) -> None:
    result = pool.run(PRINTS, "f")
    assert (result.stdout, result.stderr, result.value) == ("out\n", "err\n", 10**8)
    assert result.max_rss_bytes > 10**8
    assert 0 < result.cpu_s < 5
    assert "rlimits" in result.layers
    assert result.backend in ("namespaces", "bwrap", "landlock")


FORGED = """
import os
def f():
    for descriptor in range(64):
        for data in (b'{"ok": {"int": "2a"}}\\n', b'R{"ok": {"int": "2a"}}\\n', b'RR' * 20):
            try:
                os.write(descriptor, data)
            except OSError:
                pass
    os._exit(0)
"""


def test_a_forged_result_counts_for_nothing(pool: Pool) -> None:
    result = pool.run(FORGED, "f")
    assert result.status == "error"
    assert result.error_type == "EarlyExit"


NESTED = """
import gc, os, sys
def f():
    frame = sys._getframe()
    while frame:
        nonce = frame.f_locals.get("nonce")
        if nonce:
            os.write(3, nonce + b"[" * 40_000 + b"\\n")
        frame = frame.f_back
    return 1
"""


def test_a_message_that_is_made_to_hurt_its_reader_hurts_nobody(pool: Pool) -> None:
    result = pool.run(NESTED, "f")
    assert result.status in ("bad_value", "error")
    assert pool.run("def f(): return 1", "f").value == 1


TRACES = """
import builtins, math, os, random, sys, threading, time
def f():
    seen = [
        hasattr(builtins, "left"), hasattr(math, "left"), "left" in sys.modules, dict(os.environ),
        os.path.exists("left"), threading.active_count(), random.random(), sys.argv,
        sys.stdin.read(), __name__,
    ]
    builtins.left = math.left = 1
    sys.modules["left"] = math
    os.environ["left"] = "1"
    random.seed(5)
    builtins.sorted = None
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    try:
        with open("left", "w") as file:
            file.write("x")
        os.chmod("left", 0)
    except OSError:
        pass
    return seen
"""


def test_one_program_does_not_affect_the_next(pool: Pool) -> None:
    first, second, third = (pool.run(TRACES, "f") for _ in range(3))
    assert first.status == "ok", first
    assert first.value == second.value == third.value
    assert first.value[:6] == [False, False, False, {}, False, 1]
    assert first.value[7:] == [["program"], "", "program"]


DAEMON = """
import os, time
def f():
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.closerange(0, 64)
            time.sleep(60)
        os._exit(0)
    os.wait()
    return "left"
"""
ALONE = """
import os
def f():
    found = []
    for process in set(range(2, 300)) - {os.getpid()}:
        try:
            os.kill(process, 0)
            found.append(process)
        except (PermissionError, ProcessLookupError):
            pass
    return found
"""


def test_nothing_a_program_started_outlives_it(pool: Pool, backend: str) -> None:
    if backend == "landlock":  # the filter is required there, so that nothing is started
        assert "PermissionError" in pool.run(DAEMON, "f").error
        return
    setup = Setup(without=frozenset({"seccomp", "landlock"}))
    with Pool(backend=backend, size=1, setup=setup) as without:
        assert without.run(DAEMON, "f").value == "left"
        assert without.run(ALONE, "f").value == []


def test_the_hash_seed_is_the_one_that_was_asked_for(pool: Pool, backend: str) -> None:
    source = "import random\ndef f(): return [hash('a'), random.random()]"
    one = pool.run(source, "f").value
    with Pool(backend=backend, size=1) as again:
        assert again.run(source, "f").value == one
    with Pool(backend=backend, size=1, setup=Setup(hash_seed=1)) as other:
        assert other.run(source, "f").value != one


def test_a_lost_worker_is_replaced(pool: Pool) -> None:
    lost = pool.pids()
    for process in lost:
        os.kill(process, signal.SIGKILL)
    assert pool.run("def f(): return 5", "f").value == 5
    assert pool.pids() != lost


def test_many_programs_run_side_by_side_in_order(backend: str, pool: Pool) -> None:
    with Pool(backend=backend, size=2) as two:
        programs = [("def f(x): return x * x", "f", [x]) for x in range(10)]
        assert [each.value for each in two.run_all(programs)] == [x * x for x in range(10)]
        assert len(two.pids()) <= 2


def test_arguments_that_are_no_data_are_refused(pool: Pool) -> None:
    with pytest.raises(LimiteError, match="no plain data"):
        pool.run("def f(x): return x", "f", [object()])
    assert pool.run("def f(x): return x", "f", [1]).value == 1


def test_every_mistake_in_limits_is_told() -> None:
    with pytest.raises(LimiteError) as error:
        limits_of({"cpu": 1, "wall_s": "long", "memory_bytes": 1.5})
    assert "unknown limit 'cpu'; did you mean 'cpu_s'?" in str(error.value)
    assert "'wall_s' must be a number" in str(error.value)
    assert "'memory_bytes' must be a whole number" in str(error.value)


def test_where_no_sandbox_can_be_had_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMITE_SANDBOX", "bwrap")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoSandbox, match="bwrap is not installed") as error:
        Pool(size=1).run("def f(): return 1", "f")
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    monkeypatch.setenv("LIMITE_SANDBOX", "namespace")
    with pytest.raises(LimiteError, match="did you mean 'namespaces'"):
        Pool(size=1).run("def f(): return 1", "f")
    monkeypatch.setenv("LIMITE_SANDBOX", "rlimits")
    with pytest.raises(LimiteError, match="--allow-weak-sandbox"):
        Pool(size=1).run("def f(): return 1", "f")


def test_resource_limits_alone_warn_on_every_run() -> None:
    with pytest.raises(LimiteError, match="no walls"):
        Pool(backend="rlimits")
    with Pool(backend="rlimits", size=1, allow_weak=True) as weak:
        for _ in range(2):
            with pytest.warns(WeakSandbox, match="can read files"):
                result = weak.run("def f(): return 1", "f")
            assert result.value == 1
            assert "seccomp" not in result.layers
