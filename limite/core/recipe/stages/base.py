"""What every stage has, and the mixtures of problems that most of them draw from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import attrs
from attrs.validators import and_, ge, le, lt, optional

from limite.core.validators import at_least_one_weight, difficulty_range


@attrs.frozen
class Mix:
    """A mixture of problem generators: name to weight, over a stretch of difficulty.

    Each generator's stretch is cut into ``levels`` equal parts; a generator at one level is what a
    curriculum chooses between.
    """

    sources: dict[str, float] = attrs.field(
        validator=at_least_one_weight, metadata={"help": "generator to its weight"}
    )
    difficulty: tuple[float, float] = attrs.field(
        default=(0.0, 1.0),
        validator=difficulty_range,
        kw_only=True,
        metadata={"help": "from and to, within 0 and 1"},
    )
    levels: int = attrs.field(
        default=1,
        validator=and_(ge(1), le(100)),
        kw_only=True,
        metadata={"help": "equal parts that the stretch of difficulty is cut into"},
    )


@attrs.frozen(kw_only=True)
class Stage:
    """What every stage has: where its weights come from, and a seed of its own.

    ``start`` names an earlier stage; without it the stage goes on from the nearest earlier one
    that trains, and the first one from new weights.
    """

    kind: ClassVar[str]
    runner: ClassVar[str]
    trains: ClassVar[bool] = False
    """Whether later stages may go on from its weights as those of a policy."""
    has_start: ClassVar[bool] = True
    """Whether it begins with the weights of one model."""
    gives_critic: ClassVar[bool] = False
    """Whether it leaves a critic."""
    records_rollouts: ClassVar[bool] = False
    """Whether it leaves scored responses that a critic can be fitted to."""
    kinds: ClassVar[Mapping[str, type[Stage]]] = {}
    start: str | None = attrs.field(
        default=None,
        metadata={"help": "the earlier stage whose weights this one begins with"},
    )
    seed: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(0), lt(2**64))),
        metadata={"help": "instead of the recipe's seed"},
    )

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the stage reads: a run is bound to what they hold."""
        return ()


def directory_files(path: Path) -> list[str]:
    """The files that the numbers of a model in a directory follow from."""
    return [str(path / "config.json"), *sorted(map(str, path.glob("*.safetensors")))]
