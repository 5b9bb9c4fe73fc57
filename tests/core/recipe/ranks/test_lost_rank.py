"""Who loses a rank is told what is kept, and how to go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limite.core.recipe.context import StageContext
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.ranks.ranks import RankLost

TINY = Path(__file__).parents[1] / "tiny.toml"
LOST = "stage 'sft' after step 30: rank 1 of 2 gives no sign of life"


@pytest.mark.parametrize(
    ("lost_at", "kept"),
    [
        (30, "Step 25 of stage 'sft' is kept."),
        (10, "Stage 'sft' has kept no step yet, and begins anew."),
    ],
)
def test_the_step_that_is_kept_is_named(
    lost_at: int, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = StageContext.after_step

    def losing(self: StageContext, step: int, *more: Any) -> None:
        if step == lost_at:
            raise RankLost(LOST)
        real(self, step, *more)

    monkeypatch.setattr(StageContext, "after_step", losing)
    quiet = {"echo": lambda _line: None}
    with pytest.raises(RankLost) as told:
        start(TINY, out=tmp_path, name="mine", only=["sft"], **quiet)  # type: ignore[arg-type]
    run = tmp_path / "mine"
    assert str(told.value) == (
        f"{LOST}.\n{kept} Go on, under the same torchrun, with:\n  limite resume {run}"
    )
    monkeypatch.undo()
    assert go_on(run, **quiet).stages["sft"]["steps"] == 60  # type: ignore[arg-type]
