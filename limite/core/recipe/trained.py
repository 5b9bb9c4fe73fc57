"""The weights that a run has trained: which there are, where they lie, and that they are whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import attrs

from limite.core.checkpoint.manifest import (
    MANIFEST,
    check_sizes,
    payload_file,
    step_name,
    step_of,
    verify,
)
from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import storage_error
from limite.core.pretrained.tensor_directory import TensorDirectory
from limite.core.pretrained.tensor_file import TensorFile
from limite.core.receipts import step_handed_on
from limite.core.recipe.load import load_recipe
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.run_plugins import naming_plugins
from limite.core.recipe.rundir import CHECKPOINTS, RECIPE, RunDirectory

POLICY, CRITIC = "model", "critic"
"""What the weights of either are called in a checkpoint."""


@attrs.frozen(kw_only=True, eq=False)
class Trained:
    """The weights of one stage of a run. ``step`` is how far it has come of its ``steps``."""

    run: RunDirectory
    recipe: Recipe
    stage: str
    step: int
    finished: bool
    later: tuple[str, ...] = ()
    """Later stages that train, and have left nothing yet."""
    payload: str = POLICY

    @property
    def steps(self) -> int:
        steps: int = getattr(self.recipe.stages[self.stage], "steps", self.step)
        return steps

    @property
    def checkpoint(self) -> Path:
        return self.run.stage(self.stage) / CHECKPOINTS / step_name(self.step)

    def weights(self, *, quick: bool = False) -> tuple[TensorDirectory, dict[str, str]]:
        """The tensors, after every hash was verified, and where further names of them lie.

        ``quick`` looks at the sizes of files only.
        """
        # Opened first: a file that is changed after it was hashed is refused when it is read.
        manifest = check_sizes(self.checkpoint)
        place = payload_file(self.payload)
        file = TensorFile.open(self.checkpoint / place)
        if not quick:
            manifest = verify(self.checkpoint)
            self._refuse_other_manifest()
        return _tensors(self.checkpoint, file), dict(manifest.files[place].aliases)

    def _refuse_other_manifest(self) -> None:
        receipt = self.run.stage_receipt(self.stage) or {}
        place = self.checkpoint / MANIFEST
        kept = receipt.get("files", {}).get(f"{CHECKPOINTS}/{self.checkpoint.name}/{MANIFEST}")
        if kept is not None and hashlib.sha256(place.read_bytes()).hexdigest() != kept:
            raise LimiteError(f"{place}: it is not the one that the stage's receipt names")

    def notes(self) -> Iterator[str]:
        """What somebody who takes these weights should know."""
        if not self.finished:
            yield (
                f"stage {self.stage!r} has not finished: these are its weights after step "
                f"{self.step} of {self.steps}; go on with it: limite resume {self.run.path}"
            )
        for name in self.later:
            yet = _yet(self.run, [name])
            yield f"stage {name!r} has left no weights{yet}; these are those of {self.stage!r}"


def is_run(path: str | Path) -> bool:
    """Whether a folder is that of a run."""
    return (Path(path) / RECIPE).is_file()


def trained(path: str | Path, stage: str | None = None, *, said: str = "--stage") -> Trained:
    """The last weights of a run, or those of a stage, finished or not.

    ``said`` is where somebody has named the stage: mistakes are told there.
    """
    run, recipe = _opened(path)
    training = [name for name in recipe.stages if recipe.stages[name].trains]
    if stage is not None:
        return _of_stage(run, recipe, stage, training, said)
    for place in range(len(training) - 1, -1, -1):
        step = _step(run, training[place])
        if step is not None:
            return Trained(
                run=run,
                recipe=recipe,
                stage=training[place],
                step=step,
                finished=run.stage_receipt(training[place]) is not None,
                later=tuple(training[place + 1 :]),
            )
    if not training:
        raise LimiteError(f"{run.path}: no stage of it trains, so that it has no weights")
    raise LimiteError(f"{run.path}: no stage of it has left weights{_yet(run, training)}")


def trained_at(checkpoint: str | Path) -> Trained:
    """The weights in the folder of a checkpoint of a run."""
    place = Path(checkpoint).absolute()
    step = step_of(place.name)
    inside = place.parent.name == CHECKPOINTS and len(place.parents) > 3
    if step is None or not inside or not is_run(place.parents[3]):
        raise LimiteError(f"{checkpoint}: not a checkpoint within the folder of a run")
    run, recipe = _opened(place.parents[3])
    stage = place.parents[1].name.partition("-")[2]
    if stage not in recipe.stages or not recipe.stages[stage].trains:
        raise LimiteError(f"{checkpoint}: its stage leaves no weights of a policy")
    receipt = run.stage_receipt(stage)
    finished = receipt is not None and step_handed_on(receipt) == step
    return Trained(run=run, recipe=recipe, stage=stage, step=step, finished=finished)


def leaves_critic(recipe: Recipe, name: str) -> bool:
    """Whether there is a critic in the checkpoints of a stage."""
    stage = recipe.stages[name]
    return stage.gives_critic or getattr(stage, "critic", None) is not None


def critic_of(path: str | Path, stage: str | None = None) -> Trained:
    """The last critic of a run, or that of a stage, finished or not."""
    run, recipe = _opened(path)
    having = [name for name in recipe.stages if leaves_critic(recipe, name)]
    known = f"stages that do are {', '.join(having)}" if having else "no stage of it does"
    if stage is not None and stage not in having:
        if stage not in recipe.stages:
            near = did_you_mean(stage, recipe.stages)
            raise LimiteError(f"--stage: {run.path} has no stage {stage!r}{near}")
        raise LimiteError(f"--stage: {stage!r} leaves no critic; {known}")
    for name in reversed(having if stage is None else [stage]):
        step = _step(run, name)
        if step is not None:
            finished = run.stage_receipt(name) is not None
            return Trained(
                run=run, recipe=recipe, stage=name, step=step, finished=finished, payload=CRITIC
            )
    if stage is not None:
        raise LimiteError(
            f"--stage: {stage!r} has left no critic{_yet(run, [stage])} in {run.path}"
        )
    raise LimiteError(f"{run.path}: no stage of it has left a critic; {known}")


def only_critic(path: str | Path, stage: str) -> bool:
    """Whether a stage of a run leaves a critic and no policy."""
    recipe = _opened(path)[1]
    return stage in recipe.stages and recipe.stages[stage].gives_critic


def _opened(path: str | Path) -> tuple[RunDirectory, Recipe]:
    run = RunDirectory.open(path)
    with naming_plugins(run):
        return run, load_recipe(run.path / RECIPE).recipe


def _of_stage(
    run: RunDirectory, recipe: Recipe, name: str, training: list[str], said: str
) -> Trained:
    known = ", ".join(training)
    if name not in recipe.stages:
        near = did_you_mean(name, recipe.stages) or f"; those that train are {known}"
        raise LimiteError(f"{said}: {run.path} has no stage {name!r}{near}")
    if name not in training:
        if recipe.stages[name].gives_critic:
            raise LimiteError(
                f"{said}: {name!r} leaves a critic and no policy; limite export writes it; "
                f"stages that train a policy are {known}"
            )
        raise LimiteError(f"{said}: {name!r} trains nothing; stages that do are {known}")
    step = _step(run, name)
    if step is None:
        raise LimiteError(f"{said}: {name!r} has left no weights{_yet(run, [name])} in {run.path}")
    finished = run.stage_receipt(name) is not None
    return Trained(run=run, recipe=recipe, stage=name, step=step, finished=finished)


def _yet(run: RunDirectory, stages: list[str]) -> str:
    """Whether going on with a run can bring what stages of it have not left."""
    ahead = set(stages) & set(run.receipt()["only"])
    return " yet" if ahead else " (left out by --only)"


def _step(run: RunDirectory, name: str) -> int | None:
    """The step that a stage ended with, or the newest it has saved; None where it saved none."""
    receipt = run.stage_receipt(name)
    if receipt is not None:
        return step_handed_on(receipt)
    folder = run.stage(name) / CHECKPOINTS
    if not folder.is_dir():
        return None
    try:
        return max(filter(None, (step_of(entry.name) for entry in folder.iterdir())), default=None)
    except OSError as error:
        raise storage_error(error, folder) from error


def _tensors(folder: Path, file: TensorFile) -> TensorDirectory:
    return TensorDirectory(
        path=folder, files={file.path.name: file}, home=dict.fromkeys(file.entries, file)
    )
