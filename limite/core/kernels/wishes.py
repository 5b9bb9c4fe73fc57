"""Where the wish for certain implementations stands: ``use`` and ``LIMITE_KERNELS``."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

VARIABLE = "LIMITE_KERNELS"

forced: ContextVar[str | None] = ContextVar("limite_kernels", default=None)


class Thread(threading.local):
    """What ``forced`` holds, once more, where ``torch.compile`` can watch it."""

    def __init__(self) -> None:
        self.names: str | None = None


thread = Thread()

# What lies beneath os.environ: asking that itself takes longer than everything else in ``select``.
environment: Mapping[Any, Any] = os.environ._data  # type: ignore[attr-defined]
encoded = os.environ.encodekey(VARIABLE)
