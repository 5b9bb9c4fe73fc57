"""Responses that were kept: each keeps the rules of budgets and endings, and is what it says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.jsonl import read_jsonl, read_numbered
from limite.core.recipe.context import model_of
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import METRICS, RECEIPT, ROLLOUTS
from limite.core.recipe.stages import RL, Distill, Stage
from limite.core.recipe.verify.again import (
    budget_faults,
    figure_faults,
    prompt_faults,
    reward_faults,
    token_faults,
)
from limite.core.recipe.verify.finding import Findings
from limite.core.recipe.verify.stage import check_left
from limite.core.recipe.verify.written import check_written, is_written
from limite.core.rollout.budget import check_response, is_finished
from limite.core.rollout.store import DROPPED, read_groups
from limite.core.types import Group

UPDATES = "optim/updates"
LAG, SOURCE, LEARNER = "policy/lag_updates", "policy/source_version", "policy/learner_version"


def check_rollouts(
    folder: Path,
    name: str,
    recipe: Recipe | None,
    stage_at: Callable[[int], Stage],
    receipt: Mapping[str, Any] | None,
    findings: Findings,
) -> None:
    """Every batch of a stage that records its rollouts; ``stage_at`` gives its settings at a step.

    There is a batch for each step. Its groups are whole, and of the number and size the recipe
    says. A response keeps the rules of budgets and endings, and is right only if it came to its
    own end. All of a batch come from the policy as it was before the updates of its step, or as
    many updates earlier as the log says of it, which the recipe must allow. Tokens, texts, prompts,
    verdicts, rewards and the figures of a batch in the log are computed again.
    """
    root = folder / ROLLOUTS
    if receipt is not None and receipt.get("steps") and _samples(receipt, recipe, name):
        check_left(root, f"{receipt['steps']} batches were sampled", True, findings)
    if not root.is_dir() or not any(root.iterdir()):
        return
    places = sorted(root.iterdir())
    versions = _versions(folder, recipe, name, findings)
    log = _lines_of(folder / METRICS)
    steps = []
    for place in places:
        number = place.name.partition(".")[0]
        if not number.isdigit():
            findings.wrong(place, "no name of a batch")
            continue
        steps.append(int(number))
        with findings.around(place):
            lines = list(read_jsonl(place))
            if is_written(lines, name, recipe):
                check_written(place, int(number), name, recipe, findings)
                continue
            groups = list(read_groups(lines))
            dropped = len({line["group"] for line in lines if line.get(DROPPED)})
            _check_batch(place, groups, dropped, name, recipe, findings)
            if recipe is not None and groups:
                stage = stage_at(int(number))
                assert isinstance(stage, RL)
                _check_again(place, groups, stage, recipe, findings)
                at, line = log.get(int(number), (0, None))
                for fault in figure_faults(stage, groups, line) if line is not None else ():
                    findings.wrong(folder / METRICS, fault, at)
            oldest, wanted = versions.get(int(number), (0, None))  # without a log: any will do
            older = _carries(recipe, name)
            for group, response in ((g, r) for g in groups for r in g.responses):
                version = response.policy_version
                if wanted is None or version == wanted:
                    continue
                if not (older and oldest <= version < wanted):
                    carried = f", and none may be of one before {oldest}" if older else ""
                    findings.wrong(
                        place,
                        f"response {response.sample_index} to problem {group.problem.id} is of "
                        f"policy version {version}; its batch is of {wanted}{carried}",
                    )
                    break
    last = receipt.get("steps") if receipt is not None else None
    if steps != list(range(1, len(steps) + 1)) or last not in (None, len(steps)):
        findings.wrong(root, f"holds {_stretches(steps)}; {RECEIPT} of its stage says {last} steps")


def _samples(receipt: Mapping[str, Any], recipe: Recipe | None, name: str) -> bool:
    """Whether a stage leaves a batch of responses at every step."""
    stage = recipe.stages[name] if recipe is not None else None
    return receipt.get("type") == "rl" or (isinstance(stage, Distill) and stage.on_policy)


def _versions(
    folder: Path, recipe: Recipe | None, name: str, findings: Findings
) -> dict[int, tuple[int, int]]:
    """The oldest version of the policy that a step may learn from, and that of its batch.

    As many updates came before the batch, less the lag that the log says it had. That the lag is
    one the recipe allows, and that the versions in the log differ by it, is checked here.
    """
    stage = recipe.stages[name] if recipe is not None else None
    versions, before, step = {1: (0, 0)}, 0, 0
    most = stage.max_policy_lag if isinstance(stage, RL) else 0
    if (folder / METRICS).is_file():
        try:
            for number, line in findings.records(folder / METRICS):
                step = int(line["step"])
                lag = int(line.get(LAG, 0))
                if lag < 0 or (recipe is not None and lag > most):
                    findings.wrong(
                        folder / METRICS, f"a lag of {lag} updates, not 0 to {most}", number
                    )
                if LAG in line and (line[SOURCE], line[LEARNER]) != (before - lag, before):
                    findings.wrong(
                        folder / METRICS,
                        f"policy version {line[SOURCE]} with the learner at {line[LEARNER]}: the "
                        f"step began with {before}, and the lag is {lag}",
                        number,
                    )
                versions[step] = (max(0, before - most), before - lag)
                before = int(line.get(UPDATES, before))
        except (LimiteError, KeyError, TypeError, ValueError):
            return {}  # told where logs are checked
    versions[step + 1] = (max(0, before - most), before)
    return versions


def _carries(recipe: Recipe | None, name: str) -> bool:
    """Whether a stage's batches may hold responses of earlier policies: its schedule says so."""
    schedule = getattr(recipe.stages[name], "rollout_schedule", None) if recipe else None
    return bool(getattr(schedule, "carries_over", False))


