"""A critic at work on responses: what it says of them, and its loss against what they earned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.errors import RunFailed
from limite.core.kinds import Objective
from limite.core.model.critic import Critic
from limite.core.recipe.runners.session import accumulate
from limite.core.train.columns import token_batch
from limite.core.train.replay import Row, pad_rows, parts
from limite.core.train.values import replay_values
from limite.core.types import Loss, Metric, Totals

Said = Sequence[Any]
"""What a critic says of the tokens of a response: ``[L]``, or ``[L, K]`` with more outputs."""


@attrs.frozen(kw_only=True, eq=False)
class TaughtRow:
    """One response, what its values should have been, and what they were before an update."""

    row: Row
    target: Sequence[float]  # [L]
    before: Said = ()

    @property
    def tokens(self) -> int:
        return len(self.row.prompt) + len(self.row.completion)


def outputs_of(objective: Any) -> int:
    """How many numbers a critic that is fitted by ``objective`` says of a state."""
    return int(getattr(objective, "outputs", 1))


def value_of(objective: Any, output: Tensor) -> Tensor:
    """The values that outputs stand for."""
    turn = getattr(objective, "value_of", None)
    found: Tensor = output if turn is None else turn(output)
    return found


def first_outputs(objective: Any, value: float) -> list[float]:
    """The outputs of a critic that says ``value`` of every state."""
    turn = getattr(objective, "first_outputs", None)
    return [value] if turn is None else list(turn(value))


def combine(into: dict[str, Metric], metrics: dict[str, Metric]) -> None:
    for name, metric in metrics.items():
        into[name] = into[name].combine(metric) if name in into else metric


@attrs.frozen(kw_only=True, eq=False)
class Values:
    """A critic, what it is fitted by, and how many tokens go through it at once."""

    critic: Critic
    objective: Objective
    microbatch_tokens: int
    response_tokens: int
    share_prompts: bool = True

    def _cut(self, rows: Sequence[Row]) -> list[list[int]]:
        """Indexes of rows in micro-batches that fit ``microbatch_tokens``."""
        return parts(
            self.critic.trunk, rows, self.microbatch_tokens, share_prompts=self.share_prompts
        )

    @torch.no_grad()
    def said(self, rows: Sequence[Row], *, after: bool) -> tuple[list[Said], list[Any]]:
        """The critic's outputs for every row, and those after the last tokens where asked for."""
        said: list[Said] = []
        ends: list[Any] = []
        for part in self._cut(rows):
            picked = [rows[index] for index in part]
            found = replay_values(
                self.critic, picked, after=after, share_prompts=self.share_prompts
            )
            for row, outputs in zip(picked, found.values.tolist(), strict=True):
                said.append(outputs[: len(row.completion)])
            if found.after is not None:
                ends += found.after.tolist()
        return said, ends

    def values(self, said: Said) -> list[Any]:
        """The values that outputs stand for."""
        if not said:
            return []
        values: list[Any] = value_of(
            self.objective, torch.tensor(said, dtype=torch.float64)
        ).tolist()
        return values

    def totals(self, rows: Sequence[TaughtRow]) -> Totals:
        """The counts of an update over ``rows``."""
        return Totals(
            tokens=sum(len(row.row.completion) for row in rows),
            active_rows=sum(bool(row.row.completion) for row in rows),
            rows=len(rows),
            response_tokens=self.response_tokens,
        )

    def learn(self, rows: Sequence[TaughtRow], *, where: str) -> tuple[float, dict[str, Metric]]:
        """Loss and metrics over ``rows``; the gradient is left in the critic's parameters."""
        return self._through(rows, where, learning=True)

    @torch.no_grad()
    def judge(self, rows: Sequence[TaughtRow], *, where: str) -> tuple[float, dict[str, Metric]]:
        """Loss and metrics over ``rows``, and no gradient."""
        return self._through(rows, where, learning=False)

    @torch.no_grad()
    def judge_before(
        self, rows: Sequence[TaughtRow], *, where: str
    ) -> tuple[float, dict[str, Metric]]:
        """Loss and metrics of what the critic has said of ``rows`` before."""
        mask = _mask(rows)
        value = _padded([row.before for row in rows], mask)
        result = self._result(rows, mask, value, self.totals(rows), where)
        return float(result.value), dict(result.metrics)

    def _through(
        self, rows: Sequence[TaughtRow], where: str, *, learning: bool
    ) -> tuple[float, dict[str, Metric]]:
        totals = self.totals(rows)
        loss = 0.0
        metrics: dict[str, Metric] = {}
        for part in self._cut([row.row for row in rows]):
            picked = [rows[index] for index in part]
            found = replay_values(
                self.critic, [row.row for row in picked], share_prompts=self.share_prompts
            )
            result = self._result(picked, found.mask, found.values, totals, where)
            loss += accumulate(result.value) if learning else float(result.value)
            combine(metrics, dict(result.metrics))
        return loss, metrics

    def _result(
        self, rows: Sequence[TaughtRow], mask: Tensor, value: Tensor, totals: Totals, where: str
    ) -> Loss:
        targets = pad_rows([row.target for row in rows], mask.shape[1], torch.float64)
        columns = {"value": value, "value_target": targets.to(mask.device)}
        if all(row.before for row in rows):
            columns["old_value"] = _padded([row.before for row in rows], mask)
        try:
            return self.objective(token_batch(mask, columns, totals))
        except (FloatingPointError, ValueError) as error:
            raise RunFailed(f"{where}: {error}; the critic was not updated") from error


def _mask(rows: Sequence[TaughtRow]) -> Tensor:
    lengths = torch.tensor([len(row.row.completion) for row in rows])
    return torch.arange(int(lengths.max())) < lengths[:, None]  # [B, T]


def _padded(rows: Sequence[Said], mask: Tensor) -> Tensor:
    """Outputs of each token as ``[B, T]`` or ``[B, T, K]`` float32, zeros elsewhere."""
    flat = torch.tensor([each for row in rows for each in row], dtype=torch.float32)
    spread = flat.new_zeros((*mask.shape, *flat.shape[1:])).to(mask.device)
    spread[mask] = flat.to(mask.device)
    return spread
