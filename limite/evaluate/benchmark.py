"""A file of problems that models are measured on: the same questions and terms for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.kinds import Verifier
from limite.core.model.decoder import Decoder
from limite.core.rollout.sampler import LIKELIEST, Sampler
from limite.core.tokenizer import Tokenizer
from limite.core.types import Answer, Problem
from limite.evaluate.graded import Graded
from limite.evaluate.measure import evaluate, make_requests, protocol_of
from limite.evaluate.stage import BUDGET, grader_of
from limite.problems import files
from limite.problems.verifiers.exact import Exact


@attrs.frozen(kw_only=True)
class Benchmark:
    """Problems and the terms on which they are asked.

    Without ``samples`` one response to each, of the likeliest token every time; with them so many
    seeded samples at ``temperature``.
    """

    problems: Sequence[Problem]
    samples: int | None = None
    max_tokens: int = 256
    seed: int = 1
    temperature: float = 1.0
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
        temperature = LIKELIEST if self.samples is None else self.temperature
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
    return files.read_problems(path, distinct=True, refuse=lambda each: _unjudged(each, verifier))


def _unjudged(problem: Problem, verifier: Verifier) -> str:
    """Why a verifier would not find even the right answer right."""
    write: Callable[[Answer], str] | None = getattr(verifier, "write", None)
    if write is None:
        return ""
    verdict = verifier(problem.answer, write(problem.answer))
    return "" if verdict.correct else f"answer: cannot be judged: {verdict.reason}"
