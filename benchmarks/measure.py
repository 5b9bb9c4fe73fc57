"""Runs one case: ours and its peers in turn, with what each needs of time and memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
import torch
from torch import Tensor

from benchmarks import clock as clocks
from benchmarks import peers
from benchmarks.cases import BEST, TARGET, Case
from benchmarks.clock import Timing
from benchmarks.floors import Ceilings, count, floor_ms
from benchmarks.inputs import Problem, make
from benchmarks.rows import PeerFigure, Row, Verdict
from benchmarks.worker import reason_of
from limite.core.kernels import dispatch, tiles

OURS = "ours"
SEED = 20_251_130
SECONDS_MS = 2000.0
LIMITED_BY_WIDTH = (
    "qk_norm_rope",
    "rope",
    "head_mix",
    "attention",
    "attention_decode",
    "simplicial_attention",
    "simplicial_attention_decode",
)


def prepare_process() -> None:
    """One thread, as small models run best; a GPU's own work is not touched by it."""
    torch.set_num_threads(1)
    gc.freeze()  # what was imported stays: collecting what cases leave is then quick


def warm(case: Case, device: str, names: tuple[str, ...]) -> None:
    """Runs a case's contenders once, for the compiled kernels that they leave behind."""
    prepare_process()
    dtype = getattr(torch, case.dtype)
    failures = []
    for name in names:
        problem = make(case.op, case.sizes, dtype, device, SEED)
        try:
            prepared(contender(case.op, name), problem, case.direction)()
        except Exception as error:
            failures.append(f"{name}: {reason_of(error)}")
    if failures:
        raise RuntimeError("; ".join(failures))


def contender(op: str, name: str) -> peers.Peer:
    return peers.ours if name == OURS else peers.find(op, name)


def prepared(peer: peers.Peer, problem: Problem, direction: str) -> Callable[[], object]:
    """A call that does the work of a direction and nothing else."""
    if direction == "forward":

        def forward() -> object:
            with torch.no_grad():
                return peer(problem, problem.tensors)

        return forward

    leaves = {name: each.detach().requires_grad_() for name, each in problem.tensors.items()}
    wanted = tuple(leaves.values())
    stream = torch.Generator(wanted[0].device).manual_seed(SEED)
    upstream: list[Tensor] = []

    def flowing_back(outputs: peers.Outputs) -> list[Tensor]:
        if not upstream:
            upstream.extend(
                torch.randn(out.shape, generator=stream, device=out.device, dtype=out.dtype)
                for out in outputs
            )
        return upstream

    if direction == "both":

        def both() -> object:
            outputs = peer(problem, leaves)
            return torch.autograd.grad(outputs, wanted, flowing_back(outputs))

        return both

    outputs = peer(problem, leaves)

    def backward() -> object:
        return torch.autograd.grad(outputs, wanted, flowing_back(outputs), retain_graph=True)

    return backward


def run_case(case: Case, device: str, ceilings: Ceilings, measured_ms: float) -> Row:
    """Measures a case; what cannot run is in the row, with its reason."""
    prepare_process()
    clock = clocks.clock_for(device)
    dtype = getattr(torch, case.dtype)
    problems = [make(case.op, case.sizes, dtype, device, SEED)]
    if problems[0].bytes < 2 * clocks.CACHE_BYTES:
        problems.append(make(case.op, case.sizes, dtype, device, SEED + 1))
    calls: dict[str, list[Callable[[], object]]] = {}
    failures: dict[str, str] = {}
    used: dict[str, str] = {}
    first_peaks: dict[str, float | None] = {}
    for name in (OURS, *case.peers):
        try:
            with tiles_used() as noted:
                mine = [
                    prepared(contender(case.op, name), problem, case.direction)
                    for problem in problems
                ]
                first_peaks[name] = clock.peak_mib(mine[0])
                for call in mine[1:]:
                    call()
                clock.sync()
        except Exception as error:
            failures[name] = reason_of(error)
            gc.collect()
            if device == "cuda":
                torch.cuda.empty_cache()  # raises where the device is lost, and ends the case
            continue
        calls[name] = mine
        if name == OURS:
            used = dict(noted)
    timings = clocks.race(calls, clock, measured_ms=measured_ms)
    # A first call may hold more than the next, for good; in one that takes seconds it is nothing.
    peaks = {
        name: first_peaks[name] if timings[name].ms > SECONDS_MS else clock.peak_mib(mine[0])
        for name, mine in calls.items()
    }
    return _row(case, problems[0], device, ceilings, timings, peaks, failures, used)


