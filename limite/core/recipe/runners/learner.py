"""The learner's half of a rollout batch: minibatches, micro-batches, objective, updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

import attrs
import torch

from limite.core.errors import RunFailed
from limite.core.health.ratios import RatioHealth, RatioSums
from limite.core.kinds import Objective
from limite.core.recipe.runners.critic import StageCritic
from limite.core.recipe.runners.reference import Reference
from limite.core.recipe.runners.session import TrainingSession, accumulate
from limite.core.recipe.runners.values import TaughtRow, combine
from limite.core.recipe.stages import RL
from limite.core.seeds import Seeds
from limite.core.train.columns import token_batch
from limite.core.train.correction import SMALLEST_MEAN, Correction
from limite.core.train.deal import deal
from limite.core.train.replay import Replay, Row, once_or_padded, pad_rows, parts, replay
from limite.core.types import Metric, Totals

NEAR_TOKENS = 1024
"""Tokens that a processor reads together without gradient: activations of more leave its caches."""


@attrs.frozen(kw_only=True, eq=False)
class ScoredRow:
    """One response with what the learner needs to know of it."""

    row: Row
    behavior_logp: Sequence[float]  # [L] nats
    advantage: Sequence[float]  # [L]
    group: int
    behavior_topk_logp: Sequence[Sequence[float]] = ()  # [L, K] nats
    weights: Sequence[float] = ()  # [L] of the correction; none: 1
    taught: TaughtRow | None = None  # what the critic is to learn of it
    counts: bool = True  # False: its tokens take no part in any loss

    @property
    def has_signal(self) -> bool:
        return self.counts and any(self.advantage)


@attrs.frozen(kw_only=True, eq=False)
class Before:
    """Rows of a batch, and what the learner says of them before its first update."""

    rows: Sequence[ScoredRow]
    mask: torch.Tensor  # [B, T] bool
    logp: torch.Tensor  # [B, T] nats
    behavior_logp: torch.Tensor  # [B, T] nats


@attrs.define(kw_only=True, eq=False)
class Reading:
    """The importance weights of a batch, taken where the first update reads its rows.

    ``told`` hears of them before the update is applied.
    """

    told: Callable[[RatioHealth], None]
    sums: RatioSums = attrs.field(factory=RatioSums, init=False)
    read: set[int] = attrs.field(factory=set, init=False)

    def note(
        self, rows: Sequence[ScoredRow], mask: torch.Tensor, columns: Mapping[str, torch.Tensor]
    ) -> None:
        """Counts the rows of a micro-batch."""
        self.sums += RatioSums.of(columns["logp"], columns["behavior_logp"], mask)
        self.read |= set(map(id, rows))


def pad_lists(rows: Sequence[Sequence[Sequence[float]]], mask: torch.Tensor) -> torch.Tensor:
    """Lists of each active token as ``[B, T, K]``, zeros elsewhere."""
    flat = torch.tensor(list(chain.from_iterable(rows)), dtype=torch.float32)  # [M, K]
    spread = flat.new_zeros((*mask.shape, flat.shape[1])).to(mask.device)
    spread[mask] = flat.to(mask.device)
    return spread


@attrs.frozen(kw_only=True, eq=False)
class Learner:
    """Turns scored groups into optimizer updates."""

    session: TrainingSession
    stage: RL
    objective: Objective
    response_tokens: int
    reference: Reference | None = None
    critic: StageCritic | None = None

    @property
    def reads(self) -> frozenset[str] | None:
        """The columns the objective declares, None when it declares none."""
        return getattr(self.objective, "needs", None)

    @property
    def skips_flat(self) -> bool:
        """Whether a row without advantage adds exactly nothing to loss and gradient.

        True only when the objective says that it reads nothing beyond ratios and advantages;
        a KL or entropy term would pull on flat groups too.
        """
        only = {"logp", "behavior_logp", "advantage"}
        return self.reads is not None and "advantage" in self.reads and self.reads <= only

    def columns(self, rows: Sequence[ScoredRow]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Mask and columns ``[B, T]`` of a micro-batch, with the policy's gradient in ``logp``.

        The advantage is ``[B]`` where no response has two.
        """
        entropy = self.reads is None or "entropy" in self.reads
        said = self.replay([row.row for row in rows], entropy=entropy)
        width = said.mask.shape[1]
        columns = {
            "logp": said.logp,
            "behavior_logp": pad_rows([row.behavior_logp for row in rows], width, torch.float32).to(
                said.logp.device
            ),
            "advantage": once_or_padded([row.advantage for row in rows], width, torch.float64).to(
                said.logp.device
            ),
        }
        if said.entropy is not None:
            columns["entropy"] = said.entropy
        if said.listed_logp is not None:
            columns["topk_logp"] = said.listed_logp
            columns["behavior_topk_logp"] = pad_lists(
                [row.behavior_topk_logp for row in rows], said.mask
            )
        if self.reference is not None:
            columns["reference_logp"] = self.reference.logp(
                [row.row for row in rows],
                temperature=self.stage.temperature,
                share_prompts=self.stage.share_prompts,
            )
        return said.mask, columns

    def replay(self, rows: Sequence[Row], *, entropy: bool = False) -> Replay:
        """What the policy says of ``rows``."""
        return replay(
            self.session.decoder,
            rows,
            temperature=self.stage.temperature,
            entropy=entropy,
            share_prompts=self.stage.share_prompts,
        )

    def before_updates(
        self, rows: Sequence[ScoredRow], most_tokens: int | None = None
    ) -> list[Before]:
        """What the learner says of a batch before any update, in micro-batches.

        Of ``most_tokens`` tokens, or of the stage's ``microbatch_tokens``.
        """
        found = []
        for part in self.parts(rows, most_tokens):
            plain = [attrs.evolve(row.row, listed=()) for row in part]
            with torch.no_grad():
                said = self.replay(plain)
            recorded = pad_rows(
                [row.behavior_logp for row in part], said.mask.shape[1], torch.float32
            )
            recorded = recorded.to(said.logp.device)
            found.append(Before(rows=part, mask=said.mask, logp=said.logp, behavior_logp=recorded))
        return found

    def measure(self, batch: Sequence[Before]) -> RatioHealth:
        """The importance weights of all active tokens of a batch, before any update."""
        sums = RatioSums()
        for part in batch:
            sums += RatioSums.of(part.logp, part.behavior_logp, part.mask)
        return sums.health()

    def corrected(
        self, batch: Sequence[Before], correction: Correction
    ) -> tuple[list[ScoredRow], dict[str, float | None]]:
        """The rows with the weights of the correction, and its statistics."""
        rows: list[ScoredRow] = []
        metrics: dict[str, Metric] = {}
        for part in batch:
            raw = correction.raw(part.logp - part.behavior_logp, part.mask)
            applied = correction.applied(raw)
            combine(metrics, correction.metrics(raw, applied, part.mask))
            for row, weights in zip(part.rows, applied.tolist(), strict=True):
                rows.append(attrs.evolve(row, weights=weights[: len(row.behavior_logp)]))
        return rows, {name: metric.result() for name, metric in metrics.items()}

    def parts(
        self, rows: Sequence[ScoredRow], most_tokens: int | None = None
    ) -> list[list[ScoredRow]]:
        """The rows in micro-batches of ``most_tokens``, or of the stage's ``microbatch_tokens``."""
        cut = parts(
            self.session.decoder,
            [row.row for row in rows],
            self.stage.microbatch_tokens if most_tokens is None else most_tokens,
            share_prompts=self.stage.share_prompts,
        )
        return [[rows[index] for index in part] for part in cut]

    def share(self, rows: Sequence[ScoredRow]) -> Sequence[ScoredRow]:
        """Those of the rows that this rank computes."""
        sizes = [len(row.row.prompt) + len(row.row.completion) for row in rows]
        mine = self.session.context.ranks.share(sizes)
        return rows[mine.start : mine.stop]

    def weighted(self, rows: Sequence[ScoredRow]) -> Sequence[ScoredRow]:
        """The rows of an update with their weights in their advantages.

        A weight is never negative and carries no gradient, so it may multiply the advantage in
        place of the loss, whatever the objective.
        """
        correction = self.stage.correction
        if correction is None:
            return rows
        mean = correction.mean([row.weights for row in rows]) if correction.normalise else 1.0
        scale = mean if mean > SMALLEST_MEAN else 1.0
        return [
            attrs.evolve(
                row,
                advantage=[a * w / scale for a, w in zip(row.advantage, row.weights, strict=True)],
            )
            for row in rows
        ]

    @property
    def measures_as_it_reads(self) -> bool:
        """Whether a batch is measured where its first update reads it, and only the rest apart.

        Not where what is measured decides whether, or how, the batch is learned from; nor where
        others read a share of the rows, because all ranks must find the same bits.
        """
        health = self.stage.health
        decides = health.action != "warn" or self.stage.correction is not None
        alone = self.session.context.ranks.world_size == 1
        return alone and not decides and not health.separate_pass

    def finish(self, reading: Reading, rows: Sequence[ScoredRow]) -> None:
        """Measures those of ``rows`` that were not read, and tells of all."""
        rest = [row for row in rows if id(row) not in reading.read]
        most = self.stage.microbatch_tokens
        if self.session.decoder.device.type == "cpu":
            most = min(most, NEAR_TOKENS)
        for part in self.before_updates(rest, most) if rest else ():
            reading.sums += RatioSums.of(part.logp, part.behavior_logp, part.mask)
        reading.told(reading.sums.health())

    def update(
        self,
        rows: Sequence[ScoredRow],
        totals: Totals,
        before_step: Callable[[], None] = lambda: None,
        reading: Reading | None = None,
    ) -> dict[str, Metric]:
        """One optimizer step over ``rows``; nothing happens when none of them has a signal.

        ``before_step`` is called once the gradient is there, or none is to come.
        """
        rows = self.weighted([row for row in rows if row.counts])
        if self.skips_flat:
            rows = [row for row in rows if row.has_signal]
        if not rows:
            before_step()
            return {}
        metrics: dict[str, Metric] = {}
        loss = 0.0
        read = lambda part: (part, *self.columns(part))  # noqa: E731
        for part, mask, columns in self.session.rounds(self.parts(self.share(rows)), read):
            if reading is not None:
                reading.note(part, mask, columns)
            try:
                result = self.objective(token_batch(mask, columns, totals))
            except FloatingPointError as error:
                before_step()
                where = self.session.context.place(self.session.clocks.step)
                told = f"{where}: {error}; no optimizer step was taken"
                self.session.note_failure(told)
                raise RunFailed(told) from error
            loss += accumulate(result.value)
            combine(metrics, dict(result.metrics))
        before_step()
        context = self.session.context
        loss, metrics = context.ranks.total(
            loss, metrics, f"the loss of {context.place(self.session.clocks.step)}"
        )
        optim = self.session.update(loss)
        combine(
            metrics,
            {
                name: Metric(how="mean", value=value)
                for name, value in {"loss": loss, **optim}.items()
            },
        )
        return metrics

    def learn(
        self,
        rows: Sequence[ScoredRow],
        seeds: Seeds,
        measured: Callable[[RatioHealth], None] | None = None,
    ) -> dict[str, float | None]:
        """All updates of one rollout batch, whole groups dealt to them in a seeded order.

        A critic goes first, on the same groups. ``measured``, if given, hears of the batch's
        importance weights before the first update is applied.
        """
        reading = None if measured is None else Reading(told=measured)
        groups = sorted({row.group for row in rows})
        metrics: dict[str, Metric] = {}
        by_group: dict[int, list[ScoredRow]] = {group: [] for group in groups}
        for row in rows:
            by_group[row.group].append(row)
        for part in deal(len(groups), self.stage.off_policy_updates + 1, seeds.stream("deal")):
            picked = [row for index in part for row in by_group[groups[index]]]
            totals = Totals(
                tokens=sum(len(row.row.completion) for row in picked if row.counts),
                active_rows=sum(row.counts and bool(row.row.completion) for row in picked),
                rows=len(picked),  # also those that do not count: see the aggregation 'constant'
                response_tokens=self.response_tokens,
            )
            if self.critic is not None:
                taught = [row.taught for row in picked if row.counts and row.taught is not None]
                where = self.session.context.place(self.session.clocks.step)
                try:
                    combine(metrics, self.critic.update(taught, where=where))
                except RunFailed as error:
                    self.session.note_failure(str(error))
                    raise
            if reading is None:
                combine(metrics, self.update(picked, totals))
                continue
            finish = partial(self.finish, reading, rows)
            combine(metrics, self.update(picked, totals, finish, reading))
            reading = None
        return {name: metric.result() for name, metric in metrics.items()}
