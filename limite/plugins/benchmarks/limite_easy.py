"""The first of three levels of the benchmark that ships with limite."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.plugins.benchmarks.sealed import Sealed


@attrs.frozen(kw_only=True)
class LimiteEasy(Sealed):
    """Nine areas of mathematics at difficulty 0 to 0.25."""

    name: ClassVar[str] = "limite-easy"