def _row(
    case: Case,
    problem: Problem,
    device: str,
    ceilings: Ceilings,
    timings: Mapping[str, Timing],
    peaks: Mapping[str, float | None],
    failures: Mapping[str, str],
    used: Mapping[str, str],
) -> Row:
    work = count(case)
    least = floor_ms(work, ceilings)
    row = Row(
        name=case.name,
        op=case.op,
        shape=case.shape,
        sizes=dict(case.sizes),
        dtype=case.dtype,
        direction=case.direction,
        tiles=used,
        floor_ms=least,
        target_ms=case.target_ms,
        failed=failures.get(OURS),
        **backend_of(case.op, problem),
    )
    mine = timings.get(OURS)
    if mine is not None:
        row = attrs.evolve(
            row,
            ms=mine.ms,
            spread_ms=mine.spread_ms,
            calls=len(mine.calls),
            floor_fraction=least / max(mine.ms, 1e-9),
            tflop_s=work.flop / max(mine.ms, 1e-9) / 1e9 if work.flop else None,
            tb_s=work.bytes / max(mine.ms, 1e-9) / 1e9,
            peak_mib=peaks[OURS],
        )
    figures = {name: _figure(name, mine, timings.get(name), peaks, failures) for name in case.peers}
    there = [(figure.ms, name) for name, figure in figures.items() if figure.ms is not None]
    best = min(there)[1] if there else None
    row = attrs.evolve(row, peers=figures, best_peer=best)
    return attrs.evolve(row, verdicts=tuple(verdicts(case, row)))


def _figure(
    name: str,
    mine: Timing | None,
    its: Timing | None,
    peaks: Mapping[str, float | None],
    failures: Mapping[str, str],
) -> PeerFigure:
    if its is None:
        return PeerFigure(failed=failures[name])
    ratio, spread = (None, None) if mine is None else mine.ratio(its)
    own_peak, its_peak = peaks.get(OURS), peaks.get(name)
    return PeerFigure(
        ms=its.ms,
        spread_ms=its.spread_ms,
        peak_mib=its_peak,
        time_ratio=ratio,
        time_ratio_spread=spread,
        memory_ratio=own_peak / its_peak if own_peak is not None and its_peak else None,
    )


def verdicts(case: Case, row: Row) -> Iterator[Verdict]:
    for bound in case.bounds:
        name = row.best_peer if bound.against == BEST else bound.against
        value: float | None
        spread: float | None = 0.0
        if bound.against == TARGET:
            value = row.ms / case.target_ms if row.ms and case.target_ms else None
            spread = row.spread_ms / case.target_ms if row.spread_ms and case.target_ms else 0.0
        elif name is None:
            continue
        elif bound.what == "memory":
            value = row.peers[name].memory_ratio
        else:
            value, spread = row.peers[name].time_ratio, row.peers[name].time_ratio_spread
        if value is None:
            continue
        verdict = "missed"
        if value <= bound.at_most:
            verdict = "met"
        elif value - (spread or 0.0) <= bound.at_most:
            verdict = "within the spread"
        against = bound.against if name is None or name == bound.against else f"{BEST}, {name}"
        yield Verdict(
            what=f"{bound.what} against {against}",
            at_most=bound.at_most,
            value=value,
            verdict=verdict,
        )


def backend_of(op: str, problem: Problem) -> dict[str, Any]:
    """The name of the implementation in force, and why it is that one."""
    tensor = next(iter(problem.tensors.values()))
    width = tensor.shape[-1] if op in LIMITED_BY_WIDTH else None
    try:
        choice = dispatch.choose(dispatch.Case(op, tensor.device.type, tensor.dtype, width))
    except (ImportError, AttributeError, ValueError) as error:
        return {"backend": None, "backend_reason": reason_of(error)}
    return {"backend": choice.name, "backend_reason": choice.reason}


@contextmanager
def tiles_used() -> Iterator[dict[str, str]]:
    """Notes the tiles that kernels ask for within the block: ``128x64, 8 warps, 3 stages``."""
    noted: dict[str, str] = {}
    before = tiles.tile

    def noting(kernel: str, **about: Any) -> tiles.Tile:
        found = before(kernel, **about)
        blocks = "x".join(str(size) for size in found.blocks.values())
        noted[kernel] = f"{blocks}, {found.warps} warps, {found.stages} stages"
        return found

    tiles.tile = noting
    try:
        yield noted
    finally:
        tiles.tile = before
