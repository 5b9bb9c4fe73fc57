"""Evaluation on held-out problems, as settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, lt, optional

from limite.core.kinds import Verifier
from limite.core.recipe.stages.base import Mix, Stage
from limite.core.rollout.budget import BUDGETS
from limite.core.validators import option

GRADINGS = ("reference", "exact", "lenient", "permissive")
PROFILES = ("chat-zero-shot", "base-few-shot", "base-zero-shot")


PLAIN: Mapping[str, Any] = {
    "samples": 4,
    "max_tokens": 64,
    "temperature": 1.0,
    "budget": BUDGETS[0],
    "top_p": 1.0,
}
"""Terms of sampling where neither the stage nor a published suite says otherwise."""


@attrs.frozen(kw_only=True)
class Eval(Stage):
    """Accuracy on held-out problems, with a paired interval against an earlier ``Eval`` stage.

    The settings that ``limite eval`` has as options mean here what they mean there.
    """

    kind: ClassVar[str] = "eval"
    runner: ClassVar[str] = "limite.evaluate.stage:run"
    problems: Mix | None = attrs.field(
        default=None, metadata={"help": "what is asked, unless a `suite` says so"}
    )
    suite: str | None = attrs.field(
        default=None,
        metadata={
            "help": "benchmarks to ask, each with results of its own, instead of `problems`: "
            "`limite`, `math-extended`, or one of theirs, as in `math-extended/math500`"
        },
    )
    data: str | None = attrs.field(
        default=None,
        metadata={"help": "of `math-extended`: the folder in which its tasks' data sets lie"},
    )
    count: int = attrs.field(
        default=400,
        validator=and_(ge(2), le(10**8)),
        metadata={"unit": "problems", "help": "drawn from `problems`; a suite is asked whole"},
    )
    samples: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(1), le(10**6))),
        metadata={"help": f"responses to a problem; left out, {PLAIN['samples']}"},
    )
    max_tokens: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(1), le(2**24))),
        metadata={
            "unit": "tokens",
            "help": f"at most, of a response; left out, {PLAIN['max_tokens']}",
        },
    )
    temperature: float | None = attrs.field(
        default=None,
        validator=optional(and_(gt(0.0), le(1000.0))),
        metadata={"help": f"that responses are sampled at; left out, {PLAIN['temperature']}"},
    )
    budget: str | None = attrs.field(
        default=None,
        validator=optional(option(*BUDGETS)),
        metadata={
            "help": "what `max_tokens` is; the context with all but the first, which it is where "
            "this is left out"
        },
    )
    top_p: float | None = attrs.field(
        default=None,
        validator=optional(and_(gt(0.0), le(1.0))),
        metadata={
            "help": "share of the likeliest tokens that are sampled from; left out, as with 1, "
            "from all"
        },
    )
    profile: str | None = attrs.field(
        default=None,
        validator=optional(option(*PROFILES)),
        metadata={"help": "how problems are put; without it as the run's training put them"},
    )
    shots: str | None = attrs.field(
        default=None,
        metadata={"help": "of `base-few-shot`: the file of worked problems that are shown first"},
    )
    system: str | None = attrs.field(
        default=None, metadata={"help": "of `chat-zero-shot`: a system turn before the question"}
    )
    instruction: str = attrs.field(default="", metadata={"help": "stands behind each question"})
    stop: tuple[str, ...] = attrs.field(
        default=(), metadata={"help": "of base profiles: texts at which a response ends"}
    )
    thinking: bool = attrs.field(
        default=False, metadata={"help": "of `base-few-shot`: the answer begins in `<think>`"}
    )
    verifier: Verifier | str = "exact"
    grading: str | None = attrs.field(
        default=None,
        validator=optional(option(*GRADINGS)),
        metadata={
            "help": "judge by the four published protocols instead, of which this one says what "
            "is correct; `exact` is the `verifier`"
        },
    )
    natural_end: bool | None = attrs.field(
        default=None,
        metadata={
            "help": "whether an answer counts only if its response ended by itself; left out, it "
            "must with a `verifier`, and need not with `grading`"
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
        """Those that problems are drawn from or read in, and the shots."""
        drawn = () if self.problems is None else self.problems.files
        shots = () if self.shots is None else (self.shots,)
        return (*drawn, *shots, *(() if self.data is None else _files_in(Path(self.data))))

    def term(self, name: str) -> Any:
        """A setting as it was given, or else what holds without a published suite."""
        value = getattr(self, name)
        return PLAIN.get(name) if value is None else value

    def is_given(self, name: str) -> bool:
        """Whether a setting is another than its default: of a term, whether it was said at all."""
        default: Any = getattr(attrs.fields_dict(type(self))[name], "default", None)
        return bool(getattr(self, name) != default)


def _files_in(folder: Path) -> list[str]:
    """The data sets in a folder: files, and those in the folders of saved ones."""
    found = [*folder.glob("*"), *folder.glob("*/*")] if folder.is_dir() else []
    return sorted(str(each) for each in found if each.is_file() and each.name[0] != ".")
