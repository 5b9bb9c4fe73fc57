"""Ctrl-C and a full disk, as a person at a terminal meets them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

LIMITE = [sys.executable, "-m", "limite"]
FIRST = ["--only", "sft"]


def first_of(digest):
    """The part of a digest that is of the first stage."""
    return {name: each for name, each in digest.items() if name.startswith("stages/01-sft/")}


def test_ctrl_c_says_how_to_go_on_and_nothing_is_lost(finished, tiny, digest, tmp_path):
    running = subprocess.Popen(
        [*LIMITE, "run", str(tiny), "--out", str(tmp_path), "--name", "mine"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "mine" / "stages" / "01-sft" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (log.exists() and log.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130, out + err
    assert "Traceback" not in err
    assert f"limite resume {tmp_path / 'mine'}" in err
    done = subprocess.run(
        [*LIMITE, "resume", str(tmp_path / "mine")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert digest(tmp_path / "mine") == digest(finished.path)


WITH_A_LIMIT = """
import resource, sys
from limite.core.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["limite", *sys.argv[2:]]
main()
"""


def test_a_full_disk_leaves_everything_that_was_there(finished, tiny, digest, tmp_path):
    """No file may grow beyond what the weights take: the first checkpoint cannot be written."""
    weights = finished.path / "stages/01-sft/checkpoints/step-000060/model.safetensors"
    limit = weights.stat().st_size - 100
    command = ["run", str(tiny), "--out", str(tmp_path), "--name", "mine", *FIRST]
    failed = subprocess.run(
        [sys.executable, "-c", WITH_A_LIMIT, str(limit), *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "Traceback" not in failed.stderr
    assert "step-000025" in failed.stderr
    assert "--out" in failed.stderr
    assert not list((tmp_path / "mine").rglob("step-*"))
    done = subprocess.run(
        [*LIMITE, "resume", str(tmp_path / "mine")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "mine") == first_of(digest(finished.path))


def test_a_reader_who_leaves_does_not_end_the_run(tiny, digest, finished, tmp_path):
    command = [*LIMITE, "run", str(tiny), "--out", str(tmp_path), "--name", "mine", *FIRST]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stderr is not None
    assert "sound" in running.stdout.readline()
    running.stdout.close()
    told = running.stderr.read()
    running.stderr.close()
    assert running.wait(timeout=120) == 0, told
    assert told == "nobody reads on; the run goes on, and log.txt has its lines\n"
    assert digest(tmp_path / "mine") == first_of(digest(finished.path))
