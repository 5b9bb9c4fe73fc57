"""The smallest benchmark that ships with limite."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.plugins.benchmarks.sealed import Sealed


@attrs.frozen(kw_only=True)
class LimiteSums(Sealed):
    """Sums and remainders in few characters, for models like the quickstart's."""

    name: ClassVar[str] = "limite-sums"
