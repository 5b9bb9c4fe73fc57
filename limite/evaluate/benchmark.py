"""A file of problems that models are measured on: the same questions and terms for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.errors import Mistake, SettingsError
from limite.core.jsonl import read_jsonl
from limite.core.kinds import Verifier
from limite.core.model.decoder import Decoder
from limite.core.rollout.sampler import LIKELIEST, Sampler
from limite.core.tokenizer import Tokenizer
from limite.core.types import Answer, Problem
from limite.evaluate.measure import Graded, evaluate, make_requests, protocol_of
from limite.evaluate.stage import BUDGET, grader_of
from limite.problems.verify.exact import Exact


@attrs.frozen(kw_only=True)
class Benchmark:
    """Problems and the terms on which they are asked.

    Without ``samples`` one response to each, of the likeliest token every time; with them so many
    seeded samples at temperature 1.
    """

    problems: Sequence[Problem]
    samples: int | None = None
    max_tokens: int = 256
    seed: int = 1
    verifier: Verifier = attrs.field(factory=Exact)

    @classmethod
    def read(cls, path: str | Path, **terms: Any) -> Benchmark:
        """The problems of a ``.jsonl`` or ``.jsonl.zst`` file; all mistakes in it at once."""
        found = cls(problems=(), **terms)
        return attrs.evolve(found, problems=read_problems(path, found.verifier))

    def measure(
        self, decoder: Decoder, tokenizer: Tokenizer
    ) -> tuple[dict[str, Any], list[Graded]]:
        """The results of a model as plain data, and its graded responses."""
        context = decoder.spec.context
        requests = make_requests(
            self.problems,
            tokenizer,
            samples=self.samples or 1,
            budget=BUDGET,
            max_tokens=self.max_tokens,
            context=context,
        )
        temperature = LIKELIEST if self.samples is None else 1.0
        protocol = protocol_of(
            requests,
            seed=self.seed,
            temperature=temperature,
            budget=BUDGET,
            max_tokens=self.max_tokens,
            eos_ids=tokenizer.eos_ids,
            verifier=grader_of(self.verifier, load_registry()),
        )
        sampler = Sampler(decoder, tokenizer, temperature=temperature, seed=self.seed)
        return evaluate(sampler, requests, self.verifier, protocol, context=context)


def read_problems(path: str | Path, verifier: Verifier) -> list[Problem]:
    """The problems of a file, whose answers ``verifier`` can judge, no two of them alike."""
    problems: list[Problem] = []
    lines: dict[str, int] = {}
    wrong: list[Mistake] = []
    for number, record in enumerate(read_jsonl(path), start=1):
        found = _problem(record)
        if isinstance(found, str):
            wrong.append(Mistake(found, file=str(path), line=number))
            continue
        if found.id in lines:
            message = f"the problem of line {lines[found.id]} again"
            wrong.append(Mistake(message, file=str(path), line=number))
            continue
        lines[found.id] = number
        reason = _unjudged(found, verifier)
        if reason:
            wrong.append(Mistake(reason, "answer", str(path), number))
        problems.append(found)
    if not problems and not wrong:
        wrong.append(Mistake("expected problems, one JSON object a line, got none", file=str(path)))
    if wrong:
        raise SettingsError(wrong)
    return problems


def _problem(record: Any) -> Problem | str:
    """A record as a problem, or what is wrong with it. Fields of no concern here are passed by."""
    if not isinstance(record, Mapping):
        return f"expected a problem as a JSON object, got {type(record).__name__}"
    text, answer = record.get("problem"), record.get("answer")
    if not isinstance(text, str) or not text.strip():
        return "'problem': expected the question as text"
    if not isinstance(answer, Mapping):
        return '\'answer\': expected an object like {"type": "integer", "value": "42"}'
    kind, value, params = answer.get("type"), answer.get("value"), answer.get("params", {})
    if not isinstance(kind, str) or not isinstance(value, str) or not isinstance(params, Mapping):
        return "'answer': expected texts as 'type' and 'value', and an object as 'params' if any"
    kept: dict[str, Mapping[str, Any]] = {}
    for name in ("source", "meta"):
        given = record.get(name, {})
        if not isinstance(given, Mapping):
            return f"{name!r}: expected an object"
        kept[name] = given
    gold = Answer(type=kind, value=value, params=params)
    return Problem(problem=text, answer=gold, source=kept["source"], meta=kept["meta"])


def _unjudged(problem: Problem, verifier: Verifier) -> str:
    """Why a verifier would not find even the right answer right."""
    write: Callable[[Answer], str] | None = getattr(verifier, "write", None)
    if write is None:
        return ""
    verdict = verifier(problem.answer, write(problem.answer))
    return "" if verdict.correct else f"cannot be judged: {verdict.reason}"
