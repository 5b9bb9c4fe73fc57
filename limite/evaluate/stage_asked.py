"""What an ``Eval`` stage asks, how, and on which terms: known before a weight is loaded.

Importing this module reaches torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from limite.core.kinds import Verifier
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.stages import Eval
from limite.core.registry import Registry
from limite.core.tokenizer import Tokenizer
from limite.core.types import Problem
from limite.evaluate.grading.protocols import EXACT, REFERENCE, Grading
from limite.evaluate.problem_sets import ProblemSet
from limite.evaluate.profiles import CHAT, Misplaced, Profile, default_kind, misplaced
from limite.evaluate.suites.checkpoints import id_faults
from limite.evaluate.suites.tasks import Tasks, is_published, published, tasks_of

PUT = ("profile", "shots", "system", "instruction", "stop", "thinking")
"""The settings that say how problems are put; without any it is as training put them."""
TERMS = ("samples", "temperature", "top_p", "budget", "max_tokens")


@attrs.frozen(kw_only=True)
class Terms:
    """How often and how problems are asked. Without ``max_tokens`` the context is the budget."""

    samples: int
    temperature: float
    top_p: float | None
    budget: str
    max_tokens: int | None

    @classmethod
    def of(cls, stage: Eval, published_samples: int | None = None) -> Terms:
        """The stage's own; of a published suite the publisher's, where the stage says nothing.

        ``published_samples`` says how often the task is asked there.
        """
        named: dict[str, Any] = {name: stage.term(name) for name in TERMS}
        if is_published(stage.suite):
            given = {name for name in TERMS if stage.is_given(name)}
            theirs = published(stage.profile, given)
            if "samples" not in given and published_samples is not None:
                theirs.setdefault("samples", published_samples)
            if "budget" in theirs and "max_tokens" not in given:
                theirs["max_tokens"] = None
            named |= theirs
        named["top_p"] = None if named["top_p"] == 1.0 else named["top_p"]
        found = cls(**named)
        if found.temperature == 0 and found.samples > 1:
            told = f"{found.samples}: by the likeliest token they would all be the same one"
            raise Misplaced([("samples", told)])
        return found


@attrs.frozen(kw_only=True)
class Shown:
    """Puts problems as a profile says, with a tokenizer; without a profile as training does."""

    profile: Profile | None
    tokenizer: Tokenizer

    def text(self, problem: Problem) -> str:
        """What of it has to be written in tokens."""
        return problem.problem if self.profile is None else self.profile.text(problem)

    def render_prompt(self, problem: Problem) -> tuple[int, ...]:
        """The ids that a model reads."""
        if self.profile is None:
            return self.tokenizer.render_prompt(problem)
        return self.profile.ids(problem, self.tokenizer)

    def check(self, problem: Problem) -> None:
        """Refuses a prompt that such a model cannot answer."""
        if self.profile is not None:
            self.profile.check(problem, self.tokenizer)


def faults_of(stage: Eval, tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """What of a stage's settings does not belong together, by their names; all of it."""
    wrong: list[tuple[str, str]] = []
    if is_published(stage.suite) or any(stage.is_given(name) for name in PUT):
        kind = kind_of(stage, tokenizer)
        wrong += misplaced(
            kind,
            system=stage.system,
            shots=stage.shots,
            stops=stage.stop,
            thinking=stage.thinking,
        )
        try:
            Profile(kind=kind, system=stage.system).tokenizer(tokenizer)
        except Misplaced as error:
            wrong += error.wrong
    if stage.suite is None and stage.data is not None:
        wrong.append(("data", "belongs to a suite, math-extended; problems are drawn from files"))
    if stage.suite is None and stage.problems is None:
        wrong.append(("problems", "missing: a mixture of problems to be asked, or a 'suite'"))
    if stage.suite is not None and stage.problems is not None:
        wrong.append(("suite", "has problems of its own; give 'problems' or a suite"))
    if stage.suite is not None and stage.is_given("count"):
        wrong.append(("count", "a suite is asked whole, so that its score is the suite's"))
    if stage.suite is not None:
        try:
            tasks_of(stage.suite, None if stage.data is None else Path(stage.data))
            Terms.of(stage)
        except Misplaced as error:
            wrong += error.wrong
    if is_published(stage.suite) and isinstance(tokenizer, PretrainedTokenizer):
        wrong += (("suite", f"{tokenizer.path}: {told}") for told in id_faults(tokenizer.path))
    return wrong


def kind_of(stage: Eval, tokenizer: Tokenizer) -> str:
    """The kind of profile that puts the problems; a published suite is for chat models, unless the
    stage says otherwise."""
    return stage.profile or (CHAT if is_published(stage.suite) else default_kind(tokenizer))


def judge_of(stage: Eval, registry: Registry) -> Verifier:
    """What judges answers: the verifier, or protocols of which it may be one."""
    verifier = cast(Verifier, stage.verifier)
    headline = stage.grading
    if headline is None and is_published(stage.suite) and _is_default(verifier, registry):
        headline = REFERENCE
    if headline is None:
        return verifier
    own = verifier if headline == EXACT else None
    return Grading.of(headline, own, None if own is None else registry.name_of(type(own)))


def _is_default(verifier: Verifier, registry: Registry) -> bool:
    default = str(attrs.fields(Eval).verifier.default)
    return isinstance(verifier, registry.get("verifier", default).load())


def needs_end(stage: Eval, verifier: Verifier) -> bool:
    """Whether an answer counts only if its response ended by itself."""
    return not isinstance(verifier, Grading) if stage.natural_end is None else stage.natural_end


def shown(
    stage: Eval,
    tokenizer: Tokenizer,
    problems: Sequence[Problem],
    questions: Mapping[str, str] | None = None,
) -> Shown:
    """How the stage puts problems, which none of its shots may be; a Misplaced says what is wrong.

    ``questions`` has what is asked where that is more than a problem's text.
    """
    if not questions and not any(stage.is_given(name) for name in PUT):
        return Shown(profile=None, tokenizer=tokenizer)
    profile = Profile.of(
        kind_of(stage, tokenizer),
        instruction=stage.instruction,
        system=stage.system,
        shots=None if stage.shots is None else Path(stage.shots),
        stops=stage.stop,
        asked=problems,
        questions=None if stage.instruction else questions,
        thinking=stage.thinking,
    )
    return Shown(profile=profile, tokenizer=tokenizer)


def suite_of(stage: Eval) -> Tasks:
    """The tasks that the stage's suite has."""
    assert stage.suite is not None
    return tasks_of(stage.suite, None if stage.data is None else Path(stage.data))


def sets_of(stage: Eval, registry: Registry) -> dict[str, ProblemSet]:
    """The problems of every task of the stage's suite; what is wrong with a file is told."""
    tasks, verifier = suite_of(stage), judge_of(stage, registry)
    return {task: tasks.reader(task)(verifier) for task in tasks.places}


def problems_of_suite(stage: Eval, registry: Registry) -> list[Problem]:
    """All problems that the stage's suite asks, each once."""
    found = {each.id: each for task in sets_of(stage, registry).values() for each in task.problems}
    return list(found.values())
