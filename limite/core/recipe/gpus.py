"""What makers publish of their GPUs, from which plans are reckoned."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen(kw_only=True)
class Gpu:
    """Memory in GB of 10**9 bytes; peaks without sparsity, in 10**12 operations a second; memory
    and links in 10**9 bytes a second, links one way (NVLink where there is one, otherwise PCIe)."""

    memory_gb: int
    bfloat16_tops: float
    float32_tops: float
    memory_gbs: float
    link_gbs: float

    def tops(self, dtype: str) -> float:
        """The peak of matrix products in ``dtype``."""
        return self.bfloat16_tops if dtype == "bfloat16" else self.float32_tops


def _gpu(memory: int, bfloat16: float, float32: float, bandwidth: float, link: float) -> Gpu:
    return Gpu(
        memory_gb=memory,
        bfloat16_tops=bfloat16,
        float32_tops=float32,
        memory_gbs=bandwidth,
        link_gbs=link,
    )


GPUS: Mapping[str, Gpu] = {
    "a100-40": _gpu(40, 312, 19.5, 1555, 300),
    "a100-80": _gpu(80, 312, 19.5, 2039, 300),
    "h100": _gpu(80, 989, 67, 3350, 450),
    "h200": _gpu(141, 989, 67, 4800, 450),
    "b200": _gpu(180, 2250, 75, 8000, 900),
    "l4": _gpu(24, 121, 30.3, 300, 32),
    "l40s": _gpu(48, 362, 91.6, 864, 32),
    "rtx-3090": _gpu(24, 71, 35.6, 936, 32),
    "rtx-4090": _gpu(24, 165, 82.6, 1008, 32),
    # It has no bfloat16: the peak is that of float16.
    "t4": _gpu(16, 65, 8.1, 320, 16),
}
"""The SXM modules where there are several."""
