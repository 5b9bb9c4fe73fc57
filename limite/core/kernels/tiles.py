"""The shapes in which kernels work, those in Triton above all, fixed beforehand.

Nothing is tuned while a program runs: another tile shape sums in another order, and a run could
not be repeated bit for bit. ``use`` replaces tiles for a while; a receipt records the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import attrs

Kind = Literal["half", "float32", "interpreted", "cpu"]


@attrs.frozen
class Tile:
    """The constants of one kernel: block sizes by name, warps and pipeline stages."""

    blocks: Mapping[str, int]
    warps: int = 4
    stages: int = 2

    def __getitem__(self, name: str) -> int:
        return self.blocks[name]


@attrs.frozen
class Row:
    """A line of the table. ``None``: any width, or any architecture, without a line of its own."""

    kernel: str
    kind: Kind
    tile: Tile
    width: int | None = None  # of a head, or of a row where the kernel keeps one whole
    architecture: int | None = None  # 90 for sm_90


TABLE: tuple[Row, ...] = (
    Row("rms_norm_forward", "half", Tile({"elements": 2048}, warps=4)),
    Row("rms_norm_forward", "half", Tile({"elements": 4096}, warps=8), width=4096),
    Row("rms_norm_forward", "half", Tile({"elements": 8192}, warps=8), width=8192),
    Row("rms_norm_forward", "half", Tile({"elements": 16384}, warps=16), width=16384),
    Row("rms_norm_forward", "float32", Tile({"elements": 2048}, warps=4)),
    Row("rms_norm_forward", "float32", Tile({"elements": 4096}, warps=8), width=4096),
    Row("rms_norm_forward", "float32", Tile({"elements": 8192}, warps=8), width=8192),
    Row("rms_norm_forward", "float32", Tile({"elements": 16384}, warps=16), width=16384),
    Row("rms_norm_forward", "interpreted", Tile({"elements": 32})),
    Row("rms_norm_backward", "half", Tile({"elements": 2048, "programs": 1056}, warps=4)),
    Row("rms_norm_backward", "half", Tile({"elements": 4096, "programs": 528}, warps=8), 4096),
    Row("rms_norm_backward", "half", Tile({"elements": 8192, "programs": 264}, warps=16), 8192),
    Row("rms_norm_backward", "half", Tile({"elements": 16384, "programs": 132}, warps=16), 16384),
    Row("rms_norm_backward", "float32", Tile({"elements": 2048, "programs": 1056}, warps=4)),
    Row("rms_norm_backward", "float32", Tile({"elements": 4096, "programs": 528}, warps=8), 4096),
    Row("rms_norm_backward", "float32", Tile({"elements": 8192, "programs": 264}, warps=16), 8192),
    Row(
        "rms_norm_backward", "float32", Tile({"elements": 16384, "programs": 132}, warps=16), 16384
    ),
    Row("qk_norm_rope_forward", "half", Tile({"elements": 2048}, warps=4)),
    Row("qk_norm_rope_forward", "float32", Tile({"elements": 2048}, warps=4)),
    Row("qk_norm_rope_forward", "interpreted", Tile({"elements": 64})),
    Row("qk_norm_rope_backward", "half", Tile({"elements": 2048}, warps=4)),
    Row("qk_norm_rope_backward", "float32", Tile({"elements": 2048}, warps=4)),
    Row("qk_norm_rope_backward", "interpreted", Tile({"elements": 64})),
    Row("rope", "half", Tile({"elements": 2048}, warps=4)),
    Row("rope", "float32", Tile({"elements": 2048}, warps=4)),
    Row("rope", "interpreted", Tile({"elements": 64})),
    Row("head_mix_forward", "half", Tile({"elements": 2048}, warps=4)),
    Row("head_mix_forward", "float32", Tile({"elements": 2048}, warps=4)),
    Row("head_mix_forward", "interpreted", Tile({"elements": 64})),
    Row("head_mix_backward", "half", Tile({"elements": 2048}, warps=4)),
    Row("head_mix_backward", "float32", Tile({"elements": 2048}, warps=4)),
    Row("head_mix_backward", "interpreted", Tile({"elements": 64})),
    Row("swiglu_forward", "half", Tile({"elements": 1024, "columns": 512}, warps=4)),
    Row("swiglu_forward", "float32", Tile({"elements": 1024, "columns": 512}, warps=4)),
    Row("swiglu_forward", "interpreted", Tile({"elements": 32, "columns": 16})),
    Row("swiglu_backward", "half", Tile({"elements": 1024, "columns": 512}, warps=4)),
    Row("swiglu_backward", "float32", Tile({"elements": 1024, "columns": 512}, warps=4)),
    Row("swiglu_backward", "interpreted", Tile({"elements": 32, "columns": 16})),
    Row("rms_norm_backward", "interpreted", Tile({"elements": 32, "programs": 2})),
    Row("attention_forward", "half", Tile({"BM": 128, "BN": 32}, warps=8, stages=3)),
    Row("attention_forward", "half", Tile({"BM": 64, "BN": 32}, warps=8, stages=2), 256),
    Row("attention_forward", "half", Tile({"BM": 128, "BN": 64}, 8, 3), architecture=90),
    Row("attention_forward", "half", Tile({"BM": 64, "BN": 32}, 8, 2), 256, architecture=90),
    Row("attention_forward", "float32", Tile({"BM": 32, "BN": 16}, warps=8, stages=2)),
    Row("attention_forward", "interpreted", Tile({"BM": 16, "BN": 16})),
    Row("attention_backward_dq", "half", Tile({"BM": 64, "BN": 64}, warps=8, stages=2)),
    Row("attention_backward_dq", "half", Tile({"BM": 32, "BN": 32}, warps=4, stages=2), 256),
    Row("attention_backward_dq", "half", Tile({"BM": 128, "BN": 64}, 8, 2), architecture=90),
    Row("attention_backward_dq", "half", Tile({"BM": 128, "BN": 32}, 8, 2), 256, architecture=90),
    Row("attention_backward_dq", "float32", Tile({"BM": 32, "BN": 16}, warps=8, stages=2)),
    Row("attention_backward_dq", "interpreted", Tile({"BM": 16, "BN": 16})),
    Row("attention_backward_dkv", "half", Tile({"BM": 32, "BN": 64}, warps=8, stages=2)),
    Row("attention_backward_dkv", "half", Tile({"BM": 16, "BN": 32}, warps=8, stages=2), 256),
    Row("attention_backward_dkv", "half", Tile({"BM": 32, "BN": 128}, 8, 2), architecture=90),
    Row("attention_backward_dkv", "half", Tile({"BM": 16, "BN": 64}, 8, 2), 256, architecture=90),
    Row("attention_backward_dkv", "float32", Tile({"BM": 16, "BN": 16}, warps=8, stages=2)),
    Row("attention_backward_dkv", "interpreted", Tile({"BM": 16, "BN": 16})),
    Row("attention_decode", "half", Tile({"BN": 64, "SPLIT": 512}, warps=4, stages=3)),
    Row("attention_decode", "float32", Tile({"BN": 32, "SPLIT": 512}, warps=8, stages=2)),
    Row("attention_decode", "interpreted", Tile({"BN": 16, "SPLIT": 32})),
    Row("attention_decode_merge", "half", Tile({"BS": 16}, warps=4, stages=2)),
    Row("attention_decode_merge", "float32", Tile({"BS": 16}, warps=4, stages=2)),
    Row("attention_decode_merge", "interpreted", Tile({"BS": 4})),
    Row(
        "indexed_logprob_forward",
        "half",
        Tile({"BM": 128, "BV": 128, "BD": 64, "SPAN": 8192}, warps=8, stages=3),
    ),
    Row(
        "indexed_logprob_forward",
        "float32",
        Tile({"BM": 64, "BV": 64, "BD": 32, "SPAN": 8192}, warps=4, stages=2),
    ),
    Row(
        "indexed_logprob_forward",
        "interpreted",
        Tile({"BM": 16, "BV": 16, "BD": 16, "SPAN": 64}),
    ),
    Row(
        "indexed_logprob_backward",
        "half",
        Tile({"BM": 128, "BV": 128, "BD": 64, "SCRATCH": 252_000_000}, warps=8, stages=3),
    ),
    Row(
        "indexed_logprob_backward",
        "float32",
        Tile({"BM": 64, "BV": 64, "BD": 32, "SCRATCH": 126_000_000}, warps=4, stages=2),
    ),
    Row(
        "indexed_logprob_backward",
        "interpreted",
        Tile({"BM": 16, "BV": 16, "BD": 16, "SCRATCH": 4096}),
    ),
    Row("indexed_logprob_picks", "half", Tile({"BK": 16, "BD": 128}, warps=4)),
    Row("indexed_logprob_picks", "float32", Tile({"BK": 16, "BD": 128}, warps=4)),
    Row("indexed_logprob_picks", "interpreted", Tile({"BK": 16, "BD": 16})),
    Row("indexed_logprob_pushes", "half", Tile({"BK": 32}, warps=4)),
    Row("indexed_logprob_pushes", "float32", Tile({"BK": 32}, warps=4)),
    Row("indexed_logprob_pushes", "interpreted", Tile({"BK": 16})),
    Row(
        "indexed_logprob",
        "cpu",
        # A tile has so many ids, and elements: large enough for products at full speed, small
        # enough for caches. Up to FEW logits (with a cap FEW_CAPPED) the formula is as fast.
        Tile({"COLUMNS": 1024, "ELEMENTS": 1 << 19, "FEW": 1 << 21, "FEW_CAPPED": 1 << 19}),
    ),
    Row("linear_scan_forward", "float32", Tile({"BT": 4096}, warps=4, stages=2)),
    Row("linear_scan_forward", "interpreted", Tile({"BT": 16})),
    Row("linear_scan_backward", "float32", Tile({"BT": 4096}, warps=8, stages=2)),
    Row("linear_scan_backward", "interpreted", Tile({"BT": 16})),
    Row("simplicial_forward", "half", Tile({"R": 64, "BN": 32}, warps=8, stages=2)),
    Row("simplicial_forward", "half", Tile({"R": 64, "BN": 64}, warps=8, stages=2), None, 90),
    Row("simplicial_forward", "float32", Tile({"R": 16, "BN": 32}, warps=8, stages=1)),
    Row("simplicial_forward", "float32", Tile({"R": 32, "BN": 64}, warps=8, stages=1), None, 90),
    Row("simplicial_forward", "interpreted", Tile({"R": 16, "BN": 16})),
    Row("simplicial_backward_dq", "half", Tile({"R": 64, "BN": 32}, warps=8, stages=2)),
    Row("simplicial_backward_dq", "half", Tile({"R": 64, "BN": 64}, warps=8, stages=1), None, 90),
    Row("simplicial_backward_dq", "float32", Tile({"R": 16, "BN": 32}, warps=8, stages=1)),
    Row(
        "simplicial_backward_dq", "float32", Tile({"R": 16, "BN": 64}, warps=8, stages=1), None, 90
    ),
    Row("simplicial_backward_dq", "interpreted", Tile({"R": 16, "BN": 16})),
    Row("simplicial_backward_dkv", "half", Tile({"R": 32, "BN": 32}, warps=8, stages=2)),
    Row("simplicial_backward_dkv", "half", Tile({"R": 64, "BN": 32}, warps=8, stages=1), None, 90),
    Row("simplicial_backward_dkv", "float32", Tile({"R": 32, "BN": 32}, warps=8, stages=1)),
    Row("simplicial_backward_dkv", "interpreted", Tile({"R": 16, "BN": 16})),
    Row("simplicial_decode", "half", Tile({"R": 16, "BN": 64}, warps=4, stages=2)),
    Row("simplicial_decode", "float32", Tile({"R": 16, "BN": 32}, warps=8, stages=2)),
    Row("simplicial_decode", "interpreted", Tile({"R": 16, "BN": 16})),
)


@attrs.frozen
class Spill:
    """What a compiled kernel may spill: bytes of stack of a thread, and LDL and STL instructions.

    ``width``: the one it was compiled for, None for Limite's own shapes.
    """

    kernel: str
    dtype: str  # "bf16", "fp16", "fp32"
    architecture: int
    width: int | None = None
    stack: int = 0
    loads: int = 0
    stores: int = 0


SPILLS: tuple[Spill, ...] = (
    Spill("attention_backward_dkv", "bf16", 90, stack=64, loads=16, stores=15),
    Spill("attention_backward_dkv", "fp16", 90, stack=24, loads=6, stores=6),
    Spill("attention_backward_dkv", "bf16", 90, 256, stack=192, loads=51, stores=48),
    Spill("attention_backward_dkv", "fp16", 90, 256, stack=192, loads=51, stores=48),
    Spill("rms_norm_backward", "bf16", 90, 16384, stack=16, loads=3, stores=3),
    Spill("rms_norm_backward", "fp16", 90, 16384, stack=16, loads=3, stores=3),
    Spill("rms_norm_backward", "fp32", 90, 16384, stack=24, loads=4, stores=4),
    Spill("simplicial_forward", "fp16", 80, stack=8, loads=2, stores=2),
    Spill("simplicial_forward", "fp32", 80, stack=8, loads=1, stores=1),
)
"""Every spill there is, as Triton 3.9 compiles the table: the most of a kernel's variants. What is
not listed may not spill."""

_overrides: dict[str, Tile] = {}
_found: dict[tuple[str, Kind, int | None, int | None], tuple[tuple[Row, ...], Tile]] = {}


def tile(
    kernel: str, *, kind: Kind, width: int | None = None, architecture: int | None = None
) -> Tile:
    """The tile of a kernel: the line that says most about the case, remembered with its table."""
    if kernel in _overrides:
        return _overrides[kernel]
    case = (kernel, kind, width, architecture)
    table, known = _found.get(case, (None, None))
    if known is None or table is not TABLE:
        known = _search(*case)
        _found[case] = TABLE, known
    return known


def _search(kernel: str, kind: Kind, width: int | None, architecture: int | None) -> Tile:
    found: Row | None = None
    for row in TABLE:
        if row.kernel != kernel or row.kind != kind:
            continue
        if row.width not in (None, width) or row.architecture not in (None, architecture):
            continue
        if found is None or _detail(row) > _detail(found):
            found = row
    if found is None:
        raise KeyError(f"no tile for {kernel}, {kind}, width {width}, sm_{architecture}")
    return found.tile


def _detail(row: Row) -> tuple[bool, bool]:
    return (row.architecture is not None, row.width is not None)


@contextmanager
def use(**by_kernel: Tile) -> Iterator[None]:
    """Within the block, other tiles for the kernels named. For the whole process."""
    before = dict(_overrides)
    _overrides.update(by_kernel)
    try:
        yield
    finally:
        _overrides.clear()
        _overrides.update(before)


def table_hash() -> str:
    """SHA-256 of the table in force, in hexadecimal: what a receipt records."""
    text = repr((TABLE, sorted(_overrides.items(), key=lambda item: item[0])))
    return hashlib.sha256(text.encode()).hexdigest()
