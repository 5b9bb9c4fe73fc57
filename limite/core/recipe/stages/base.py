"""What every stage has, and the mixtures of problems that most of them draw from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, le, lt, optional

from limite.core.validators import SomeWrong, at_least_one_weight, difficulty_range

_SUFFIXES = (".jsonl", ".jsonl.zst")
SHIPPED = "limite:"


def is_file(name: str) -> bool:
    """Whether an entry of a mixture is a file: a generator may have a slash in its name as well."""
    return name.endswith(_SUFFIXES) or name.startswith(("./", "../", "/"))


def file_at(name: str) -> Path:
    """Where a file of problems lies: one called ``limite:NAME`` comes with limite, as the problems
    of a shipped benchmark do (``limite:limite-easy.jsonl``)."""
    if not name.startswith(SHIPPED):
        return Path(name)
    package, file = Path(__file__).parents[3], name.removeprefix(SHIPPED)
    sealed = package / "evaluate" / "benchmarks" / file
    return sealed if sealed.is_file() else package / "problems" / "shipped" / file


@attrs.frozen
class Source:
    """An entry of a mixture with settings of its own: a generator, or a file of problems."""

    weight: float = attrs.field(
        default=1.0, metadata={"help": "how often it is drawn from, beside the others"}
    )
    difficulty: tuple[float, float] | None = attrs.field(
        default=None,
        validator=optional(difficulty_range),
        kw_only=True,
        metadata={
            "help": "of a generator, instead of the mixture's; of a file, those it was made at"
        },
    )
    pass_rate: tuple[float, float] | None = attrs.field(
        default=None,
        validator=optional(difficulty_range),
        kw_only=True,
        metadata={
            "help": "from and to, of a file's problems: what `limite-gen calibrate` measured"
        },
    )


def source_of(entry: float | Source | Mapping[str, Any]) -> Source:
    """An entry as it is written: a weight alone, or settings."""
    if isinstance(entry, Mapping):
        return Source(**entry)
    return entry if isinstance(entry, Source) else Source(entry)


def _weights(instance: Any, attribute: Any, value: Any) -> None:
    entries = {name: source_of(entry) for name, entry in value.items()}
    weights = {name: source.weight for name, source in entries.items()}
    try:
        at_least_one_weight(instance, attribute, weights)
    except SomeWrong as error:
        sound = {
            name: attrs.evolve(entry, weight=error.rest[name]) for name, entry in entries.items()
        }
        raise SomeWrong(str(error), sound) from None


@attrs.frozen
class Mix:
    """A mixture of problem generators and files of problems: name to weight.

    Each generator's stretch of difficulty is cut into ``levels`` equal parts. A generator at one
    level is what a curriculum chooses between, and a file as a whole. What ends in ``.jsonl`` or
    ``.jsonl.zst`` is a file.
    """

    sources: dict[str, float | Source] = attrs.field(
        validator=_weights,
        metadata={"help": "generator, or path of a file, to its weight or a `Source`"},
    )
    difficulty: tuple[float, float] = attrs.field(
        default=(0.0, 1.0),
        validator=difficulty_range,
        kw_only=True,
        metadata={"help": "of generators, from and to, within 0 and 1"},
    )
    levels: int = attrs.field(
        default=1,
        validator=and_(ge(1), le(100)),
        kw_only=True,
        metadata={"help": "equal parts that the stretch of difficulty is cut into"},
    )

    @property
    def entries(self) -> dict[str, Source]:
        """What is drawn from, each with its settings; entries of weight 0 are left out."""
        found = {name: source_of(entry) for name, entry in self.sources.items()}
        return {name: source for name, source in found.items() if source.weight}

    @property
    def files(self) -> tuple[str, ...]:
        """The files of problems that are drawn from."""
        return tuple(filter(is_file, self.entries))


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
    shared_out: ClassVar[bool] = False
    """Whether several ranks do its work together; otherwise one does it and the others wait."""
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
