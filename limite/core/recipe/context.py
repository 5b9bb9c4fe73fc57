"""What a stage is given while it runs: settings, streams, weights to start from, its folder."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import attrs

from limite.core.checkpoint.background import CheckpointWriter
from limite.core.checkpoint.manifest import Manifest, step_name
from limite.core.checkpoint.read import Checkpoint, read_checkpoint
from limite.core.checkpoint.state import restore_module
from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import append_jsonl, dumps, read_json, read_jsonl, write_jsonl
from limite.core.kinds import Logger, LoggerContext
from limite.core.model.decoder import Decoder
from limite.core.model.init import skeleton
from limite.core.model.settings import DecoderSpec, Model
from limite.core.receipts import differences, step_handed_on
from limite.core.recipe.declared import (
    CHANGES,
    changes_at,
    refuse_before_change,
    terms_at,
    terms_of,
)
from limite.core.recipe.models import model_named
from limite.core.recipe.naming import policies_before
from limite.core.recipe.ranks.ranks import OneRank, Ranks
from limite.core.recipe.recipe import Recipe, stage_seeds
from limite.core.recipe.rundir import METRICS, RunDirectory
from limite.core.recipe.stages import Soup, Stage
from limite.core.registry import Registry
from limite.core.rollout.stop import StopRequest
from limite.core.seeds import Seeds
from limite.core.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

Log = Callable[[int, Mapping[str, float | int | str | None]], None]


TRAINED = "trained-before.jsonl.zst"
"""What a stage leaves of data that others have taken the place of."""


class RunStopped(RunFailed):
    """The run was asked to stop and did; the message ends with how to go on."""

    exit_code = 130

    def __init__(self, message: str, run: Path) -> None:
        self.told = message
        # On a line of its own, where a narrow terminal does not break it.
        super().__init__(f"{message}. Go on with:\n  limite resume {run}")

    @classmethod
    def at_once(cls, run: Path) -> RunStopped:
        """Of a run that was asked a second time, and did not wait for its next checkpoint."""
        return cls("stopped at once; what the last checkpoint holds is kept", run)


def settings_of(recipe: Recipe) -> Model:
    """What the recipe says of its model."""
    return model_named(recipe.model) if isinstance(recipe.model, str) else recipe.model


def model_of(recipe: Recipe) -> DecoderSpec:
    """The model with every size that depends on others filled in, the vocabulary among them."""
    return settings_of(recipe).filled(recipe.tokenizer.vocabulary)


def trained_before(folder: Path) -> set[str]:
    """Normalised-text hashes of what a stage trained on before its data were changed."""
    place = folder / TRAINED
    return {line["sha256"] for line in read_jsonl(place)} if place.exists() else set()


@attrs.define(kw_only=True, eq=False)
class StageContext:
    """One stage of one run."""

    run: RunDirectory
    recipe: Recipe
    name: str
    registry: Registry
    stop: StopRequest
    echo: Callable[[str], None]
    contract: Mapping[str, Any]
    writer: CheckpointWriter
    changes: Sequence[Mapping[str, Any]] = ()
    live: bool = False
    ranks: Ranks = attrs.field(factory=OneRank)

    @classmethod
    def of(
        cls,
        run: RunDirectory,
        recipe: Recipe,
        registry: Registry,
        name: str,
        stop: StopRequest,
        echo: Callable[[str], None],
        live: bool,
        ranks: Ranks | None = None,
    ) -> StageContext:
        """What a stage of a run is given."""
        receipt = run.receipt()
        background = getattr(recipe.stages[name], "save_in_background", False)
        return cls(
            run=run,
            recipe=recipe,
            name=name,
            registry=registry,
            stop=stop,
            echo=echo,
            contract=terms_of(receipt, name),
            writer=CheckpointWriter(background=background, echo=echo),
            changes=receipt.get(CHANGES, ()),
            live=live,
            ranks=ranks or OneRank(),
        )

    @property
    def stage(self) -> Stage:
        return self.recipe.stages[self.name]

    @property
    def directory(self) -> Path:
        """Where the stage writes."""
        return self.run.stage(self.name)

    @property
    def checkpoints(self) -> Path:
        return self.directory / "checkpoints"

    @property
    def seeds(self) -> Seeds:
        """Streams of the stage: from its own seed, or else from the recipe's and its name."""
        return stage_seeds(self.recipe, self.name)

    @property
    def tokenizer(self) -> Tokenizer:
        return self.recipe.tokenizer

    @property
    def model(self) -> DecoderSpec:
        return model_of(self.recipe)

    def for_stage(self, name: str) -> StageContext:
        """The same run seen from another stage."""
        return attrs.evolve(self, name=name)

    def changed_after(self, step: int) -> frozenset[str]:
        """The kinds of change declared for this stage after ``step``, from which it goes on."""
        refuse_before_change(self.changes, self.name, step, self.run.path)
        return changes_at(self.changes, self.name, step)

    def contract_at(self, step: int) -> dict[str, Any]:
        """What a checkpoint of ``step`` was written under."""
        order = list(self.recipe.stages)
        return terms_at(self.contract, self.changes, order, self.name, step)

    def refuse_foreign(self, found: Manifest | Checkpoint, path: Path) -> None:
        """Refuses a checkpoint of another recipe, version or number of ranks; tells which."""
        wanted, there = self.contract_at(found.step), dict(found.contract)
        if dumps(wanted) != dumps(there):
            lines = differences(there, wanted, ignore=())
            # A hash says nothing beside what has changed it.
            lines = [each for each in lines if not each.startswith("recipe_sha256")] or lines
            raise LimiteError(
                f"{path} is not a checkpoint of this stage of this run as it was then "
                "(there -> here):\n  " + "\n  ".join(lines)
            )

    def was_begun(self) -> bool:
        """Whether an earlier process came so far in the stage that it left something."""
        return self.checkpoints.is_dir() or (self.directory / METRICS).exists()

    @property
    def writes(self) -> bool:
        """Whether this process writes the run; of several ranks, one does."""
        return self.ranks.rank == 0

    def append(self, log: str, lines: Sequence[Mapping[str, Any]]) -> None:
        """Adds lines to a log of the stage."""
        if self.writes:
            append_jsonl(self.directory / log, lines)

    def write_rollouts(self, step: int, lines: Iterable[Mapping[str, Any]]) -> None:
        """Leaves the responses of a step."""
        if self.writes:
            write_jsonl(self.run.rollout_file(self.name, step), lines)

    # Weights

    def new_decoder(self, *, values: bool = True, memory: bool = True) -> Decoder:
        """A decoder with the run's initial weights; any, without ``values``; without ``memory``
        one of shapes, whose weights are put in its place later."""
        settings, vocabulary = settings_of(self.recipe), self.tokenizer.vocabulary
        if memory:
            made = settings.decoder(vocabulary, self.weight_seeds, values=values)
            return made.to(self.ranks.device)
        made = skeleton(lambda: settings.decoder(vocabulary, self.weight_seeds, values=False))
        for module in made.modules():
            for name, each in module.named_buffers(recurse=False):
                setattr(module, name, each.to(self.ranks.device))
        return made

    @property
    def weight_seeds(self) -> Seeds:
        """The streams that new weights are drawn from."""
        return Seeds(self.recipe.seed).child("weights")

    def start_values(self) -> Iterable[tuple[str, Tensor]]:
        """The weights the stage begins with, one tensor at a time, in host memory."""
        start = self.start_stage()
        if start is None:
            shapes = self.new_decoder(memory=False)
            return settings_of(self.recipe).values(shapes, self.weight_seeds)
        return self.final_checkpoint(start, only=()).streamed("model")

    def start_stage(self) -> str | None:
        """The stage whose weights this one begins with; None means new weights, or no such one."""
        if not self.stage.has_start:
            return None
        if self.stage.start is not None:
            return self.stage.start
        return next(reversed(policies_before(self.recipe, self.name)), None)

    def final_checkpoint(self, stage: str, *, only: Collection[str] | None = None) -> Checkpoint:
        """What the finished stage ``stage`` hands on, verified; ``only`` names the payloads that
        are kept in memory."""
        receipt = self.run.stage_receipt(stage)
        if receipt is None:
            raise LimiteError(
                f"stage {self.name!r} starts from {stage!r}, which is not finished in "
                f"{self.run.path}"
            )
        return read_checkpoint(
            self.run.stage(stage) / "checkpoints" / step_name(step_handed_on(receipt)), only=only
        )

    def load_start_weights(self, decoder: Decoder) -> None:
        start = self.start_stage()
        if start is not None:
            found = self.final_checkpoint(start, only=("model",))
            restore_module(decoder, found.payloads["model"])

    def load_policy(self) -> Decoder:
        """A decoder with the weights this stage begins with (for ``Eval``: those it measures)."""
        decoder = self.new_decoder(values=self.start_stage() is None)
        self.load_start_weights(decoder)
        return decoder.eval()

    def fits(self, tokens: int, what: str) -> None:
        """Refuses texts longer than the model's context."""
        if tokens > self.model.context:
            raise LimiteError(
                f"stages.{self.name}: {what} has {tokens} tokens, more than the model's context "
                f"of {self.model.context} (model.context)"
            )

    # Other stages

    def pinned_steps(self) -> set[int]:
        """The steps whose checkpoints of this stage a later soup is made of."""
        names = list(self.recipe.stages)
        later = [self.recipe.stages[name] for name in names[names.index(self.name) + 1 :]]
        members = [member for each in later if isinstance(each, Soup) for member in each.members]
        return {int(each.step) for each in members if each.stage == self.name and each.step}

    def results_of(self, stage: str) -> dict[str, Any]:
        """The results of an earlier ``Eval`` stage; ``STAGE/TASK`` are those of a suite's task."""
        name, _, task = stage.partition("/")
        place = self.run.stage(name) / task / "results.json"
        if not place.exists():
            raise LimiteError(f"stage {stage!r} has left no results to compare with")
        return cast(dict[str, Any], read_json(place))

    def origin(self) -> dict[str, Any] | None:
        """Which checkpoint of which stage this one began with, for its receipt."""
        start = self.start_stage()
        if start is None:
            return None
        found = self.final_checkpoint(start, only=())
        manifest = (found.path / "manifest.json").read_bytes()
        return {
            "stage": start,
            "step": found.step,
            "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
        }

    def training_hashes(self) -> set[str]:
        """Normalised-text hashes of every problem that earlier stages trained on.

        A critic's problems count too: it decides what a policy learns.
        """
        seen: set[str] = set()
        names = list(self.recipe.stages)
        for name in names[: names.index(self.name)]:
            stage = self.recipe.stages[name]
            if not (stage.trains or stage.gives_critic):
                continue
            known = self.run.trained_on
            if name not in known:
                module = importlib.import_module(stage.runner.partition(":")[0])
                found = module.training_hashes(self.for_stage(name))
                known[name] = frozenset(found | trained_before(self.run.stage(name)))
            seen |= known[name]
        return seen

    # Logs

    def health(self, updates: int | None) -> str:
        """The verdict over every gate the stage measured, in a few words; empty without any.

        Gates say nothing of a stage whose policy never moved.
        """
        log = self.directory / "health.jsonl"
        if not log.exists():
            return ""
        lines = list(read_jsonl(log))
        failed = {line["gate"] for line in lines if not line["passed"]}
        steps = {line["step"] for line in lines if not line["passed"]}
        if not failed:
            return "healthy" if updates else "no update made"
        gates = len({line["gate"] for line in lines})
        return f"{len(failed)} of {gates} gates failed, at {len(steps)} steps"

    def place(self, step: int) -> str:
        return f"stage {self.name!r} after step {step}"

    @contextmanager
    def loggers(self, total_steps: int) -> Iterator[Log]:
        """One function that every logger of the recipe hears."""
        about = LoggerContext(
            stage=self.name,
            directory=self.directory,
            total_steps=total_steps,
            echo=self.echo,
            live=self.live,
        )
        loggers = self.recipe.loggers if self.writes else ()
        running = [cast(Logger, logger).build(about) for logger in loggers]

        def log(step: int, metrics: Mapping[str, float | int | str | None]) -> None:
            # Loggers are promised finite numbers; a ratio that overflowed is told in a word.
            told = {
                name: str(value) if isinstance(value, float) and not isfinite(value) else value
                for name, value in metrics.items()
            }
            for logger in running:
                logger.log(step, told)

        try:
            yield log
        finally:
            for logger in running:
                logger.close()

    def forget_after(self, step: int) -> None:
        """Drops what logs hold of steps after ``step``: resuming writes them again, the same."""
        if self.writes:
            self.run.truncate_after(self.name, step)

    def after_step(self, step: int, save: Callable[[], None], every: int, last: int) -> None:
        """Saves when it is time, and ends the run when a stop was asked for."""
        asked = self.ranks.any(self.stop.requested, f"stage {self.name!r}, the end of step {step}")
        stopping = asked and step < last
        if step % every == 0 or step == last or stopping:
            save()
        if stopping:
            self.stop_after(step, last)

    def stop_after(self, step: int, last: int, *, while_sampling: bool = False) -> NoReturn:
        """Ends the run, which has saved ``step``."""
        # Nothing is lost only once the last one is written.
        self.writer.wait()
        then = ", while the next batch was sampled" if while_sampling else ""
        raise RunStopped(
            f"stopped in stage {self.name!r} after step {step} of {last}{then}; nothing is lost",
            self.run.path,
        )
