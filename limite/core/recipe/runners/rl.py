"""Reinforcement learning: sample whole groups, score them, update on those that differ."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from limite.core.actor.queue import Abandoned
from limite.core.errors import RunFailed
from limite.core.health.gates import GateVerdict, all_passed, ratio_gates
from limite.core.health.ratios import RatioHealth
from limite.core.jsonl import read_jsonl
from limite.core.kinds import Advantage, LRSchedule, Objective, Optimizer
from limite.core.recipe.runners.batches import Batches
from limite.core.recipe.runners.critic import StageCritic, taught_rows
from limite.core.recipe.runners.learner import Learner, ScoredRow
from limite.core.recipe.runners.records import refuse_missing_rollouts
from limite.core.recipe.runners.reference import Reference
from limite.core.recipe.runners.rollouts import arm_metrics, sample_metrics
from limite.core.recipe.runners.session import Clocks, TrainingSession
from limite.core.recipe.runners.stability import Watch
from limite.core.recipe.runners.values import TaughtRow
from limite.core.recipe.stages import RL
from limite.core.rollout.store import group_lines
from limite.core.separation import text_hash
from limite.core.train.replay import Row
from limite.core.types import Group

if TYPE_CHECKING:
    from torch import Tensor

    from limite.core.recipe.context import StageContext


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of every problem the stage has sampled responses to."""
    seen: set[str] = set()
    for path in sorted((context.directory / "rollouts").glob("*.jsonl.zst")):
        seen |= {text_hash(record["problem"]["problem"]) for record in read_jsonl(path)}
    return seen


def without_truncated(group: Group) -> Group:
    """The group, of which responses cut at their budget are not learned from."""
    learned = tuple(response.finish_reason != "length" for response in group.responses)
    return attrs.evolve(group, learned=learned)


def rows_of(
    groups: Sequence[Group],
    advantage: Advantage,
    taught: Sequence[TaughtRow | None] | None = None,
    *,
    mask_truncated: bool = False,
) -> list[ScoredRow]:
    """What the learner needs of every response, in sampling order."""
    if mask_truncated:
        groups = [without_truncated(group) for group in groups]
    credited: Sequence[Tensor] = [advantage(group) for group in groups]  # each [G] or [G, T]
    over_batch = getattr(advantage, "over_batch", None)
    if over_batch is not None:
        credited = over_batch(groups, credited)
    lessons = iter(taught or ())
    rows = []
    for number, (group, credit) in enumerate(zip(groups, credited, strict=True)):
        longest = max(len(response.completion_ids) for response in group.responses)
        if credit.shape[0] != len(group.responses) or (
            credit.ndim == 2 and credit.shape[1] < longest
        ):
            raise ValueError(
                f"{type(advantage).__name__} gave {tuple(credit.shape)} for a group of "
                f"{len(group.responses)} responses of up to {longest} tokens"
            )
        for index, response in enumerate(group.responses):
            length = len(response.completion_ids)
            share = credit[index].tolist()
            rows.append(
                ScoredRow(
                    row=Row(
                        prompt=response.prompt_ids,
                        completion=response.completion_ids,
                        listed=response.topk_ids,
                    ),
                    behavior_logp=response.logprobs,
                    behavior_topk_logp=response.topk_logprobs,
                    advantage=share[:length] if isinstance(share, list) else [share] * length,
                    group=number,
                    taught=next(lessons, None),
                    counts=not group.learned or group.learned[index],
                )
            )
    return rows


def refuse_flat_batches(context: StageContext, stage: RL, clocks: Clocks) -> None:
    """Ends a stage in which batch after batch had nothing to learn from."""
    if clocks.flat_batches >= stage.stop_after_flat_batches:
        raise RunFailed(
            f"stage {context.name!r} ended after step {clocks.step}: the last "
            f"{clocks.flat_batches} batches had no group with both right and wrong "
            "responses, so there was nothing to learn from; make the problems easier or "
            "harder (problems.difficulty), or start from a better policy"
        )


def run(context: StageContext) -> dict[str, Any]:
    """Trains the stage to its last rollout batch, from its newest checkpoint if it has one."""
    stage = cast(RL, context.stage)
    session = TrainingSession(
        context,
        optimizer=cast(Optimizer, stage.optimizer),
        lr_schedule=cast(LRSchedule, stage.lr_schedule),
        total_updates=stage.steps * (stage.off_policy_updates + 1),
        clip_norm=stage.clip_norm,
        keep=stage.keep,
        recompute=stage.recompute,
    )
    refuse_missing_rollouts(context, session.clocks.step)
    largest = stage.max_tokens if stage.budget == "fixed-response" else context.model.context
    learner = Learner(
        session=session,
        stage=stage,
        objective=cast(Objective, stage.objective),
        response_tokens=largest,
        reference=Reference.of(context, stage, session),
        critic=StageCritic.of(context, stage, session, response_tokens=largest),
    )
    clocks = session.clocks
    watch = Watch.of(context, stage, session)
    ended: dict[str, Any] = {}
    with context.loggers(stage.steps) as log, Batches.of(context, stage, session) as batches:
        if watch is not None and not session.saved_state:
            save(batches, learner, watch)  # so that there is something to hand on from the start
        refuse_flat_batches(context, stage, clocks)
        while clocks.step < stage.steps:
            try:
                metrics = one_batch(context, stage, batches, learner)
            except Abandoned:
                save(batches, learner, watch)
                context.stop_after(clocks.step, stage.steps, while_sampling=True)
            clocks.step += 1
            if watch is not None:
                if watch.asks(clocks.step):
                    batches.pause("the probe")
                metrics |= watch.after(clocks.step, metrics)
            log(clocks.step, {"time_s": session.time_s(), "tokens": clocks.tokens, **metrics})
            if watch is not None and watch.ended:
                ended = watch.outcome(clocks.step)
                break
            context.after_step(
                clocks.step,
                lambda: save(batches, learner, watch),
                stage.checkpoint_every,
                stage.steps,
            )
            refuse_flat_batches(context, stage, clocks)
    batches.rollouts.engine.close()
    if not clocks.updates:
        context.echo(
            f"warning: stage {context.name!r} made no update: no group had both right and wrong "
            "responses"
        )
    return {
        "steps": clocks.step,
        "updates": clocks.updates,
        "tokens": clocks.tokens,
        "time_s": clocks.time_s,
        "parameters": session.parameters(),
        **({"repetition": stage.repetition.identity} if stage.repetition is not None else {}),
        **ended,
    }


