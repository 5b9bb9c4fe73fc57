"""Pairs that two models of unequal strength give, as settings."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from limite.core.kinds import Verifier
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Mix, directory_files
from limite.core.recipe.stages.made import Asked
from limite.core.recipe.stages.soup import Member
from limite.core.validators import option

ALL, RIGHT, RIGHT_OVER_WRONG = "all", "right", "right-over-wrong"


@attrs.frozen(kw_only=True)
class StrongWeak:
    """Pairs of a strong model's responses over those of a weak one, to the same problems.

    Either is an earlier stage, or with a slash the path of a model's directory, of any
    architecture and with the same tokenizer. What both have said is recorded.
    """

    strong: str = attrs.field(
        metadata={"help": "an earlier stage, or the path (`./model`) of a model's directory"}
    )
    weak: str = attrs.field(metadata={"help": "likewise"})
    problems: Mix
    count: int = fields.count(1000, unit="problems", told="that both are asked once", most=10**8)
    pairs: str = attrs.field(
        default=RIGHT_OVER_WRONG,
        validator=option(ALL, RIGHT, RIGHT_OVER_WRONG),
        metadata={
            "help": "those to be learned from: all, or where the strong one is right, or where "
            "besides the weak one is wrong"
        },
    )
    max_tokens: int = fields.tokens(64, told="at most, of a response")
    temperature: float = fields.temperature("that responses are sampled at")
    dtype: str = attrs.field(
        default="float32",
        validator=option("float32", "bfloat16", "float64"),
        metadata={"help": "what models at paths compute in"},
    )
    verifier: Verifier | str = "exact"

    @property
    def models(self) -> dict[str, Member]:
        """The two, by the name of their field."""
        return {"strong": Member.of(self.strong), "weak": Member.of(self.weak)}

    @property
    def asked(self) -> Asked:
        """What both are asked."""
        return Asked(
            models=self.models,
            problems=self.problems,
            count=self.count,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            dtype=self.dtype,
            verifier=self.verifier,
        )

    @property
    def files(self) -> Iterator[str]:
        """Those of models at paths, and those that problems are drawn from."""
        yield from self.problems.files
        for model in self.models.values():
            if model.stage is None:
                yield from directory_files(model.path)
