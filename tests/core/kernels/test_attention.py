"""Attention: its laws on every backend, and what it refuses."""

from __future__ import annotations

import pytest

from limite.plugins.conformance.kernels import attention, run
from limite.plugins.conformance.kernels.run import Backend

BACKENDS = [
    run.REFERENCE,
    run.CPU,
    run.INTERPRET,
    pytest.param(run.TRITON, marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda each: each.name)
@pytest.mark.parametrize("law", attention.LAWS.values(), ids=list(attention.LAWS))
def test_law(law: run.Law, backend: Backend) -> None:
    law(backend)