def _leaves_out(stage: RL) -> bool:
    """Whether a stage's batches may be of other sizes than the recipe says."""
    return bool(getattr(type(stage.rollout_schedule), "leaves_out", False))


def _lines_of(place: Path) -> dict[int, tuple[int, Mapping[str, Any]]]:
    """The lines of a log by step, with their numbers."""
    try:
        lines = [(at, line) for at, line in read_numbered(place) if isinstance(line, Mapping)]
        return {int(line["step"]): (at, line) for at, line in lines}
    except (LimiteError, KeyError, TypeError, ValueError):
        return {}  # told where logs are checked


def _check_again(
    place: Path, groups: Sequence[Group], stage: RL, recipe: Recipe, findings: Findings
) -> None:
    """What can be computed again of each response of a batch."""
    tokenizer, context = recipe.tokenizer, model_of(recipe).context
    each = [(group.problem, response) for group in groups for response in group.responses]
    found: list[tuple[int, str]] = []
    for number, (problem, response) in enumerate(each):
        faults = [
            *token_faults(response, tokenizer),
            *prompt_faults(problem, response, tokenizer),
            *budget_faults(stage, response, context),
        ]
        found += [(number, fault) for fault in faults]
    try:
        found += reward_faults(stage, groups)
    except LimiteError as error:
        findings.unseen(f"the rewards of {place.parent.parent.name} are not computed again", error)
    for number, fault in found:
        problem, response = each[number]
        named = f"response {response.sample_index} to problem {problem.id}"
        findings.wrong(place, f"{named}: {fault}", number + 1)


def _check_batch(
    place: Path,
    groups: Sequence[Group],
    dropped: int,
    name: str,
    recipe: Recipe | None,
    findings: Findings,
) -> None:
    stage = recipe.stages[name] if recipe is not None else None
    for group in groups:
        findings.counts["responses"] += len(group.responses)
        of = f"the group of problem {group.problem.id}"
        indexes = [response.sample_index for response in group.responses]
        # A problem that came twice in a batch goes on counting in its second group.
        begins_whole = not isinstance(stage, RL) or indexes[0] % stage.rollouts == 0
        if not begins_whole or indexes != list(range(indexes[0], indexes[0] + len(indexes))):
            findings.wrong(place, f"{of} holds the samples {indexes}")
        if isinstance(stage, RL) and len(indexes) != stage.rollouts:
            findings.wrong(place, f"{of} has {len(indexes)} responses, not {stage.rollouts}")
        for response, correct in zip(group.responses, group.correct, strict=True):
            if correct and not is_finished(response):
                findings.wrong(
                    place,
                    f"response {response.sample_index} to problem {group.problem.id} counts as "
                    f"right, and did not come to its own end ({response.finish_reason})",
                )
            if recipe is not None:
                with findings.around(place):
                    check_response(
                        response,
                        eos_ids=recipe.tokenizer.eos_ids,
                        context=model_of(recipe).context,
                    )
    kept = len(groups) - dropped
    if isinstance(stage, RL) and kept != stage.groups and not _leaves_out(stage):
        findings.wrong(place, f"holds {kept} groups, not {stage.groups}")


def _stretches(steps: Sequence[int]) -> str:
    """``batches 1 to 4 and 6``."""
    if not steps:
        return "no batch"
    parts = []
    for _, run in itertools.groupby(enumerate(sorted(steps)), lambda pair: pair[1] - pair[0]):
        members = [step for _, step in run]
        parts.append(f"{members[0]}" if len(members) == 1 else f"{members[0]} to {members[-1]}")
    return "batches " + " and ".join(parts)
