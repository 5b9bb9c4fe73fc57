"""Learning from a teacher: what it finds likely at each token of a text becomes likely."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from limite.core.errors import Mistake
from limite.core.jsonl import write_jsonl
from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.runners.asking import asked_problems, model_of
from limite.core.recipe.runners.records import refuse_missing_rollouts, written_lines
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.runners.stage_data import forget_data
from limite.core.recipe.runners.trace_data import (
    TraceData,
    longest_of,
    open_traces,
    reader_of,
)
from limite.core.recipe.runners.update import Figures, Part, measure, outcome, train, update
from limite.core.recipe.stages import Distill
from limite.core.recipe.stages.distillation import LISTS
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request
from limite.core.seeds import Seeds
from limite.core.train.accumulate import microbatches
from limite.core.train.data.prompts import Prompt
from limite.core.train.data.records import read_records
from limite.core.train.documents import batch_indexes
from limite.core.train.replay import Row, replay
from limite.core.train.teacher import likeliest
from limite.core.types import Answer, Problem, Response, Totals

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of every prompt whose texts the stage trains on."""
    stage = cast(Distill, context.stage)
    return {
        each
        for prompt in prompts_of(context, stage)
        if not prompt.held_out(stage.held_out)
        for each in prompt.hashes
    }


def prompts_of(context: StageContext, stage: Distill) -> Iterator[Prompt]:
    """Those of the stage's file, or all that a teacher or the student is asked."""
    if stage.taught is not None:
        for problem in asked_problems(context, stage.taught.problems, stage.taught.count):
            yield Prompt(problem.problem)
        return
    assert stage.traces is not None
    for _, trace in read_records(stage.traces, reader_of(stage)):
        if not isinstance(trace, Mistake):
            yield trace.prompt


def teacher_of(context: StageContext, stage: Distill) -> Decoder | None:
    """The model that is asked, frozen; None without one."""
    teacher = stage.teaching
    return None if teacher is None else model_of(context, stage.teacher_dtype, teacher)


Record = Callable[[Sequence[int], Sequence[Response], Sequence[str]], None]
"""Takes note of traces, of responses to their prompts, and of the prompts."""


