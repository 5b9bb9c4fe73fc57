"""The sampling half of a rollout batch: which problems, which responses, what they earned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from limite.core.actor.queue import Abandoned, Prompts, Snapshot
from limite.core.actor.turns import BEFORE_UPDATE
from limite.core.checkpoint.state import module_payload, restore_module
from limite.core.health.contrast import contrast_shares
from limite.core.kinds import Curriculum, Reward, Verifier
from limite.core.recipe.declared import DATA, PROTOCOL
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.ranks.sampling import sampled_together
from limite.core.recipe.runners.engines import asks_elsewhere, engine_at_work
from limite.core.recipe.single_problems import SingleProblems, chooses_problems
from limite.core.recipe.stages import RL
from limite.core.rollout.budget import completion_budget, is_finished
from limite.core.rollout.grading import verdicts_on
from limite.core.rollout.pending import packed, unpacked
from limite.core.rollout.whole import check_groups, check_records
from limite.core.rollout_kinds import Batch, Policy, Request, RolloutSchedule
from limite.core.types import Group, Problem, Response, Verdict

if TYPE_CHECKING:
    from torch import Tensor

    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext


@attrs.frozen(kw_only=True)
class Sampling:
    """A batch, and what the engine told of it, by the names of metrics."""

    batch: Batch
    told: Mapping[str, float]


class Rollouts:
    """The sampling half of a stage: which problems, which responses, what they earned."""

    def __init__(self, context: StageContext, stage: RL) -> None:
        self.context = context
        self.stage = stage
        seeds = context.seeds
        self.source: ProblemSource | SingleProblems = (
            SingleProblems(stage.problems)
            if chooses_problems(stage)
            else ProblemSource(
                stage.problems, context.registry, seeds.child("problems"), held_out=False
            )
        )
        self.engine = engine_at_work(context, stage)
        self._begin()
        self.changed: Collection[str] = ()
        self._held: Decoder | None = None
        self._abandoned: Callable[[], bool] = lambda: False

    def _begin(self) -> None:
        """Curriculum and schedule as before the first batch."""
        stage, seeds = self.stage, self.context.seeds
        self.curriculum = cast(Curriculum, stage.curriculum).build(
            self.source.arms, seeds.integer("curriculum")
        )
        self.schedule = cast(RolloutSchedule, stage.rollout_schedule).build(
            stage.groups, stage.rollouts, seeds.integer("rollout_schedule")
        )

    def sample(
        self, prompts: Prompts, snapshot: Snapshot[Decoder], abandoned: Callable[[], bool]
    ) -> Sampling:
        """The batch of a step, scored, in an order that completion times do not touch."""
        (step,) = prompts
        self._abandoned = abandoned
        episodes = StepEpisodes(self, snapshot.policy, step, snapshot.version)
        batch = self.schedule.next(episodes)
        check_groups([*batch.groups, *batch.dropped], self.stage.rollouts)
        return Sampling(batch=batch, told=dict(self.engine.metrics()))

    def hold(self, policy: Decoder) -> Decoder:
        """The policy itself where a batch is whole before the next update, otherwise a copy."""
        ahead = self.stage.rollout_prefetch_schedule == BEFORE_UPDATE
        return self.held(module_payload(policy)) if ahead else policy

    def held(self, weights: Mapping[str, Tensor]) -> Decoder:
        """A decoder of the actor's own with these weights; it stops once nobody wants more."""
        if self._held is None:
            self._held = self.context.new_decoder(values=False)
            self._held.before_step = self._unless_abandoned
        restore_module(self._held, weights)
        return self._held

    def _unless_abandoned(self) -> None:
        if self._abandoned():
            raise Abandoned

    def schedule_metrics(self, sampling: Sampling, policy_version: int) -> dict[str, float]:
        """What a schedule that does not learn from all it samples has left out, and what the
        engine tells of the batch."""
        batch, told = sampling.batch, dict(sampling.told)
        if not getattr(type(self.stage.rollout_schedule), "leaves_out", False):
            return told
        shares = contrast_shares(batch.dropped)
        dropped = len(batch.dropped)
        lags = [policy_version - each.policy_version for g in batch.groups for each in g.responses]
        return told | {
            "schedule/sampled_groups": len(batch.groups) + dropped,
            "schedule/kept_groups": len(batch.groups),
            "schedule/dropped_all_correct": round(dropped * (shares.all_correct_share or 0.0)),
            "schedule/dropped_all_wrong": round(dropped * (shares.all_wrong_share or 0.0)),
            "schedule/rounds": batch.rounds,
            "schedule/abandoned_responses": batch.abandoned,
            "schedule/lag_updates": sum(lags) / len(lags) if lags else 0.0,
        }

    def state(self) -> dict[str, Any]:
        """Everything that the next batch depends on beside weights and seeds."""
        return {"curriculum": self.curriculum.state(), "rollout_schedule": self.schedule.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from ``state``, as far as it holds under what was ``changed`` by declaration.

        Responses that were carried over are of the old problems, and of the old budgets and
        penalties; a curriculum is of the old problems.
        """
        self._begin()  # what comes back to an earlier state need not know how
        if DATA not in self.changed:
            self.curriculum.restore(state["curriculum"])
            if PROTOCOL not in self.changed:
                self.schedule.restore(state["rollout_schedule"])

    def packed(self, sampling: Sampling) -> dict[str, Any]:
        return {"batch": packed(sampling.batch), "told": dict(sampling.told)}

    def unpacked(self, data: Mapping[str, Any]) -> Sampling:
        return Sampling(batch=unpacked(data["batch"]), told=data["told"])

    def is_cut_short(self, sampling: Sampling) -> bool:
        """Whether a response in the batch was ended by a stop."""
        return any(
            response.finish_reason == "stop"
            for group in (*sampling.batch.groups, *sampling.batch.dropped)
            for response in group.responses
        )


Sampled = tuple[Problem, Sequence[Response]]


class StepEpisodes:
    """The episodes of one step: problems by the curriculum, sampled by the policy as it is.

    A problem that is drawn twice in a step is drawn again, within reason; one that is there twice
    all the same goes on counting samples, so that its second group is no copy of the first.
    """

    def __init__(
        self, rollouts: Rollouts, decoder: Decoder, step: int, policy_version: int
    ) -> None:
        self.rollouts = rollouts
        self.context, self.stage = rollouts.context, rollouts.stage
        self.step = step
        self.policy_version = policy_version
        self.decoder = decoder
        self._place = 0
        self._arms: dict[str, int] = {}
        self._samples: dict[str, int] = {}

    def ask(self, count: int) -> list[Sequence[Request]]:
        arms = self.rollouts.curriculum.next(self.step, count)
        return [self._requests(self._draw(arm)) for arm in arms]

    def _draw(self, arm: int) -> Problem:
        for attempt in range(20):
            problem = self.rollouts.source.draw(arm, self.step, self._place, attempt)
            if problem.id not in self._arms:
                break
        self._place += 1
        self._arms[problem.id] = arm
        return problem

    def _requests(self, problem: Problem) -> list[Request]:
        prompt = self.context.tokenizer.render_prompt(problem)
        first = self._samples.get(problem.id, 0)
        self._samples[problem.id] = first + self.stage.rollouts
        budget = completion_budget(
            self.stage.budget,
            prompt_tokens=len(prompt),
            max_tokens=self.stage.max_tokens,
            context=self.context.model.context,
        )
        return [
            Request(
                problem=problem,
                sample_index=first + index,
                prompt_ids=prompt,
                budget_tokens=budget,
            )
            for index in range(self.stage.rollouts)
        ]

    def generate(
        self, requests: Iterable[Request], *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        policy = Policy(
            decoder=self.decoder,
            version=self.policy_version,
            step=self.step,
            seed=self.context.seeds.integer("rollout", self.step),
        )
        engine, ranks = self.rollouts.engine, self.context.ranks
        if ranks.world_size > 1:
            assert slots is None, "several ranks wait for whole batches"
            return sampled_together(
                lambda mine: engine.generate(mine, policy),
                list(requests),
                ranks,
                f"the responses of step {self.step + 1}",
                alone=asks_elsewhere(self.stage),
            )
        responses = engine.generate(requests, policy, slots=slots)
        return (
            self._until_a_stop(responses)
            if getattr(engine, "keeps_responses", False)
            else responses
        )

    def _until_a_stop(
        self, responses: Iterator[tuple[int, Response]]
    ) -> Iterator[tuple[int, Response]]:
        """The same, but what an engine keeps need not be waited for once the run is to stop."""
        stop = self.context.stop
        try:
            while not stop.requested and (each := next(responses, None)) is not None:
                yield each
            if stop.requested:
                raise Abandoned
        finally:
            getattr(responses, "close", lambda: None)()

    def score(self, sampled: Sequence[Sampled]) -> list[Group]:
        eos_ids, context = self.context.tokenizer.eos_ids, self.context.model.context
        check_records(sampled, eos_ids=eos_ids, context=context)
        groups = scored(self.stage, sampled)
        for group in groups:
            self.rollouts.curriculum.observe(self._arms[group.problem.id], group.correct)
        return groups


def scored(stage: RL, sampled: Sequence[Sampled]) -> list[Group]:
    """Verdicts and rewards of a batch, all of it judged together."""
    pairs = [(problem.answer, each.text) for problem, responses in sampled for each in responses]
    verdicts = iter(verdicts_on(cast(Verifier, stage.verifier), pairs))
    return [
        rewarded(stage, problem, responses, [next(verdicts) for _ in responses])
        for problem, responses in sampled
    ]


REPEATS = Verdict(outcome="wrong", reason="it repeats itself")


def rewarded(
    stage: RL, problem: Problem, responses: Sequence[Response], verdicts: Sequence[Verdict]
) -> Group:
    """The rewards of one group. Accuracy counts naturally ended responses only.

    One that repeats itself earns nothing for its answer, even where it came to its own end.
    """
    verdicts = [
        REPEATS if repeats(stage, response) else verdict
        for response, verdict in zip(responses, verdicts, strict=True)
    ]
    reward = cast(Reward, stage.reward)
    rewards = [
        reward(problem, response, verdict)
        for response, verdict in zip(responses, verdicts, strict=True)
    ]
    penalties = _penalties(stage, responses, verdicts)
    if penalties:
        rewards = [
            None if earned is None else earned + penalty
            for earned, penalty in zip(rewards, penalties, strict=True)
        ]
    return Group(
        problem=problem,
        responses=responses,
        rewards=rewards,
        penalties=tuple(penalties),
        correct=[
            verdict.correct and is_finished(response)
            for response, verdict in zip(responses, verdicts, strict=True)
        ],
        verdicts=verdicts,
    )


def repeats(stage: RL, response: Response) -> bool:
    """Whether a response was ended because it repeats itself, or does so at its own end."""
    if stage.repetition is None:
        return False
    return response.finish_reason == "repetition" or stage.repetition.repetitive(response.text)


def _penalties(
    stage: RL, responses: Sequence[Response], verdicts: Sequence[Verdict]
) -> list[float]:
    """What shaping adds to each reward; empty where the stage has none."""
    if stage.overlong is None and not stage.repetition_penalty:
        return []
    penalties = [0.0] * len(responses)
    for place, (response, verdict) in enumerate(zip(responses, verdicts, strict=True)):
        if stage.overlong is not None:
            penalties[place] += stage.overlong(len(response.completion_ids), stage.max_tokens)
        if verdict is REPEATS:
            penalties[place] -= stage.repetition_penalty
    return penalties


def sample_metrics(groups: Sequence[Group], *, detected: bool = False) -> dict[str, float | None]:
    """What the batch looks like before anything is filtered or trained.

    ``detected``: whether anybody looked for responses that repeat themselves.
    """
    responses = [response for group in groups for response in group.responses]
    rewards = [reward for group in groups for reward in group.rewards if reward is not None]
    correct = [right for group in groups for right in group.correct]
    lengths = sorted(len(response.completion_ids) for response in responses)
    tokens = sum(lengths)
    surprise = -sum(sum(response.logprobs) for response in responses)
    count = len(responses)
    shares = contrast_shares(groups)
    penalties = [penalty for group in groups for penalty in group.penalties]
    shaped = {"reward/penalty": sum(penalties) / len(penalties)} if penalties else {}
    repeated = sum(verdict == REPEATS for group in groups for verdict in group.verdicts)
    return {
        **shaped,
        "contrast/share": shares.reward_contrast_share,
        "contrast/all_correct_share": shares.all_correct_share,
        "contrast/all_wrong_share": shares.all_wrong_share,
        "contrast/unscored_share": shares.unscored_share,
        "reward/mean": sum(rewards) / len(rewards) if rewards else None,
        "accuracy/sampled": sum(correct) / count,
        "length/response_tokens": tokens / count,
        "length/p95_tokens": lengths[min(count - 1, int(0.95 * count))],
        "ending/eos_share": sum(each.finish_reason == "eos" for each in responses) / count,
        "ending/length_share": sum(each.finish_reason == "length" for each in responses) / count,
        **({"ending/repetitive_share": repeated / count} if repeated or detected else {}),
        # The mean surprise of what was sampled is an unbiased estimate of the entropy.
        "entropy/mean": surprise / tokens,
    }


def arm_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """The pass rate of every kind of problem that was asked for."""
    outcomes: dict[str, list[bool]] = {}
    for group in groups:
        outcomes.setdefault(group.problem.meta["arm"], []).extend(group.correct)
    return {f"arm/{arm}": sum(right) / len(right) for arm, right in sorted(outcomes.items())}
