"""The pairs of a stage as ids, from a file or from recorded responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import torch

from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.jsonl import read_json, read_jsonl, write_json
from limite.core.recipe.runners.asking import is_pair, sampled_groups
from limite.core.recipe.runners.stage_data import made_once
from limite.core.recipe.stages import Preference, StrongWeak
from limite.core.rollout.store import read_groups
from limite.core.seeds import Seeds
from limite.core.train.data.counts import Counts
from limite.core.train.data.packed import ColumnWriter, Ragged, read_column
from limite.core.train.data.pairs import PairIds, fitted, pair_ids, pair_of, told
from limite.core.train.data.prompts import Prompt
from limite.core.train.data.records import read_records
from limite.core.train.replay import Row
from limite.core.types import Group, Response

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

COLUMNS = {"ids": torch.int32, "ends": torch.int64, "held_out": torch.uint8}
COUNTS = "counts.json"


@attrs.frozen(kw_only=True, eq=False)
class PairData:
    """Pairs on disk, by number. ``ids`` has three rows for each: prompt, preferred, other."""

    folder: Path
    ids: Ragged
    train: np.ndarray[Any, Any]  # numbers of pairs
    held_out: np.ndarray[Any, Any]
    counts: Counts

    def rows(self, pair: int) -> list[Row]:
        """The preferred and the other response, after the one prompt they share."""
        prompt, chosen, rejected = (self.ids[3 * pair + side].tolist() for side in range(3))
        return [Row(prompt=prompt, completion=chosen), Row(prompt=prompt, completion=rejected)]

    def length(self, pair: int) -> int:
        """The tokens of both rows."""
        return sum(len(row.prompt) + len(row.completion) for row in self.rows(pair))


def longest_of(context: StageContext, stage: Preference) -> int:
    """The most tokens of a prompt with a response."""
    return min(stage.max_tokens or context.model.context, context.model.context)


def open_pairs(context: StageContext, stage: Preference) -> PairData:
    """The pairs of a stage; the first time they are tokenised, and it is told what became of them.

    A LimiteError where nothing is left to train on.
    """

    def make(folder: Path) -> None:
        counts = write_pairs(folder, context, stage)
        write_json(folder / COUNTS, attrs.asdict(counts))
        context.echo(f"{context.name}: {told(counts, longest_of(context, stage))}")

    folder = made_once(context, make)
    flags = read_column(folder / "held_out")
    ids = Ragged(read_column(folder / "ids"), read_column(folder / "ends"))
    found = PairData(
        folder=folder,
        ids=ids,
        train=np.flatnonzero(flags == 0),
        held_out=np.flatnonzero(flags),
        counts=Counts(**read_json(folder / COUNTS)),
    )
    if not len(found.train):
        what = told(found.counts, longest_of(context, stage))
        raise LimiteError(f"stages.{context.name}: no pair is left to train on: {what}")
    return found


def write_pairs(folder: Path, context: StageContext, stage: Preference) -> Counts:
    """Tokenises every pair into columns, one at a time."""
    counts = Counts()
    limit = longest_of(context, stage)
    end = 0
    with (
        ColumnWriter(folder / "ids", COLUMNS["ids"]) as ids,
        ColumnWriter(folder / "ends", COLUMNS["ends"]) as ends,
        ColumnWriter(folder / "held_out", COLUMNS["held_out"]) as held_out,
    ):
        for prompt, whole in all_pairs(context, stage):
            pair = fitted(whole, limit, counts)
            if pair is None:
                continue
            apart = prompt.held_out(stage.held_out)
            counts.held_out += apart
            held_out.add([apart])
            for side in (pair.prompt, pair.chosen, pair.rejected):
                ids.add(side)
                end += len(side)
                ends.add([end])
    return counts


def all_pairs(context: StageContext, stage: Preference) -> Iterator[tuple[Prompt, PairIds]]:
    """Every pair of the stage's source with its prompt, in a fixed order."""
    if stage.pairs is not None:
        return pairs_of_file(stage.pairs, context)
    if stage.sampled is not None:
        return pairs_of_models(context, stage.sampled)
    assert stage.rollouts is not None
    return pairs_of_rollouts(context, stage.rollouts, stage.pairs_per_group)


def pairs_of_file(path: str, context: StageContext) -> Iterator[tuple[Prompt, PairIds]]:
    """The pairs of a file. One that is wrong, which a check tells as well, ends the run."""
    for number, pair in read_records(path, pair_of):
        if isinstance(pair, Mistake):
            raise SettingsError([pair])
        try:
            ids = pair_ids(pair, context.tokenizer)
        except (ValueError, LimiteError) as error:
            raise SettingsError([Mistake(str(error), file=path, line=number)]) from error
        yield pair.prompt, ids


def groups_of(context: StageContext, stage: str) -> Iterator[tuple[Path, int, Group]]:
    """The groups that an earlier RL stage has recorded, with their file and number in it."""
    folder = context.for_stage(stage).directory / "rollouts"
    for path in sorted(folder.glob("*.jsonl.zst")):
        for number, group in enumerate(read_groups(read_jsonl(path))):
            yield path, number, group


def pairs_of_rollouts(
    context: StageContext, stage: str, most: int
) -> Iterator[tuple[Prompt, PairIds]]:
    """Right against wrong responses of one group, drawn by the stage's seed.

    Only responses that ended by themselves take part, so that all end with an end token.
    """
    for path, number, group in groups_of(context, stage):
        seeds = context.seeds.child("pairs", path.name, number)
        for right, wrong in drawn_pairs(group, most, seeds):
            ids = PairIds(
                prompt=right.prompt_ids,
                chosen=right.completion_ids,
                rejected=wrong.completion_ids,
            )
            yield Prompt(group.problem.problem), ids


def pairs_of_models(
    context: StageContext, settings: StrongWeak
) -> Iterator[tuple[Prompt, PairIds]]:
    """A strong model's response over a weak one's, to every problem where that is wanted."""
    kept = 0
    for group in sampled_groups(context, settings.asked):
        if is_pair(group, settings.pairs):
            kept += 1
            strong, weak = group.responses
            ids = PairIds(
                prompt=strong.prompt_ids,
                chosen=strong.completion_ids,
                rejected=weak.completion_ids,
            )
            yield Prompt(group.problem.problem), ids
    context.echo(f"{context.name}: {kept:,} of {settings.count:,} problems gave a pair")


def drawn_pairs(group: Group, most: int, seeds: Seeds) -> list[tuple[Response, Response]]:
    """At most ``most`` pairs of a right and a wrong response, no response in two of them."""
    right: list[Response] = []
    wrong: list[Response] = []
    for response, reward, correct in zip(
        group.responses, group.rewards, group.correct, strict=True
    ):
        if response.finish_reason == "eos" and reward is not None:
            (right if correct else wrong).append(response)
    count = min(most, len(right), len(wrong))
    sides: Sequence[list[Response]] = [
        seeds.stream(name).sample(responses, count)
        for name, responses in (("right", right), ("wrong", wrong))
    ]
    return list(zip(*sides, strict=True))