class TraceLearner:
    """Micro-batches of texts with lists, as an objective reads them."""

    def __init__(
        self, context: StageContext, stage: Distill, student: Decoder, data: TraceData
    ) -> None:
        self.context, self.stage, self.student, self.data = context, stage, student, data
        self.teacher = teacher_of(context, stage)
        needs = getattr(stage.objective, "needs", None)
        self.entropy = needs is None or "entropy" in needs

    def rows(self, traces: Sequence[int], seeds: Seeds, version: int, record: Record) -> list[Row]:
        """The texts of ``traces``, or what the student answers to their prompts.

        ``record`` gets what is sampled; ``version`` is how many updates the student has had.
        """
        rows = [self.data.row(trace) for trace in traces]
        if not self.stage.on_policy:
            return rows
        responses = self.answered(traces, rows, seeds, version)
        tokenizer = self.context.tokenizer
        record(traces, responses, [tokenizer.decode(row.prompt) for row in rows])
        return [
            Row(prompt=row.prompt, completion=response.completion_ids)
            for row, response in zip(rows, responses, strict=True)
        ]

    def answered(
        self, traces: Sequence[int], rows: Sequence[Row], seeds: Seeds, version: int
    ) -> list[Response]:
        """The student's responses to prompts. The same prompt twice gets two of them."""
        sampler = Sampler(
            self.student,
            self.context.tokenizer,
            temperature=self.stage.temperature,
            seed=seeds.integer("sample"),
        )
        requests = [
            Request(
                problem=Problem(problem=str(trace), answer=Answer(type="text", value="")),
                sample_index=place,
                prompt_ids=tuple(row.prompt),
                budget_tokens=self.stage.response_tokens,
            )
            for place, (trace, row) in enumerate(zip(traces, rows, strict=True))
        ]
        answers = dict(sampler.generate(requests, policy_version=version))
        return [answers[place] for place in range(len(rows))]

    def parts(self, traces: Sequence[int], rows: Sequence[Row]) -> Iterator[Part]:
        """The texts in micro-batches, with the student's gradient in ``logp`` and ``topk_logp``."""
        lengths = [len(row.prompt) + len(row.completion) for row in rows]
        for part in microbatches(lengths, self.stage.microbatch_tokens):
            some = [rows[index] for index in part]
            lists = self.lists([traces[index] for index in part], some)
            said = replay(
                self.student,
                some,
                temperature=self.stage.temperature,
                entropy=self.entropy,
                listed=None if lists is None else lists[0],
            )
            columns = {"logp": said.logp}
            if said.entropy is not None:
                columns["entropy"] = said.entropy
            if said.listed_logp is not None:
                assert lists is not None
                columns["topk_logp"] = said.listed_logp
                columns[LISTS] = lists[1].new_zeros(said.listed_logp.shape)
                columns[LISTS][said.mask] = lists[1]
            yield said.mask, columns

    def lists(
        self, traces: Sequence[int], rows: Sequence[Row]
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """The teacher's ids and nats ``[M, K]`` at every completion token; None where none are
        read."""
        if not self.stage.reads_lists:
            return None
        if self.teacher is None:
            ids, nats = self.data.lists(traces)
            return ids.to(self.student.device), nats.to(self.student.device)
        return likeliest(
            self.teacher,
            rows,
            self.stage.listed_tokens,
            among=self.context.tokenizer.vocabulary,
            temperature=self.stage.temperature,
        )


def totals_of_rows(rows: Sequence[Row], response_tokens: int) -> Totals:
    """The counts of an update over ``rows``."""
    return Totals(
        tokens=sum(len(row.completion) for row in rows),
        active_rows=sum(bool(row.completion) for row in rows),
        rows=len(rows),
        response_tokens=response_tokens,
    )


def run(context: StageContext) -> dict[str, Any]:
    """Trains the stage to its last update, from its newest checkpoint if it has one."""
    stage = cast(Distill, context.stage)
    objective = cast(Objective, stage.objective)
    data = open_traces(context, stage)
    session = TrainingSession(
        context,
        optimizer=cast(Optimizer, stage.optimizer),
        lr_schedule=cast(LRSchedule, stage.lr_schedule),
        total_updates=stage.steps,
        clip_norm=stage.clip_norm,
        keep=stage.keep,
        recompute=stage.recompute,
    )
    if stage.on_policy:
        refuse_missing_rollouts(context, session.clocks.step)
    learner = TraceLearner(context, stage, session.decoder, data)
    longest = longest_of(stage, context.model.context)
    order = context.seeds.stream("held out").sample(range(len(data.held_out)), len(data.held_out))
    kept = [int(data.held_out[index]) for index in order[: stage.eval_traces]]
    clocks = session.clocks

    def step(number: int) -> Figures:
        indexes = batch_indexes(
            number - session.clocks.data_step, stage.batch, len(data.train), context.seeds
        )
        traces = [int(data.train[index]) for index in indexes]
        lines: list[dict[str, Any]] = []

        def record(held_out: bool) -> Record:
            return lambda *sampled: lines.extend(written_lines(*sampled, held_out=held_out))

        student = context.seeds.child("student", number)
        rows = learner.rows(traces, student, clocks.updates, record(False))
        totals = totals_of_rows(rows, longest)
        figures = update(session, objective, learner.parts(traces, rows), totals)
        clocks.tokens += sum(len(row.prompt) + len(row.completion) for row in rows)
        if kept and ((number + 1) % stage.eval_every == 0 or number + 1 == stage.steps):
            again = context.seeds.child("held out", number)
            rows = learner.rows(kept, again, clocks.updates, record(True))
            totals = totals_of_rows(rows, longest)
            figures |= measure(objective, learner.parts(kept, rows), totals, "held_out")
        if stage.on_policy:
            write_jsonl(context.run.rollout_file(context.name, number + 1), lines)
        return figures

    train(session, stage, step)
    forget_data(context)
    return {
        **outcome(session),
        "traces": len(data.train),
        "held_out_traces": len(data.held_out),
        "dropped_traces": data.counts.dropped,
        "cut_traces": data.counts.cut,
    }
