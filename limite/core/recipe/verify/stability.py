"""Whether a stage ended where its rule says, and handed on what was there before it went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limite.core.checkpoint.manifest import MANIFEST, step_name
from limite.core.health.unstable import GATES, HELD_OUT, TRIGGERS, held_after, trigger_of
from limite.core.jsonl import read_jsonl
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import CHECKPOINTS, HEALTH, RECEIPT
from limite.core.recipe.stages import RL, Unstable
from limite.core.recipe.verify.finding import Findings

Since = Mapping[str, tuple[int, int]]
"""Of triggers that fired: for how many updates each holds, and since which step."""


def check_stability(
    folder: Path,
    name: str,
    recipe: Recipe | None,
    receipt: Mapping[str, Any] | None,
    findings: Findings,
) -> None:
    """Counts again, from the lines of ``health.jsonl``, for how long each trigger held."""
    stage = recipe.stages[name] if recipe is not None else None
    if receipt is None or not isinstance(stage, RL):
        return
    place = folder / RECEIPT
    ended = receipt.get("ended")
    rule = stage.stop_when
    if rule is None:
        if ended is not None or "hands_on_step" in receipt:
            findings.wrong(place, "says that the stage was unstable; its recipe has no such rule")
        return
    with findings.around(folder / HEALTH):
        fired = _fired(folder / HEALTH, stage, rule)
        step = min(fired, default=None)
        if ended is None:
            if step is not None:
                findings.wrong(place, f"does not say that the stage was unstable at step {step}")
            return
        if step is None or step != receipt["steps"]:
            findings.wrong(place, f"ends as unstable at step {receipt['steps']}, not at {step}")
            return
        told = {each["trigger"]: (each["held"], each["since_step"]) for each in ended["triggers"]}
        if told != fired[step]:
            findings.wrong(place, f"names other triggers than {HEALTH}: {', '.join(fired[step])}")
            return
        handed, first = receipt["hands_on_step"], min(since for _, since in told.values())
        if handed >= first:
            findings.wrong(place, f"hands on step {handed}, which is not before step {first}")
        if not (folder / CHECKPOINTS / step_name(handed) / MANIFEST).is_file():
            findings.wrong(place, f"hands on step {handed}, of which there is no checkpoint")


def _fired(place: Path, stage: RL, rule: Unstable) -> dict[int, Since]:
    """By step, the triggers that hold for long enough there."""
    every = {GATES: stage.health.every}
    if rule.probe is not None:
        every[HELD_OUT] = rule.probe.every
    by_step: dict[int, dict[str, bool]] = {}
    for line in read_jsonl(place) if place.is_file() else ():
        there = by_step.setdefault(int(line["step"]), {})
        trigger = trigger_of(str(line["gate"]))
        if trigger in TRIGGERS:  # other lines of health end nothing
            there[trigger] = there.get(trigger, True) and line["passed"] is True
    held: dict[str, tuple[int, int]] = {}
    found: dict[int, Since] = {}
    for step, verdicts in by_step.items():
        for trigger, good in verdicts.items():
            count, since = held.get(trigger, (0, step))
            count = held_after(count, good, every.get(trigger, 1))
            held[trigger] = (count, since if count > 1 else step)
        fired = {name: each for name, each in held.items() if each[0] >= rule.patience}
        if fired:
            found[step] = fired
    return found
