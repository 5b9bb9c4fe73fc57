"""What every training stage keeps: weights, optimizer, clocks; how it saves and resumes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import attrs
import torch
from torch import nn

from limite.core.checkpoint.read import Checkpoint, newest_checkpoint
from limite.core.checkpoint.state import optimizer_payload, restore_module
from limite.core.checkpoint.tensors import Storable, make_all
from limite.core.errors import RunFailed
from limite.core.kinds import LRSchedule, Optimizer
from limite.core.recipe.declared import DATA, PROTOCOL
from limite.core.recipe.ranks.weights import Replicated, Weights
from limite.core.recipe.runners.stepper import Stepper
from limite.core.train.replay import Row, replay

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext

OPTIMIZER = "optimizer"
CutT = TypeVar("CutT")
PartT = TypeVar("PartT")


@attrs.define(kw_only=True)
class Clocks:
    """How far a stage has come. ``updates`` counts optimizer steps that were applied."""

    step: int = 0
    updates: int = 0
    tokens: int = 0
    flat_batches: int = 0
    data_step: int = 0
    """The step after which its data were begun: later than 0 once others have taken their place."""
    time_s: float = 0.0


class TrainingSession:
    """Weights, optimizer and clocks of one training stage.

    Opening one goes on from the newest good checkpoint of the stage, or else starts from the
    weights the stage begins with. Saves happen between updates only.
    """

    payload: ClassVar[str] = "model"
    """What the weights being trained are called in a checkpoint."""

    def __init__(
        self,
        context: StageContext,
        *,
        optimizer: Optimizer,
        lr_schedule: LRSchedule,
        total_updates: int,
        clip_norm: float,
        keep: int,
        recompute: bool,
    ) -> None:
        self.context = context
        heavy = (self.payload, OPTIMIZER)
        later = heavy if context.ranks.sharded else ()
        saved = newest_checkpoint(context.checkpoints, echo=context.echo, later=later)
        if saved is not None:
            context.echo(f"{context.name}: goes on after step {saved.step}")
        elif context.was_begun():
            context.echo(f"{context.name}: no usable checkpoint; starts from its beginning")
        self.module = self.begin(restored=saved is not None)
        keep_less_of(self.module, recompute)
        if saved is not None:
            context.refuse_foreign(saved, saved.path)
        self.stepper = Stepper(
            module=self.module,
            weights=self.held(saved),
            settings=optimizer,
            lr_schedule=lr_schedule,
            total_updates=total_updates,
            clip_norm=clip_norm,
        )
        self.keep = keep
        self.clocks = Clocks()
        self.saved_state: Mapping[str, Any] = {}
        self.pinned: set[int] = set()
        """Steps of this stage whose checkpoints stay, beside the newest."""
        self.saved_payloads: Mapping[str, Mapping[str, torch.Tensor]] = {}
        if saved is not None:
            moments = (
                saved.streamed(OPTIMIZER) if later else list(saved.payloads[OPTIMIZER].items())
            )
            self.weights.restore_optimizer(self.optimizer, moments, saved.state["optimizer"])
            self.clocks = Clocks(**saved.state["clocks"])
            self.saved_state = saved.state["stage"]
            # Weights and moments are in their places, and would be held twice.
            self.saved_payloads = {
                name: tensors for name, tensors in saved.payloads.items() if name not in heavy
            }
        self.changed = context.changed_after(self.clocks.step)
        if self.changed & {PROTOCOL, DATA}:
            self.clocks.flat_batches = 0
        if DATA in self.changed:
            self.clocks.data_step = self.clocks.step
        context.forget_after(self.clocks.step)
        context.ranks.same(self.clocks.step, f"the step that stage {context.name!r} goes on after")
        self._started = time.perf_counter() - self.clocks.time_s

    def begin(self, *, restored: bool) -> nn.Module:
        """What the stage trains, with the weights it begins with; with any, if ``restored``; and
        without memory where ranks share it out, as each then takes as much as its part needs."""
        if self.context.ranks.sharded:
            return self.context.new_decoder(memory=False)
        first = not restored and self.context.start_stage() is None
        decoder = self.context.new_decoder(values=first)
        if not restored:
            self.context.load_start_weights(decoder)
        return decoder

    def held(self, saved: Checkpoint | None) -> Weights:
        """The weights as they are held while they are trained, those ``saved`` if there are."""
        ranks = self.context.ranks
        if not ranks.sharded:
            if saved is not None:
                restore_module(self.module, saved.payloads[self.payload])
            return Replicated(self.module, ranks)
        # Imported late: what shares out is heavy, and most runs have one process.
        from limite.core.recipe.ranks.sharded import Sharded

        found = Sharded(self.decoder, ranks, lambda: self.context.new_decoder(values=False))
        found.fill(self.context.start_values() if saved is None else saved.streamed(self.payload))
        return found

    @property
    def decoder(self) -> Decoder:
        """The policy being trained."""
        return cast("Decoder", self.module)

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        return self.stepper.optimizer

    def share(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Those of the rows of an update that this rank computes."""
        mine = self.context.ranks.share([len(row.prompt) + len(row.completion) for row in rows])
        return rows[mine.start : mine.stop]

    @property
    def weights(self) -> Weights:
        """The weights being trained, and how they are held."""
        return self.stepper.weights

    def rounds(self, cuts: Sequence[CutT], read: Callable[[CutT], PartT]) -> Iterator[PartT]:
        """What ``read`` makes of each of this rank's micro-batches, its backward pass to follow.

        Where weights are shared out, a rank with fewer micro-batches than others takes part in
        their passes with one token that counts for nothing.
        """
        missing = self.weights.left_out(len(cuts), f"the micro-batches of {self.place}")
        yield from map(read, cuts)
        for _ in range(missing):
            said = replay(self.decoder, [Row(prompt=[0], completion=[0])])
            accumulate(said.logp.sum() * 0.0)

    @property
    def place(self) -> str:
        """Where the stage is, in words."""
        return self.context.place(self.clocks.step)

    def whole_decoder(self) -> AbstractContextManager[Decoder]:
        """Within it, the policy with all its weights as they are now: for reading only."""
        whole = self.weights.whole(f"the whole weights of {self.place}")
        return cast("AbstractContextManager[Decoder]", whole)

    def renew_optimizer(self) -> None:
        """An optimizer that remembers nothing."""
        self.stepper.renew()

    def time_s(self) -> float:
        """Seconds spent in this stage, over all its processes."""
        return time.perf_counter() - self._started

    def update(self, loss: float) -> dict[str, float]:
        """Clips the accumulated gradient and applies one optimizer step.

        A loss or gradient that is not finite raises ``RunFailed`` before anything is changed.
        """
        where = self.context.place(self.clocks.step)
        self.weights.sum_gradients(where)
        try:
            rate, norm, moved = self.stepper.update(loss, self.clocks.updates, where=where)
        except RunFailed as error:
            self.note_failure(str(error))
            raise
        self.clocks.updates += 1
        return {"optim/lr": rate, "optim/gradient_norm": norm, "optim/update_norm": moved}

    def note_failure(self, told: str) -> None:
        """Records that the update of the next step met numbers that are not finite."""
        self.context.append(
            "health.jsonl",
            [
                {
                    "step": self.clocks.step + 1,
                    "gate": "finite",
                    "figure": None,
                    "limit": "finite",
                    "passed": False,
                    "told": told,
                }
            ],
        )

    def save(
        self,
        stage_state: Mapping[str, Any],
        payloads: Mapping[str, Mapping[str, torch.Tensor]] | None = None,
    ) -> None:
        """Writes a checkpoint of the finished step; older ones go only after it is verified."""
        self.clocks.time_s = self.time_s()
        context = self.context
        if context.ranks.world_size > 1:
            where = context.place(self.clocks.step)
            context.ranks.same(fingerprint(self.weights.replicated()), f"the weights of {where}")
        tensors, numbers = optimizer_payload(self.optimizer)
        everything: dict[str, Mapping[str, Storable]] = {
            self.payload: self.weights.payload(),
            OPTIMIZER: self.weights.whole_state(self.optimizer, tensors),
            **(payloads or {}),
        }
        if not context.writes:
            make_all(everything)
            return
        self.context.writer.write(
            self.context.checkpoints,
            self.clocks.step,
            everything,
            {
                "optimizer": numbers,
                "clocks": attrs.asdict(self.clocks),
                "stage": dict(stage_state),
            },
            self.context.contract,
            self.keep,
            pinned=self.context.pinned_steps() | self.pinned,
            before=lambda: self.context.run.sync_logs(self.context.name),
        )

    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(parameter.numel() for parameter in self.module.parameters())


def keep_less_of(module: nn.Module, recompute: bool) -> None:
    """Has every decoder in ``module`` compute layers again in the backward pass, or not."""
    from limite.core.model.decoder import Decoder

    for each in module.modules():
        if isinstance(each, Decoder):
            each.recompute = recompute


def fingerprint(parameters: Sequence[nn.Parameter]) -> list[int]:
    """Numbers that differ, as good as surely, where a bit of any parameter does."""
    found = []
    for parameter in parameters:
        bits = parameter.detach().reshape(-1).view(torch.uint8).to(torch.int64)
        places = torch.arange(bits.numel(), device=bits.device) % 8191
        found.append(int((bits * (places + 1)).sum()))
    return found


def accumulate(loss: torch.Tensor) -> float:
    """Backward of one micro-batch's share of the loss; returns its value."""
    loss.backward()
    return float(loss.detach())
