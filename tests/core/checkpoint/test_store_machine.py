from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from limite.core.checkpoint.manifest import step_name
from limite.core.checkpoint.read import newest_checkpoint
from limite.core.checkpoint.write import write_checkpoint


class Store(RuleBasedStateMachine):
    """A stage that saves, is resumed, and has its checkpoints damaged, against a plain model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.good: set[int] = set()
        self.broken: set[int] = set()
        self.step = 0
        self.keep = 1

    @initialize(keep=st.integers(1, 3))
    def start(self, keep: int) -> None:
        self.keep = keep

    @rule(ahead=st.integers(1, 2))
    def save(self, ahead: int) -> None:
        self.step += ahead
        weights = {"model": {"w": torch.full((4,), float(self.step))}}
        write_checkpoint(self.folder, self.step, weights, {"step": self.step}, {}, self.keep)
        self.broken.discard(self.step)
        self.good.add(self.step)
        kept = sorted(step for step in self.good if step <= self.step)[-self.keep :]
        self.good = {step for step in self.good if step > self.step} | set(kept)
        self.broken = {step for step in self.broken if step > self.step}

    @rule()
    def resume(self) -> None:
        """A new process goes on from the newest good checkpoint, or from the start."""
        found = newest_checkpoint(self.folder)
        self.step = 0 if found is None else found.step

    @precondition(lambda self: self.good)
    @rule(data=st.data(), how=st.sampled_from(["truncate", "edit", "unlist"]))
    def damage(self, data: st.DataObject, how: str) -> None:
        step = data.draw(st.sampled_from(sorted(self.good)))
        place = self.folder / step_name(step)
        weights = place / "model.safetensors"
        if how == "truncate":
            weights.write_bytes(weights.read_bytes()[:-1])
        elif how == "edit":
            # A file of the wrong size is seen without hashing; keep to what any check finds.
            (place / "manifest.json").write_text("{}")
        else:
            (place / "manifest.json").unlink()
        self.good.discard(step)
        self.broken.add(step)

    @rule(step=st.integers(0, 9))
    def killed_write(self, step: int) -> None:
        place = self.folder / f".writing-{step_name(step)}-00"
        place.mkdir(exist_ok=True)
        (place / "model.safetensors").write_bytes(b"half")

    @invariant()
    def the_newest_good_one_is_found_and_nothing_else_is_there(self) -> None:
        said: list[str] = []
        found = newest_checkpoint(self.folder, echo=said.append)
        newest = max(self.good, default=None)
        assert (None if found is None else found.step) == newest
        if found is not None:
            assert torch.equal(found.payloads["model"]["w"], torch.full((4,), float(found.step)))
            assert found.state == {"step": found.step}
        assert len(said) == len([step for step in self.broken if step > (newest or -1)])
        names = {entry.name for entry in self.folder.iterdir()}
        assert names == {step_name(step) for step in self.good | self.broken}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


TestStore = Store.TestCase
TestStore.settings = settings(
    max_examples=15, stateful_step_count=15, suppress_health_check=[HealthCheck.too_slow]
)
