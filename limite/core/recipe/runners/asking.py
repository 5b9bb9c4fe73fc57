"""Asks models the same problems, and records what they say: a strong and a weak one, a teacher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs

from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.kinds import Verifier
from limite.core.pretrained.settings import at
from limite.core.recipe.context import RunStopped
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.runners.reference import frozen
from limite.core.recipe.stages import ALL, RIGHT_OVER_WRONG, Asked, Member, Mix
from limite.core.rollout.budget import completion_budget, is_finished
from limite.core.rollout.grading import verdicts_on
from limite.core.rollout.sampler import Sampler
from limite.core.rollout.store import group_lines, read_groups
from limite.core.rollout_kinds import Request
from limite.core.seeds import Seeds
from limite.core.types import Group, Problem, Response

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext

FOLDER = "sampled"
AT_ONCE = 256
"""Problems of a file: what is sampled between two looks for a stop."""


def sampled_groups(context: StageContext, settings: Asked) -> Iterator[Group]:
    """A group for each problem: a response of every model, in their order."""
    sample(context, settings)
    for place in sorted((context.directory / FOLDER).glob("*.jsonl.zst")):
        yield from read_groups(read_jsonl(place))


def sample(context: StageContext, settings: Asked) -> None:
    """Makes every file that is not there yet. They depend on nothing but settings and weights."""
    folder = context.directory / FOLDER
    parts = range(-(-settings.count // AT_ONCE))
    missing = [part for part in parts if not _place(folder, part).exists()]
    if not missing:
        return
    folder.mkdir(exist_ok=True)
    said = [model.said for model in settings.models.values()]
    verb = "is" if len(said) == 1 else "are"
    context.echo(f"{context.name}: {' and '.join(said)} {verb} asked {settings.count:,} problems")
    seeds = context.seeds.child("sampled")
    problems = asked_problems(context, settings.problems, settings.count)
    models = [model_of(context, settings.dtype, each) for each in settings.models.values()]
    for part in missing:
        if context.stop.requested:
            raise RunStopped(
                f"stopped in stage {context.name!r}; what was sampled is kept", context.run.path
            )
        some = problems[part * AT_ONCE : (part + 1) * AT_ONCE]
        answers = [
            responses(context, settings, model, some, seeds, number)
            for number, model in enumerate(models)
        ]
        together = list(zip(*answers, strict=True))
        write_jsonl(_place(folder, part), group_lines(graded(settings, some, together)))


def asked_problems(context: StageContext, problems: Mix, count: int) -> list[Problem]:
    """What the models of a stage are asked: no two alike, none of the part kept for evaluation."""
    seeds = context.seeds.child("sampled", "problems")
    return ProblemSource(problems, context.registry, seeds, held_out=False).distinct(count)


def model_of(context: StageContext, dtype: str, model: Member) -> Decoder:
    """A stage's weights as it ended, or those in a directory; they do not train."""
    if model.stage is not None:
        return frozen(context, model.stage)
    decoder = attrs.evolve(at(model.path), dtype=dtype).decoder(
        context.tokenizer.vocabulary, Seeds(0)
    )
    return decoder.eval().requires_grad_(False)


def responses(
    context: StageContext,
    settings: Asked,
    model: Decoder,
    problems: Sequence[Problem],
    seeds: Seeds,
    number: int,
) -> list[Response]:
    """One response to each problem, of the model whose number is that of its samples."""
    sampler = Sampler(
        model,
        context.tokenizer,
        temperature=settings.temperature,
        seed=seeds.integer("responses"),
    )
    requests = []
    for problem in problems:
        prompt = context.tokenizer.render_prompt(problem)
        budget = completion_budget(
            "fixed-response",
            prompt_tokens=len(prompt),
            max_tokens=settings.max_tokens,
            context=model.spec.context,
        )
        requests.append(
            Request(problem=problem, sample_index=number, prompt_ids=prompt, budget_tokens=budget)
        )
    found = dict(sampler.generate(requests, policy_version=0))
    return [found[place] for place in range(len(requests))]


def graded(
    settings: Asked, problems: Sequence[Problem], answers: Sequence[tuple[Response, ...]]
) -> list[Group]:
    """The groups with their verdicts, all of them judged together."""
    texts = [
        (problem.answer, each.text)
        for problem, some in zip(problems, answers, strict=True)
        for each in some
    ]
    found = iter(verdicts_on(cast(Verifier, settings.verifier), texts))
    groups = []
    for problem, some in zip(problems, answers, strict=True):
        verdicts = [next(found) for _ in some]
        correct = [
            verdict.correct and is_finished(each)
            for verdict, each in zip(verdicts, some, strict=True)
        ]
        groups.append(
            Group(
                problem=problem,
                responses=some,
                rewards=[float(right) for right in correct],
                correct=correct,
                verdicts=verdicts,
            )
        )
    return groups


def is_pair(group: Group, wanted: str) -> bool:
    """Whether a strong and a weak response are to be learned from: both ended by themselves."""
    if not all(response.finish_reason == "eos" for response in group.responses):
        return False
    strong, weak = group.correct
    return wanted == ALL or (strong and not (weak and wanted == RIGHT_OVER_WRONG))


def _place(folder: Path, part: int) -> Path:
    return folder / f"{part + 1:06d}.jsonl.zst"
