"""The texts of a distilling stage as ids, with the lists that are stored with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import torch

from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.jsonl import read_json, write_json
from limite.core.recipe.runners.asking import asked_problems, sampled_groups
from limite.core.recipe.runners.stage_data import made_once
from limite.core.recipe.stages import EVERY, Distill, Taught
from limite.core.train.data.counts import Counts
from limite.core.train.data.packed import ColumnWriter, Ragged, read_column
from limite.core.train.data.prompts import Prompt
from limite.core.train.data.records import read_records
from limite.core.train.data.traces import (
    TraceIds,
    TraceReader,
    fitted_trace,
    told,
    trace_ids,
)
from limite.core.train.replay import Row

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

COUNTS = "counts.json"


@attrs.frozen(kw_only=True, eq=False)
class TraceData:
    """Traces on disk, by number. ``ids`` has two rows for each: prompt and completion."""

    ids: Ragged
    listed: Ragged | None  # [L, K] ids at each completion token
    nats: Ragged | None  # [L, K]
    train: np.ndarray[Any, Any]  # numbers of traces
    held_out: np.ndarray[Any, Any]
    counts: Counts

    def row(self, trace: int) -> Row:
        """The prompt and the completion."""
        prompt, completion = (self.ids[2 * trace + side].tolist() for side in range(2))
        return Row(prompt=prompt, completion=completion)

    def lists(self, traces: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Stored ids and nats ``[M, K]`` at the completion tokens of ``traces``, one by one."""
        assert self.listed is not None
        assert self.nats is not None
        ids = np.concatenate([self.listed[trace] for trace in traces])
        nats = np.concatenate([self.nats[trace] for trace in traces])
        return torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(nats)


def reader_of(stage: Distill) -> TraceReader:
    """What the stage reads of a line."""
    return TraceReader(
        completions=not stage.on_policy,
        listed_tokens=None if stage.on_policy else stage.stored_lists,
        temperature=stage.temperature,
    )


def longest_of(stage: Distill, context: int) -> int:
    """The most tokens of a prompt with its text."""
    return min(stage.max_tokens or context, context)


def room_of(stage: Distill) -> int:
    """The tokens that a prompt must leave."""
    return stage.response_tokens if stage.on_policy else 1


def open_traces(context: StageContext, stage: Distill) -> TraceData:
    """The traces of a stage; the first time they are tokenised, and it is told what became of them.

    A LimiteError where nothing is left to train on.
    """
    longest = longest_of(stage, context.model.context)

    def make(folder: Path) -> None:
        counts = write_traces(folder, context, stage)
        write_json(folder / COUNTS, attrs.asdict(counts))
        context.echo(f"{context.name}: {told(counts, longest)}")

    folder = made_once(context, make)
    flags = read_column(folder / "held_out")
    listed = nats = None
    if reader_of(stage).listed_tokens is not None:
        ends, width = read_column(folder / "list_ends"), stage.listed_tokens
        listed = Ragged(read_column(folder / "listed"), ends, width)
        nats = Ragged(read_column(folder / "nats"), ends, width)
    found = TraceData(
        ids=Ragged(read_column(folder / "ids"), read_column(folder / "ends")),
        listed=listed,
        nats=nats,
        train=np.flatnonzero(flags == 0),
        held_out=np.flatnonzero(flags),
        counts=Counts(**read_json(folder / COUNTS)),
    )
    if not len(found.train):
        what = told(found.counts, longest)
        raise LimiteError(f"stages.{context.name}: no trace is left to train on: {what}")
    return found


def write_traces(folder: Path, context: StageContext, stage: Distill) -> Counts:
    """Tokenises every trace into columns, one at a time."""
    counts = Counts()
    longest, room = longest_of(stage, context.model.context), room_of(stage)
    end = list_end = 0
    with (
        ColumnWriter(folder / "ids", torch.int32) as ids,
        ColumnWriter(folder / "ends", torch.int64) as ends,
        ColumnWriter(folder / "held_out", torch.uint8) as held_out,
        ColumnWriter(folder / "listed", torch.int32) as listed,
        ColumnWriter(folder / "nats", torch.float32) as nats,
        ColumnWriter(folder / "list_ends", torch.int64) as list_ends,
    ):
        for prompt, whole in all_traces(context, stage):
            kept: TraceIds | None = fitted_trace(whole, longest, counts, room=room)
            if kept is None:
                continue
            apart = prompt.held_out(stage.held_out)
            counts.held_out += apart
            held_out.add([apart])
            for side in (kept.prompt, kept.completion):
                ids.add(side)
                end += len(side)
                ends.add([end])
            if kept.lists is not None:
                listed.add(kept.lists.ids)
                nats.add(kept.lists.nats)
                list_end += len(kept.lists)
                list_ends.add([list_end])
    return counts


def all_traces(context: StageContext, stage: Distill) -> Iterator[tuple[Prompt, TraceIds]]:
    """Every text of the stage's source with its prompt, in a fixed order."""
    if stage.taught is not None:
        return traces_of_problems(context, stage, stage.taught)
    assert stage.traces is not None
    return traces_of_file(context, stage.traces, reader_of(stage))


def traces_of_file(
    context: StageContext, path: str, reader: TraceReader
) -> Iterator[tuple[Prompt, TraceIds]]:
    """The texts of a file. A line that is wrong, which a check tells as well, ends the run."""
    for number, trace in read_records(path, reader):
        if isinstance(trace, Mistake):
            raise SettingsError([trace])
        try:
            ids = trace_ids(trace, context.tokenizer)
        except (ValueError, LimiteError) as error:
            raise SettingsError([Mistake(str(error), file=path, line=number)]) from error
        yield trace.prompt, ids


def traces_of_problems(
    context: StageContext, stage: Distill, taught: Taught
) -> Iterator[tuple[Prompt, TraceIds]]:
    """What the teacher answers, of that what is wanted; or problems alone, for the student."""
    asked = stage.asked
    if asked is None:
        for problem in asked_problems(context, taught.problems, taught.count):
            prompt = Prompt(problem.problem)
            ids = TraceIds(prompt=prompt.ids(context.tokenizer), completion=(), lists=None)
            yield prompt, ids
        return
    kept = 0
    for group in sampled_groups(context, asked):
        (response,), (right,) = group.responses, group.correct
        if response.finish_reason == "eos" and (right or taught.keep == EVERY):
            kept += 1
            ids = TraceIds(
                prompt=response.prompt_ids, completion=response.completion_ids, lists=None
            )
            yield Prompt(group.problem.problem), ids
    context.echo(f"{context.name}: {kept:,} of {taught.count:,} problems gave a text")
