"""Asks a strong and a weak model the same problems, and records what both say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs

from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.kinds import Request, Verifier
from limite.core.pretrained.settings import at
from limite.core.recipe.context import RunStopped
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.runners.reference import frozen
from limite.core.recipe.stages import ALL, RIGHT_OVER_WRONG, Member, StrongWeak
from limite.core.rollout.budget import completion_budget, is_finished
from limite.core.rollout.grading import verdicts_on
from limite.core.rollout.sampler import Sampler
from limite.core.rollout.store import group_lines, read_groups
from limite.core.seeds import Seeds
from limite.core.types import Group, Problem, Response

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext

FOLDER = "sampled"
AT_ONCE = 256
"""Problems of a file: what is sampled between two looks for a stop."""


def sampled_groups(context: StageContext, settings: StrongWeak) -> Iterator[Group]:
    """A group for each problem: the strong model's response, then the weak one's."""
    sample(context, settings)
    for place in sorted((context.directory / FOLDER).glob("*.jsonl.zst")):
        yield from read_groups(read_jsonl(place))


def sample(context: StageContext, settings: StrongWeak) -> None:
    """Makes every file that is not there yet. They depend on nothing but settings and weights."""
    folder = context.directory / FOLDER
    parts = range(-(-settings.count // AT_ONCE))
    missing = [part for part in parts if not _place(folder, part).exists()]
    if not missing:
        return
    folder.mkdir(exist_ok=True)
    context.echo(
        f"{context.name}: {settings.strong} and {settings.weak} are asked "
        f"{settings.count:,} problems"
    )
    seeds = context.seeds.child("sampled")
    source = ProblemSource(
        settings.problems, context.registry, seeds.child("problems"), held_out=False
    )
    problems = source.distinct(settings.count)
    models = [model_of(context, settings, each) for each in settings.models.values()]
    for part in missing:
        if context.stop.requested:
            raise RunStopped(
                f"stopped in stage {context.name!r}; what was sampled is kept", context.run.path
            )
        some = problems[part * AT_ONCE : (part + 1) * AT_ONCE]
        said = [
            responses(context, settings, model, some, seeds, number)
            for number, model in enumerate(models)
        ]
        pairs = list(zip(*said, strict=True))
        write_jsonl(_place(folder, part), group_lines(graded(settings, some, pairs)))


def model_of(context: StageContext, settings: StrongWeak, model: Member) -> Decoder:
    """A stage's weights as it ended, or those in a directory; they do not train."""
    if model.stage is not None:
        return frozen(context, model.stage)
    decoder = attrs.evolve(at(model.path), dtype=settings.dtype).decoder(
        context.tokenizer.vocabulary, Seeds(0)
    )
    return decoder.eval().requires_grad_(False)


def responses(
    context: StageContext,
    settings: StrongWeak,
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
    settings: StrongWeak, problems: Sequence[Problem], pairs: Sequence[tuple[Response, ...]]
) -> list[Group]:
    """The groups with their verdicts, all of them judged together."""
    texts = [
        (problem.answer, each.text)
        for problem, both in zip(problems, pairs, strict=True)
        for each in both
    ]
    found = iter(verdicts_on(cast(Verifier, settings.verifier), texts))
    groups = []
    for problem, both in zip(problems, pairs, strict=True):
        verdicts = [next(found) for _ in both]
        correct = [
            verdict.correct and is_finished(each)
            for verdict, each in zip(verdicts, both, strict=True)
        ]
        groups.append(
            Group(
                problem=problem,
                responses=both,
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
