"""Measures loading, prefill and decoding of whole models, side by side with transformers.

    python -m benchmarks.models
    python -m benchmarks.models DIR --json models.json

Both read the same directory: DIR, or else a Llama of 135 million random weights and a Limite of
about the size, which transformers does not know, each written to a temporary folder. Calls take
turns in one process and are told in processor time, so that what else a machine does counts little;
peak memory is that of a process of its own for each. One thread, float32.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import inspect
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: its folder is no place to import from
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import attrs
import torch

from benchmarks import pages
from benchmarks.clock import CpuClock, Timing
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained

ROUNDS, TINY_ROUNDS = 7, 2
MIB = 2**20

LLAMA = LlamaSpec(
    width=576, layers=30, heads=9, kv_heads=3, head_width=64, mlp_width=1536, context=8192,
    vocabulary=49152, tied_head=True,
)  # fmt: skip
LIMITE = ModelSpec(
    width=576, layers=28, heads=9, kv_heads=3, head_width=64, mlp_width=1536, context=8192,
    vocabulary=49152,
)  # fmt: skip
TINY_LLAMA = attrs.evolve(LLAMA, width=64, layers=2, heads=2, kv_heads=1, head_width=32,
                          mlp_width=96, vocabulary=512)  # fmt: skip
TINY_LIMITE = attrs.evolve(LIMITE, width=64, layers=4, heads=2, kv_heads=1, head_width=32,
                           mlp_width=96, vocabulary=512)  # fmt: skip

MEMORY = """
import sys
from benchmarks.models import peak_mib
print(peak_mib(sys.argv[1], sys.argv[2]))
"""


@attrs.frozen(kw_only=True)
class Sizes:
    """What is asked of a model: prompts of so many tokens, and so many steps behind them."""

    prompts: tuple[tuple[int, int], ...] = ((1, 512), (8, 64))
    rows: tuple[int, ...] = (1, 32)
    prompt: int = 64
    steps: int = 8
    rounds: int = ROUNDS


TINY = Sizes(prompts=((1, 16),), rows=(2,), prompt=8, steps=2, rounds=TINY_ROUNDS)


@attrs.frozen(kw_only=True)
class Row:
    """One thing that was measured; ``ratio`` is how many times transformers' time limite takes."""

    model: str
    case: str
    ms: float
    spread_ms: float
    other_ms: float | None = None
    other_spread_ms: float | None = None
    ratio: float | None = None
    ratio_spread: float | None = None
    peak_mib: float | None = None
    other_peak_mib: float | None = None
    difference: float | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and shows; 1 where the two do not compute the same."""
    made = argparse.ArgumentParser(prog="benchmarks.models", description=__doc__.splitlines()[0])
    made.add_argument("directory", nargs="?", metavar="DIR", help="a model's directory")
    made.add_argument("--tiny", action="store_true", help="sizes that take no time")
    made.add_argument("--alone", action="store_true", help="without transformers")
    made.add_argument("--json", metavar="PATH", help="a file, or -")
    asked = made.parse_args(argv)
    torch.set_num_threads(1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in models(Path(folder), asked.directory, asked.tiny):
            rows += measured(name, path, TINY if asked.tiny else Sizes(), alone=asked.alone)
    if asked.json != "-":
        show(rows)
    if asked.json:
        pages.write(pages.page_of(rows), asked.json, "models")
    return int(any(row.difference is not None and not row.difference < 1e-3 for row in rows))


def models(folder: Path, directory: str | None, tiny: bool) -> Iterator[tuple[str, Path]]:
    """Names and directories of what is measured."""
    if directory is not None:
        yield Path(directory).name, Path(directory)
        return
    for name, spec in (
        ("llama", TINY_LLAMA if tiny else LLAMA),
        ("limite", TINY_LIMITE if tiny else LIMITE),
    ):
        save_pretrained(build_decoder(spec.filled(), 1), folder / name)
        yield name, folder / name


def measured(name: str, path: Path, sizes: Sizes, *, alone: bool = False) -> list[Row]:
    """Every case of one model."""
    theirs = None if alone else other(path)
    loads: list[Callable[[], object]] = [lambda: ours(path)]
    if theirs is not None:
        loads.append(lambda: other(path))
    peaks = [peak_of(path, who) for who in ("limite", "transformers")[: len(loads)]]
    rows = [row_of(name, "load", turns(loads, sizes.rounds), peaks)]
    decoder = ours(path)
    for count, tokens in sizes.prompts:
        ids = prompts(decoder, count, tokens)
        calls: list[Callable[[], object]] = [lambda ids=ids: prefill(decoder, ids)]  # type: ignore[misc]
        found = prefill(decoder, ids)
        difference = None
        if theirs is not None:
            calls.append(lambda ids=ids: other_prefill(theirs, ids))  # type: ignore[misc]
            expected = other_prefill(theirs, ids)
            difference = ((found - expected).abs().max() / expected.abs().max()).item()
        timings = turns(calls, sizes.rounds)
        rows.append(row_of(name, f"prefill {count} x {tokens}", timings, [], difference))
    for count in sizes.rows:
        ids = prompts(decoder, count, sizes.prompt)
        step = steps(decoder, ids, sizes.steps)
        pair = [step] if theirs is None else [step, other_steps(theirs, ids, sizes.steps)]
        timings = [Timing(tuple(tuple(call / sizes.steps for call in each) for each in one.rounds))
                   for one in turns(pair, sizes.rounds)]  # fmt: skip
        rows.append(row_of(name, f"decode {count} rows, a token", timings, []))
    return rows


def turns(calls: Sequence[Callable[[], object]], rounds: int) -> list[Timing]:
    """Rounds in which each contender is called once, after a call that does not count."""
    clock = CpuClock()
    for call in calls:
        call()
    taken: list[list[tuple[float, ...]]] = [[] for _ in calls]
    with torch.inference_mode():
        for turn in range(rounds):
            # Whoever comes second finds caches warmer: they take turns at that too.
            order = range(len(calls)) if turn % 2 == 0 else reversed(range(len(calls)))
            for number in order:
                gc.collect()
                taken[number].append(tuple(clock.time([calls[number]])))
    return [Timing(tuple(each)) for each in taken]


def row_of(
    model: str,
    case: str,
    timings: Sequence[Timing],
    peaks: Sequence[float | None],
    difference: float | None = None,
) -> Row:
    mine = timings[0]
    row = Row(
        model=model, case=case, ms=mine.ms, spread_ms=mine.spread_ms, difference=difference,
        peak_mib=peaks[0] if peaks else None,
    )  # fmt: skip
    if len(timings) == 1:
        return row
    ratio, spread = mine.ratio(timings[1])
    return attrs.evolve(
        row, other_ms=timings[1].ms, other_spread_ms=timings[1].spread_ms, ratio=ratio,
        ratio_spread=spread, other_peak_mib=peaks[1] if peaks else None,
    )  # fmt: skip


def ours(path: Path) -> Decoder:
    return ModelDirectory.open(path).load("float32")


def other(path: Path) -> Any:
    """The model as transformers loads it; None where it does not know the architecture."""
    transformers: Any = importlib.import_module("transformers")
    kind = json.loads((path / "config.json").read_text(encoding="utf-8"))["model_type"]
    if kind not in transformers.CONFIG_MAPPING:
        return None
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def prompts(decoder: Decoder, count: int, tokens: int) -> torch.Tensor:
    """Ids ``[count, tokens]``, no two rows alike."""
    rows = decoder.spec.padded_vocabulary or decoder.spec.vocabulary or 2
    stream = torch.Generator().manual_seed(1)
    return torch.randint(1, rows, (count, tokens), generator=stream)


@torch.inference_mode()
def prefill(decoder: Decoder, ids: torch.Tensor) -> torch.Tensor:
    """Reads prompts into a cache; the logits behind each ``[count, V]``."""
    count, tokens = ids.shape
    cache = decoder.new_cache(count, tokens)
    hidden = decoder.extend(ids.reshape(-1), Layout.from_lengths([tokens] * count), cache)
    return decoder.logits(hidden[tokens - 1 :: tokens])


@torch.inference_mode()
def other_prefill(model: Any, ids: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = model(ids, use_cache=True, logits_to_keep=1).logits[:, -1]
    return found


def steps(decoder: Decoder, ids: torch.Tensor, count: int) -> Callable[[], object]:
    """The likeliest token again and again, behind prompts that were read before."""
    rows, tokens = ids.shape
    layout = Layout.from_lengths([tokens] * rows)
    with torch.inference_mode():
        read = decoder.new_cache(rows, tokens + count)
        hidden = decoder.extend(ids.reshape(-1), layout, read)[tokens - 1 :: tokens]
        every = torch.arange(rows)
        first = decoder.logits(hidden).argmax(-1)

    @torch.inference_mode()
    def call() -> None:
        cache, token = read.select(every), first
        for _ in range(count):
            token = decoder.logits(decoder.step(token, cache)).argmax(-1)

    return call


def other_steps(model: Any, ids: torch.Tensor, count: int) -> Callable[[], object]:
    taken = inspect.signature(model.forward).parameters
    name = "cache" if "cache" in taken else "past_key_values"  # newer and older releases
    cache = importlib.import_module("transformers").DynamicCache(config=model.config)
    with torch.inference_mode():
        read = model(ids, use_cache=True, logits_to_keep=1, **{name: cache})
        first = read.logits[:, -1:].argmax(-1)

    @torch.inference_mode()
    def call() -> None:
        token = first
        for _ in range(count):
            said = model(token, use_cache=True, logits_to_keep=1, **{name: cache})
            token = said.logits[:, -1:].argmax(-1)
        cache.crop(-count)

    return call


def peak_of(path: Path, who: str) -> float | None:
    """MiB by which loading raises the memory of a process that has imported all it needs."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path), who],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = done.stdout.split()[-1]
    return None if said == "None" else float(said)


def peak_mib(path: str, who: str) -> float | None:
    """What ``peak_of`` asks of a process of its own."""
    load = ours if who == "limite" else other
    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(build_decoder(TINY_LLAMA.filled(), 1), Path(folder) / "warm")
        load(Path(folder) / "warm")
    return CpuClock().peak_mib(lambda: load(Path(path)))


def show(rows: Sequence[Row]) -> None:
    heads = ("model", "case", "limite ms", "transformers ms", "ratio", "peak MiB", "theirs")
    table = [heads, *(cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )


def cells(row: Row) -> tuple[str, ...]:
    def ms(value: float | None, spread: float | None) -> str:
        return "" if value is None or spread is None else f"{value:.4g} ±{spread:.2g}"

    ratio = "" if row.ratio is None else f"{row.ratio:.3f} ±{row.ratio_spread:.2f}"
    peaks = ("" if each is None else f"{each:.0f}" for each in (row.peak_mib, row.other_peak_mib))
    return (
        row.model, row.case, ms(row.ms, row.spread_ms), ms(row.other_ms, row.other_spread_ms),
        ratio, *peaks,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
