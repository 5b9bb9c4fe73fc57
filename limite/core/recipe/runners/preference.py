"""Learning from pairs of responses: each update compares the policy with a fixed reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from limite.core.errors import Mistake
from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.runners.asking import sampled_groups
from limite.core.recipe.runners.pair_data import PairData, groups_of, longest_of, open_pairs
from limite.core.recipe.runners.reference import frozen
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.runners.stage_data import file_made_once, forget_data
from limite.core.recipe.runners.update import Figures, Part, measure, outcome, train, update
from limite.core.recipe.stages import Preference
from limite.core.train.accumulate import microbatches
from limite.core.train.data.packed import ColumnWriter, Ragged, read_column
from limite.core.train.data.pairs import pair_of
from limite.core.train.data.prompts import Prompt
from limite.core.train.data.records import read_records
from limite.core.train.documents import batch_indexes
from limite.core.train.replay import replay
from limite.core.types import Totals

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of every prompt whose pairs the stage trains on."""
    stage = cast(Preference, context.stage)
    prompts: Iterator[Prompt]
    if stage.sampled is not None:
        groups = sampled_groups(context, stage.sampled.asked)
        prompts = (Prompt(group.problem.problem) for group in groups)
    elif stage.pairs is None:
        assert stage.rollouts is not None
        prompts = (
            Prompt(each.problem.problem) for _, _, each in groups_of(context, stage.rollouts)
        )
    else:
        lines = read_records(stage.pairs, pair_of)
        prompts = (pair.prompt for _, pair in lines if not isinstance(pair, Mistake))
    return {
        each for prompt in prompts if not prompt.held_out(stage.held_out) for each in prompt.hashes
    }


class PairReference:
    """What the reference says of pairs: stored, or read when it is asked for.

    It reads one pair at a time in either case: sums of a matrix product depend on how many rows
    there are, so a pair's log-probabilities are the same to the last bit wherever it turns up.
    """

    def __init__(self, context: StageContext, stage: Preference, data: PairData) -> None:
        self.data = data
        self.stored: Ragged | None = None
        self.decoder: Decoder | None = None
        if not stage.precompute_reference:
            self.decoder = frozen(context, stage.reference)
            return

        def make(place: Path) -> None:
            context.echo(f"{context.name}: the reference reads {len(data.ids) // 3:,} pairs")
            decoder = frozen(context, stage.reference)
            with ColumnWriter(place, torch.float32) as column:
                for pair in range(len(data.ids) // 3):
                    column.add([0.0] * len(data.ids[3 * pair]))  # the prompt's tokens
                    for row in self.read(decoder, pair):
                        column.add(row.numpy(force=True))

        self.stored = Ragged(
            read_column(file_made_once(data.folder / "reference", make)), data.ids.ends
        )

    @torch.no_grad()
    def read(self, decoder: Decoder, pair: int) -> list[Tensor]:
        """``[L]`` nats of the preferred and of the other response."""
        rows = self.data.rows(pair)
        said = replay(decoder, rows).logp
        return [said[side, : len(row.completion)] for side, row in enumerate(rows)]

    def logp(self, pairs: Sequence[int], like: Tensor) -> Tensor:
        """``[2 P, T]`` nats, of the shape of ``like``."""
        column = torch.zeros(like.shape, dtype=torch.float32, device=like.device)
        for place, pair in enumerate(pairs):
            if self.stored is not None:
                rows = [torch.tensor(self.stored[3 * pair + side]) for side in (1, 2)]
            else:
                assert self.decoder is not None
                rows = self.read(self.decoder, pair)
            for side, row in enumerate(rows):
                column[2 * place + side, : len(row)] = row
        return column


class PairLearner:
    """Micro-batches of pairs, as an objective reads them."""

    def __init__(
        self, stage: Preference, decoder: Decoder, data: PairData, reference: PairReference
    ) -> None:
        self.stage, self.decoder, self.data, self.reference = stage, decoder, data, reference
        needs = getattr(stage.objective, "needs", None)
        self.entropy = needs is None or "entropy" in needs

    def parts(self, pairs: Sequence[int]) -> Iterator[Part]:
        """The pairs in micro-batches; a pair's rows are never parted."""
        lengths = [self.data.length(pair) for pair in pairs]
        for part in microbatches(lengths, self.stage.microbatch_tokens):
            picked = [pairs[index] for index in part]
            rows = [row for pair in picked for row in self.data.rows(pair)]
            said = replay(self.decoder, rows, entropy=self.entropy)
            columns = {"logp": said.logp, "reference_logp": self.reference.logp(picked, said.logp)}
            if said.entropy is not None:
                columns["entropy"] = said.entropy
            yield said.mask, columns

    def totals(self, pairs: Sequence[int], response_tokens: int) -> Totals:
        """The counts of an update over ``pairs``, of which no side is empty."""
        tokens = sum(len(row.completion) for pair in pairs for row in self.data.rows(pair))
        return Totals(
            tokens=tokens,
            active_rows=2 * len(pairs),
            rows=2 * len(pairs),
            response_tokens=response_tokens,
            pairs=len(pairs),
        )


def run(context: StageContext) -> dict[str, Any]:
    """Trains the stage to its last update, from its newest checkpoint if it has one."""
    stage = cast(Preference, context.stage)
    objective = cast(Objective, stage.objective)
    data = open_pairs(context, stage)
    session = TrainingSession(
        context,
        optimizer=cast(Optimizer, stage.optimizer),
        lr_schedule=cast(LRSchedule, stage.lr_schedule),
        total_updates=stage.steps,
        clip_norm=stage.clip_norm,
        keep=stage.keep,
        recompute=stage.recompute,
    )
    reference = PairReference(context, stage, data)
    learner = PairLearner(stage, session.decoder, data, reference)
    longest = longest_of(context, stage)
    order = context.seeds.stream("held out").sample(range(len(data.held_out)), len(data.held_out))
    kept = [int(data.held_out[index]) for index in order[: stage.eval_pairs]]
    clocks = session.clocks

    def step(number: int) -> Figures:
        indexes = batch_indexes(
            number - session.clocks.data_step, stage.batch, len(data.train), context.seeds
        )
        pairs = [int(data.train[index]) for index in indexes]
        figures = update(session, objective, learner.parts(pairs), learner.totals(pairs, longest))
        clocks.tokens += sum(data.length(pair) for pair in pairs)
        if kept and ((number + 1) % stage.eval_every == 0 or number + 1 == stage.steps):
            totals = learner.totals(kept, longest)
            figures |= measure(objective, learner.parts(kept), totals, "held_out")
        return figures

    train(session, stage, step)
    forget_data(context)
    return {
        **outcome(session),
        "pairs": len(data.train),
        "held_out_pairs": len(data.held_out),
        "dropped_pairs": data.counts.dropped,
        "cut_pairs": data.counts.cut,
    }
