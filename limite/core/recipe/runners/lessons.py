"""What a critic is fitted to: recorded responses with what they earned, in two parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs

from limite.core.errors import LimiteError, RunFailed
from limite.core.health.contrast import is_flat
from limite.core.jsonl import read_jsonl
from limite.core.recipe.runners.values import TaughtRow
from limite.core.recipe.stages import FitCritic, files_at
from limite.core.rollout.store import read_groups
from limite.core.seeds import Seeds
from limite.core.separation import text_hash
from limite.core.train.replay import Row
from limite.core.types import Group

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext


def rollout_files(context: StageContext) -> list[Path]:
    """The files that the stage reads, in order."""
    stage = cast(FitCritic, context.stage)
    if stage.rollout_files:
        return [Path(file) for file in stage.files]
    return files_at(context.run.stage(rollouts_of(context)) / "rollouts")


def rollouts_of(context: StageContext) -> str:
    """The earlier stage whose rollouts are read."""
    stage = cast(FitCritic, context.stage)
    found = stage.rollouts_among(context.recipe.stages, context.name)
    assert found is not None, "a recipe that was checked has one"
    return found


@attrs.frozen(kw_only=True, eq=False)
class Lessons:
    """Responses with what they earned, in two parts that share no problem."""

    fitted: Sequence[TaughtRow]
    held_out: Sequence[TaughtRow]
    held_out_problems: int
    mean_reward: float


def recorded(files: Sequence[Path]) -> Iterator[tuple[Path, Group]]:
    """Every group of some rollout files."""
    for file in files:
        try:
            for group in read_groups(read_jsonl(file)):
                yield file, group
        except LimiteError as error:
            raise LimiteError(f"{file}: {error}") from error


def read_lessons(context: StageContext, stage: FitCritic) -> Lessons:
    """What the stage is fitted to, and what it is measured on."""
    files = rollout_files(context)
    by_problem: dict[str, list[TaughtRow]] = {}
    for file, group in recorded(files):
        if stage.mixed_only and is_flat(group.unshaped_rewards):
            continue
        rows = by_problem.setdefault(text_hash(group.problem.problem), [])
        for response, reward in zip(group.responses, group.rewards, strict=True):
            if reward is None or not response.completion_ids:
                continue
            row = Row(prompt=response.prompt_ids, completion=response.completion_ids)
            refuse_other_tokens(context, row, file)
            rows.append(TaughtRow(row=row, target=[reward] * len(row.completion)))
    problems = [problem for problem, rows in by_problem.items() if rows]
    if len(problems) < 2:
        kind = "with better and worse responses (mixed_only)" if stage.mixed_only else "scored"
        raise RunFailed(
            f"stage {context.name!r}: {len(problems)} problems {kind} were recorded, and one is "
            "needed on each side of the split; record more, or make them easier or harder"
        )
    held = split(problems, stage.held_out, context.seeds)
    fitted = [row for problem in problems if problem not in held for row in by_problem[problem]]
    return Lessons(
        fitted=fitted,
        held_out=[row for problem in problems if problem in held for row in by_problem[problem]],
        held_out_problems=len(held),
        mean_reward=sum(row.target[0] for row in fitted) / len(fitted),
    )


def split(problems: Sequence[str], share: float, seeds: Seeds) -> set[str]:
    """The problems that are held out: at least one, and never all."""
    count = min(max(1, round(share * len(problems))), len(problems) - 1)
    order = sorted(problems, key=lambda problem: seeds.integer("held-out", problem))
    return set(order[:count])


def refuse_other_tokens(context: StageContext, row: Row, file: Path) -> None:
    """Refuses responses that this model cannot read."""
    ids = (*row.prompt, *row.completion)
    vocabulary = context.tokenizer.vocabulary
    if min(ids) < 0 or max(ids) >= vocabulary:
        raise LimiteError(
            f"{file}: a response has the token {max(ids)}, and the tokenizer {vocabulary} ids; "
            "it was recorded with another tokenizer"
        )
    context.fits(len(ids), f"a response in {file}")
