"""The values that travel between components: problems, responses, batches of tokens, losses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import attrs

from limite.core.errors import LimiteError

if TYPE_CHECKING:
    from torch import Tensor

FinishReason = Literal["eos", "length", "repetition", "stop"]
FINISH_REASONS: tuple[FinishReason, ...] = ("eos", "length", "repetition", "stop")
Outcome = Literal["right", "wrong", "unreadable", "timed-out"]
Aggregation = Literal[
    "token-mean", "sequence-mean-token-mean", "sequence-mean-token-sum", "constant", "token-sum"
]

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_quoted = json.encoder.encode_basestring


@attrs.frozen(kw_only=True)
class Answer:
    """A gold answer: its type, its canonical text, and what else the type needs to be judged."""

    type: str
    value: str
    params: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Problem:
    """One question with its gold answer.

    ``id`` is a hash of ``problem`` and ``answer``: the same content has the same id everywhere.
    ``solutions`` holds worked solutions by style (``"direct"``, ``"steps"``, ...), each ending in
    the marked final answer; it may be empty. ``extra`` is what else its record in a file says.
    """

    problem: str
    answer: Answer
    solutions: Mapping[str, str] = attrs.field(factory=dict)
    source: Mapping[str, Any] = attrs.field(factory=dict)
    difficulty: Mapping[str, Any] = attrs.field(factory=dict)
    tags: Sequence[str] = ()
    meta: Mapping[str, Any] = attrs.field(factory=dict)
    extra: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def id(self) -> str:
        """128 bits of SHA-256 over the canonical JSON of question and answer, in hexadecimal."""
        answer = self.answer
        params = _CANONICAL.encode(answer.params) if answer.params else "{}"
        # Written out, because a dictionary of it takes three times as long.
        text = (
            f'{{"answer":{{"params":{params},"type":{_quoted(answer.type)},'
            f'"value":{_quoted(answer.value)}}},"problem":{_quoted(self.problem)}}}'
        )
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@attrs.frozen(kw_only=True)
class Verdict:
    """What a verifier says of one answer."""

    outcome: Outcome
    extracted: str | None = None
    reason: str = ""

    @property
    def correct(self) -> bool:
        return self.outcome == "right"


@attrs.frozen(kw_only=True)
class Response:
    """One sampled completion, with the probabilities it was really drawn with.

    ``logprobs`` are in nats, one per completion token. Where an objective asked for lists,
    ``topk_ids`` holds the likeliest tokens at each of them, the sampled one among them, and
    ``topk_logprobs`` their log-probabilities; else both are empty. How the record may be broken,
    and that a broken one is refused, is told in ``limite.core.rollout.budget``.
    """

    problem_id: str
    sample_index: int
    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    logprobs: Sequence[float]
    finish_reason: FinishReason
    completion_budget: int
    policy_version: int
    text: str
    topk_ids: Sequence[Sequence[int]] = ()
    topk_logprobs: Sequence[Sequence[float]] = ()

    @property
    def prompt_tokens(self) -> int:
        return len(self.prompt_ids)

    @property
    def generated_tokens(self) -> int:
        return len(self.completion_ids)


@attrs.frozen(kw_only=True)
class Group:
    """All responses to one problem, in sampling order, with their rewards.

    A reward is None when the response could not be scored: it then takes no part in the group's
    statistics and its advantage is exactly 0. ``correct`` is accuracy before any shaping;
    ``penalties``, where a stage has some, are what shaping has added to each reward. ``learned``
    says which responses are learned from, and is empty where all are: rewards of the others count
    as ever.

    Where a stage has a critic, ``values`` holds for each completion token what it expects of the
    state before it, and ``values_after`` the same of the state after the last one.
    """

    problem: Problem
    responses: Sequence[Response]
    rewards: Sequence[float | None]
    correct: Sequence[bool]
    verdicts: Sequence[Verdict] = ()
    values: Sequence[Sequence[float]] | None = None
    values_after: Sequence[float] | None = None
    penalties: Sequence[float] = ()
    learned: Sequence[bool] = ()

    @property
    def unshaped_rewards(self) -> list[float | None]:
        """The rewards without what shaping has added to them."""
        if not self.penalties:
            return list(self.rewards)
        return [
            None if reward is None else reward - penalty
            for reward, penalty in zip(self.rewards, self.penalties, strict=True)
        ]


@attrs.frozen(kw_only=True)
class Metric:
    """A number that knows how it combines over micro-batches and ranks.

    A mean is a weighted sum and its weight, divided only at the end; no weight means None.
    """

    how: Literal["mean", "sum", "max", "min"]
    value: float
    weight: float = 1.0

    def combine(self, other: Metric) -> Metric:
        if self.how != other.how:
            raise ValueError(f"cannot combine a {self.how} with a {other.how}")
        if self.how in ("mean", "sum"):
            return Metric(
                how=self.how, value=self.value + other.value, weight=self.weight + other.weight
            )
        pick = max if self.how == "max" else min
        if not self.weight:
            return other
        if not other.weight:
            return self
        return Metric(
            how=self.how, value=pick(self.value, other.value), weight=self.weight + other.weight
        )

    def result(self) -> float | None:
        if self.how == "sum":
            return self.value
        if not self.weight:
            return None
        return self.value / self.weight if self.how == "mean" else self.value


@attrs.frozen(kw_only=True)
class Loss:
    """What an objective returns: a scalar to minimise, and metrics that carry no gradient."""

    value: Tensor
    metrics: Mapping[str, Metric] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Totals:
    """Counts over the whole optimizer step: every micro-batch, accumulation step and rank.

    ``response_tokens`` is the longest response the stage allows: the constant of Dr. GRPO.
    ``pairs`` counts pairs of rows that both have an active token, where rows come in pairs.
    """

    tokens: int
    active_rows: int
    rows: int
    response_tokens: int
    pairs: int = 0


DIFFERENTIABLE = ("logp", "entropy", "topk_logp", "value")
"""The columns that carry a gradient: of the model being trained, whatever it says of a token."""


@attrs.frozen(kw_only=True, eq=False)
class TokenBatch:
    """The tokens of one micro-batch as an objective sees them.

    Every column is ``[B, T]``, or ``[B, T, K]`` where it holds a list for each token: a row is a
    response, ``mask`` is True where the policy sampled the token. Whatever stood at inactive
    positions has been replaced before it gets here. Log-probabilities are in nats; only columns of
    ``DIFFERENTIABLE`` carry gradient.
    """

    mask: Tensor  # [B, T] bool
    columns: Mapping[str, Tensor]  # name -> [B, T] or [B, T, K]
    totals: Totals

    def column(self, name: str) -> Tensor:
        """The column ``name``; a LimiteError when the stage does not supply it."""
        if name not in self.columns:
            have = ", ".join(sorted(self.columns))
            raise LimiteError(
                f"the objective reads {name!r}, which this stage lacks; it has {have}"
            )
        return self.columns[name]

    @property
    def logp(self) -> Tensor:
        """``[B, T]`` nats, of the policy being trained."""
        return self.column("logp")

    @property
    def behavior_logp(self) -> Tensor:
        """``[B, T]`` nats, of the distribution the token was really sampled from."""
        return self.column("behavior_logp")

    @property
    def advantage(self) -> Tensor:
        """``[B, T]``, detached."""
        return self.column("advantage")

    @property
    def reference_logp(self) -> Tensor:
        """``[B, T]`` nats, of a fixed reference policy."""
        return self.column("reference_logp")

    @property
    def value(self) -> Tensor:
        """``[B, T]``, what a critic expects from the state before the token."""
        return self.column("value")

    @property
    def entropy(self) -> Tensor:
        """``[B, T]`` nats, of the full next-token distribution."""
        return self.column("entropy")

    def mean(self, values: Tensor) -> Tensor:
        """The mean over the active tokens of the *whole update*, not of this micro-batch."""
        return self.aggregate(values, "token-mean")

    def metrics(
        self, values: Mapping[str, Tensor], *, sums: Mapping[str, Tensor] | None = None
    ) -> dict[str, Metric]:
        """Means over active tokens of ``[B, T]`` values, as metrics without gradient.

        ``sums`` are values that were summed over the active tokens of each row already, ``[B]``.
        Rows are summed in the dtype of the values, float32 or better, and added up in float64;
        the results cross to the host once, however many metrics there are.
        """
        import torch

        rows = dict(sums or {})  # name -> [B]
        counts = {}  # name -> number
        for name, value in values.items():
            if value.dtype == torch.bool:  # counting is many times faster than adding
                counts[name] = torch.count_nonzero(value & self.mask)
            else:
                rows[name] = self._active(value.detach()).sum(dim=-1)
        if not (counts or rows):
            return {}
        host = torch.stack([*counts.values(), torch.count_nonzero(self.mask)])
        if rows:
            total = torch.stack([*rows.values()]).sum(dim=-1, dtype=torch.float64)
            host = torch.cat([total, host.double()])
        *found, tokens = host.tolist()
        by_name = dict(zip((*rows, *counts), found, strict=True))
        return {
            name: Metric(how="mean", value=by_name[name], weight=tokens)
            for name in (*values, *(sums or {}))
        }

    def _active(self, values: Tensor) -> Tensor:
        """``[B, T]`` in float32 or better, 0 where a token takes no part."""
        import torch

        active = torch.where(self.mask, values, values.new_zeros(()))
        return active.float() if active.dtype.itemsize < 4 else active

    def aggregate(
        self,
        values: Tensor,
        how: Aggregation,
        *,
        constant: float | None = None,
        rows: Literal["active", "all"] = "active",
    ) -> Tensor:
        """This micro-batch's share of a loss over the whole optimizer step.

        ``values`` is ``[B, T]``, or ``[B, 1]`` for the same value at every token of a row.
        Denominators come from ``totals``, so the shares of any
        partition into micro-batches add up to the same loss. ``rows="all"`` lets responses
        without an active token count in the sequence means; ``constant`` always counts them.
        """
        active = self._active(values)  # [B, T]
        divisor = self.divisor(how, constant=constant, rows=rows)
        if how != "sequence-mean-token-mean":
            return active.sum() / divisor
        return (active.sum(dim=-1) / self.lengths.clamp(min=1)).sum() / divisor

    def divisor(
        self,
        how: Aggregation,
        *,
        constant: float | None = None,
        rows: Literal["active", "all"] = "active",
    ) -> float:
        """What ``aggregate`` divides the sum of tokens, or of means over them, by."""
        if how == "token-mean":
            return max(self.totals.tokens, 1)
        if how == "token-sum":
            return 1
        if how == "constant":
            tokens = self.totals.response_tokens if constant is None else constant
            if tokens <= 0:
                raise ValueError(f"the constant normaliser must be positive, got {tokens}")
            return max(self.totals.rows, 1) * tokens
        if how not in ("sequence-mean-token-mean", "sequence-mean-token-sum"):
            raise ValueError(f"unknown aggregation {how!r}")
        return max(self.totals.active_rows if rows == "active" else self.totals.rows, 1)

    @cached_property
    def lengths(self) -> Tensor:
        """``[B]``: how many tokens of a response are active."""
        import torch

        mask, step, width = self.mask, 8, self.mask.shape[1]
        packed = mask.stride() == (width, 1) and not (width or 1) % step
        if not packed or mask.storage_offset() % step:
            return mask.view(torch.uint8).sum(dim=-1, dtype=torch.int32)
        # Eight bytes of 0 or 1 are added at once: none of the eight overflows within 255 words.
        words = mask.view(torch.int64).split(255, dim=-1)
        sums = torch.cat([part.sum(dim=-1, keepdim=True) for part in words], dim=-1)
        return sums.view(torch.uint8).sum(dim=-1, dtype=torch.int32)

    @cached_property
    def inactive(self) -> Tensor:
        """``[B, T]`` bool: where a token takes no part."""
        return ~self.mask

    @property
    def active_rows(self) -> Tensor:
        """``[B]`` bool: responses with an active token."""
        return self.lengths > 0
