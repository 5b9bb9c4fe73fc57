"""The one hook of limite, and what it is given: a method for each kind of component."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from limite.core.errors import LimiteError, did_you_mean
from limite.core.kernels.dispatch import BUILT_IN as BACKENDS
from limite.core.kinds import KINDS

if TYPE_CHECKING:
    from limite.core.kinds import (
        Advantage,
        Attention,
        AuthorStep,
        Benchmark,
        Curriculum,
        Generator,
        Kernel,
        Logger,
        LRSchedule,
        Objective,
        Optimizer,
        Reward,
        Verifier,
    )
    from limite.core.rollout_kinds import Engine, RolloutSchedule

hookspec = pluggy.HookspecMarker("limite")
hookimpl = pluggy.HookimplMarker("limite")

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@hookspec
def limite_register(registry: Registrar) -> None:
    """Called once at start: register components, by class or by ``"package.module:Class"``."""


@attrs.frozen(kw_only=True)
class Registration:
    """One component as a plugin named it."""

    kind: str
    name: str
    target: type[Any] | str


class Registrar:
    """Takes the components of one plugin.

    A target is a class, or a string ``"package.module:Class"`` that is imported only when the
    component is used. A string keeps ``limite plugins`` quick; a class lets a type checker refuse
    a component of the wrong kind.
    """

    def __init__(self) -> None:
        self._registrations: list[Registration] = []
        self._absent: dict[tuple[str, str], str] = {}

    @property
    def registrations(self) -> Sequence[Registration]:
        """What has been registered so far, in order."""
        return tuple(self._registrations)

    def objective(self, name: str, target: type[Objective] | str) -> None:
        """What is minimised: ``(TokenBatch) -> Loss``."""
        self._add("objective", name, target)

    def advantage(self, name: str, target: type[Advantage] | str) -> None:
        """Credit for the responses of a group: ``(Group) -> Tensor``."""
        self._add("advantage", name, target)

    def reward(self, name: str, target: type[Reward] | str) -> None:
        """A number for a response: ``(Problem, Response, Verdict) -> float | None``."""
        self._add("reward", name, target)

    def verifier(self, name: str, target: type[Verifier] | str) -> None:
        """Judges a text against a gold answer: ``(Answer, str) -> Verdict``."""
        self._add("verifier", name, target)

    def generator(self, name: str, target: type[Generator] | str) -> None:
        """Makes problems and checks them: ``sample(rng, difficulty)``, ``check(problem)``."""
        self._add("generator", name, target)

    def author_step(self, name: str, target: type[AuthorStep] | str) -> None:
        """Looks at written problems: ``(Problem, ask) -> Problem | str``."""
        self._add("author_step", name, target)

    def attention(self, name: str, target: type[Attention] | str) -> None:
        """Builds the attention of a layer: ``build(shape) -> nn.Module``."""
        self._add("attention", name, target)

    def lr_schedule(self, name: str, target: type[LRSchedule] | str) -> None:
        """A multiplier of the learning rate: ``(step, total_steps) -> float``."""
        self._add("lr_schedule", name, target)

    def curriculum(self, name: str, target: type[Curriculum] | str) -> None:
        """Chooses the next kind of problem: ``build(arms, seed) -> CurriculumRun``."""
        self._add("curriculum", name, target)

    def rollout_schedule(self, name: str, target: type[RolloutSchedule] | str) -> None:
        """Decides which episodes form a batch: ``build(groups, rollouts, seed) -> RolloutRun``."""
        self._add("rollout_schedule", name, target)

    def engine(self, name: str, target: type[Engine] | str) -> None:
        """Samples the responses of an RL stage: ``build(context) -> EngineRun``."""
        self._add("engine", name, target)

    def optimizer(self, name: str, target: type[Optimizer] | str) -> None:
        """Builds a torch optimizer: ``build(named_parameters) -> Optimizer``."""
        self._add("optimizer", name, target)

    def logger(self, name: str, target: type[Logger] | str) -> None:
        """Takes the metrics of every step somewhere: ``build(context) -> LoggerRun``."""
        self._add("logger", name, target)

    def benchmark(self, name: str, target: type[Benchmark] | str) -> None:
        """Problems that models are measured on: ``problems() -> Sequence[Problem]``."""
        self._add("benchmark", name, target)

    def kernel(self, name: str, target: type[Kernel] | str) -> None:
        """Another implementation of one operation of the kernel core, named by its ``op``."""
        if name in BACKENDS:
            raise LimiteError(f"kernel {name!r}: that is one of limite's own; choose another name")
        self._add("kernel", name, target)

    def absent(self, kind: str, name: str, reason: str) -> None:
        """A component that needs a package which is not installed; who asks for it is told.

        ``reason`` says what to install, as in ``"needs acme: pip install 'limite-soft[acme]'"``.
        """
        _check_name(kind, name)
        self._absent[kind, name] = reason

    @property
    def absences(self) -> Mapping[tuple[str, str], str]:
        """What was registered as absent: (kind, name) to the reason."""
        return dict(self._absent)

    def _add(self, kind: str, name: str, target: type[Any] | str) -> None:
        _check_name(kind, name)
        if isinstance(target, str):
            if not TARGET.fullmatch(target):
                raise LimiteError(
                    f"{kind} {name!r}: a target reads 'package.module:Class', got {target!r}"
                )
        elif not isinstance(target, type):
            raise LimiteError(
                f"{kind} {name!r}: the target is a class or a string 'package.module:Class', "
                f"got {target!r}"
            )
        for earlier in self._registrations:
            if (earlier.kind, earlier.name) == (kind, name):
                raise LimiteError(f"{kind} {name!r} is registered twice")
            if earlier.target == target:
                raise LimiteError(
                    f"{kind} {name!r}: its class is already {earlier.kind} {earlier.name!r}; "
                    "one class has one name"
                )
        self._registrations.append(Registration(kind=kind, name=name, target=target))


def _check_name(kind: str, name: str) -> None:
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS)
        raise LimiteError(f"unknown kind {kind!r}{near or '; there are ' + ', '.join(KINDS)}")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise LimiteError(
            f"{kind} {name!r}: a name is lower-case words of letters and digits, joined by hyphens"
        )
