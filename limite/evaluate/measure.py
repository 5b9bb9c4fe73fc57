"""Measures a policy on a set of problems: samples, grades, and sums up."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs

from limite.core.errors import LimiteError
from limite.core.kinds import Request, Verifier
from limite.core.rollout.budget import (
    check_response,
    completion_budget,
    reasoning_is_closed,
)
from limite.core.rollout.grading import verdicts_on
from limite.core.types import FINISH_REASONS, Answer, FinishReason, Problem, Response, Verdict
from limite.evaluate import protocol as terms
from limite.evaluate.bootstrap import exact_interval
from limite.evaluate.compare import SCOPE
from limite.evaluate.grading.protocols import Grading, Marks, told
from limite.evaluate.hierarchical import hierarchical_interval
from limite.evaluate.intervals import PLAIN, accuracy_interval, bootstrap_confidence
from limite.evaluate.majority import majority_correct
from limite.evaluate.passk import mean_pass_at_k
from limite.evaluate.power import POWER, assumed_spread, detectable, power_text
from limite.evaluate.shares import length_figures, longer_than, share_text, wilson
from limite.evaluate.wrong_step import wrong_step
from limite.problems.files import WORDS

# More answers than this that the grader ran out of time on make a score unreliable.
UNRELIABLE_SHARE = 0.01
GRADER = {"right": "ok", "wrong": "ok", "unreadable": "no_answer", "timed-out": "timeout"}


class Samples(Protocol):
    """A sampler, as far as an evaluation needs one."""

    def generate(
        self, requests: Sequence[Request], policy_version: int
    ) -> Iterator[tuple[int, Response]]: ...


class Tokenizer(Protocol):
    """What an evaluation asks of a tokenizer."""

    def render_prompt(self, problem: Problem) -> tuple[int, ...]: ...


class Answered(Protocol):
    """A response, as far as figures of it need one: sampled just now, or read from a file."""

    @property
    def sample_index(self) -> int: ...

    @property
    def prompt_tokens(self) -> int: ...

    @property
    def completion_budget(self) -> int: ...

    @property
    def generated_tokens(self) -> int: ...

    @property
    def finish_reason(self) -> FinishReason: ...

    @property
    def text(self) -> str: ...


@attrs.frozen(kw_only=True)
class Graded:
    """One response and what the verifier made of it; ``marks`` where it was graded by protocols.

    ``closed`` says whether its thinking is: where a template has opened it the text cannot tell.
    """

    problem: Problem
    response: Answered
    verdict: Verdict
    closed: bool
    correct: bool
    marks: Marks | None = None


def make_requests(
    problems: Sequence[Problem],
    tokenizer: Tokenizer,
    *,
    samples: int,
    budget: str,
    max_tokens: int,
    context: int,
) -> list[Request]:
    """All episodes of an evaluation: ``samples`` to each problem, in order."""
    requests = []
    for problem in problems:
        prompt = tokenizer.render_prompt(problem)
        allowed = completion_budget(
            budget, prompt_tokens=len(prompt), max_tokens=max_tokens, context=context
        )
        requests += [
            Request(problem=problem, sample_index=index, prompt_ids=prompt, budget_tokens=allowed)
            for index in range(samples)
        ]
    return requests


def protocol_of(
    requests: Sequence[Request],
    *,
    seed: int,
    temperature: float,
    budget: str,
    max_tokens: int,
    eos_ids: Sequence[int],
    verifier: Mapping[str, Any],
    natural_end: bool = True,
    top_p: float | None = None,
) -> terms.Protocol:
    """The terms that sampling and grading ``requests`` follow."""
    first = [request for request in requests if request.sample_index == 0]
    return terms.Protocol(
        problems=terms.problems_hash([request.problem for request in first]),
        prompts=terms.prompts_hash([request.prompt_ids for request in first]),
        count=len(first),
        samples=len(requests) // max(len(first), 1),
        seed=seed,
        temperature=temperature,
        budget=budget,
        max_tokens=max_tokens,
        eos_ids=tuple(sorted(eos_ids)),
        verifier=verifier,
        natural_end=natural_end,
        top_p=top_p,
    )


def evaluate(
    sampler: Samples,
    requests: Sequence[Request],
    verifier: Verifier,
    protocol: terms.Protocol,
    *,
    context: int | None = None,
    confidence: float = 0.95,
    opened: str = "",
) -> tuple[dict[str, Any], list[Graded]]:
    """The results of one policy, as plain data, and every graded response in the order asked for.

    ``opened`` is what a template that opens the thinking itself has written before each response.

    Every response is audited (its budget, its ending); one broken record is an error, because a
    score with a hidden cut-off is not what it says.
    """
    answered: dict[int, Response] = {}
    for index, response in sampler.generate(requests, 0):
        request = requests[index]
        if index in answered or (response.problem_id, response.sample_index) != (
            request.problem.id,
            request.sample_index,
        ):
            raise LimiteError(
                f"response {response.sample_index} to problem {response.problem_id} came twice "
                "or was not asked for"
            )
        check_response(response, eos_ids=protocol.eos_ids, context=context)
        answered[index] = response
    if len(answered) != len(requests):
        raise LimiteError(
            f"only {len(answered)} of {len(requests)} responses were sampled; "
            "a score of the ones that finished early would favour short answers"
        )
    closed = [reasoning_is_closed(opened + answered[at].text) for at in range(len(requests))]
    pairs = [
        (each.problem.answer, text_judged(answered[at].text, closed[at], verifier))
        for at, each in enumerate(requests)
    ]
    graded = []
    for index, (request, (verdict, marks)) in enumerate(
        zip(requests, judged(verifier, pairs), strict=True)
    ):
        response = answered[index]
        ended = response.finish_reason == "eos" or not protocol.natural_end
        graded.append(
            Graded(
                problem=request.problem,
                response=response,
                verdict=verdict,
                closed=closed[index],
                correct=verdict.correct and ended and (closed[index] or marks is not None),
                marks=marks,
            )
        )
    return summary(graded, protocol, confidence, verifier), graded


def judged(
    verifier: Verifier, pairs: Sequence[tuple[Answer, str]]
) -> list[tuple[Verdict, Marks | None]]:
    """A verdict on every pair, in order, and its marks where protocols grade."""
    if not isinstance(verifier, Grading):
        return [(verdict, None) for verdict in verdicts_on(verifier, pairs)]
    marks = verifier.marks(pairs)
    return [
        (verifier.verdict(each, text), each) for each, (_, text) in zip(marks, pairs, strict=True)
    ]


def text_judged(text: str, closed: bool, verifier: Verifier) -> str:
    """What is judged. Protocols look for thinking left open, which a template may have opened."""
    if isinstance(verifier, Grading) and not closed and "<think>" not in text:
        return f"<think>{text}"
    return text


def summary(
    graded: Sequence[Graded], protocol: terms.Protocol, confidence: float, verifier: Verifier
) -> dict[str, Any]:
    """The figures of a complete set of graded responses. Shares run from 0 to 1.

    ``method`` says how the interval was made. ``interval_count`` has its ends in responses, and is
    None where they are not whole ones: where all problems agree. ``verifier`` says which answers
    are the same one, for the majority.
    """
    samples, total = protocol.samples, len(graded)
    groups = [graded[start : start + samples] for start in range(0, total, samples)]
    counts = [sum(one.correct for one in group) for group in groups]
    endings = Counter(one.response.finish_reason for one in graded)
    grader = Counter(GRADER[one.verdict.outcome] for one in graded)
    timeouts = grader["timeout"]
    closed = sum(one.closed for one in graded)
    agreed = majority_correct([_stated(group, protocol) for group in groups], verifier)
    return {
        **figures_of(counts, [group[0].correct for group in groups], samples, confidence),
        "complete": True,
        "protocol_id": protocol.id,
        "protocol": protocol.record(),
        "majority": {
            "samples": samples,
            "correct": agreed,
            "total": len(groups),
            "score": agreed / len(groups),
        },
        "endings": {reason: endings[reason] for reason in FINISH_REASONS},
        "natural_end": {
            "count": endings["eos"],
            "total": total,
            "share": endings["eos"] / total,
        },
        "closed_reasoning": {"count": closed, "total": total, "share": closed / total},
        "correct_but_truncated": sum(
            one.verdict.correct and one.response.finish_reason == "length" for one in graded
        ),
        "grader": {status: grader[status] for status in ("ok", "no_answer", "timeout")},
        "unreliable": timeouts > UNRELIABLE_SHARE * total,
        "tokens": {
            "all": length_figures([one.response.generated_tokens for one in graded]),
            "correct": length_figures(
                [one.response.generated_tokens for one in graded if one.correct]
            ),
        },
        "correct_longer_than": longer_than(
            [one.response.generated_tokens for one in graded if one.correct]
        ),
        **_by_protocols(graded, verifier),
        "by_arm": _by_arm(groups, counts),
        "per_problem": [
            {
                "id": group[0].problem.id,
                "arm": _arm(group[0].problem),
                "correct": count,
                "first": group[0].correct,
            }
            for group, count in zip(groups, counts, strict=True)
        ],
    }


def figures_of(
    counts: Sequence[int], firsts: Sequence[bool], samples: int, confidence: float
) -> dict[str, Any]:
    """What follows from the correct responses to each problem alone: score, intervals, pass@k.

    ``firsts`` says of each problem whether the first response to it is right.
    """
    problems = len(counts)
    total, correct, first = problems * samples, sum(counts), sum(firsts)
    found = accuracy_interval(counts, samples, confidence)
    plain = exact_interval(counts, confidence)
    wide = hierarchical_interval(counts, samples, bootstrap_confidence(problems, confidence))
    seen = detectable(assumed_spread(counts, samples), problems, confidence=confidence)
    return {
        "text": (
            f"{share_text(correct, total)}, {100 * confidence:g}% interval "
            f"[{100 * found.low:.1f}%, {100 * found.high:.1f}%]"
        ),
        "scope": SCOPE,
        "problems": problems,
        "samples": samples,
        "correct": correct,
        "total": total,
        "score": correct / total,
        "confidence": confidence,
        "interval": [found.low, found.high],
        "interval_count": None if found.counts is None else list(found.counts),
        "method": found.method,
        "bootstrap": {
            "interval_count": list(plain),
            "interval": [end / total for end in plain],
            "method": PLAIN,
        },
        "first_sample": {
            "correct": first,
            "total": problems,
            "score": first / problems,
            # One response to a problem: these are independent, as Wilson's interval needs.
            "wilson": list(wilson(first, problems, confidence)),
        },
        "hierarchical": {
            "interval_count": list(wide),
            "interval": [end / total for end in wide],
            "method": "problems, then responses, exact",
        },
        "power": {
            "difference": seen,
            "power": POWER,
            "text": power_text(problems, samples, seen),
            "assumes": "the noise of sampling alone, as much of it in the other model",
        },
        "pass_at_k": {str(k): mean_pass_at_k(counts, samples, k) for k in _powers_of_two(samples)},
    }


def records(graded: Sequence[Graded]) -> Iterator[dict[str, Any]]:
    """One plain record per response, for ``responses.jsonl.zst``."""
    for one in graded:
        step = None
        if not one.correct:
            step = wrong_step(one.problem, one.response.text, one.verdict, closed=one.closed)
        yield {
            "problem_id": one.problem.id,
            "problem": one.problem.problem,
            "answer": one.problem.answer.value,
            "answer_type": one.problem.answer.type,
            "answer_params": dict(one.problem.answer.params),
            "solution": _solution(one.problem),
            "arm": _arm(one.problem),
            "sample_index": one.response.sample_index,
            "prompt_tokens": one.response.prompt_tokens,
            "completion_budget": one.response.completion_budget,
            "generated_tokens": one.response.generated_tokens,
            "finish_reason": one.response.finish_reason,
            "correct": one.correct,
            "extracted_answer": one.verdict.extracted,
            "grader_status": GRADER[one.verdict.outcome],
            "grader_reason": one.verdict.reason,
            "wrong_step": None if step is None else attrs.asdict(step),
            "text": one.response.text,
            "text_sha256": hashlib.sha256(
                one.response.text.encode("utf-8", "surrogatepass")
            ).hexdigest(),
            **({} if one.marks is None else {"grading": one.marks.record}),
        }


def _by_protocols(graded: Sequence[Graded], verifier: Verifier) -> dict[str, Any]:
    marks = [one.marks for one in graded if one.marks is not None]
    if not isinstance(verifier, Grading):
        return {}
    cut = [one.response.finish_reason == "length" for one in graded]
    return {"grading": told(marks, cut, verifier)}


def _stated(
    group: Sequence[Graded], protocol: terms.Protocol
) -> tuple[Answer, list[str | None], list[bool]]:
    """What the responses to a problem answer. One whose answer may not count has no vote."""
    stated = [one.verdict.extracted if _may_count(one, protocol) else None for one in group]
    return group[0].problem.answer, stated, [one.correct for one in group]


def _may_count(one: Graded, protocol: terms.Protocol) -> bool:
    """Protocols that grade have read no answer where one may not count; a verifier has."""
    ended = one.response.finish_reason in ("eos", "stop") or not protocol.natural_end
    return ended and (one.marks is not None or one.closed)


def _solution(problem: Problem) -> str | None:
    """A worked solution: the one in words, where there are several."""
    known = problem.solutions
    return known.get(WORDS) or max(known.values(), key=len, default=None)


def _arm(problem: Problem) -> str:
    return str(problem.meta.get("arm", problem.source.get("generator", "")))


def _by_arm(groups: Sequence[Sequence[Graded]], counts: Sequence[int]) -> dict[str, Any]:
    table: dict[str, dict[str, Any]] = {}
    for group, count in zip(groups, counts, strict=True):
        row = table.setdefault(
            _arm(group[0].problem), {"problems": 0, "correct": 0, "total": 0, "score": 0.0}
        )
        row["problems"] += 1
        row["correct"] += count
        row["total"] += len(group)
        row["score"] = row["correct"] / row["total"]
    return dict(sorted(table.items()))


def _powers_of_two(samples: int) -> list[int]:
    """1, 2, 4, ... and ``samples`` itself."""
    powers = [2**exponent for exponent in range(samples.bit_length()) if 2**exponent < samples]
    return [*powers, samples]
