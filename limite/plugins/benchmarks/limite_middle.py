"""The second of three levels of the benchmark that ships with limite."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.plugins.benchmarks.sealed import Sealed


@attrs.frozen(kw_only=True)
class LimiteMiddle(Sealed):
    """Nine areas of mathematics at difficulty 0.35 to 0.6."""

    name: ClassVar[str] = "limite-middle"
