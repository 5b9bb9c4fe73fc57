"""The average of policies that grew from one, as settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs

from limite.core.kinds import Verifier
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Mix, Stage, directory_files


def _two_or_more(_instance: Any, attribute: Any, value: tuple[str, ...]) -> None:
    if len(value) < 2:
        raise ValueError(f"{attribute.name!r} must name at least 2 models, got {len(value)}")


@attrs.frozen(kw_only=True)
class Greedy:
    """How a greedy soup is chosen: problems, and the terms on which each average is asked them.

    They are problems of ``benchmark``, or held-out ones of ``problems`` that no evaluation of the
    recipe asks.
    """

    problems: Mix | None = attrs.field(
        default=None, metadata={"help": "what they are drawn from; this or `benchmark`"}
    )
    benchmark: str | None = attrs.field(
        default=None,
        metadata={"help": "the path of a .jsonl or .jsonl.zst file of them; this or `problems`"},
    )
    count: int = fields.count(400, unit="problems", told="that are drawn of `problems`", most=10**8)
    samples: int = fields.count(4, told="responses to a problem", most=10**6)
    max_tokens: int = fields.tokens(64, told="at most, of a response")
    temperature: float = fields.temperature("that responses are sampled at")
    verifier: Verifier | str = "exact"


@attrs.frozen(kw_only=True)
class Member:
    """One model of a soup: what an earlier stage has left, at its end or at a step, or a path."""

    said: str
    stage: str | None = None
    step: str | None = None

    @property
    def path(self) -> Path:
        """Where it lies, if it is not a stage's."""
        return Path(self.said).expanduser()

    @classmethod
    def of(cls, said: str) -> Member:
        """What has a slash is a path; all else is a stage, or one at a step as ``sft@200``."""
        if "/" in said:
            return cls(said=said)
        stage, at, step = said.partition("@")
        return cls(said=said, stage=stage, step=step if at else None)


@attrs.frozen(kw_only=True)
class Soup(Stage):
    """The average of policies that grew from one (arXiv:2203.05482): the same for all, or weighted.

    ``of`` names earlier stages (``sft``, or ``sft@200`` for its checkpoint of step 200), and with a
    slash the paths of models' directories, of runs and of their checkpoints. With ``greedy``
    models are taken in from the best on, and those that lower its accuracy are left out. Sums run
    in float64 and are rounded once; later stages begin with a fresh optimizer.
    """

    kind: ClassVar[str] = "soup"
    runner: ClassVar[str] = "limite.core.recipe.runners.soup:run"
    trains: ClassVar[bool] = True
    has_start: ClassVar[bool] = False
    of: tuple[str, ...] = attrs.field(
        validator=_two_or_more,
        metadata={
            "help": "earlier stages, as `sft` or at a step as `sft@200`, and paths (`./model`) of "
            "models' directories, runs and checkpoints"
        },
    )
    weights: tuple[float, ...] | None = attrs.field(
        default=None,
        metadata={"help": "one for each model, together 1; left out, the same for all"},
    )
    greedy: Greedy | None = attrs.field(
        default=None, metadata={"help": "leave out models that lower accuracy on its problems"}
    )

    @property
    def members(self) -> list[Member]:
        """The models, those of stages and those at paths told apart."""
        return [Member.of(said) for said in self.of]

    @property
    def files(self) -> tuple[str, ...]:
        paths = [each.path for each in self.members if each.stage is None]
        found = [file for path in paths for file in _files_at(path)]
        if self.greedy is not None and self.greedy.benchmark is not None:
            found.append(self.greedy.benchmark)
        if self.greedy is not None and self.greedy.problems is not None:
            found += self.greedy.problems.files
        return tuple(dict.fromkeys(found))


def _files_at(place: Path) -> list[str]:
    """What the model at a path follows from: of a run and a checkpoint the manifests, which bind
    the rest."""
    if (place / "recipe.toml").is_file():
        found = sorted(place.glob("stages/*/checkpoints/step-*/manifest.json"))
    elif (place / "manifest.json").is_file():
        found = [place / "manifest.json"]
    elif (place / "config.json").is_file():
        return directory_files(place)
    else:
        found = []
    return [str(each) for each in found]
