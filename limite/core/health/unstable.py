"""When a stage has become unstable: four triggers, and how long each has held.

A trigger that holds must go on to hold for a while, because one odd batch means nothing. What comes
after the last measurement at which all was well is the window that nobody should build on.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.health.gates import GateVerdict

GATES, GRADIENT_NORM = "ratio", "unstable/gradient_norm"
NATURAL_END, HELD_OUT = "unstable/natural_end", "unstable/held_out"
TRIGGERS = (GATES, GRADIENT_NORM, NATURAL_END, HELD_OUT)
"""As lines of ``health.jsonl`` name them: the first stands for all gates on importance weights."""

REMEMBERED = 100
"""Gradient norms that the running median is taken of."""

SETTLED = 10
"""How many norms there must be before one is judged, and endings of which the mean is taken."""


def held_after(held: int, good: bool, every: int) -> int:
    """For how many updates a trigger holds, after one more measurement of ``every`` updates.

    The first one that is bad counts once: nobody knows of the updates before it.
    """
    if good:
        return 0
    return held + every if held else 1


def trigger_of(gate: str) -> str:
    """The trigger that a line of ``health.jsonl`` belongs to."""
    return GATES if gate.startswith(f"{GATES}/") else gate


def gradient_verdict(norm: float, earlier: Sequence[float], limit: float) -> GateVerdict | None:
    """A gradient norm as a multiple of the median of earlier ones; None while they are few."""
    if len(earlier) < SETTLED:
        return None
    median = statistics.median(earlier)
    if not median:
        return None
    return GateVerdict(name=GRADIENT_NORM, figure=norm / median, high=limit)


def natural_end_verdict(share: float, best: float | None, limit: float) -> GateVerdict | None:
    """How far the share of naturally ended responses is below its best mean of ten updates."""
    if best is None:
        return None
    return GateVerdict(name=NATURAL_END, figure=best - share, high=limit)


def held_out_verdict(
    rates: Sequence[float], best: Sequence[float], standard_errors: float
) -> GateVerdict:
    """How far pass rates of problems are below the best there were, on average.

    The limit is that many standard errors of the paired difference: the problems are the same.
    """
    falls = [was - now for was, now in zip(best, rates, strict=True)]
    error = statistics.stdev(falls) / len(falls) ** 0.5
    return GateVerdict(name=HELD_OUT, figure=statistics.fmean(falls), high=standard_errors * error)


@attrs.define(kw_only=True)
class Held:
    """One trigger: for how many updates it holds, and when all was well last."""

    every: int = 1
    held: int = 0
    since: int | None = None
    good_step: int = 0

    def see(self, step: int, good: bool | None, *, moved: bool) -> None:
        """Takes note of a step; ``good`` is None where nothing was measured.

        A step at which the weights did not move is as good as the one before it.
        """
        if good is None:
            if not moved and not self.held and self.good_step == step - 1:
                self.good_step = step
            return
        self.held = held_after(self.held, good, self.every)
        if good:
            self.since, self.good_step = None, step
        elif self.since is None:
            self.since = step


@attrs.define(kw_only=True)
class Stability:
    """All triggers of one stage, with what they are judged by. ``state`` is plain data."""

    gradient_norm: float
    natural_end: float
    standard_errors: float
    patience: int
    held: dict[str, Held]
    norms: list[float] = attrs.field(factory=list)
    endings: list[float] = attrs.field(factory=list)
    best_ending: float | None = None
    best_rates: list[float] | None = None

    def see(
        self,
        step: int,
        *,
        gates: bool | None,
        norm: float | None,
        ending: float | None,
        rates: Sequence[float] | None,
    ) -> list[GateVerdict]:
        """Takes note of a finished step; the verdicts that are new.

        ``gates``: whether those on importance weights passed; ``norm``: of the gradient, None where
        no update was made; ``ending``: the share of naturally ended responses; ``rates``: the pass
        rates of held-out problems, where they were asked.
        """
        found: list[GateVerdict] = []
        moved = norm is not None

        def judge(trigger: str, verdict: GateVerdict | None, *, measured: bool) -> None:
            good = (verdict is None or verdict.passed) if measured else None
            self.held[trigger].see(step, good, moved=moved)
            if verdict is not None:
                found.append(verdict)

        self.held[GATES].see(step, gates, moved=moved)
        verdict = None if norm is None else gradient_verdict(norm, self.norms, self.gradient_norm)
        judge(GRADIENT_NORM, verdict, measured=moved)
        if norm is not None:
            self.norms = [*self.norms, norm][-REMEMBERED:]
        if ending is not None:
            verdict = natural_end_verdict(ending, self.best_ending, self.natural_end)
            judge(NATURAL_END, verdict, measured=True)
            self._note_ending(ending)
        if HELD_OUT in self.held:
            verdict = None
            if rates is not None and self.best_rates is not None:
                verdict = held_out_verdict(rates, self.best_rates, self.standard_errors)
            judge(HELD_OUT, verdict, measured=rates is not None)
            if rates is not None:
                self.note_rates(rates)
        return found

    def _note_ending(self, ending: float) -> None:
        self.endings = [*self.endings, ending][-SETTLED:]
        if len(self.endings) == SETTLED:
            mean = statistics.fmean(self.endings)
            self.best_ending = mean if self.best_ending is None else max(self.best_ending, mean)

    def note_rates(self, rates: Sequence[float]) -> None:
        """Keeps the pass rates of held-out problems where they are the best so far."""
        if self.best_rates is None or sum(rates) > sum(self.best_rates):
            self.best_rates = list(rates)

    @property
    def fired(self) -> list[str]:
        """The triggers that have held for ``patience`` updates."""
        return [name for name, held in self.held.items() if held.held >= self.patience]

    @property
    def good_step(self) -> int:
        """The last step at which nothing was known to be wrong: later ones may be in a window."""
        return min(held.good_step for held in self.held.values())

    def state(self) -> dict[str, Any]:
        return {
            "norms": list(self.norms),
            "endings": list(self.endings),
            "best_ending": self.best_ending,
            "best_rates": self.best_rates,
            "held": {
                name: [each.held, each.since, each.good_step] for name, each in self.held.items()
            },
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.norms, self.endings = list(state["norms"]), list(state["endings"])
        self.best_ending, self.best_rates = state["best_ending"], state["best_rates"]
        for name, (held, since, good_step) in state["held"].items():
            self.held[name].held = held
            self.held[name].since, self.held[name].good_step = since, good_step
