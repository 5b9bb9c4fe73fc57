"""Measures one decoding step of 2-simplicial attention beside a window of the same reach.

    python -m benchmarks.attention_steps --json -

One layer's attention, its own projections included, on full caches: for each pair of windows the
time of a step, and how many times that of attention over the longer window alone. Contenders run in
turn, in processor time where the device is a CPU (one thread).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: its folder is no place to import from
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import attrs
import torch

from benchmarks.clock import Call, clock_for, race
from limite.core.kernels.moment import Moment
from limite.core.kinds import Attention
from limite.core.model.attention import AttentionMixer, mixer_of
from limite.core.model.spec import AttentionShape
from limite.core.seeds import Seeds
from limite.plugins.attention.local import Local
from limite.plugins.attention.simplicial import Simplicial

WINDOWS = ((32, 8), (128, 8), (512, 8), (512, 32))
MEASURED_MS = 400.0
SIZES = {"heads": 10, "kv_heads": 2, "head_width": 128, "width": 1280}


@attrs.frozen(kw_only=True)
class Step:
    """One pair of windows: milliseconds of a step for all rows, and what it takes."""

    window1: int
    window2: int
    rows: int
    dtype: str
    window_ms: float
    simplicial_ms: float
    times: float
    times_spread: float
    window_mflop: float
    simplicial_mflop: float
    window_cache_kib: float
    simplicial_cache_kib: float


def contender(component: Attention, rows: int, dtype: torch.dtype, device: str) -> tuple[Call, Any]:
    """A step on a full cache, and what there is to tell of the layer: operations and cache."""
    shape = AttentionShape(layer=0, layers=1, scale=0.1, **SIZES)
    mixer: AttentionMixer = mixer_of(component, shape, dtype).to(device)
    mixer.initialise(Seeds(1))
    tokens = 2 * (mixer.window or 1)
    generator = torch.Generator(device=device).manual_seed(2)

    def drawn(*sizes: int) -> torch.Tensor:
        return torch.randn(sizes, generator=generator, device=device, dtype=dtype)

    cache = mixer.new_cache(rows, tokens, dtype, torch.device(device))
    heads, kv_heads, width = shape.heads, shape.kv_heads, shape.head_width
    queries, inputs = drawn(rows, heads, width), drawn(rows, shape.width)
    keys, values = drawn(rows, kv_heads, width), drawn(rows, kv_heads, width)
    lengths = torch.full((rows,), tokens, device=device)

    @torch.no_grad()
    def call() -> torch.Tensor:
        # Rows grow by no token: the last slot is written over and the windows are full.
        return mixer.step(queries, keys, values, inputs, cache, Moment(lengths, tokens, tokens))

    own = 2 * sum(parameter.numel() for parameter in mixer.parameters())
    flop = own + mixer.arithmetic(tokens) - mixer.arithmetic(tokens - 1)
    return call, (flop / 1e6, cache.bytes / rows / 1024)


def measured(
    window1: int, window2: int, rows: int, dtype: str, device: str, measured_ms: float
) -> Step:
    kind = getattr(torch, dtype)
    plain, about_plain = contender(Local(window=window1), rows, kind, device)
    pairs = Simplicial(window1=window1, window2=window2, every=1)
    paired, about_pairs = contender(pairs, rows, kind, device)
    found = race(
        {"window": [plain], "simplicial": [paired]}, clock_for(device), measured_ms=measured_ms
    )
    times, spread = found["simplicial"].ratio(found["window"])
    return Step(
        window1=window1,
        window2=window2,
        rows=rows,
        dtype=dtype,
        window_ms=found["window"].ms,
        simplicial_ms=found["simplicial"].ms,
        times=times,
        times_spread=spread,
        window_mflop=about_plain[0],
        simplicial_mflop=about_pairs[0],
        window_cache_kib=about_plain[1],
        simplicial_cache_kib=about_pairs[1],
    )


def steps(asked: argparse.Namespace) -> Iterator[Step]:
    for window1, window2 in ((5, 2),) if asked.tiny else WINDOWS:
        for rows in (2,) if asked.tiny else (1, 16):
            measured_ms = 1.0 if asked.tiny else MEASURED_MS
            yield measured(window1, window2, rows, asked.dtype, asked.device, measured_ms)


def main(argv: Sequence[str] | None = None) -> int:
    made = argparse.ArgumentParser(prog="benchmarks.attention_steps")
    made.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    made.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    made.add_argument("--tiny", action="store_true", help="sizes that take no time")
    made.add_argument("--json", metavar="PATH", help="a file, or -")
    asked = made.parse_args(argv)
    torch.set_num_threads(1)
    found = list(steps(asked))
    if asked.json is None:
        print("windows   rows  window ms  2-simplicial ms  times         MFLOP          KiB a row")
        for each in found:
            print(
                f"{each.window1:4} x {each.window2:<2}  {each.rows:4}  {each.window_ms:9.3f}  "
                f"{each.simplicial_ms:15.3f}  {each.times:5.2f} ±{each.times_spread:5.2f}  "
                f"{each.window_mflop:5.1f} {each.simplicial_mflop:6.1f}  "
                f"{each.window_cache_kib:7.0f} {each.simplicial_cache_kib:7.0f}"
            )
        return 0
    text = json.dumps([attrs.asdict(each) for each in found], indent=2) + "\n"
    if asked.json == "-":
        print(text, end="")
    else:
        Path(asked.json).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
