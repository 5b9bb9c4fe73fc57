"""The critic of an RL stage: values of every response, and updates of its own where it learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs
from torch import Tensor

from limite.core.checkpoint.state import (
    module_payload,
    optimizer_payload,
    restore_module,
    restore_optimizer,
)
from limite.core.errors import LimiteError
from limite.core.kinds import Advantage, LRSchedule, Objective, Optimizer
from limite.core.model.critic import Critic
from limite.core.recipe.runners.session import keep_less_of
from limite.core.recipe.runners.stepper import Stepper
from limite.core.recipe.runners.values import Said, TaughtRow, Values, outputs_of
from limite.core.recipe.stages import RL
from limite.core.train.replay import Row
from limite.core.types import Group, Metric

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext
    from limite.core.recipe.runners.session import TrainingSession

PAYLOAD, OPTIMIZER = "critic", "critic-optimizer"


@attrs.define(kw_only=True, eq=False)
class StageCritic:
    """A critic beside a policy, with which it shares no parameter.

    ``stepper`` is what trains it: None for a frozen one, whose parameters need no gradient.
    """

    values: Values
    stepper: Stepper | None
    updates: int = 0

    @classmethod
    def of(
        cls, context: StageContext, stage: RL, session: TrainingSession, *, response_tokens: int
    ) -> StageCritic | None:
        """The critic of a stage, as it was when the stage was last saved; None without one."""
        settings = stage.critic
        if settings is None:
            return None
        objective = cast(Objective, settings.objective)
        critic = Critic(context.new_decoder(values=False), outputs=outputs_of(objective)).eval()
        saved = session.saved_payloads.get(PAYLOAD)
        if saved is None:
            saved = context.final_checkpoint(settings.start, only=(PAYLOAD,)).payloads[PAYLOAD]
        restore_module(critic, saved)
        stepper = None
        keep_less_of(critic, stage.recompute)
        if settings.mode == "frozen":
            critic.requires_grad_(False)
        else:
            stepper = Stepper(
                module=critic,
                settings=cast(Optimizer, settings.optimizer),
                lr_schedule=cast(LRSchedule, settings.lr_schedule),
                total_updates=stage.steps * (stage.off_policy_updates + 1),
                clip_norm=settings.clip_norm,
            )
        found = cls(
            values=Values(
                critic=critic,
                objective=objective,
                microbatch_tokens=stage.microbatch_tokens,
                response_tokens=response_tokens,
                share_prompts=stage.share_prompts,
            ),
            stepper=stepper,
        )
        found.restore(session)
        return found

    def restore(self, session: TrainingSession) -> None:
        """Takes up the clock and the optimizer of the checkpoint the stage goes on from."""
        state = session.saved_state.get(PAYLOAD)
        if state is None:
            return
        self.updates = int(state["updates"])
        if self.stepper is not None:
            tensors = session.saved_payloads[OPTIMIZER]
            restore_optimizer(self.stepper.optimizer, tensors, state["optimizer"])

    def read(self, groups: Sequence[Group], *, after: bool) -> tuple[list[Group], list[Said]]:
        """The groups with values, and what the critic says of every response, in sampling order."""
        responses = [response for group in groups for response in group.responses]
        rows = [Row(prompt=each.prompt_ids, completion=each.completion_ids) for each in responses]
        said, ends = self.values.said(rows, after=after)
        values = iter([self.values.values(each) for each in said])
        last = iter(self.values.values(ends)) if after else None
        valued = [
            attrs.evolve(
                group,
                values=[next(values) for _ in group.responses],
                values_after=None if last is None else [next(last) for _ in group.responses],
            )
            for group in groups
        ]
        return valued, said

    def update(self, rows: Sequence[TaughtRow], *, where: str) -> dict[str, Metric]:
        """One step of the critic over ``rows``; a frozen one is measured."""
        rows = [row for row in rows if row.row.completion]
        if not rows:
            return {}
        if self.stepper is None:
            loss, metrics = self.values.judge_before(rows, where=where)
        else:
            loss, metrics = self.values.learn(rows, where=where)
            rate, norm, moved = self.stepper.update(loss, self.updates, where=where)
            self.updates += 1
            metrics["value/lr"] = Metric(how="mean", value=rate)
            metrics["value/gradient_norm"] = Metric(how="mean", value=norm)
            metrics["value/update_norm"] = Metric(how="mean", value=moved)
        return metrics | {"value/loss": Metric(how="mean", value=loss)}

    def state(self) -> dict[str, Any]:
        numbers = None if self.stepper is None else optimizer_payload(self.stepper.optimizer)[1]
        return {PAYLOAD: {"updates": self.updates, "optimizer": numbers}}

    def payloads(self) -> Mapping[str, Mapping[str, Tensor]]:
        """Its weights, and what its optimizer remembers."""
        found = {PAYLOAD: module_payload(self.values.critic)}
        if self.stepper is not None:
            found[OPTIMIZER] = optimizer_payload(self.stepper.optimizer)[0]
        return found


def taught_rows(
    groups: Sequence[Group], said: Sequence[Said], advantage: Advantage
) -> list[TaughtRow | None]:
    """What every response teaches the critic, in sampling order; None where it has no reward."""
    outputs = iter(said)
    found: list[TaughtRow | None] = []
    for group in groups:
        targets = targets_of(group, advantage)
        for response, reward, target in zip(group.responses, group.rewards, targets, strict=True):
            before = next(outputs)
            row = Row(prompt=response.prompt_ids, completion=response.completion_ids)
            found.append(
                None if reward is None else TaughtRow(row=row, target=target, before=before)
            )
    return found


def targets_of(group: Group, advantage: Advantage) -> list[list[float]]:
    """What the values of a group should have been, for each of its responses ``[L]``."""
    lengths = [len(response.completion_ids) for response in group.responses]
    own = getattr(advantage, "targets", None)
    if own is None:
        rewards = [reward or 0.0 for reward in group.rewards]
        return [[reward] * length for reward, length in zip(rewards, lengths, strict=True)]
    table = own(group)  # [G, T]
    if table.shape != (len(lengths), max(lengths)):
        raise LimiteError(
            f"{type(advantage).__name__} gave targets {tuple(table.shape)} for a group of "
            f"{len(lengths)} responses of up to {max(lengths)} tokens"
        )
    return [row[:length] for row, length in zip(table.tolist(), lengths, strict=True)]
