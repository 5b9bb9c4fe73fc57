"""What is chosen, and imported, in a process that has imported nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import torch

from limite.core.kernels import dispatch
from limite.core.kernels.dispatch import (
    Case,
)

SCAN = Case("linear_scan", "cpu", torch.float32)


def in_a_new_process(code: str, **environment: str) -> str:
    """What a Python that has imported nothing prints."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("TRITON_INTERPRET", dispatch.VARIABLE)
    }
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**clean, "OMP_NUM_THREADS": "1", **environment},
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_on_a_gpu_it_is_triton() -> None:
    told = in_a_new_process(
        "import torch; from limite.core.kernels.dispatch import Case, choose\n"
        "print(choose(Case('linear_scan', 'cuda', torch.float32)))\n"
        "print(choose(Case('linear_scan', 'cuda', torch.float64)))"
    )
    assert told.splitlines() == [
        "triton (there is a GPU)",
        "cpu (not triton: the kernels take float32, float16 and bfloat16, not torch.float64)",
    ]


def test_what_is_imported_when() -> None:
    told = in_a_new_process(
        "import sys\n"
        "import limite.core.kernels.dispatch\n"
        "print({'torch', 'triton', 'numpy', 'pluggy'} & set(sys.modules))\n"
        "import limite.core.kernels.ops as ops, torch\n"
        "ops.linear_scan(torch.ones(1, 3), torch.ones(1, 3))\n"
        "print({'triton', 'pluggy', 'limite.core.registry'} & set(sys.modules))"
    )
    assert told.splitlines() == ["set()", "set()"]


def test_interpret_needs_no_other_variable() -> None:
    code = (
        "import torch; from limite.core.kernels import ops\n"
        "print(ops.linear_scan(torch.ones(1, 3), torch.ones(1, 3)).tolist())"
    )
    assert in_a_new_process(code, LIMITE_KERNELS="interpret") == "[[1.0, 2.0, 3.0]]"


def test_interpret_comes_too_late_after_triton_was_imported() -> None:
    attempt = (
        "try:\n    ops.linear_scan(torch.ones(1, 3), torch.ones(1, 3))\n"
        "except ValueError as error:\n    print(error)\n"
    )
    told = in_a_new_process(
        "import os, torch, triton\nfrom limite.core.kernels import ops\n"
        f"{attempt}os.environ['TRITON_INTERPRET'] = '1'\n{attempt}",
        LIMITE_KERNELS="interpret",
    )
    reason = (
        "LIMITE_KERNELS=interpret: 'interpret' cannot run linear_scan on cpu in float32: Triton "
        "was imported for compiled kernels before; set TRITON_INTERPRET=1 from the start"
    )
    # The variable alone changes nothing once Triton is there.
    assert told.splitlines() == [reason, reason]