def save(batches: Batches, learner: Learner, watch: Watch | None) -> None:
    """A checkpoint of the finished step, from which all of the stage goes on."""
    state, payloads = batches.state()
    if watch is not None:
        watch.saving(learner.session.clocks.step)
        state |= watch.state()
    for part in (learner.reference, learner.critic):
        if part is not None:
            state |= part.state()
            payloads |= part.payloads()
    learner.session.save(state, payloads)


def credited_rows(
    groups: Sequence[Group], stage: RL, critic: StageCritic | None
) -> list[ScoredRow]:
    """What the learner needs of every response, with what a critic says of it and is to learn."""
    advantage = cast(Advantage, stage.advantage)
    if critic is None:
        return rows_of(groups, advantage, mask_truncated=stage.mask_truncated)
    after = bool(getattr(advantage, "bootstrap_truncated", False))
    valued, said = critic.read(groups, after=after)
    return rows_of(
        valued,
        advantage,
        taught_rows(valued, said, advantage),
        mask_truncated=stage.mask_truncated,
    )


def reset_reference(stage: RL, learner: Learner) -> dict[str, float]:
    """The policy becomes its own reference when it is time; how often that has happened."""
    reference, step = learner.reference, learner.session.clocks.step
    if reference is None or stage.reference_reset_every is None:
        return {}
    if step and step % stage.reference_reset_every == 0:
        with learner.session.whole_decoder() as policy:
            reference.reset(policy)
        learner.session.renew_optimizer()
    return {"reference/resets": reference.resets}


def answer_to_bad_health(
    context: StageContext, stage: RL, step: int, verdicts: Sequence[GateVerdict]
) -> None:
    """Says which gate failed, and ends the run where the recipe wants that."""
    failed = ", ".join(
        f"{each.name} is {each.figure}, limit {each.limit}" for each in verdicts if not each.passed
    )
    if stage.health.action == "stop":
        raise RunFailed(f"stage {context.name!r} ended before the update of step {step}: {failed}")
    skipped = "; the batch is skipped" if stage.health.action == "skip" else ""
    context.echo(f"warning: stage {context.name!r}, step {step}: {failed}{skipped}")


def one_batch(
    context: StageContext, stage: RL, batches: Batches, learner: Learner
) -> dict[str, float | int | str | None]:
    """Samples, scores and learns from the batch of the next step; its metrics."""
    session = learner.session
    step = session.clocks.step
    started = time.perf_counter()
    taken = batches.take(step)
    resets = reset_reference(stage, learner)  # not before: a stop may leave the batch to later
    sampled = taken.batch.batch
    everything = [*sampled.groups, *sampled.dropped]
    lines = group_lines(sampled.groups, sampled.dropped)
    context.write_rollouts(step + 1, lines)
    rollout_s = time.perf_counter() - started
    started = time.perf_counter()
    rows = credited_rows(sampled.groups, stage, learner.critic) if sampled.groups else []
    metrics: dict[str, float | int | str | None] = {
        **sample_metrics(everything, detected=stage.repetition is not None),
        **batches.metrics(taken),
        **resets,
    }
    verdicts: Sequence[GateVerdict] = ()

    def judged(figures: RatioHealth) -> None:
        nonlocal metrics, verdicts
        metrics |= {f"ratio/{name}": value for name, value in attrs.asdict(figures).items()}
        verdicts = ratio_gates(figures, stage.health)
        context.append(
            "health.jsonl", [{"step": step + 1, **verdict.as_dict()} for verdict in verdicts]
        )
        if not all_passed(verdicts):
            answer_to_bad_health(context, stage, step + 1, verdicts)

    measured = bool(rows) and step % stage.health.every == 0
    later = measured and learner.measures_as_it_reads
    apart = measured and not later
    batch = learner.before_updates(rows) if apart or (rows and stage.correction) else []
    if apart:
        judged(learner.measure(batch))
    if rows and stage.correction is not None:
        rows, figures_of_correction = learner.corrected(batch, stage.correction)
        metrics |= figures_of_correction
    if rows and (all_passed(verdicts) or stage.health.action != "skip"):
        seeds = context.seeds.child("learn", step)
        metrics |= learner.learn(rows, seeds, judged if later else None)
    flat = not any(row.has_signal for row in rows)
    session.clocks.flat_batches = session.clocks.flat_batches + 1 if flat else 0
    session.clocks.tokens += sum(
        len(response.completion_ids) for group in everything for response in group.responses
    )
    metrics |= arm_metrics(everything)
    metrics |= {"time/rollout_s": rollout_s, "time/learner_s": time.perf_counter() - started}
    metrics["optim/updates"] = session.clocks.updates
    return metrics
