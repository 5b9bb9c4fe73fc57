"""The third of three levels of the benchmark that ships with limite."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.plugins.benchmarks.sealed import Sealed


@attrs.frozen(kw_only=True)
class LimiteHard(Sealed):
    """Nine areas of mathematics at difficulty 0.75 to 1."""

    name: ClassVar[str] = "limite-hard"
