"""Fitting a critic offline: to what recorded responses earned, problems apart from problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import attrs
from torch import Tensor, nn

from limite.core.checkpoint.state import module_payload
from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.model.critic import Critic, critic_from
from limite.core.recipe.runners.critic import PAYLOAD
from limite.core.recipe.runners.lessons import Lessons, read_lessons, recorded, rollout_files
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.runners.values import Values, first_outputs, outputs_of
from limite.core.recipe.stages import FitCritic
from limite.core.separation import text_hash
from limite.core.train.documents import batch_indexes
from limite.core.types import Metric

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of every problem whose responses the stage reads."""
    return {text_hash(group.problem.problem) for _, group in recorded(rollout_files(context))}


class CriticSession(TrainingSession):
    """A training session whose weights are a critic's.

    Its checkpoints hold two critics: ``latest``, which it goes on from, and ``critic``, the one
    that did best on the held-out part.
    """

    payload = "latest"

    def __init__(self, context: StageContext, stage: FitCritic, *, mean_reward: float) -> None:
        self.first = first_outputs(stage.objective, mean_reward)
        assert len(self.first) == outputs_of(stage.objective)
        super().__init__(
            context,
            optimizer=cast(Optimizer, stage.optimizer),
            lr_schedule=cast(LRSchedule, stage.lr_schedule),
            total_updates=stage.steps,
            clip_norm=stage.clip_norm,
            keep=stage.keep,
            recompute=stage.recompute,
        )

    def begin(self, *, restored: bool) -> nn.Module:
        trunk = self.context.new_decoder(values=False) if restored else self.context.load_policy()
        bias = self.first[0] if len(self.first) == 1 else self.first
        return critic_from(trunk, bias=bias, share=True).eval()

    @property
    def critic(self) -> Critic:
        return cast(Critic, self.module)


@attrs.define(kw_only=True)
class Best:
    """How the held-out part has been judged so far. ``stale`` counts measurements since the best.

    ``constant_loss`` is that of the critic before its first update, which says the mean reward.
    """

    constant_loss: float
    loss: float
    explained_variance: float | None = None
    step: int = 0
    stale: int = 0


@attrs.define(kw_only=True, eq=False)
class Fit:
    """A critic being fitted, and the best there was."""

    stage: FitCritic
    session: CriticSession
    values: Values
    lessons: Lessons
    best: Best
    weights: dict[str, Tensor]

    @classmethod
    def of(cls, context: StageContext, stage: FitCritic) -> Fit:
        """As it was when the stage was last saved, or before its first update."""
        lessons = read_lessons(context, stage)
        session = CriticSession(context, stage, mean_reward=lessons.mean_reward)
        longest = max(len(row.row.completion) for row in [*lessons.fitted, *lessons.held_out])
        values = Values(
            critic=session.critic,
            objective=cast(Objective, stage.objective),
            microbatch_tokens=stage.microbatch_tokens,
            response_tokens=longest,
        )
        saved = session.saved_state
        if saved:
            best, weights = Best(**saved["best"]), dict(session.saved_payloads[PAYLOAD])
        else:
            loss, _ = values.judge(lessons.held_out, where=context.place(0))
            best, weights = Best(constant_loss=loss, loss=loss), copy_of(session.critic)
        return cls(
            stage=stage,
            session=session,
            values=values,
            lessons=lessons,
            best=best,
            weights=weights,
        )

    @property
    def done(self) -> bool:
        step = self.session.clocks.step
        return step >= self.stage.steps or self.best.stale >= self.stage.patience

    def update(self) -> dict[str, float | None]:
        """One step on the fitted part, and a measurement when it is time."""
        session, clocks = self.session, self.session.clocks
        where = session.context.place(clocks.step)
        fitted = self.lessons.fitted
        picked = batch_indexes(clocks.step, self.stage.batch, len(fitted), session.context.seeds)
        rows = [fitted[index] for index in picked]
        loss, found = self.values.learn(rows, where=where)
        optim = session.update(loss)
        clocks.step += 1
        clocks.tokens += sum(row.tokens for row in rows)
        metrics = {"loss": loss, **plain(found), **optim}
        if clocks.step % self.stage.eval_every == 0 or clocks.step == self.stage.steps:
            metrics |= self.measure(where)
        return metrics

    def measure(self, where: str) -> dict[str, float | None]:
        """Judges the critic on the held-out part, and keeps it if none did better."""
        loss, found = self.values.judge(self.lessons.held_out, where=where)
        told = plain(found)
        explained = told.get("value/explained_variance")
        if loss < self.best.loss:
            self.weights = copy_of(self.session.critic)
            self.best = Best(
                constant_loss=self.best.constant_loss,
                loss=loss,
                explained_variance=explained,
                step=self.session.clocks.step,
            )
        else:
            self.best.stale += 1
        return {"held_out/loss": loss, "held_out/explained_variance": explained}

    def save(self) -> None:
        self.session.save({"best": attrs.asdict(self.best)}, {PAYLOAD: self.weights})


def copy_of(critic: Critic) -> dict[str, Tensor]:
    """Its weights as they are now."""
    return {name: tensor.clone() for name, tensor in module_payload(critic).items()}


def plain(metrics: dict[str, Metric]) -> dict[str, float | None]:
    return {name: metric.result() for name, metric in metrics.items()}


def run(context: StageContext) -> dict[str, Any]:
    """Fits the critic until it stops getting better, from the newest checkpoint if there is one."""
    stage = cast(FitCritic, context.stage)
    fit = Fit.of(context, stage)
    session, clocks = fit.session, fit.session.clocks
    with context.loggers(stage.steps) as log:
        while not fit.done:
            metrics = fit.update()
            log(clocks.step, {"time_s": session.time_s(), "tokens": clocks.tokens, **metrics})
            last = clocks.step if fit.done else stage.steps
            context.after_step(clocks.step, fit.save, stage.checkpoint_every, last)
    if not fit.best.step:
        context.echo(
            f"warning: stage {context.name!r} never did better on held-out problems than the mean "
            "reward: its critic says that of every state"
        )
    return {
        "steps": clocks.step,
        "updates": clocks.updates,
        "tokens": clocks.tokens,
        "time_s": clocks.time_s,
        "parameters": session.parameters(),
        "responses": len(fit.lessons.fitted),
        "held_out_responses": len(fit.lessons.held_out),
        "held_out_problems": fit.lessons.held_out_problems,
        "held_out": attrs.asdict(fit.best, filter=lambda field, _: field.name != "stale"),
    }
