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


# Of NVIDIA's datasheets and architecture papers, read in copies and tables made of them; what they
# give with sparsity is halved, and links in both directions too. Where two of them differ the
# larger figure stands, as a time that is reckoned from it is one that cannot be undercut.
GPUS: Mapping[str, Gpu] = {
    # A100 datasheet: 312 dense in bfloat16 for both, 1,555 and 2,039 GB/s, NVLink of 600.
    "a100-40": _gpu(40, 312, 19.5, 1555, 300),
    "a100-80": _gpu(80, 312, 19.5, 2039, 300),
    # H100 and H200 datasheets: 1,979 with sparsity, 3.35 and 4.8 TB/s, NVLink of 900.
    "h100": _gpu(80, 989.5, 67, 3350, 450),
    "h200": _gpu(141, 989.5, 67, 4800, 450),
    # HGX B200 at 1,000 W: 4.5 PFLOPS with sparsity, 180 GB to use, 8 TB/s, NVLink of 1,800; 80 in
    # float32 by the architecture's brief, 75 in later tables.
    "b200": _gpu(180, 2250, 80, 8000, 900),
    # L4 and L40S datasheets: 242 and 733 with sparsity (362.05 dense), PCIe 4 x16 of 64.
    "l4": _gpu(24, 121, 30.3, 300, 32),
    "l40s": _gpu(48, 362.05, 91.6, 864, 32),
    # GA102 and Ada papers: bfloat16 that adds up in float32, half of the 142 and 330 with sparsity
    # or in float16; two 3090s may have a bridge of 56 GB/s one way, more have PCIe 4.
    "rtx-3090": _gpu(24, 71, 35.6, 936, 32),
    "rtx-4090": _gpu(24, 165.2, 82.6, 1008, 32),
    # T4 datasheet, PCIe 3 x16. It has no bfloat16: the peak is that of float16.
    "t4": _gpu(16, 65, 8.1, 320, 16),
}
"""The SXM modules where there are several."""
