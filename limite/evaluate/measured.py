"""One model on one problem set: what is missing is sampled, all of it graded and summed up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import dumps, write_json, write_jsonl
from limite.core.kinds import Verifier
from limite.core.rollout.sampler import LIKELIEST
from limite.core.types import Problem
from limite.evaluate.figures import summary
from limite.evaluate.graded import Graded, judged, text_judged
from limite.evaluate.journal import JOURNAL, RESPONSES, Journal, Recorded
from limite.evaluate.models import Model, Prompted, Terms
from limite.evaluate.problem_sets import ProblemSet
from limite.evaluate.profiles import Profile
from limite.evaluate.protocol import AskedProtocol, problems_hash, prompts_hash
from limite.evaluate.records import records
from limite.evaluate.shares import share_text

RESULTS = "results.json"


@attrs.frozen(kw_only=True, eq=False)
class Asked:
    """One model with what it will be shown, checked before its weights are read."""

    model: Model
    protocol: AskedProtocol
    profile: Profile
    prompts: Sequence[Prompted]
    rendering: str | None = None
    revision: str | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        problems: Sequence[Problem],
        profile: Profile,
        terms: Terms,
        *,
        grader: Mapping[str, Any],
        natural_end: bool,
    ) -> Asked:
        """Everything that can be known to be wrong is refused here."""
        prompts = model.prompts(problems, profile)
        facts = model.facts(profile)
        shown = [[each.shown] if isinstance(each.shown, str) else each.shown for each in prompts]
        protocol = AskedProtocol(
            problems=problems_hash(problems),
            prompts=prompts_hash(shown),  # type: ignore[arg-type]
            count=len(problems),
            samples=terms.samples or 1,
            seed=terms.seed,
            temperature=max(terms.temperature, LIKELIEST),
            budget=terms.budget,
            top_p=terms.top_p,
            max_tokens=facts["max_tokens"],
            eos_ids=facts["eos_ids"],
            verifier=grader,
            natural_end=natural_end,
            profile=profile.record,
            template=facts["template"],
        )
        return cls(
            model=model,
            protocol=protocol,
            profile=profile,
            prompts=prompts,
            rendering=facts["rendering"],
            revision=facts.get("revision"),
        )

    @property
    def folder(self) -> str:
        """A name for its folder."""
        return "".join(
            mark if mark.isalnum() or mark in "._-@" else "-" for mark in self.model.name
        )

    def journal(self, out: Path) -> Journal:
        """Its responses so far, in a folder under ``out``."""
        return Journal(
            out / self.folder,
            model=self.model.name,
            protocol_id=self.protocol.id,
            samples=self.protocol.samples,
            budgets={each.problem.id: each.budget_tokens for each in self.prompts},
        )

    def missing(self, journal: Journal) -> list[tuple[Prompted, int]]:
        """What has not been answered yet, in order."""
        return [
            (each, number)
            for each in self.prompts
            for number in range(self.protocol.samples)
            if (each.problem.id, number) not in journal.known
        ]


def sample(asked: Asked, journal: Journal, tell: Callable[[int], object]) -> None:
    """Samples what is missing; ``tell`` hears how many responses there are after each."""
    missing = asked.missing(journal)
    if not missing:
        return
    try:
        for found in asked.model.sample(missing, asked.profile, asked.protocol.id):
            journal.keep(found)
            tell(len(journal.known))
    finally:
        asked.model.close()


def grade(asked: Asked, journal: Journal, verifier: Verifier) -> list[Graded]:
    """Every response with its verdict, problem by problem.

    A response that ran out of its budget may count, if its thinking is closed and it states an
    answer; with ``natural_end`` of the protocol it may not.
    """
    if not journal.complete:
        raise LimiteError(
            f"{asked.model.name}: only {len(journal.known)} responses are there; a score of those "
            "that finished early would favour short answers"
        )
    order = [
        (each.problem, journal.known[each.problem.id, number])
        for each in asked.prompts
        for number in range(asked.protocol.samples)
    ]
    pairs = [
        (problem.answer, text_judged(one.text, one.reasoning_closed, verifier))
        for problem, one in order
    ]
    return [
        Graded(
            problem=problem,
            response=one,
            verdict=verdict,
            closed=one.reasoning_closed,
            correct=verdict.correct
            and (one.reasoning_closed or marks is not None)  # protocols have seen to that
            and (one.finish_reason != "length" or not asked.protocol.natural_end),
            marks=marks,
        )
        for (problem, one), (verdict, marks) in zip(order, judged(verifier, pairs), strict=True)
    ]


def results_of(
    asked: Asked,
    graded: Sequence[Graded],
    problems: ProblemSet,
    overlap: Mapping[str, Any],
    confidence: float,
    verifier: Verifier,
) -> dict[str, Any]:
    """The figures of a complete set: those of any evaluation, and what else is told of this one."""
    found = summary(graded, asked.protocol, confidence, verifier)
    total, samples = len(graded), asked.protocol.samples
    groups = [graded[start : start + samples] for start in range(0, total, samples)]
    mixed = sum(0 < sum(one.correct for one in group) < samples for group in groups)
    first = asked.prompts[0]
    copies = set(overlap["problems"])
    return {
        **found,
        "model": asked.model.name,
        "trained": _trained(asked.model),
        "revision": asked.revision,
        "benchmark": problems.record,
        "profile": {
            **asked.profile.record,
            "template": asked.protocol.template,
            "rendering": asked.rendering,
            "example": {
                "problem_id": first.problem.id,
                "prompt": first.shown if isinstance(first.shown, str) else list(first.shown),
            },
        },
        "rules": {
            "seed": "of protocol seed, problem and number of the sample alone",
            "budget": asked.protocol.budget,
            "cut_off": "fail" if asked.protocol.natural_end else "score",
        },
        "contrast": {
            "count": mixed,
            "total": len(groups),
            "share": mixed / len(groups),
            "text": f"{share_text(mixed, len(groups))} of groups of {samples}",
        },
        "cut_below_budget": _cut_early(graded),
        "overlap": {
            **overlap,
            "score_of_matches": _score(one for one in graded if one.problem.id in copies),
            "score_of_others": _score(one for one in graded if one.problem.id not in copies),
        },
    }


def _trained(model: Model) -> dict[str, Any] | None:
    """The run behind a model: its recipe, whose seed tells apart trainings of the same one."""
    if model.run is None:
        return None
    run = model.run.run
    return {
        "recipe": run.recipe(),
        "parameters": run.receipt().get("parameters"),
        "stage": model.run.stage,
        "step": model.run.step,
    }


def _cut_early(graded: Sequence[Graded]) -> dict[str, Any]:
    """Responses that something else than their budget has cut off: a limit nobody has named."""
    early = [
        _recorded(one)
        for one in graded
        if one.response.finish_reason == "length"
        and one.response.generated_tokens < one.response.completion_budget
    ]
    first = early[0] if early else None
    return {
        "count": len(early),
        "first": None
        if first is None
        else {
            "problem_id": first.problem_id,
            "sample_index": first.sample_index,
            "generated_tokens": first.generated_tokens,
            "completion_budget": first.completion_budget,
        },
    }


def _recorded(one: Graded) -> Recorded:
    assert isinstance(one.response, Recorded)
    return one.response


def _score(graded: Iterator[Graded]) -> dict[str, Any]:
    verdicts = [one.correct for one in graded]
    return {"correct": sum(verdicts), "total": len(verdicts)}


def write(asked: Asked, journal: Journal, graded: Sequence[Graded], results: Any) -> None:
    """Leaves ``responses.jsonl.zst`` and ``results.json``, and takes the journal away."""
    told = (
        {**_recorded(one).record, **record}
        for one, record in zip(graded, records(graded), strict=True)
    )
    write_jsonl(journal.folder / RESPONSES, told)
    write_json(journal.folder / RESULTS, results)
    (journal.folder / JOURNAL).unlink(missing_ok=True)


def write_unfinished(asked: Asked, journal: Journal) -> dict[str, Any]:
    """Says in ``results.json`` how far a set has come; it has no accuracy yet."""
    found = {
        **journal.state,
        "model": asked.model.name,
        "protocol_id": asked.protocol.id,
        "protocol": asked.protocol.record(),
    }
    if not (journal.folder / RESPONSES).exists():
        write_json(journal.folder / RESULTS, found)
    return found


def same_terms(protocol: AskedProtocol) -> str:
    """A hash of what does not depend on the model: problems, sampling, profile, grader."""
    import hashlib

    plain = protocol.record()
    for name in ("prompts", "eos_ids", "template", "max_tokens"):
        if name != "max_tokens" or protocol.budget != "fixed-response":
            del plain[name]
    return hashlib.sha256(dumps(plain).encode()).hexdigest()
