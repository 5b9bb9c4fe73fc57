"""Compiles one kernel without a GPU and reads off what it needs."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from limite.core.kernels import tiles
from limite.core.kernels.tiles import Kind, Row, Spill, Tile

DTYPES: Mapping[str, Kind] = {"bf16": "half", "fp16": "half", "fp32": "float32"}
SHARED_KIB: Mapping[int, int] = {80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}
"""Shared memory that a program may have, by architecture."""

LIMITE_WIDTHS = (128, 1280)
"""Of Limite's heads and rows: what is compiled where the table knows several."""


@attrs.frozen(kw_only=True)
class Job:
    """One kernel of a module, for a dtype, a width and an architecture."""

    module: str  # a file of limite/core/kernels/triton
    place: int  # among the specimens of that file
    kernel: str
    dtype: str
    width: int | None
    architecture: int


@attrs.frozen(kw_only=True)
class Result:
    """What a job came to. ``error``: why it does not compile, in which case the rest is 0."""

    job: Job
    tile: str
    matrix: bool
    error: str | None = None
    shared: int = 0  # bytes
    registers: int = 0  # of a thread
    stack: int = 0  # bytes of a thread
    loads: int = 0  # LDL instructions
    stores: int = 0  # STL instructions
    hgmma: int = 0  # HGMMA instructions

    @property
    def broken(self) -> list[str]:
        """The limits this breaks, in words."""
        if self.error is not None:
            return [f"does not compile: {self.error}"]
        found = []
        most = SHARED_KIB[self.job.architecture] * 1024
        if self.shared > most:
            found.append(f"shared memory: {self.shared} bytes, at most {most} there")
        allowed = allowance(self.job)
        for name in ("stack", "loads", "stores"):
            count, listed = getattr(self, name), getattr(allowed, name)
            if count > listed:
                found.append(f"{name}: {count}, allowed {listed}")
        # The tensor cores of sm_90 multiply 16-bit operands so; float32 products are exact ones.
        if (
            self.matrix
            and self.job.architecture == 90
            and self.job.dtype != "fp32"
            and not self.hgmma
        ):
            found.append("no HGMMA in a kernel that multiplies matrices")
        return found


def allowance(job: Job) -> Spill:
    """What the list beside the table lets a kernel spill: nothing, mostly."""
    for spill in tiles.SPILLS:
        if (spill.kernel, spill.dtype, spill.architecture, spill.width) == (
            job.kernel,
            job.dtype,
            job.architecture,
            job.width,
        ):
            return spill
    return Spill(job.kernel, job.dtype, job.architecture, job.width)


def modules() -> list[str]:
    """The files that describe kernels."""
    folder = Path(__file__).parent / "triton"
    found = []
    for file in sorted(folder.glob("*.py")):
        if "\ndef specimens(" in file.read_text():
            found.append(file.stem)
    return found


def specimens(module: str, dtype: str, width: int | None, architecture: int) -> list[Any]:
    """The kernels of a file, with the tiles the table has for them."""
    describe: Callable[..., Iterator[Any]]
    describe = importlib.import_module(f"limite.core.kernels.triton.{module}").specimens

    def tile_of(kernel: str) -> Tile:
        return tiles.tile(
            kernel,
            kind=DTYPES[dtype],
            width=usual_width(kernel, DTYPES[dtype]) if width is None else width,
            architecture=architecture,
        )

    return list(describe(dtype, width, tile_of))


def usual_width(kernel: str, kind: Kind) -> int:
    """The width of a kernel's tile in Limite's own shapes."""
    widths = {row.width for row in rows(kernel, kind)}
    for width in LIMITE_WIDTHS:
        if width in widths:
            return width
    known = [width for width in widths if width is not None]
    return LIMITE_WIDTHS[0] if None in widths or not known else max(known)


def rows(kernel: str, kind: Kind) -> list[Row]:
    return [row for row in tiles.TABLE if (row.kernel, row.kind) == (kernel, kind)]


def run(job: Job) -> Result:
    """Compiles a kernel. For a process in which Triton does not interpret."""
    specimen = specimens(job.module, job.dtype, job.width, job.architecture)[job.place]
    assert specimen.kernel == job.kernel
    tile = ", ".join(f"{name} {size}" for name, size in specimen.tile.blocks.items())
    found = Result(
        job=job,
        tile=f"{tile}; {specimen.tile.warps} warps, {specimen.tile.stages} stages",
        matrix=specimen.matrix,
    )
    try:
        compiled = _compile(specimen, job.architecture)
    # Whatever the compiler says of a kernel is that kernel's row in the report, not an end.
    except Exception as error:
        return attrs.evolve(found, error=f"{type(error).__name__}: {error}".strip()[:500])
    usage, code = _machine_code(compiled.asm["cubin"], specimen.matrix and job.architecture == 90)
    return attrs.evolve(
        found,
        shared=int(compiled.metadata.shared),
        registers=_largest("REG", usage),
        stack=_largest("STACK", usage),
        loads=_count("LDL", code),
        stores=_count("STL", code),
        hgmma=_count("HGMMA", code),
    )


def _compile(specimen: Any, architecture: int) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from limite.core.kernels.triton import runtime

    names = list(specimen.function.arg_names)
    source = ASTSource(
        specimen.function,
        {name: specimen.signature.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in specimen.constants.items()},
        {(names.index(name),): [["tt.divisibility", 16]] for name in specimen.aligned},
    )
    return triton.compile(
        source,
        target=GPUTarget("cuda", architecture, 32),
        options=runtime.options(specimen.tile),
    )


def _machine_code(cubin: bytes, wanted: bool) -> tuple[str, str]:
    """What NVIDIA's tools say of a compiled kernel: its resources, and its instructions.

    Taking a kernel apart costs as much as compiling a small one. It is not done unless ``wanted``
    where a thread has no memory of its own: LDL and STL have nothing to load or store there.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "kernel.cubin")
        Path(file).write_bytes(cubin)
        usage = _tool("cuobjdump", "-res-usage", file)
        needed = wanted or _largest("STACK", usage) or _largest("LOCAL", usage)
        return usage, _tool("nvdisasm", file) if needed else ""


def _largest(name: str, usage: str) -> int:
    return max((int(number) for number in re.findall(rf"\b{name}:(\d+)", usage)), default=0)


def _count(instruction: str, code: str) -> int:
    return len(re.findall(rf"\b{instruction}\b", code))


def _tool(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [str(_tools() / name), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


@cache
def _tools() -> Path:
    import triton

    return Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
