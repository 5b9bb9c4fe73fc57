"""A stage made small, with everything it works with: what the gates try.

Model, kernels, sampler, objective, optimizer and data are the stage's own. Changed is only what
makes it long, or keeps untrained weights from getting anything right; ``left_out`` says what.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.background import CheckpointWriter
from limite.core.checkpoint.state import module_payload, restore_module
from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.model.decoder import Decoder
from limite.core.receipts import recipe_hash
from limite.core.recipe.context import StageContext, settings_of
from limite.core.recipe.load import LoadedRecipe
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.runners.learner import Learner, ScoredRow
from limite.core.recipe.runners.reference import Reference
from limite.core.recipe.runners.rl import rows_of
from limite.core.recipe.runners.rollouts import Rollouts, scored
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.stages import PLAIN_ADVANTAGE, RL, START
from limite.core.registry import Registry
from limite.core.rollout.sampler import CAPACITY, capacity_tokens
from limite.core.rollout.stop import StopRequest
from limite.core.rollout_kinds import Request
from limite.core.seeds import Seeds
from limite.core.train.replay import Row
from limite.core.types import Answer, Group, Problem, Response, Totals, Verdict

CANARY_TOKENS = 48  # of a response, at most
PROBLEMS = 3
RESPONSES = 40  # to a problem: 32 end early, as many as the sampler removes at once
SHORT = 32
GROUPS, ROLLOUTS, STEPS = 4, 4, 2  # of the stage made small
JITTER = 0.02  # added to new weights: gates and mixtures that start at 0 then take part


@attrs.frozen(kw_only=True)
class EveryOther:
    """Every other response is right, whatever it says: untrained weights get nothing right."""

    def __call__(self, _problem: Problem, response: Response, _verdict: Verdict, /) -> float:
        return float(response.sample_index % 2)


@attrs.frozen(kw_only=True)
class Wrong:
    """No answer is looked at."""

    def __call__(self, _answer: Answer, _text: str, /) -> Verdict:
        return Verdict(outcome="wrong", reason="a canary's answer is not looked at")


def canary_stage(recipe: Recipe, name: str, registry: Registry) -> tuple[RL, list[str]]:
    """The stage made small, and what of it was left out."""
    stage = cast(RL, recipe.stages[name])
    left_out = ["reward and verifier: every other response counts as right"]
    changed: dict[str, Any] = {"reward": EveryOther(), "verifier": Wrong(), "start": None}
    groups = min(stage.groups, GROUPS)
    updates = min(stage.off_policy_updates, 1, groups - 1) + 1
    if stage.critic is not None or getattr(stage.advantage, "needs_values", False):
        left_out.append("critic: an earlier stage's; the advantage 'group' stands in")
        changed |= {"critic": None, "advantage": made(registry, "advantage", PLAIN_ADVANTAGE)}
    if stage.reference not in (None, START):
        left_out.append("reference: an earlier stage's; the weights at the start stand in")
        changed["reference"] = START
    if getattr(type(stage.rollout_schedule), "needs_contrast", False):
        left_out.append("rollout_schedule: it needs right answers; 'complete-episodes' stands in")
        changed["rollout_schedule"] = made(registry, "rollout_schedule", "complete-episodes")
    if registry.name_of(type(stage.engine)) != "built-in":
        left_out.append("engine: a server; the built-in sampler stands in")
        changed["engine"] = made(registry, "engine", "built-in")
    if stage.stop_when is not None or stage.overlong is not None:
        left_out.append("stop_when and overlong")
        changed |= {"stop_when": None, "overlong": None}
    small = attrs.evolve(
        stage,
        **changed,
        steps=STEPS,
        groups=groups,
        rollouts=max(2, min(stage.rollouts, ROLLOUTS)),
        off_policy_updates=updates - 1,
        max_policy_lag=max(stage.max_policy_lag, updates),
        max_tokens=min(stage.max_tokens, CANARY_TOKENS),
        budget="fixed-response",
        reference_reset_every=None,
        health=attrs.evolve(stage.health, action="warn", every=1),
        checkpoint_every=1,
        keep=STEPS + 1,
        save_in_background=False,
    )
    return small, left_out


def starts_anew(recipe: Recipe) -> bool:
    """Whether the model has new weights, and none from a directory."""
    return not settings_of(recipe).hashes()


def made(registry: Registry, kind: str, name: str) -> Any:
    """A component with its default settings."""
    return registry.get(kind, name).load()()


def canary_context(
    loaded: LoadedRecipe, registry: Registry, name: str, stage: RL, run: RunDirectory
) -> StageContext:
    """What the stage made small is given in the folder ``run``; it is alone in its recipe."""
    run.start_stage(name)
    return StageContext(
        run=run,
        recipe=attrs.evolve(loaded.recipe, stages={name: stage}, loggers=logger_of(registry)),
        name=name,
        registry=registry,
        stop=StopRequest(),
        echo=lambda _line: None,
        contract={"recipe_sha256": recipe_hash(loaded.data), "stage": name},
        writer=CheckpointWriter(background=False, echo=lambda _line: None),
    )


def logger_of(registry: Registry) -> tuple[Any, ...]:
    """Lines in ``metrics.jsonl`` alone."""
    return (made(registry, "logger", "jsonl"),)


def canary_run(loaded: LoadedRecipe, folder: Path, name: str) -> RunDirectory:
    """A new run of the recipe in ``folder/name``."""
    receipt = {"recipe_sha256": recipe_hash(loaded.data)}
    return RunDirectory.create(folder, recipe=loaded.data, receipt=receipt, name=name)


@attrs.define(kw_only=True, eq=False)
class Bench:
    """The stage ready to sample and to learn, at the same weights for every gate."""

    loaded: LoadedRecipe
    registry: Registry
    name: str
    folder: Path
    threads: int
    stage: RL
    left_out: Sequence[str]
    context: StageContext
    session: TrainingSession
    learner: Learner
    rollouts: Rollouts
    weights: Mapping[str, Tensor]

    @classmethod
    def of(
        cls, loaded: LoadedRecipe, registry: Registry, name: str, folder: Path, *, threads: int = 1
    ) -> Bench:
        """Everything that stage ``name`` works with; what it writes goes under ``folder``."""
        stage, left_out = canary_stage(loaded.recipe, name, registry)
        run = canary_run(loaded, folder, "bench")
        context = canary_context(loaded, registry, name, stage, run)
        session = TrainingSession(
            context,
            optimizer=cast(Optimizer, stage.optimizer),
            lr_schedule=cast(LRSchedule, stage.lr_schedule),
            total_updates=stage.steps * (stage.off_policy_updates + 1),
            clip_norm=stage.clip_norm,
            keep=stage.keep,
            recompute=stage.recompute,
        )
        if starts_anew(loaded.recipe):
            jitter(session.decoder, Seeds(loaded.recipe.seed).child("admit", "jitter"))
        learner = Learner(
            session=session,
            stage=stage,
            objective=cast(Objective, stage.objective),
            response_tokens=stage.max_tokens,
            reference=Reference.of(context, stage, session),
        )
        weights = {name: each.clone() for name, each in module_payload(session.decoder).items()}
        return cls(
            loaded=loaded,
            registry=registry,
            name=name,
            folder=folder,
            threads=threads,
            stage=stage,
            left_out=left_out,
            context=context,
            session=session,
            learner=learner,
            rollouts=Rollouts(context, stage),
            weights=weights,
        )

    @property
    def decoder(self) -> Decoder:
        return self.session.decoder

    @property
    def dtype(self) -> str:
        """Of matrices and activations, in a word."""
        return str(self.decoder.dtype).removeprefix("torch.")

    @property
    def seeds(self) -> Seeds:
        return self.context.seeds.child("admit")

    @contextmanager
    def at_start(self) -> Iterator[TrainingSession]:
        """The session with a fresh optimizer; at the end its weights are what they were."""
        self.session.renew_optimizer()
        try:
            yield self.session
        finally:
            self.decoder.zero_grad(set_to_none=True)
            restore_module(self.decoder, self.weights)
            self.session.renew_optimizer()

    def problems(self, count: int = PROBLEMS) -> list[Problem]:
        """Problems from all over the stage's mixture, no two alike where there are so many."""
        arms = len(self.rollouts.source.arms)
        found: dict[str, Problem] = {}
        for place in range(4 * count):
            problem = self.rollouts.source.draw(place * arms // count % arms, 0, place, 0)
            found.setdefault(problem.id, problem)
            if len(found) == count:
                break
        return list(found.values())

    def requests(self, *, responses: int = RESPONSES, short: int = SHORT) -> list[Request]:
        """Several responses to each problem, of which ``short`` have a smaller budget.

        Both budgets lead to one capacity of the cache, so that they share a batch.
        """
        found = []
        for problem in self.problems():
            prompt = self.context.tokenizer.render_prompt(problem)
            few, many = budgets(len(prompt), self.stage.max_tokens, self.context.model.context)
            found += [
                Request(
                    problem=problem,
                    sample_index=index,
                    prompt_ids=prompt,
                    budget_tokens=few if index < short else many,
                )
                for index in range(responses)
            ]
        return found

    def scored(self, responses: Sequence[tuple[Problem, Sequence[Response]]]) -> list[Group]:
        return scored(self.stage, responses)

    def rows(self, groups: Sequence[Group]) -> list[ScoredRow]:
        """What the learner needs of every response."""
        return rows_of(groups, cast(Any, self.stage.advantage))

    def long_row(self, tokens: int, number: int) -> ScoredRow:
        """A row of that many tokens of no meaning, as if they had been sampled evenly."""
        stream = self.seeds.stream("long row", number)
        vocabulary, length = self.context.tokenizer.vocabulary, tokens - 1
        even, count = -math.log(vocabulary), self.stage.listed_tokens or 0
        return ScoredRow(
            row=Row(
                prompt=(stream.randrange(vocabulary),),
                completion=tuple(stream.randrange(vocabulary) for _ in range(length)),
                listed=[tuple(range(count))] * length if count else (),
            ),
            behavior_logp=[even] * length,
            behavior_topk_logp=[(even,) * count] * length if count else (),
            advantage=[1.0 if number % 2 else -1.0] * length,
            group=number,
        )

    def totals(self, rows: Sequence[ScoredRow]) -> Totals:
        """The counts of an update over ``rows``."""
        return Totals(
            tokens=sum(len(row.row.completion) for row in rows),
            active_rows=len(rows),
            rows=len(rows),
            response_tokens=self.stage.max_tokens,
        )


def budgets(prompt: int, most: int, context: int) -> tuple[int, int]:
    """A small and a large budget, in tokens, that get a cache of the same capacity.

    ``most``, up to 64, may lie just beyond a capacity: the larger of the two stretches is taken.
    """
    largest = max(1, min(most, context - prompt))
    probe = Request(
        problem=cast(Problem, None), sample_index=0, prompt_ids=(0,) * prompt, budget_tokens=largest
    )
    capacity = capacity_tokens(probe, context)
    before = CAPACITY if capacity <= CAPACITY else 1 << ((capacity - 1).bit_length() - 1)
    first = 1 if capacity <= CAPACITY else max(1, before + 1 - prompt)
    if largest - first >= first - 2:
        return first, largest
    return 1, first - 1


@torch.no_grad()
def jitter(decoder: Decoder, seeds: Seeds) -> None:
    """Moves every number of new weights a little, so that what starts at 0 or 1 takes part."""
    for name, parameter in decoder.named_parameters():
        noise = torch.empty(parameter.shape, dtype=torch.float32)
        noise.normal_(0.0, JITTER, generator=seeds.torch_stream(name))
        parameter.add_(noise.to(parameter))
