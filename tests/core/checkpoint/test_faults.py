from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from limite.core.checkpoint.manifest import step_of, verify
from limite.core.checkpoint.read import newest_checkpoint
from limite.core.errors import LimiteError, RunFailed

Save = Callable[..., Path]
FailAt = Callable[[int], contextlib.AbstractContextManager[list[str]]]


def survivors(folder: Path) -> list[int]:
    """The steps in ``folder``, all of which must verify; nothing else may be there."""
    steps = []
    for entry in folder.iterdir():
        step = step_of(entry.name)
        assert step is not None, f"{entry.name} was left behind"
        verify(entry)
        steps.append(step)
    return sorted(steps)


@pytest.mark.parametrize("keep", [1, 2])
def test_a_disk_that_is_full_at_any_call_loses_nothing(
    save: Save, fail_at: FailAt, keep: int
) -> None:
    folder = save(1, keep=keep).parent
    step = 1
    finished = False
    for number in range(100):
        before = survivors(folder)
        try:
            with fail_at(number) as calls:
                save(step + 1, keep=keep)
            finished = len(calls) <= number
            error = None
        except LimiteError as raised:
            error = raised
        after = survivors(folder)
        if error is not None:
            assert isinstance(error, RunFailed)
            assert f"step-{step + 1:06d}: no space left to write it" in str(error)
            assert "--out" in str(error)
            # Published or not, nothing that was good is gone before the new one is.
            assert after[-1] in (step, step + 1)
            assert after == before or set(before) <= set(after)
        # The process goes on: the very next save succeeds.
        save(step + 1, keep=keep)
        step += 1
        assert survivors(folder) == list(range(max(1, step - keep + 1), step + 1))
        if finished:
            break
    assert finished
    assert number > 12


def test_the_first_checkpoint_of_all_may_find_the_disk_full(
    save: Save, fail_at: FailAt, tmp_path: Path
) -> None:
    with fail_at(0), pytest.raises(LimiteError, match="no space left"):
        save(1)
    assert not (tmp_path / "checkpoints").exists() or survivors(tmp_path / "checkpoints") == []
    save(1)


def test_an_interrupt_while_writing_leaves_nothing_half_written(
    save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save(1).parent

    def interrupt(file: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save(2)
    assert survivors(folder) == [1]


def run_python(code: str, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_limit_on_file_size_is_a_full_disk(tmp_path: Path) -> None:
    run_python(
        """
        import resource, sys
        import torch
        from limite.core.checkpoint.read import newest_checkpoint
        from limite.core.checkpoint.write import write_checkpoint
        from limite.core.errors import RunFailed

        def save(step, count):
            weights = {"model": {"w": torch.full((count,), float(step))}}
            write_checkpoint(sys.argv[1], step, weights, {}, {}, 1)

        save(1, 1000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        try:
            save(2, 100_000)
        except RunFailed as error:
            assert "step-000002: no space left to write it; older" in str(error), error
        else:
            raise SystemExit("nothing was raised")
        assert newest_checkpoint(sys.argv[1]).step == 1
        save(3, 1000)
        """,
        str(tmp_path),
    )
    assert survivors(tmp_path) == [3]


WRITER = """
    import os, random, signal, sys, time
    import torch
    from limite.core.checkpoint.read import newest_checkpoint
    from limite.core.checkpoint.write import write_checkpoint

    folder, keep, mode, rounds = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])

    def save(step):
        weights = {"model": {"w": torch.full((20_000,), float(step)), "s": torch.tensor(step)}}
        write_checkpoint(folder, step, weights, {"step": step}, {}, keep)

    def newest():
        found = newest_checkpoint(folder)
        if found is None:
            return 0
        assert found.state == {"step": found.step}
        assert torch.equal(found.payloads["model"]["w"], torch.full((20_000,), float(found.step)))
        return found.step

    def die_at(number):
        count = 0
        def wrap(really):
            def call(*arguments, **more):
                nonlocal count
                count += 1
                if count > number:
                    os._exit(9)
                return really(*arguments, **more)
            return call
        for name in ("write", "fsync", "rename", "mkdir", "unlink", "rmdir", "close"):
            setattr(os, name, wrap(getattr(os, name)))

    def child(action):
        pid = os.fork()
        if not pid:
            try:
                action()
            finally:
                os._exit(0)
        return pid

    draws = random.Random(5)
    save(1)
    ended = 0
    for number in range(rounds):
        before = newest()
        if mode == "call":
            pid = child(lambda: (die_at(number), save(before + 1)))
        else:
            pid = child(lambda: [save(step) for step in range(before + 1, before + 1000)])
            time.sleep(draws.uniform(0.0, 0.08))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        ended += os.waitstatus_to_exitcode(status) == 0
        after = newest()
        assert after >= before, (before, after)
        if mode == "call":
            assert after in (before, before + 1)
    # A kill between publishing and deleting leaves more than were asked for, until the next save.
    save(newest() + 1)
    print(ended, newest())
"""


@pytest.mark.slow
def test_a_process_killed_at_any_call_leaves_a_good_checkpoint(tmp_path: Path) -> None:
    ended, newest = run_python(WRITER, str(tmp_path), "1", "call", "60").split()
    # Every call of a save was a place to die, and some rounds had calls to spare.
    assert 5 < int(ended) < 40
    assert survivors(tmp_path) == [int(newest)]


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_a_good_checkpoint(tmp_path: Path) -> None:
    _, newest = run_python(WRITER, str(tmp_path), "1", "moment", "40").split()
    assert int(newest) > 1
    assert survivors(tmp_path) == [int(newest)]
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert torch.equal(found.payloads["model"]["s"], torch.tensor(int(newest)))
