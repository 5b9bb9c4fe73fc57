"""The stopping rule ``unstable`` at work: what is watched, which checkpoint is handed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs

from limite.core.health.gates import all_passed, ratio_gates
from limite.core.health.ratios import RatioHealth
from limite.core.health.unstable import (
    GATES,
    GRADIENT_NORM,
    HELD_OUT,
    NATURAL_END,
    Held,
    Stability,
)
from limite.core.kinds import Verifier
from limite.core.recipe.stages import RL, Probe, Unstable
from limite.core.recipe.tasting import drawn_problems
from limite.core.rollout.budget import completion_budget, is_finished
from limite.core.rollout.grading import verdicts_on
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext
    from limite.core.recipe.runners.session import TrainingSession

Figures = Mapping[str, float | int | str | None]


class Watch:
    """Looks at every finished step of a stage, and says when it must end."""

    def __init__(
        self, context: StageContext, stage: RL, rule: Unstable, session: TrainingSession
    ) -> None:
        self.context, self.stage, self.rule, self.session = context, stage, rule, session
        held = {
            GATES: Held(every=stage.health.every),
            GRADIENT_NORM: Held(),
            NATURAL_END: Held(),
        }
        if rule.probe is not None:
            held[HELD_OUT] = Held(every=rule.probe.every)
        self.stability = Stability(
            gradient_norm=rule.gradient_norm,
            natural_end=rule.natural_end,
            standard_errors=rule.standard_errors,
            patience=rule.patience,
            held=held,
        )
        self.saved: list[int] = []
        self.requests = () if rule.probe is None else self._requests(rule.probe)

    @classmethod
    def of(cls, context: StageContext, stage: RL, session: TrainingSession) -> Watch | None:
        """The rule of a stage as its checkpoint left it; None where the stage has none."""
        if stage.stop_when is None:
            return None
        found = cls(context, stage, stage.stop_when, session)
        saved = session.saved_state.get("stability")
        if saved is not None:
            found.stability.restore(saved["triggers"])
            found.saved = list(saved["checkpoints"])
        elif found.requests:
            # What a stage begins with counts: it may never be as good again.
            with session.whole_decoder() as policy:
                found.stability.note_rates(found.rates(policy))
        return found

    def _requests(self, probe: Probe) -> tuple[Request, ...]:
        context = self.context
        problems = drawn_problems(context.recipe, context.name, probe, context.registry)
        requests = []
        for problem in problems:
            prompt = context.tokenizer.render_prompt(problem)
            budget = completion_budget(
                self.stage.budget,
                prompt_tokens=len(prompt),
                max_tokens=self.stage.max_tokens,
                context=context.model.context,
            )
            requests += [
                Request(
                    problem=problem, sample_index=index, prompt_ids=prompt, budget_tokens=budget
                )
                for index in range(probe.samples)
            ]
        return tuple(requests)

    def rates(self, decoder: Decoder) -> list[float]:
        """The pass rate of every problem of the probe; draws are the same every time."""
        probe = cast(Probe, self.rule.probe)
        sampler = Sampler(
            decoder,
            self.context.tokenizer,
            temperature=self.stage.temperature,
            seed=self.context.seeds.integer("probe"),
        )
        found = dict(sampler.generate(self.requests, policy_version=0))
        pairs = [
            (each.problem.answer, found[place].text) for place, each in enumerate(self.requests)
        ]
        verdicts = verdicts_on(cast(Verifier, self.stage.verifier), pairs)
        right = [
            verdict.correct and is_finished(found[place]) for place, verdict in enumerate(verdicts)
        ]
        size = probe.samples
        return [sum(right[at : at + size]) / size for at in range(0, len(right), size)]

    def asks(self, step: int) -> bool:
        """Whether the problems of the probe are asked after a step."""
        return self.rule.probe is not None and step % self.rule.probe.every == 0

    def after(self, step: int, metrics: Figures) -> dict[str, float]:
        """Takes note of a finished step; what there is to report of it."""
        rates = None
        if self.asks(step):
            with self.session.whole_decoder() as policy:
                rates = self.rates(policy)
        verdicts = self.stability.see(
            step,
            gates=self._gates(metrics),
            norm=_number(metrics.get("optim/gradient_norm")),
            ending=_number(metrics.get("ending/eos_share")),
            rates=rates,
        )
        self.context.append(
            "health.jsonl", [{"step": step, **verdict.as_dict()} for verdict in verdicts]
        )
        return {} if rates is None else {"probe/pass_rate": sum(rates) / len(rates)}

    def _gates(self, metrics: Figures) -> bool | None:
        """Whether the gates on importance weights passed; None where they were not measured."""
        names = [each.name for each in attrs.fields(RatioHealth)]
        if f"ratio/{names[0]}" not in metrics:
            return None
        figures: dict[str, Any] = {name: metrics[f"ratio/{name}"] for name in names}
        return all_passed(ratio_gates(RatioHealth(**figures), self.stage.health))

    @property
    def ended(self) -> bool:
        """Whether the stage is unstable."""
        return bool(self.stability.fired)

    def saving(self, step: int) -> None:
        """Takes note of a checkpoint that is about to be written, and of those that must stay.

        One that somebody's Ctrl-C made does not count: a run that was never stopped has none.
        """
        if step % self.stage.checkpoint_every == 0 and step not in self.saved:
            self.saved.append(step)
        least = max((each for each in self.saved if each <= self.stability.good_step), default=0)
        self.saved = [each for each in self.saved if each >= least]
        self.session.pinned = set(self.saved)

    def state(self) -> dict[str, Any]:
        return {"stability": {"triggers": self.stability.state(), "checkpoints": list(self.saved)}}

    def outcome(self, step: int) -> dict[str, Any]:
        """What the receipt says of a stage that ended so, after ``step``; and a word to people."""
        handed = max(each for each in self.saved if each <= self.stability.good_step)
        triggers = [
            {
                "trigger": name,
                "held": self.stability.held[name].held,
                "since_step": self.stability.held[name].since,
            }
            for name in self.stability.fired
        ]
        since = " and ".join(
            f"{each['trigger']} since step {each['since_step']}" for each in triggers
        )
        self.context.echo(
            f"warning: stage {self.context.name!r} ended after step {step} of {self.stage.steps}, "
            f"because it was unstable ({since}); what it was after step {handed} is handed on"
        )
        return {
            "ended": {"rule": "unstable", "patience": self.rule.patience, "triggers": triggers},
            "hands_on_step": handed,
        }


def _number(value: float | int | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)
