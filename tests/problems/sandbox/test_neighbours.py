"""No program changes what the next one finds, or what one beside it may do."""

from __future__ import annotations

import json
import os
import signal
import threading

import pytest

from limite.problems.sandbox.limits import MIB, Limits
from limite.problems.sandbox.monitor import _Run
from limite.problems.sandbox.pool import Pool
from tests.problems.sandbox.test_escapes import HERE, in_private

TOUCHES = """
import os
def f():
    open("/tmp/a", "w").close()
    number = os.stat("/tmp/a").st_ino
    os.remove("/tmp/a")
    return number
"""


def test_a_scratch_folder_that_was_used_is_given_to_nobody_else(pool: Pool, backend: str) -> None:
    if backend == "landlock":
        assert "PermissionError" in pool.run(TOUCHES, "f").error
        return
    first, second = (pool.run(TOUCHES, "f").value for _ in range(2))
    assert first == second  # a folder that has had a file counts on


def test_who_owns_the_scratch_folder_leaves_it_as_it_was() -> None:
    if os.geteuid() != 0:
        pytest.xfail("this is not root, and who is not owns the folder in every other test")
    ended = in_private("nobody", str(HERE / "leftovers.py"), "namespaces")
    found = json.loads(ended.stdout)
    expected = found.pop("nothing")
    assert expected == ["ok", [0o41777, True, []]]
    assert found == dict.fromkeys(found, expected)


def test_output_that_somebody_else_has_read_is_waited_for() -> None:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    run = object.__new__(_Run)
    run.received = {source: bytearray()}
    assert run._read(source)
    os.write(sink, b"x")
    os.close(sink)
    assert run._read(source)
    assert not run._read(source)
    os.close(source)
    assert run.received == {source: b"x"}


HOG = """
import threading, time
def f():
    count = 0
    try:
        for count in range(100):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError:
        pass
    time.sleep(60)
"""
THREAD = """
import threading
def f():
    one = threading.Thread(target=int)
    one.start()
    one.join()
    return 1
"""


def test_threads_of_one_program_are_not_taken_from_another(backend: str, pool: Pool) -> None:
    if backend == "landlock" and os.geteuid() != 0:
        pytest.xfail("without namespaces and without root all of a user's processes are counted")
    limits = Limits(wall_s=2.0, memory_bytes=4096 * MIB)
    with Pool(backend=backend, size=1) as other:
        beside = threading.Thread(target=other.run, args=(HOG, "f", (), limits))
        beside.start()
        found = []
        while beside.is_alive():
            found.append(pool.run(THREAD, "f", limits=limits).status)
            beside.join(0.3)
        assert {*found} == {"ok"}


def test_workers_that_are_lost_while_they_wait_are_no_programs_fault(
    backend: str, pool: Pool
) -> None:
    with Pool(backend=backend, size=3) as three:
        three.run_all([("import time\ndef f(): time.sleep(0.5)", "f", [])] * 3)
        assert len(three.pids()) == 3
        for process in three.pids():
            os.kill(process, signal.SIGKILL)
        assert three.run("def f(): return 5", "f").value == 5


FORGES = """
import os, sys
def f(said):
    frame = sys._getframe()
    while "nonce" not in frame.f_locals:
        frame = frame.f_back
    os.write(3, frame.f_locals["nonce"] + said.encode() + b"\\n")
    os._exit(0)
"""


@pytest.mark.parametrize(
    "said",
    [
        r'{"ok": "\ud800"}',
        r'{"ok": ["a", {"dict": [["\udfff", 1]]}]}',
        r'{"error": ["\ud800", ["\ud800"]]}',
        r'{"error": ["A", "' + "b" * 60_000 + '"]}',
        r'{"bad_value": "\ud800"}',
        '{"ok": {"decimal": "NaN"}}',
        '{"ok": {"decimal": "-Infinity"}}',
    ],
    ids=["value", "key", "error", "long", "bad", "nan", "infinite"],
)
def test_what_a_program_forges_can_be_written_anywhere(pool: Pool, said: str) -> None:
    result = pool.run(FORGES, "f", [said])
    assert result.status in ("bad_value", "error")
    assert result.error
    assert len(result.error) <= 1_000
    json.dumps([result.error, result.error_type], ensure_ascii=False).encode()


def test_the_name_of_the_machine_is_hidden(pool: Pool, backend: str) -> None:
    if backend == "landlock":
        pytest.xfail("without namespaces a name cannot be another one")
    name = pool.run("import os\ndef f(): return os.uname().nodename", "f").value
    assert name == "sandbox" != os.uname().nodename


def test_an_exception_of_half_a_character_is_told(pool: Pool) -> None:
    result = pool.run("def f(): raise ValueError('a \\ud800 b')", "f")
    assert (result.status, result.error) == ("error", "ValueError: a ? b (line 1)")
