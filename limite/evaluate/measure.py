"""Measures a policy on a set of problems: samples, grades, and sums up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from limite.core.errors import LimiteError
from limite.core.kinds import Verifier
from limite.core.rollout.budget import (
    check_response,
    completion_budget,
    reasoning_is_closed,
)
from limite.core.rollout_kinds import Request
from limite.core.types import Problem, Response
from limite.evaluate import protocol as terms
from limite.evaluate.figures import summary
from limite.evaluate.graded import Graded, judged, text_judged


class Samples(Protocol):
    """A sampler, as far as an evaluation needs one."""

    def generate(
        self, requests: Sequence[Request], policy_version: int
    ) -> Iterator[tuple[int, Response]]: ...


class Tokenizer(Protocol):
    """What an evaluation asks of a tokenizer."""

    def render_prompt(self, problem: Problem) -> tuple[int, ...]: ...


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
    profile: Mapping[str, Any] | None = None,
    template: str | None = None,
) -> terms.Protocol:
    """The terms that sampling and grading ``requests`` follow; ``profile`` where one puts them."""
    first = [request for request in requests if request.sample_index == 0]
    put: dict[str, Any] = {} if profile is None else {"profile": profile, "template": template}
    return (terms.Protocol if profile is None else terms.AskedProtocol)(
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
        **put,
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
        ended = response.finish_reason in ("eos", "stop") or not protocol.natural_end
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
