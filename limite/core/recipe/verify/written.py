"""What stages other than reinforcement have sampled: a student's texts, and two models' answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.jsonl import read_jsonl
from limite.core.recipe.context import model_of
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.runners.asking import graded
from limite.core.recipe.stages import Asked, Distill, Preference
from limite.core.recipe.verify.again import prompt_faults, regraded, token_faults
from limite.core.recipe.verify.finding import Findings
from limite.core.recipe.verify.stage import check_left
from limite.core.rollout.budget import check_response, is_finished
from limite.core.rollout.store import RESPONSE_FIELDS, read_groups
from limite.core.types import Group, Response

SAMPLED = "sampled"
MEMBERS = ("strong", "weak")


def check_written(
    place: Path, step: int, name: str, recipe: Recipe | None, findings: Findings
) -> None:
    """A batch that a student wrote as it learned (``distill`` with ``on_policy``).

    Those it learned from are as many as an update has, of the policy as it was before that
    update; held-out ones come after it. Nothing judged them, so that they have no verdict.
    """
    stage = recipe.stages[name] if recipe is not None else None
    learned = 0
    for number, line in findings.records(place):
        findings.counts["responses"] += 1
        response = _response(line, number)
        learned += not line["held_out"]
        wanted = step if line["held_out"] else step - 1
        if response.policy_version != wanted:
            findings.wrong(
                place, f"is of policy version {response.policy_version}, not {wanted}", number
            )
        if recipe is not None:
            _keeps_rules(place, number, response, recipe, model_of(recipe).context, findings)
            for fault in token_faults(response, recipe.tokenizer):
                findings.wrong(place, fault, number)
    if isinstance(stage, Distill) and learned != stage.batch:
        findings.wrong(place, f"holds {learned} responses to learn from, not {stage.batch}")


def _response(line: Mapping[str, Any], number: int) -> Response:
    named: dict[str, Any] = {"problem_id": f"trace {line['trace']}", "sample_index": number}
    fields: dict[str, Any] = {name: line[name] for name in RESPONSE_FIELDS if name not in named}
    for name in ("prompt_ids", "completion_ids", "logprobs"):
        fields[name] = tuple(fields[name])
    return Response(**fields, **named)


def check_sampled(
    folder: Path,
    name: str,
    recipe: Recipe | None,
    receipt: Mapping[str, Any] | None,
    findings: Findings,
) -> None:
    """What models have said, for a stage to learn from: a strong and a weak one, or a teacher.

    Every problem has one response of each, the strong one's first, and there are as many problems
    as the recipe says once the stage is finished. A response is right only if it came to its end.
    """
    root = folder / SAMPLED
    stage = recipe.stages[name] if recipe is not None else None
    settings: Asked | None = None
    if isinstance(stage, Preference) and stage.sampled is not None:
        settings = stage.sampled.asked
    elif isinstance(stage, Distill):
        settings = stage.asked
    if receipt is not None and settings is not None and settings.count:
        check_left(root, f"{settings.count} problems were asked", True, findings)
    if not root.is_dir() or not any(root.iterdir()):
        return
    asked: list[str] = []
    for place in sorted(root.iterdir()):
        with findings.around(place):
            groups = list(read_groups(read_jsonl(place)))
            asked += [group.problem.id for group in groups]
            for group in groups:
                _check_answers(place, group, recipe, settings, findings)
            if recipe is not None and settings is not None:
                _check_again(place, groups, recipe, settings, findings)
    if len(set(asked)) != len(asked):
        findings.wrong(root, f"holds {len(asked) - len(set(asked))} problems more than once")
    if settings is not None and receipt is not None and len(asked) != settings.count:
        findings.wrong(root, f"holds {len(asked)} problems, not {settings.count}")


def _check_again(
    place: Path, groups: Sequence[Group], recipe: Recipe, settings: Asked, findings: Findings
) -> None:
    """What can be computed again of each answer: its tokens, text, prompt, verdict and reward."""
    each = [(group.problem, response) for group in groups for response in group.responses]
    found = [
        (number, fault)
        for number, (problem, response) in enumerate(each)
        for fault in (
            *token_faults(response, recipe.tokenizer),
            *prompt_faults(problem, response, recipe.tokenizer),
        )
    ]
    try:
        problems = [group.problem for group in groups]
        answers = [tuple(group.responses) for group in groups]
        found += regraded(groups, graded(settings, problems, answers))
    except LimiteError as error:
        findings.unseen(f"the answers in {place.parent.parent.name} are not judged again", error)
    for number, fault in found:
        problem, response = each[number]
        named = f"response {response.sample_index} to problem {problem.id}"
        findings.wrong(place, f"{named}: {fault}", number + 1)


def _check_answers(
    place: Path,
    group: Group,
    recipe: Recipe | None,
    settings: Asked | None,
    findings: Findings,
) -> None:
    findings.counts["responses"] += len(group.responses)
    indexes = [response.sample_index for response in group.responses]
    members = list(settings.models) if settings is not None else MEMBERS[: len(indexes)]
    wanted = list(range(len(members)))
    if indexes != wanted:
        findings.wrong(place, f"problem {group.problem.id} has the samples {indexes}, not {wanted}")
        return
    for member, response, correct in zip(members, group.responses, group.correct, strict=True):
        if correct and not is_finished(response):
            findings.wrong(
                place,
                f"what the {member} model says to problem {group.problem.id} counts as right, "
                f"and did not come to its own end ({response.finish_reason})",
            )
        if recipe is not None and settings is not None:
            # The context of a model at a path is its own, and the path may be gone.
            context = model_of(recipe).context if settings.models[member].stage else None
            _keeps_rules(place, None, response, recipe, context, findings)


def _keeps_rules(
    place: Path,
    number: int | None,
    response: Response,
    recipe: Recipe,
    context: int | None,
    findings: Findings,
) -> None:
    try:
        check_response(response, eos_ids=recipe.tokenizer.eos_ids, context=context)
    except LimiteError as error:
        findings.wrong(place, str(error), number)


def is_written(lines: Sequence[Mapping[str, Any]], name: str, recipe: Recipe | None) -> bool:
    """Whether a batch is a student's: the recipe says so, or, without one, its records do."""
    if recipe is not None:
        return isinstance(recipe.stages[name], Distill)
    return bool(lines) and "trace" in lines[0]
