"""Texts that a run makes: of problems, by a teacher, from its own rollouts; as settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs.validators import gt

from limite.core.kinds import Verifier
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Mix
from limite.core.recipe.stages.soup import Member
from limite.core.validators import at_least_one_weight, option

EVERY, RIGHT = "all", "right"


def _some(_instance: Any, attribute: Any, value: tuple[str, ...]) -> None:
    if not value:
        raise ValueError(f"{attribute.name!r} must name at least one rl stage")


@attrs.frozen(kw_only=True)
class MadeTexts:
    """Texts to pretrain on that are made: problems, each with one of its worked solutions."""

    problems: Mix
    styles: dict[str, float] = attrs.field(
        factory=lambda: {"direct": 1.0},
        validator=at_least_one_weight,
        metadata={"help": "style of worked solution to its weight; a problem gets one it has"},
    )
    documents: int = fields.count(4000, told="distinct problems", most=10**8)
    weight: float = attrs.field(
        default=1.0,
        validator=gt(0.0),
        metadata={"help": "their share of the targets, beside the weights of `sources`"},
    )


@attrs.frozen(kw_only=True)
class Taught:
    """Problems that a teacher is asked, once each, before anything is learned from its answers.

    With ``on_policy`` the student is asked them, at every update, and the teacher judges. What a
    teacher has said is recorded.
    """

    problems: Mix
    count: int = fields.count(1000, unit="problems", told="that are asked once", most=10**8)
    keep: str = attrs.field(
        default=RIGHT,
        validator=option(EVERY, RIGHT),
        metadata={"help": "the answers to be learned from, of those that ended by themselves"},
    )
    max_tokens: int = fields.tokens(64, told="at most, of an answer of the teacher")
    verifier: Verifier | str = "exact"


@attrs.frozen(kw_only=True)
class OwnSolutions:
    """Right responses that earlier ``RL`` stages have sampled, the newest first."""

    rollouts: tuple[str, ...] = attrs.field(
        validator=_some, metadata={"help": "earlier rl stages, whose right responses are read"}
    )
    documents: int = fields.count(4000, told="responses, at most", most=10**8)
    per_problem: int = fields.count(
        1, told="responses to a problem, at most, no two alike", most=10**5
    )


@attrs.frozen(kw_only=True)
class Asked:
    """What models are asked, and on which terms: whatever kind of stage it is for."""

    models: Mapping[str, Member]
    problems: Mix
    count: int
    max_tokens: int
    temperature: float
    dtype: str
    verifier: Verifier | str
