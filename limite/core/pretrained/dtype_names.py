"""What weights can be stored in, and the short names people type."""

from __future__ import annotations

from limite.core.errors import LimiteError, did_you_mean

STORED = ("bfloat16", "float16", "float32")
DTYPES = {name: name for name in STORED} | {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
}


def stored_dtype(name: str, option: str = "--dtype") -> str:
    """The dtype that somebody asked for by either of its names; a LimiteError for another."""
    if name not in DTYPES:
        near = did_you_mean(name, DTYPES)
        raise LimiteError(f"{option}: expected bfloat16, float16 or float32, got {name!r}{near}")
    return DTYPES[name]
