"""Fields that several kinds of stage have, each written once. Their order is a stage's own."""

from __future__ import annotations

from typing import Any

import attrs
from attrs.validators import and_, ge, gt, le, lt, optional

MOST = 10**9
"""Of anything that is counted in steps, updates or batches."""


def count(default: int, *, unit: str | None = None, told: str = "", most: int = MOST) -> Any:
    """A whole number of at least 1."""
    return _field(default, and_(ge(1), le(most)), told, unit)


def tokens(default: int, *, told: str) -> Any:
    """A length in tokens of at least 1."""
    return count(default, unit="tokens", told=told, most=2**24)


def longest(what: str) -> Any:
    """The most tokens of a prompt with its text, where something is cut."""
    told = f"of a prompt with {what}, which is cut there; without it the context"
    return _field(None, optional(and_(ge(2), le(2**24))), told, "tokens")


def batch(default: int, unit: str, told: str = "of one update") -> Any:
    """How much an update learns from."""
    return count(default, unit=unit, told=told, most=10**6)


def temperature(of: str) -> Any:
    """What log-probabilities are divided by."""
    return _field(1.0, and_(gt(0.0), le(1000.0)), of, None)


def held_out_prompts(default: float, what: str) -> Any:
    """The share that is not trained on."""
    told = f"the share of prompts, by their hash, whose {what} are measured only"
    return _field(default, and_(ge(0.0), lt(1.0)), told, None)


def eval_every(default: int, what: str) -> Any:
    """How often it is measured."""
    return count(default, unit="updates", told=f"how often held-out {what} are measured")


def clip_norm() -> Any:
    """The limit on a gradient."""
    return _field(1.0, and_(gt(0.0), le(1e30)), "most that a gradient's norm may be", None)


def microbatch_tokens(through: str = "learner") -> Any:
    """How much goes through what is trained at once."""
    return count(8192, unit="tokens", told=f"most at once through the {through}, as memory allows")


def optional_microbatch_tokens() -> Any:
    """The same, where all goes through at once unless it is said."""
    told = "most at once through the learner; left out, a whole batch"
    return _field(None, optional(and_(ge(1), le(MOST))), told, "tokens")


def recompute() -> Any:
    """Less memory for more arithmetic."""
    told = "whether layers are computed again in the backward pass, for less memory"
    return attrs.field(default=False, metadata={"help": told})


def checkpoint_every(default: int, unit: str = "steps") -> Any:
    """How often the stage is saved."""
    return count(default, unit=unit)


def save_in_background() -> Any:
    """Whether training goes on while a checkpoint is written."""
    told = "training goes on while a checkpoint is written, from a copy in host memory"
    return attrs.field(default=False, metadata={"help": told})


def keep() -> Any:
    """How many checkpoints stay."""
    return count(2, unit="checkpoints", told="the newest")


def _field(default: Any, validator: Any, told: str, unit: str | None) -> Any:
    metadata = {"help": told, "unit": unit}
    kept = {name: value for name, value in metadata.items() if value}
    return attrs.field(default=default, validator=validator, metadata=kept)
