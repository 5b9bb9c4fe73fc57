"""One protocol per kind of component: what a plugin must offer, and what it may rely on.

A component is one frozen, keyword-only attrs class; its fields are its settings. A stateless
component is called. A stateful one is only settings: ``build`` returns the thing that runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import attrs

from limite.core.rollout_kinds import Engine, RolloutSchedule
from limite.core.types import Answer, Group, Loss, Problem, Response, TokenBatch, Verdict

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from limite.core.model.attention import AttentionMixer
    from limite.core.model.spec import AttentionShape


@runtime_checkable
class Objective(Protocol):
    """What is minimised. ``needs`` (a class variable, optional) names the columns it reads.

    ``paired_advantage`` (a class variable, optional) is the advantage that belongs to the
    objective, as plain settings (``{"type": "group", "scale": "std"}``); a stage that names no
    advantage uses it, so that half a method is never run by accident. Without one the stage uses
    ``group`` with its defaults: reward minus the mean of the group. ``requires_of_advantage`` (a
    class variable, optional) says which attributes of an advantage the method stands and falls with
    (``{"scale": "none"}``, or ``{"needs_values": True}`` for credit from a critic). ``topk``
    (optional) is how many tokens the lists hold that an objective reads (``topk_logp``,
    ``behavior_topk_logp``). ``rows_together`` (a class variable, optional) is how many rows, one
    after the other, make one item: 2 where responses are compared in pairs. They are never parted.

    An objective that fits a critic reads ``value``, which holds what the critic says of a state.
    Where that is not the value itself, ``outputs`` is how many numbers it says (1 if left out),
    ``output_is`` what they stand for in words, ``value_of(output)`` turns them into values, and
    ``first_outputs(value)`` gives those that stand for one.
    """

    def __call__(self, batch: TokenBatch, /) -> Loss: ...


@runtime_checkable
class Advantage(Protocol):
    """Credit for the responses of one group: ``[G]``, or ``[G, T]`` over completion tokens.

    ``needs_values`` (a class variable, optional) is True of one that reads the group's ``values``:
    the stage then needs a critic. ``targets(group)`` (optional) gives ``[G, T]`` what those should
    have been; without it the reward of the response, at every token. ``over_batch(groups,
    credits)`` (optional) gives what replaces the credits of all groups of a rollout batch, where
    ``learned`` of a group says which of its responses are learned from.
    """

    def __call__(self, group: Group, /) -> Tensor: ...


@runtime_checkable
class Reward(Protocol):
    """A number for one response; None when it could not be scored."""

    def __call__(
        self, problem: Problem, response: Response, verdict: Verdict, /
    ) -> float | None: ...


@runtime_checkable
class Verifier(Protocol):
    """Judges a text against a gold answer. Never raises, always ends.

    ``write(answer)`` (optional) gives a text that states an answer the way the verifier reads it.
    ``judge(pairs)`` (optional) gives the verdicts on many of an answer and a text, in order, the
    same as one by one. ``last_counts`` (a class variable, optional) is True of one that takes the
    last of several answers in a text; any other must not call a text right that states more than
    one.
    """

    def __call__(self, answer: Answer, text: str, /) -> Verdict: ...


@runtime_checkable
class Generator(Protocol):
    """Makes problems. The same stream and difficulty (0 easy .. 1 hard) give the same problem."""

    def sample(self, rng: random.Random, difficulty: float) -> Problem: ...

    def check(self, problem: Problem) -> bool:
        """Whether the gold answer is right, found by code that shares nothing with ``sample``."""
        ...


@runtime_checkable
class AuthorStep(Protocol):
    """Looks at a problem of ``limite-gen author`` before solvers do: a critic, a translator.

    It gives the problem on, with its answer and any text, or says why not. ``ask`` asks the writer.
    """

    def __call__(self, problem: Problem, ask: Callable[[str], str], /) -> Problem | str: ...


@runtime_checkable
class Attention(Protocol):
    """Builds the attention of one layer: an ``nn.Module`` of ``limite.core.model.attention``.

    Which layers get what is the component's to say. That heads share keys and values (``kv_heads``
    below ``heads``) is the model's, and every attention works so: "grouped" is none of its own.
    """

    def build(self, shape: AttentionShape) -> nn.Module: ...


@runtime_checkable
class Graftable(Attention, Protocol):
    """Attention that ``limite graft`` can put into a model in place of what some layers have.

    ``graft`` gives the attention of the whole model afterwards: ``parent`` with this in ``layers``,
    the parent's mixers by layer. Their ``start_as_parent`` is then called, after which the model
    must compute what it did. What cannot be taken over is refused with a LimiteError.
    """

    def graft(
        self, parent: Attention, layers: Mapping[int, AttentionMixer], context: int
    ) -> Attention: ...


@runtime_checkable
class LRSchedule(Protocol):
    """The multiplier of the learning rate at ``step`` (from 0) of ``total_steps``."""

    def __call__(self, step: int, total_steps: int, /) -> float: ...


@runtime_checkable
class Optimizer(Protocol):
    """Builds a torch optimizer over named parameters.

    One whose class says ``shards = True`` may be given some rows of each matrix, as a rank holds
    them: every number moves by itself, or else what it builds has ``of_whole(change, parameters,
    tensors)``, an attribute that ranks set, and calls it for ``change`` of whole matrices. The
    ``whole_shape`` of such a parameter says what it is a part of.
    """

    def build(
        self, named_parameters: Iterable[tuple[str, nn.Parameter]]
    ) -> torch.optim.Optimizer: ...


class CurriculumRun(Protocol):
    """A curriculum at work. ``state`` is plain data; ``restore`` then going on = never stopped."""

    def next(self, step: int, count: int) -> Sequence[int]:
        """The arms of the next ``count`` problems: indexes into the arms given to ``build``."""
        ...

    def observe(self, arm: int, correct: Sequence[bool]) -> None:
        """Outcomes of the responses to one problem of ``arm``."""
        ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


@attrs.frozen(kw_only=True)
class Arm:
    """A kind of problem a curriculum can ask for: a generator at a stretch of its difficulty.

    Where the curriculum chooses single problems it is one of them, with the ``files`` that it
    stands in, and the ``pass_rate`` that was measured of it, if any was.
    """

    name: str
    weight: float
    difficulty: tuple[float, float]
    files: tuple[str, ...] = ()
    pass_rate: float | None = None


@runtime_checkable
class Curriculum(Protocol):
    """Chooses which kind of problem comes next.

    ``of_problems`` (a class variable, optional) is True of one that chooses single problems: all
    that a stage draws from must then be files, and every problem of them is an arm.
    ``names_files`` (a property, optional) are the files among them that its settings name.
    """

    def build(self, arms: Sequence[Arm], seed: int) -> CurriculumRun: ...


class LoggerRun(Protocol):
    """A logger at work. ``metrics`` are finite numbers or None; closing twice is fine."""

    def log(self, step: int, metrics: Mapping[str, float | int | str | None]) -> None: ...

    def close(self) -> None: ...


@attrs.frozen(kw_only=True)
class LoggerContext:
    """What a logger may know of the stage it serves.

    ``live`` says that ``echo`` ends at a terminal, where a line that moves is welcome.
    """

    stage: str
    directory: Path
    total_steps: int
    echo: Callable[[str], None]
    live: bool = False


@runtime_checkable
class Logger(Protocol):
    """Takes the metrics of every step somewhere."""

    def build(self, context: LoggerContext) -> LoggerRun: ...


@runtime_checkable
class Benchmark(Protocol):
    """Problems that models are measured on: the same ones in the same order, every time.

    ``sha256`` (an attribute, optional) is the seal, that of the file that the problems make: a set
    that is not what its seal says is never asked. ``licence`` (an attribute, optional) is that of
    the problems. ``verifier`` (an attribute, optional) names what judges answers where nobody says
    otherwise, and ``exact`` (an attribute, optional) the grader of whoever published the benchmark,
    a verifier. ``samples`` (an attribute, optional) is how many responses it is meant to have.
    ``question(problem)`` (optional) gives what a model is asked, where that is more than the text
    of the problem and an instruction behind it; the answer has no part in it.
    """

    def problems(self) -> Sequence[Problem]:
        """All of them, each with its answer, no two alike."""
        ...


@runtime_checkable
class Kernel(Protocol):
    """Another implementation of one operation of ``limite.core.kernels.ops``, named by ``op``.

    It is called with that operation's own arguments, as ``ops`` passes them on after its checks,
    and is differentiable where the operation is. It runs only where it is asked for by name:
    ``LIMITE_KERNELS=attention=my-attention``.

    ``refuses(case)`` (optional) says why it cannot run a ``dispatch.Case``, or None where it can.
    ``device`` (a class variable, optional) is where its laws run: ``"cpu"`` if it does not say.
    """

    op: ClassVar[str]

    def __call__(self, *arguments: Any, **options: Any) -> Any: ...


KINDS: Mapping[str, type] = {
    "objective": Objective,
    "advantage": Advantage,
    "reward": Reward,
    "verifier": Verifier,
    "generator": Generator,
    "author_step": AuthorStep,
    "attention": Attention,
    "lr_schedule": LRSchedule,
    "curriculum": Curriculum,
    "rollout_schedule": RolloutSchedule,
    "engine": Engine,
    "optimizer": Optimizer,
    "logger": Logger,
    "benchmark": Benchmark,
    "kernel": Kernel,
}
