"""What each rank takes as a stage begins: counts what torch allocates while a session is opened.

    python start_memory.py ORDERS FOLDER

Orders are those of ``ranked_runs``. Every rank adds a line to ``FOLDER/peak-RANK`` for each
session: the most that was allocated at once, what the rank then held of weights and moments, and
what all weights are.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import ranked_runs
import torch

from limite.core.recipe import engine
from limite.core.recipe.runners.session import TrainingSession
from tests.core.recipe.peaks import peak_bytes

FOLDER = Path(sys.argv[2])
opened = TrainingSession.__init__


def opening(self: TrainingSession, context: Any, **how: Any) -> None:
    peak = peak_bytes(lambda: opened(self, context, **how))
    named = self.weights.named()
    state = self.optimizer.state_dict()["state"].values()
    told = {
        "stage": context.name,
        "step": self.clocks.step,
        "peak": peak,
        "held": bytes_of(each for _, each in named),
        "moments": bytes_of(each for kept in state for each in kept.values()),
        "largest": max(each.numel() for each in self.module.parameters()) * 4,
        "whole": sum(each.numel() for each in self.module.parameters()) * 4,
    }
    with (FOLDER / f"peak-{context.ranks.rank}").open("a") as file:
        file.write(json.dumps(told) + "\n")


def bytes_of(tensors: Any) -> int:
    return sum(each.numel() * each.element_size() for each in tensors if torch.is_tensor(each))


def main(orders: list[dict[str, Any]]) -> None:
    TrainingSession.__init__ = opening  # type: ignore[method-assign]
    engine.write_report = lambda path: path / "report.html"
    with tempfile.TemporaryDirectory() as folder:
        told = [ranked_runs.carried_out(order, Path(folder)) for order in orders]
    print(json.dumps(told))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
