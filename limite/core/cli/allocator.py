"""Memory that was freed is kept for what comes next."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of mallopt, as malloc.h numbers them

LARGEST = 1 << 28
"""Bytes of what is kept, and of what is asked for, from which on it goes back to the system."""

LARGEST_ONCE = 1 << 25
"""The most of what is asked for that old versions of the C library allow."""


def keep_freed_memory() -> None:
    """Has the C library keep what is freed, for this process.

    It gives large pieces back otherwise, and takes them anew, page by page and each page full of
    zeros: the activations of every layer, at every update. Does nothing elsewhere than with glibc.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    # The second without the first would do harm, and old versions allow less of the first.
    if mallopt(MMAP_THRESHOLD, LARGEST) or mallopt(MMAP_THRESHOLD, LARGEST_ONCE):
        mallopt(TRIM_THRESHOLD, LARGEST)
