"""The device at hand, the versions in use, and what the device can do at most.

No host name, no user name, no path.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
from pathlib import Path
from statistics import median
from typing import Any

import torch

import limite
from benchmarks.clock import clock_for
from benchmarks.floors import Ceilings
from benchmarks.measure import prepare_process

COPIED = {"cuda": 2**30, "cpu": 2**27}  # bytes read, and as many written
SIDE = {"cuda": 8192, "cpu": 1024}  # of the square matrices multiplied
TINY_COPIED, TINY_SIDE = 2**20, 64
REPEATS = 20


def describe(device: str) -> tuple[dict[str, Any], dict[str, str | None]]:
    """What the device is, and versions of what runs on it."""
    versions: dict[str, str | None] = {
        "limite": limite.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": _version("triton"),
        "numpy": _version("numpy"),
    }
    if device == "cpu":
        about = {"type": "cpu", "name": processor(), "threads": 1}
        about["instructions"] = torch.backends.cpu.get_cpu_capability()
        return about, versions
    versions["cuda"] = torch.version.cuda
    cudnn = torch.backends.cudnn.version()
    versions["cudnn"] = None if cudnn is None else str(cudnn)
    properties = torch.cuda.get_device_properties(0)
    return {
        "type": "cuda",
        "name": properties.name,
        "memory_mib": properties.total_memory // 2**20,
        "architecture": f"sm_{properties.major}{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "cache_mib": getattr(properties, "L2_cache_size", 0) // 2**20,
    }, versions


def processor() -> str:
    """The model's name, as the processor itself says it."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def measured_ceilings(device: str, small: bool) -> tuple[Ceilings, dict[str, float]]:
    """Bytes per second of a copy, and operations per second of a matrix product.

    In bfloat16 on a GPU, in float32 on a CPU; medians, with their spread beside them.
    """
    prepare_process()
    clock = clock_for(device)
    copied = TINY_COPIED if small else COPIED[device]
    side = TINY_SIDE if small else SIDE[device]
    source = torch.ones(copied, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))

    def copy() -> object:
        return target.copy_(source)

    def product() -> object:
        return a @ b

    figures = {}
    for name, call in (("copy", copy), ("product", product)):
        clock.time([call] * 3)
        times = clock.time([call] * REPEATS)
        figures[f"{name}_ms"] = median(times)
        figures[f"{name}_ms_low"], figures[f"{name}_ms_high"] = min(times), max(times)
    ceilings = Ceilings(
        bytes_per_s=2 * copied / figures["copy_ms"] * 1e3,
        flop_per_s=2 * side**3 / figures["product_ms"] * 1e3,
    )
    return ceilings, {
        "copy_tb_s": ceilings.bytes_per_s / 1e12,
        "product_tflop_s": ceilings.flop_per_s / 1e12,
        **figures,
    }


def file_name(about: dict[str, Any], versions: dict[str, str | None]) -> str:
    """``nvidia-h200-torch-2.13.0-triton-3.9.0.json``: the device and what decides its figures."""
    parts = [str(about["name"]), f"torch-{versions['torch']}", f"triton-{versions['triton']}"]
    if about["type"] == "cpu":
        parts = ["cpu", *parts[:-1]]
    text = "-".join(parts).lower().replace("(r)", "").replace("(tm)", "")
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-") + ".json"
