"""The five backends that come with limite, and which cases no kernel of theirs could run."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    import torch

BUILT_IN = ("reference", "cpu", "native", "interpret", "triton")

NATIVE = frozenset(
    {
        "rms_norm", "add_rms_norm", "qk_norm_rope", "rope", "swiglu", "head_mix", "attention",
        "attention_decode",
    }
)  # fmt: skip
"""Operations of which there are kernels in C."""

CHANNELS = 16
"""Heads whose attention kernels in C compute have a multiple of so many channels: as vectors have,
on any processor."""


@attrs.frozen
class Case:
    """What the choice of an implementation may depend on."""

    op: str
    device: str  # "cpu", "cuda", "meta"
    dtype: torch.dtype
    width: int | None = None  # of a head, or a row; None where an operation has no such limit
    option: str | None = None  # a variant of the operation that not all offer

    def __str__(self) -> str:
        width = "" if self.width is None else f", width {self.width}"
        option = "" if self.option is None else f", {self.option}"
        return f"{self.op} on {self.device} in {str(self.dtype).removeprefix('torch.')}" + (
            width + option
        )


def built_in_refusal(name: str, case: Case) -> str | None:
    """Why no kernel of a built-in backend could run the case. Imports nothing."""
    if not case.dtype.is_floating_point:
        return f"{case.dtype} is no floating dtype"
    if name in ("reference", "cpu"):
        return None
    if name == "native":
        return _native_refusal(case)
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if case.dtype.itemsize not in (2, 4):
        return f"the kernels take float32, float16 and bfloat16, not {case.dtype}"
    if name == "triton":
        if case.device != "cuda":
            return f"compiled kernels need tensors on a GPU, these are on {case.device}"
        if _interpreting():
            return "Triton runs interpreted in this process (TRITON_INTERPRET is set)"
        return None
    if case.device != "cpu":
        return f"the interpreter takes tensors on the CPU, these are on {case.device}"
    if "triton" in sys.modules and not _interpreting():
        return (
            "Triton was imported for compiled kernels before; set TRITON_INTERPRET=1 from the start"
        )
    return None


def _native_refusal(case: Case) -> str | None:
    """As above, but for whether there is a compiler."""
    if case.op not in NATIVE:
        return f"there is none of {case.op}; there are of {', '.join(sorted(NATIVE))}"
    if case.device != "cpu":
        return f"kernels in C take tensors on the CPU, these are on {case.device}"
    if str(case.dtype) != "torch.float32":
        return f"kernels in C take float32, not {case.dtype}"
    if case.op.startswith("attention") and case.width is not None and case.width % CHANNELS:
        return f"kernels in C take heads of a multiple of {CHANNELS} channels, not {case.width}"
    return None


def _interpreting() -> bool:
    """Whether Triton runs, or would when it is imported, under its interpreter."""
    library = sys.modules.get("triton.language.standard")
    if library is not None:
        # Not its settings: those follow the variable even after Triton has been imported.
        return type(library.zeros).__name__ == "InterpretedFunction"
    return os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "yes", "on", "y")
