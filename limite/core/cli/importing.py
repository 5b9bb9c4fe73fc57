"""Imports of much at once, for commands that compute."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

from limite.core.cli.allocator import keep_freed_memory
from limite.core.cli.groups import nothing_begun


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Within it nothing is looked through for garbage, and what its first use leaves never is.

    Torch makes half a million objects that stay to the end. Looking for cycles among them, several
    times while they come and now and then afterwards, is a fifth of what importing takes.
    """
    keep_freed_memory()
    collecting, first = gc.isenabled(), "torch" not in sys.modules
    gc.disable()
    try:
        with nothing_begun():
            yield
    finally:
        if first:
            gc.freeze()
        if collecting:
            gc.enable()
