"""What linear scans are for: advantages, returns, and the lengths of repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.faults import (
    WIDE,
    Fault,
    alike,
    counts,
    is_number,
    on_device,
    refuse_any,
    shape_of,
    shaped,
    tensors,
    tensors_or_none,
    told,
    whole,
)


def gae(
    rewards: Tensor,
    values: Tensor,
    continues: Tensor,
    *,
    gamma: float,
    lam: float | Tensor,
    active: Tensor | None = None,
) -> Tensor:
    """Generalised advantage estimates ``[R, T]`` (arXiv:1506.02438), in float32 or float64.

    ``delta_t = rewards_t + gamma continues_t values_{t+1} - values_t`` and
    ``advantage_t = delta_t + gamma lam continues_t advantage_{t+1}``.

    ``rewards [R, T]``; ``values [R, T]`` of the states before the tokens, or ``[R, T + 1]`` with
    that after the last one, which is 0 otherwise. ``continues [R, T]`` is 0 where a token is the
    last of its episode, and 1 elsewhere. ``lam`` is a number or ``[R]``, one for each row.
    ``active [R, T]`` leaves tokens out: what stands at an inactive one is not read, the recursion
    passes over it, and its advantage is 0.
    """
    refuse_any("gae", _gae_faults(rewards, values, continues, gamma, lam, active))
    tokens = rewards.shape[1]
    ends = values.shape[1] > tokens
    last = values[:, tokens] if ends else values.new_zeros(values.shape[0])  # [R]
    values = values[:, :tokens]
    goes_on = continues.to(rewards.dtype)  # [R, T]
    if isinstance(lam, Tensor):
        lam = lam.to(rewards.dtype)[:, None]  # [R, 1]
    if active is None:
        following = torch.cat((values[:, 1:], last[:, None]), 1)[:, :tokens]  # [R, T]
        delta = rewards + gamma * goes_on * following - values
        return ops.linear_scan(gamma * lam * goes_on, delta, reverse=True)
    active = active.bool()
    values = torch.where(active, values, 0.0)
    # The value after a token is that of the next active one: inactive ones hand it on.
    handed = ops.linear_scan((~active).to(values.dtype), values, reverse=True, carry=last)
    following = torch.cat((handed[:, 1:], last[:, None]), 1)[:, :tokens]
    delta = torch.where(active, rewards + gamma * goes_on * following - values, 0.0)
    factor = torch.where(active, gamma * lam * goes_on, 1.0)
    found = ops.linear_scan(factor, delta, reverse=True)
    return torch.where(active, found, 0.0)


def discounted_returns(rewards: Tensor, continues: Tensor, *, gamma: float) -> Tensor:
    """``return_t = rewards_t + gamma continues_t return_{t+1}``, ``[R, T]``: Monte Carlo returns.

    A token that is no part of its row has ``rewards = 0``; it counts as a step of ``gamma``.
    """
    refuse_any("discounted_returns", _return_faults(rewards, continues, gamma))
    return ops.linear_scan(gamma * continues.to(rewards.dtype), rewards, reverse=True)


def run_lengths(tokens: Tensor, period: int) -> Tensor:
    """How many tokens up to each equal the one ``period`` before them, without a break.

    ``tokens [R, T]``; ``[R, T]`` float32. A text that says the same ``period`` tokens r times in a
    row ends in a run of ``(r - 1) period``.
    """
    refuse_any("run_lengths", _run_faults(tokens, period))
    equal = torch.zeros(tokens.shape, dtype=torch.float32, device=tokens.device)
    period = min(period, tokens.shape[1])
    equal[:, period:] = (tokens[:, period:] == tokens[:, : tokens.shape[1] - period]).float()
    return ops.linear_scan(equal, equal)


class RunLengths:
    """The run lengths of every period from 1 to ``periods``, kept up to date token by token.

    ``runs [R, P]`` int32, of period p in column p - 1. An update costs O(P) for each row.
    """

    def __init__(self, rows: int, periods: int, device: torch.device | str = "cpu") -> None:
        refuse_any("RunLengths", chain(counts(0, rows=rows), counts(1, periods=periods)))
        self.periods = periods
        self.runs = torch.zeros(rows, periods, dtype=torch.int32, device=device)  # [R, P]
        # The newest token first. No token is -1: before the start nothing equals anything.
        self._recent = torch.full((rows, periods), -1, dtype=torch.int64, device=device)  # [R, P]

    def update(self, tokens: Tensor) -> Tensor:
        """Takes in the next token of each row, ``[R]`` of ids from 0 up; returns ``runs``."""
        refuse_any("RunLengths.update", _token_faults(tokens, self.runs))
        self.runs = (self.runs + 1) * (self._recent == tokens[:, None])
        self._recent = torch.cat((tokens[:, None].to(self._recent), self._recent[:, :-1]), 1)
        return self.runs

    def select(self, rows: Tensor | Sequence[int]) -> None:
        """Keeps these rows, in this order; a row may come more than once."""
        numbers = rows.tolist() if isinstance(rows, Tensor) else list(rows)
        most = self.runs.shape[0]
        if not all(whole(row) and -most <= row < most for row in numbers):
            expected = f"whole numbers below the {most} rows there are"
            raise ValueError(f"RunLengths.select: rows: expected {expected}, got {numbers}")
        index = torch.tensor(numbers, dtype=torch.int64, device=self.runs.device)
        self.runs, self._recent = self.runs[index], self._recent[index]

    def looping(self, repeats: int) -> Tensor:
        """Whether each row ends in some period said ``repeats`` times over, ``[R]`` bool."""
        refuse_any("RunLengths.looping", counts(2, repeats=repeats))
        period = torch.arange(1, self.periods + 1, device=self.runs.device)  # [P]
        return (self.runs >= (repeats - 1) * period).any(1)


def _gae_faults(
    rewards: Any, values: Any, continues: Any, gamma: Any, lam: Any, active: Any
) -> Iterator[Fault]:
    yield from tensors(rewards=rewards, values=values, continues=continues)
    yield from tensors_or_none(active=active)
    yield from _episodes(rewards, continues=continues, active=active)
    yield from alike(rewards=rewards, values=values)
    sizes = rewards.shape if isinstance(rewards, Tensor) else ()
    if len(sizes) == 2 and isinstance(values, Tensor):
        rows, tokens = sizes
        if values.dim() != 2 or values.shape[0] != rows or values.shape[1] - tokens not in (0, 1):
            yield "values", f"[{rows}, {tokens} or {tokens + 1}]", shape_of(values)
    yield from _shares(gamma=gamma)
    if not isinstance(lam, Tensor):
        yield from _shares(lam=lam, words=", or a tensor [R] of such")
        return
    if len(sizes) == 2:
        yield from shaped("lam", lam, sizes[0], words=", one for each row")
    if lam.dtype not in WIDE:
        # 0.5^(1/L) is 1 there from a few hundred tokens on.
        yield "lam", "float32 or float64", str(lam.dtype)
    yield from on_device("lam", lam, "rewards", rewards)


def _return_faults(rewards: Any, continues: Any, gamma: Any) -> Iterator[Fault]:
    yield from tensors(rewards=rewards, continues=continues)
    yield from _episodes(rewards, continues=continues)
    yield from _shares(gamma=gamma)


def _episodes(rewards: Any, **others: Any) -> Iterator[Fault]:
    """Faults of rewards ``[R, T]``, and of what has one element for each."""
    if not isinstance(rewards, Tensor):
        return
    if rewards.dtype not in WIDE:
        yield "rewards", "float32 or float64", str(rewards.dtype)
    if rewards.dim() != 2:
        yield "rewards", "[R, T]", shape_of(rewards)
    for name, other in others.items():
        if isinstance(other, Tensor):
            if rewards.dim() == 2:
                yield from shaped(name, other, *rewards.shape, words=", as rewards")
            if other.is_complex():
                yield name, "numbers that are not complex", str(other.dtype)
            yield from on_device(name, other, "rewards", rewards)


def _shares(*, words: str = "", **values: Any) -> Iterator[Fault]:
    for name, value in values.items():
        if not is_number(value) or not 0 <= value <= 1:
            yield name, f"a number from 0 to 1{words}", told(value)


def _run_faults(tokens: Any, period: Any) -> Iterator[Fault]:
    yield from counts(1, period=period)
    yield from tensors(tokens=tokens)
    yield from shaped("tokens", tokens, None, None, words=", rows and tokens")
    yield from _ids(tokens)


def _token_faults(tokens: Any, runs: Tensor) -> Iterator[Fault]:
    yield from tensors(tokens=tokens)
    yield from shaped("tokens", tokens, runs.shape[0], words=", one for each row")
    yield from _ids(tokens)
    if isinstance(tokens, Tensor):
        yield from on_device("tokens", tokens, "the runs", runs)


def _ids(tokens: Any) -> Iterator[Fault]:
    if isinstance(tokens, Tensor) and (tokens.is_floating_point() or tokens.is_complex()):
        yield "tokens", "whole numbers", str(tokens.dtype)
