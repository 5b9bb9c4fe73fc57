"""What every test relies on: one thread, built-ins only, and named Hypothesis profiles."""

from __future__ import annotations

import os

# Before anything imports torch: two threads on a busy machine are many times slower than one.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["LIMITE_PLUGINS"] = "none"
os.environ.pop("LIMITE_STRICT_PLUGINS", None)
os.environ.pop("LIMITE_KERNELS", None)

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile(
    "ci",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_configure(config: pytest.Config) -> None:
    # Triton reads this once, when it is imported: kernels run under its interpreter, unless the
    # tests that need a GPU were asked for.
    if config.getoption("markexpr") != "gpu":
        os.environ["TRITON_INTERPRET"] = "1"
