"""The ``Eval`` stage of a run: held-out accuracy, and the paired change since an earlier one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import attrs

from limite.core.config import unstructure
from limite.core.errors import LimiteError
from limite.core.jsonl import write_json, write_jsonl
from limite.core.kinds import Request, Verifier
from limite.core.model.decoder import Decoder
from limite.core.model.settings import DecoderSpec
from limite.core.recipe.context import RunStopped
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import Recipe, evaluation_seeds
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.stages import Eval, Stage
from limite.core.registry import Registry
from limite.core.rollout.sampler import Sampler
from limite.core.rollout.stop import StopRequest
from limite.core.rollout.uniforms import row_key
from limite.core.separation import assert_separate, text_hash
from limite.core.tokenizer import Tokenizer
from limite.core.types import Problem, Response
from limite.evaluate import protocol as terms
from limite.evaluate.compare import paired_difference
from limite.evaluate.graded import Graded
from limite.evaluate.grader import content_hash
from limite.evaluate.grading.protocols import EXACT, Grading
from limite.evaluate.measure import Samples, evaluate, make_requests, protocol_of
from limite.evaluate.models import opened_by
from limite.evaluate.protocol import refuse_other_protocol
from limite.evaluate.records import records

BUDGET = "fixed-response"


class EvalContext(Protocol):
    """What an ``Eval`` stage is given by the run."""

    @property
    def recipe(self) -> Recipe: ...

    @property
    def name(self) -> str: ...

    @property
    def stage(self) -> Stage: ...

    @property
    def directory(self) -> Path: ...

    @property
    def registry(self) -> Registry: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def model(self) -> DecoderSpec: ...

    @property
    def run(self) -> RunDirectory: ...

    @property
    def stop(self) -> StopRequest: ...

    @property
    def echo(self) -> Callable[[str], None]: ...

    def load_policy(self) -> Decoder: ...

    def results_of(self, stage: str, /) -> Mapping[str, Any]: ...

    def training_hashes(self) -> Collection[str]: ...


def problems_of(context: EvalContext) -> list[Problem]:
    """The held-out problems of the stage: a function of its mixture, count and seed alone."""
    stage = cast(Eval, context.stage)
    seeds = evaluation_seeds(context.recipe, context.name)
    return held_out_problems(stage, context.registry, seeds)


def run(context: EvalContext) -> dict[str, Any]:
    """Measures the policy and writes ``results.json`` and ``responses.jsonl.zst``.

    A stop that is asked for while sampling ends the run there: nothing of the stage is kept, and it
    is measured again as a whole, with the same responses.
    """
    started = time.perf_counter()
    stage = cast(Eval, context.stage)
    model = context.model
    verifier: Verifier = cast(Verifier, stage.verifier)
    if stage.grading is not None:
        own = verifier if stage.grading == EXACT else None
        name = None if own is None else context.registry.name_of(type(own))
        verifier = Grading.of(stage.grading, own, name)
    seeds = evaluation_seeds(context.recipe, context.name)
    problems = problems_of(context)
    training = context.training_hashes()
    assert_separate(training, {text_hash(problem.problem): problem.problem for problem in problems})
    requests = make_requests(
        problems,
        context.tokenizer,
        samples=stage.samples,
        budget=stage.budget,
        max_tokens=stage.max_tokens,
        context=model.context,
    )
    eos_ids = context.tokenizer.eos_ids
    top_p = None if stage.top_p == 1.0 else stage.top_p
    protocol = protocol_of(
        requests,
        seed=seeds.integer("responses") >> 11,  # below 2**53, which every reader of JSON keeps
        temperature=stage.temperature,
        budget=stage.budget,
        max_tokens=stage.max_tokens,
        eos_ids=eos_ids,
        verifier=grader_of(verifier, context.registry),
        natural_end=stage.grading is None,
        top_p=top_p,
    )
    # Before anything is sampled: minutes later would be late to learn of other terms.
    before = None
    if stage.against is not None:
        before = context.results_of(stage.against)
        ours = {"protocol_id": protocol.id, "protocol": protocol.record()}
        refuse_other_protocol(ours, before, our_name=context.name, their_name=stage.against)
    decoder = context.load_policy()
    sampler = Sampler(
        decoder,
        context.tokenizer,
        eos_ids=eos_ids,
        temperature=stage.temperature,
        seed=protocol.seed,
        top_p=top_p,
    )
    results, graded = evaluate(
        _Stoppable(sampler=sampler, context=context),
        requests,
        verifier,
        protocol,
        context=model.context,
        confidence=stage.confidence,
        opened=opened_by(context.tokenizer, requests[0].prompt_ids),
    )
    results["separation"] = {
        "held_out": len(problems),
        "training": len(training),
        "shared": 0,
        "text": "no overlap found in the training stages of this run",
    }
    if before is not None and stage.against is not None:
        results["against"] = paired_difference(
            before,
            results,
            before_name=stage.against,
            after_name=context.name,
            confidence=stage.confidence,
        )
    context.directory.mkdir(parents=True, exist_ok=True)
    write_jsonl(context.directory / "responses.jsonl.zst", _told(context, protocol, graded))
    write_json(context.directory / "results.json", results)
    context.echo(f"{context.name}: held-out accuracy {results['text']}")
    if before is not None:
        context.echo(f"{context.name} against {stage.against}: {results['against']['text']}")
    return {
        "tokens": sum(one.response.generated_tokens for one in graded),
        "time_s": time.perf_counter() - started,
    }


def _told(
    context: EvalContext, protocol: terms.Protocol, graded: Sequence[Graded]
) -> Iterator[dict[str, Any]]:
    """The records of all responses: whose they are, on which terms, and token by token."""
    for one, record in zip(graded, records(graded), strict=True):
        response = cast(Response, one.response)
        key = row_key(protocol.seed, response.problem_id, response.sample_index)
        yield {
            **record,
            "model": context.recipe.name,
            "stage": context.name,
            "protocol_id": protocol.id,
            "grader_sha256": protocol.verifier.get("sha256"),
            "seed": str(key),  # as text: it has 64 bits, of which readers of JSON keep 53
            "reasoning_closed": one.closed,
            "completion_ids": list(response.completion_ids),
        }


@attrs.frozen(kw_only=True)
class _Stoppable:
    """A sampler that looks for a stop whenever a response is done and others are not."""

    sampler: Samples
    context: EvalContext

    def generate(
        self, requests: Sequence[Request], policy_version: int
    ) -> Iterator[tuple[int, Response]]:
        responses = self.sampler.generate(requests, policy_version)
        for done, response in enumerate(responses, start=1):
            if self.context.stop.requested and done < len(requests):
                raise RunStopped(
                    f"stopped in stage {self.context.name!r}; it will be measured again",
                    self.context.run.path,
                )
            yield response


def grader_of(verifier: Verifier, registry: Registry) -> dict[str, Any]:
    """The verifier as a protocol holds it: its settings, its release, a hash of its source."""
    if isinstance(verifier, Grading):
        kind: type = type(verifier)
        return {**verifier.record, "sha256": content_hash(kind)}
    entry = registry.entry_of(type(verifier))
    settings = unstructure(verifier, registry)
    if not isinstance(settings, dict):
        raise LimiteError(f"the settings of {type(verifier).__name__} are not a table")
    return {
        **settings,
        "distribution": entry.distribution,
        "version": entry.version,
        "sha256": content_hash(type(verifier)),
    }
