"""What linear scans are for: advantages, returns, and the lengths of repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from limite.core.kernels import checks, ops


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
    tokens = rewards.shape[-1]
    _check_gae(rewards, values, continues, lam, active)
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
    return ops.linear_scan(gamma * continues.to(rewards.dtype), rewards, reverse=True)


def run_lengths(tokens: Tensor, period: int) -> Tensor:
    """How many tokens up to each equal the one ``period`` before them, without a break.

    ``tokens [R, T]``; ``[R, T]`` float32. A text that says the same ``period`` tokens r times in a
    row ends in a run of ``(r - 1) period``.
    """
    if period < 1:
        raise ValueError(f"run_lengths: period: expected at least 1, got {period}")
    if tokens.dim() != 2:
        raise ValueError(f"run_lengths: tokens: expected [R, T], got {checks.shape_of(tokens)}")
    equal = torch.zeros(tokens.shape, dtype=torch.float32, device=tokens.device)
    equal[:, period:] = (tokens[:, period:] == tokens[:, :-period]).float()
    return ops.linear_scan(equal, equal)


class RunLengths:
    """The run lengths of every period from 1 to ``periods``, kept up to date token by token.

    ``runs [R, P]`` int32, of period p in column p - 1. An update costs O(P) for each row.
    """

    def __init__(self, rows: int, periods: int, device: torch.device | str = "cpu") -> None:
        if rows < 0 or periods < 1:
            raise ValueError(
                f"RunLengths: rows, periods: expected at least 0 and 1, got {rows}, {periods}"
            )
        self.periods = periods
        self.runs = torch.zeros(rows, periods, dtype=torch.int32, device=device)  # [R, P]
        # The newest token first. No token is -1: before the start nothing equals anything.
        self._recent = torch.full((rows, periods), -1, dtype=torch.int64, device=device)  # [R, P]

    def update(self, tokens: Tensor) -> Tensor:
        """Takes in the next token of each row, ``[R]`` of ids from 0 up; returns ``runs``."""
        if tokens.shape != self.runs.shape[:1]:
            raise ValueError(
                f"RunLengths.update: tokens: expected [{self.runs.shape[0]}], "
                f"got {checks.shape_of(tokens)}"
            )
        self.runs = (self.runs + 1) * (self._recent == tokens[:, None])
        self._recent = torch.cat((tokens[:, None].to(self._recent), self._recent[:, :-1]), 1)
        return self.runs

    def select(self, rows: Tensor | Sequence[int]) -> None:
        """Keeps these rows, in this order; a row may come more than once."""
        index = torch.as_tensor(rows, dtype=torch.int64, device=self.runs.device)
        self.runs, self._recent = self.runs[index], self._recent[index]

    def looping(self, repeats: int) -> Tensor:
        """Whether each row ends in some period said ``repeats`` times over, ``[R]`` bool."""
        if repeats < 2:
            raise ValueError(f"RunLengths.looping: repeats: expected at least 2, got {repeats}")
        period = torch.arange(1, self.periods + 1, device=self.runs.device)  # [P]
        return (self.runs >= (repeats - 1) * period).any(1)


def _check_gae(
    rewards: Tensor,
    values: Tensor,
    continues: Tensor,
    lam: float | Tensor,
    active: Tensor | None,
) -> None:
    def faults() -> Iterator[checks.Fault]:
        if rewards.dim() != 2:
            yield "rewards", "[R, T]", checks.shape_of(rewards)
            return
        if rewards.dtype not in (torch.float32, torch.float64):
            yield "rewards", "float32 or float64", str(rewards.dtype)
        rows, tokens = rewards.shape
        if values.dim() != 2 or values.shape[0] != rows or values.shape[1] - tokens not in (0, 1):
            yield "values", f"[{rows}, {tokens} or {tokens + 1}]", checks.shape_of(values)
        yield from checks.shaped("continues", continues, rows, tokens, words=", as rewards")
        yield from checks.shaped("active", active, rows, tokens, words=", as rewards")
        yield from checks.alike(rewards=rewards, values=values)
        if isinstance(lam, Tensor):
            yield from checks.shaped("lam", lam, rows, words=", one for each row")
            if lam.dtype not in (torch.float32, torch.float64):
                # 0.5^(1/L) is 1 there from a few hundred tokens on.
                yield "lam", "float32 or float64", str(lam.dtype)

    found = list(faults())
    if found:
        checks.refuse("gae", iter(found))
