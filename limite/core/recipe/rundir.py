"""The folder a run leaves, as one value: where everything is, who may write, what is finished.

::

    runs/violetto-1f3a/
      recipe.toml  recipe.source.py  receipt.json  log.txt
      stages/01-distill/
        metrics.jsonl  health.jsonl  rollouts/000012.jsonl.zst  checkpoints/step-000100/
        receipt.json                 written last: a stage that has one is finished
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import tomli_w

from limite.core.checkpoint.manifest import MANIFEST
from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import (
    TEMPORARY,
    DamagedFile,
    append_text,
    read_jsonl,
    storage_error,
    sync_directory,
    sync_file,
    write_atomic,
    write_jsonl,
)
from limite.core.receipts import FINISHED, LEFT, read_receipt, time_now, write_receipt
from limite.core.recipe.folders import make_folder, read_toml, without_none
from limite.core.recipe.runlock import hold

RECIPE, SOURCE, RECEIPT, LOG = "recipe.toml", "recipe.source", "receipt.json", "log.txt"
NEXT_RECIPE = "recipe.next.toml"
STAGES, METRICS, HEALTH = "stages", "metrics.jsonl", "health.jsonl"
ROLLOUTS, CHECKPOINTS = "rollouts", "checkpoints"
RESULTS = "results.json"


@attrs.frozen
class RunDirectory:
    """One run on disk. ``stage_names`` are the stages of its recipe, in order."""

    path: Path
    stage_names: tuple[str, ...]
    trained_on: dict[str, frozenset[str]] = attrs.field(factory=dict, init=False, eq=False)
    """Hashes of what finished stages have trained on, by stage, once they were asked for."""

    @classmethod
    def create(
        cls,
        root: str | Path,
        *,
        recipe: Mapping[str, Any],
        receipt: Mapping[str, Any],
        name: str | None = None,
        source_text: str | None = None,
        source_suffix: str = ".py",
    ) -> RunDirectory:
        """Makes ``root/name``, or ``root/<recipe's name>-<hash>`` with ``-2``, ``-3``... if taken.

        ``recipe`` is the resolved recipe as plain data; ``receipt`` holds its ``recipe_sha256``.
        The folder appears whole, with both and the source in it, or not at all. A ``name`` that
        is given and exists is an error: nothing is ever overwritten.
        """

        def fill(aside: Path) -> None:
            write_atomic(aside / RECIPE, tomli_w.dumps(without_none(recipe)))
            if source_text is not None:
                write_atomic(aside / f"{SOURCE}{source_suffix}", source_text)
            write_receipt(aside / RECEIPT, receipt)
            (aside / STAGES).mkdir()

        wanted = f"{recipe['name']}-{receipt['recipe_sha256'][:4]}"
        path = make_folder(Path(root), name, wanted, fill)
        return cls(path, tuple(recipe["stages"]))

    @classmethod
    def open(cls, path: str | Path) -> RunDirectory:
        """The run in the folder ``path``; a LimiteError offers the nearest run if it is none."""
        path = Path(path)
        if not path.exists():
            raise LimiteError(f"{path}: no such run{_nearest(path)}")
        lacking = [name for name in (RECIPE, RECEIPT) if not (path / name).is_file()]
        if lacking:
            outer = next((up for up in path.absolute().parents if (up / RECIPE).is_file()), None)
            where = f"; it is a part of the run {outer.name!r}" if outer is not None else ""
            raise LimiteError(
                f"{path}: not the folder of a run: it lacks {' and '.join(lacking)}"
                f"{where or _runs_inside(path)}"
            )
        stages = read_toml(path / RECIPE).get("stages")
        if not isinstance(stages, dict):
            raise LimiteError(f"{path / RECIPE}: has no stages")
        return cls(path, tuple(stages))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Within it this process alone writes the run; a LimiteError names who does if another.

        What killed writes left behind is removed first.
        """
        with hold(self.path):
            for leftover in self.path.rglob(f".*{TEMPORARY}*"):
                leftover.unlink(missing_ok=True)
            yield

    # The run's own files

    def recipe(self) -> dict[str, Any]:
        """The resolved recipe as plain data."""
        return read_toml(self.path / RECIPE)

    def receipt(self) -> dict[str, Any]:
        """What ran: versions, hardware, seeds, hashes."""
        return read_receipt(self.path / RECEIPT)

    def note_resumption(self, circumstances: Sequence[str]) -> None:
        """Adds to the receipt that the run went on, and what about the machine was different."""
        receipt = self.receipt()
        resumed = [*receipt.get("resumed", []), {"differences": list(circumstances)}]
        write_receipt(self.path / RECEIPT, {**receipt, "resumed": resumed})

    def change(self, receipt: Mapping[str, Any], recipe: Mapping[str, Any]) -> None:
        """Goes over to another recipe, which ``receipt`` is of."""
        # Once the receipt is there the change is made, and ``settle`` ends it.
        write_atomic(self.path / NEXT_RECIPE, tomli_w.dumps(without_none(recipe)))
        write_receipt(self.path / RECEIPT, receipt)
        self.settle()

    def settle(self) -> None:
        """Ends a change that a killed process had begun, or takes it back."""
        coming = self.path / NEXT_RECIPE
        if not coming.exists():
            return
        try:
            if read_toml(coming) == without_none(self.receipt()["recipe"]):
                coming.replace(self.path / RECIPE)
                sync_directory(self.path)
            else:
                coming.unlink()
        except OSError as error:
            raise storage_error(error, coming) from error

    def source(self) -> Path | None:
        """The recipe as it was given, if it came from a file."""
        return next(iter(sorted(self.path.glob(f"{SOURCE}.*"))), None)

    def log(self, text: str) -> None:
        """Adds lines to ``log.txt``, each with the time."""
        stamp = time_now()
        lines = [f"{stamp} {line}".rstrip() for line in text.split("\n")]
        append_text(self.path / LOG, "\n".join(lines) + "\n")

    # Stages

    def stage(self, name: str) -> Path:
        """The folder of a stage, which may not exist yet: ``stages/01-distill``."""
        if name not in self.stage_names:
            near = did_you_mean(name, self.stage_names)
            raise LimiteError(f"{self.path}: has no stage {name!r}{near}")
        return self.path / STAGES / f"{self.stage_names.index(name) + 1:02d}-{name}"

    def start_stage(self, name: str) -> Path:
        """The folder of a stage, made if need be."""
        folder = self.stage(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(error, folder, "choose another disk with --out") from error
        return folder

    def rollout_file(self, name: str, step: int) -> Path:
        """Where the responses of a step go; the folder around it is made."""
        folder = self.start_stage(name) / ROLLOUTS
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise storage_error(error, folder, "free some and resume") from error
        return folder / f"{step:06d}.jsonl.zst"

    def stage_receipt(self, name: str) -> dict[str, Any] | None:
        """The receipt of a finished stage; None while it is not finished."""
        place = self.stage(name) / RECEIPT
        receipt = read_receipt(place) if place.exists() else None
        return receipt if receipt is not None and receipt["status"] == "finished" else None

    def evaluations(self, name: str) -> dict[str, Path]:
        """The results that a stage has left: of a suite those of its tasks, as ``STAGE/TASK``."""
        folder = self.stage(name)
        if not (folder / RESULTS).exists():
            return {}
        within = sorted(folder.glob(f"*/{RESULTS}"))
        tasks = {f"{name}/{place.parent.name}": place for place in within}
        return tasks or {name: folder / RESULTS}

    def finish_stage(self, name: str, receipt: Mapping[str, Any]) -> None:
        """Marks a stage finished. The receipt is the last thing it writes, whole or not at all.

        Under ``files`` it also holds the SHA-256 of everything the stage left; a checkpoint is
        bound by its manifest, which binds the rest. The run's own receipt then binds this one.
        """
        files = hashes_of(self.start_stage(name))
        write_receipt(self.stage(name) / RECEIPT, {**receipt, "status": "finished", "files": files})
        self.bind_stage(name)

    def bind_stage(self, name: str, **told: Any) -> None:
        """Has the run's receipt say that a stage is finished, and what its receipt hashes to."""
        with (self.stage(name) / RECEIPT).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        receipt = self.receipt()
        bound = {"sha256": digest, "time": time_now(), **told}
        finished = {**receipt.get(FINISHED, {}), name: bound}
        write_receipt(self.path / RECEIPT, {**receipt, FINISHED: finished})

    def bind_finished(self) -> None:
        """The same of each finished stage of which the receipt does not say so yet, as a process
        may have been killed before it came to that; a LimiteError where it says something else."""
        known = self.receipt().get(FINISHED, {})
        for name in self.stage_names:
            place = self.stage(name) / RECEIPT
            if self.stage_receipt(name) is None:
                continue
            if name not in known:
                self.bind_stage(name)
            elif hashlib.sha256(place.read_bytes()).hexdigest() != known[name]["sha256"]:
                raise LimiteError(
                    f"{place}: is not what {RECEIPT} of the run says, which was written when the "
                    f"stage was finished; limite verify {self.path} tells what else is not"
                )

    def bind_words(self, names: Sequence[str]) -> None:
        """Has the run's receipt say which of its own files, words for people, it has left."""
        receipt = self.receipt()
        left = [name for name in names if (self.path / name).is_file()]
        if left != receipt.get(LEFT):
            write_receipt(self.path / RECEIPT, {**receipt, LEFT: left})

    def fail_stage(self, name: str, receipt: Mapping[str, Any]) -> None:
        """Leaves word of why a stage ended early; going on with the run replaces it."""
        write_receipt(self.start_stage(name) / RECEIPT, {**receipt, "status": "failed"})

    def forget_failure(self, name: str) -> None:
        """Takes back the word of an early end: the stage runs again."""
        if self.stage_receipt(name) is None:
            (self.stage(name) / RECEIPT).unlink(missing_ok=True)

    def stage_changes(self, name: str) -> list[str]:
        """Files of a finished stage that are not what its receipt says, or that are gone."""
        receipt = self.stage_receipt(name) or {}
        found = hashes_of(self.stage(name))
        return sorted(
            file for file, digest in receipt.get("files", {}).items() if found.get(file) != digest
        )

    def sync_logs(self, name: str) -> None:
        """Makes the disk hold a stage's logs: a power cut takes nothing that a checkpoint has."""
        for log in (METRICS, HEALTH):
            if (self.stage(name) / log).exists():
                sync_file(self.stage(name) / log)

    def truncate_after(self, name: str, step: int) -> int:
        """Makes a stage's logs end with ``step``, so that going on repeats nothing.

        Lines and rollouts of later steps go, and so does a line that was cut short. Returns how
        many whole lines went.
        """
        folder = self.stage(name)
        dropped = 0
        for log in (METRICS, HEALTH):
            if (folder / log).exists():
                dropped += _keep_until(folder / log, step)
        for place in sorted((folder / ROLLOUTS).glob("*.jsonl.zst")):
            number = place.name.partition(".")[0]
            if number.isdigit() and int(number) > step:
                place.unlink()
        return dropped


def _keep_until(log: Path, step: int) -> int:
    kept = []
    dropped = 0
    damaged = False
    try:
        for record in read_jsonl(log):
            number = record.get("step") if isinstance(record, dict) else None
            if isinstance(number, int) and number > step:
                dropped += 1
            else:
                kept.append(record)
    except DamagedFile:
        # Only what follows the last save can be damaged, and that is written again.
        damaged = True
    if dropped or damaged:
        write_jsonl(log, kept, sort_keys=False)
    return dropped


def hashes_of(folder: Path) -> dict[str, str]:
    found = {}
    for place in sorted(folder.rglob("*")):
        name = place.relative_to(folder).as_posix()
        bound = name.startswith(f"{CHECKPOINTS}/") and place.name != MANIFEST
        if not place.is_file() or bound or name == RECEIPT or "/." in f"/{name}":
            continue
        with place.open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
            # A receipt must not outlive, in a power cut, what it vouches for.
            os.fsync(file.fileno())
    return found


def _runs(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [entry.name for entry in folder.iterdir() if (entry / RECIPE).is_file()]


def _nearest(path: Path) -> str:
    for folder in (path.parent, Path("runs")):
        near = did_you_mean(path.name, _runs(folder))
        if near:
            name = near.split("'")[1]
            return f"; did you mean '{folder / name}'?"
    return ""


def _runs_inside(path: Path) -> str:
    inside = sorted(_runs(path))
    return f"; it holds the runs {', '.join(inside)}" if inside else ""
