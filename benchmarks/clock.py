"""How long calls take and how much memory they need, several contenders in turn."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import attrs
import torch

Call = Callable[[], object]

WARM_UP_MS = 25.0  # a quarter of what is measured, where that is less
MEASURED_MS = 100.0
ROUNDS = 10
FEWEST_ROUNDS = 3
MOST_CALLS = 100  # of one contender in one round
AHEAD = 4  # times the cache is overwritten before a round: Python's lead on the GPU
CACHE_BYTES = 60 * 2**20
LONG_MS = 250.0  # a first call as long as this needs no further warm-up

MIB = 2**20


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between the neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@attrs.frozen
class Timing:
    """Milliseconds of single calls, round by round."""

    rounds: tuple[tuple[float, ...], ...]

    @property
    def calls(self) -> list[float]:
        return [call for each in self.rounds for call in each]

    @property
    def ms(self) -> float:
        return median(self.calls)

    @property
    def spread_ms(self) -> float:
        """Half of what lies between the tenth and the ninetieth percentile."""
        return (quantile(self.calls, 0.9) - quantile(self.calls, 0.1)) / 2

    def ratio(self, other: Timing) -> tuple[float, float]:
        """How many times the other's time, by rounds run side by side, and its half-spread."""
        ratios = [
            median(own) / max(median(its), 1e-9)
            for own, its in zip(self.rounds, other.rounds, strict=False)
        ]
        return median(ratios), (quantile(ratios, 0.9) - quantile(ratios, 0.1)) / 2


class CpuClock:
    """Processor time of this process: what other processes do does not count."""

    def time(self, calls: Sequence[Call]) -> list[float]:
        taken = []
        for call in calls:
            start = time.process_time_ns()
            call()
            taken.append((time.process_time_ns() - start) / 1e6)
        return taken

    def sync(self) -> None:
        pass

    def peak_mib(self, call: Call) -> float | None:
        """How far the process's memory rose above what it held; None where Linux cannot say."""
        status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
        if not sys.platform.startswith("linux") or not status.exists():
            return None
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        try:
            reset.write_text("5")
        except OSError:
            return None
        before = _status_kib(status, "VmRSS")
        result = call()
        peak = _status_kib(status, "VmHWM")
        del result
        return max(peak - before, 0) / 1024


def _status_kib(status: Path, field: str) -> int:
    for line in status.read_text(encoding="utf-8").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(field)


class CudaClock:
    """Events on the stream, the cache overwritten before each call.

    Overwriting much more than the cache also keeps the GPU busy while the next call is queued, so
    that the time Python takes to queue it is not counted.
    """

    def __init__(self) -> None:
        self._filler = torch.empty(16 * CACHE_BYTES, dtype=torch.int8, device="cuda")

    def time(self, calls: Sequence[Call]) -> list[float]:
        starts = [torch.cuda.Event(enable_timing=True) for _ in calls]
        ends = [torch.cuda.Event(enable_timing=True) for _ in calls]
        for _ in range(AHEAD):
            self._filler.zero_()
        for start, end, call in zip(starts, ends, calls, strict=True):
            self._filler.zero_()
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]

    def sync(self) -> None:
        torch.cuda.synchronize()

    def peak_mib(self, call: Call) -> float | None:
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = call()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated()
        del result
        return (peak - before) / MIB


Clock = CpuClock | CudaClock


def clock_for(device: str) -> Clock:
    return CudaClock() if device == "cuda" else CpuClock()


def race(
    contenders: Mapping[str, Sequence[Call]], clock: Clock, *, measured_ms: float = MEASURED_MS
) -> dict[str, Timing]:
    """Times contenders in turn, so that what disturbs one disturbs all.

    Each contender has calls on different inputs, taken one after another. Every call has run
    before.
    """
    plans: dict[str, tuple[int, int]] = {}
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in contenders}
    for name, calls in contenders.items():
        clock.sync()
        once = clock.time([calls[0]])[0]
        if once < LONG_MS:
            warm_up_ms = min(WARM_UP_MS, measured_ms / 4)
            count = max(1, min(MOST_CALLS, int(warm_up_ms / max(once, 1e-3))))
            once = median(clock.time(_turns(calls, count)))
        rounds = max(FEWEST_ROUNDS, min(ROUNDS, int(measured_ms / max(once, 1e-3))))
        plans[name] = rounds, max(1, min(MOST_CALLS, int(measured_ms / rounds / max(once, 1e-3))))
        if once >= LONG_MS:
            taken[name] = [(once,)]  # the first of its rounds
    for number in range(ROUNDS):
        for name, calls in contenders.items():
            rounds, count = plans[name]
            if len(taken[name]) <= number < rounds:
                taken[name].append(tuple(clock.time(_turns(calls, count))))
    return {name: Timing(tuple(rounds)) for name, rounds in taken.items()}


def _turns(calls: Sequence[Call], count: int) -> list[Call]:
    return [calls[number % len(calls)] for number in range(count)]
