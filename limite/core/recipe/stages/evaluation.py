"""Evaluation on held-out problems, as settings."""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, lt, optional

from limite.core.kinds import Verifier
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Mix, Stage
from limite.core.validators import option


@attrs.frozen(kw_only=True)
class Eval(Stage):
    """Accuracy on held-out problems, with a paired interval against an earlier ``Eval`` stage."""

    kind: ClassVar[str] = "eval"
    runner: ClassVar[str] = "limite.evaluate.stage:run"
    problems: Mix
    count: int = attrs.field(
        default=400, validator=and_(ge(2), le(10**8)), metadata={"unit": "problems"}
    )
    samples: int = fields.count(4, told="responses to a problem", most=10**6)
    max_tokens: int = fields.tokens(64, told="at most, of a response")
    temperature: float = fields.temperature("that responses are sampled at")
    budget: str = attrs.field(
        default="fixed-response",
        validator=option("fixed-response", "native-context", "reserved-prompt"),
        metadata={"help": "what `max_tokens` is; the context with all but the first"},
    )
    top_p: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1.0)),
        metadata={"help": "share of the likeliest tokens that are sampled from; 1 is from all"},
    )
    verifier: Verifier | str = "exact"
    grading: str | None = attrs.field(
        default=None,
        validator=optional(option("reference", "exact", "lenient", "permissive")),
        metadata={
            "help": "judge by the four published protocols instead, of which this one says what "
            "is correct; `exact` is the `verifier`"
        },
    )
    against: str | None = attrs.field(
        default=None, metadata={"help": "the earlier eval stage to be compared with"}
    )
    confidence: float = attrs.field(
        default=0.95, validator=and_(gt(0.5), lt(1.0)), metadata={"help": "of the intervals"}
    )

    @property
    def files(self) -> tuple[str, ...]:
        """Those that problems are drawn from."""
        return self.problems.files
