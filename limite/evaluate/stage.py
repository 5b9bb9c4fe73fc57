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
from limite.core.kinds import Verifier
from limite.core.model.decoder import Decoder
from limite.core.model.settings import DecoderSpec
from limite.core.recipe.context import RunStopped
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import Recipe, evaluation_seeds
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.stages import Eval, Stage
from limite.core.registry import Registry
from limite.core.rollout.graphs import step_graphs
from limite.core.rollout.sampler import LIKELIEST, Sampler
from limite.core.rollout.stop import StopRequest
from limite.core.rollout.uniforms import row_key
from limite.core.rollout_kinds import Request
from limite.core.separation import assert_separate, text_hash
from limite.core.tokenizer import Tokenizer
from limite.core.types import Problem, Response
from limite.evaluate import protocol as terms
from limite.evaluate.compare import paired_difference
from limite.evaluate.graded import Graded
from limite.evaluate.grader import content_hash
from limite.evaluate.grading.protocols import Grading
from limite.evaluate.measure import Samples, evaluate, make_requests, protocol_of
from limite.evaluate.models import cut_at, opened_by
from limite.evaluate.problem_sets import ProblemSet
from limite.evaluate.protocol import refuse_other_protocol
from limite.evaluate.records import records
from limite.evaluate.stage_asked import (
    Shown,
    Terms,
    judge_of,
    needs_end,
    sets_of,
    shown,
    suite_of,
)

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


@attrs.frozen(kw_only=True)
class _Asked:
    """One set of problems of a stage, ready to be sampled: ``task`` within a suite, else None."""

    task: str | None
    folder: Path
    requests: Sequence[Request]
    shown: Shown
    protocol: terms.Protocol
    source: ProblemSet | None
    before: Mapping[str, Any] | None

    def label(self, stage: str) -> str:
        """How the set is called in what is told."""
        return stage if self.task is None else f"{stage}/{self.task}"


def run(context: EvalContext) -> dict[str, Any]:
    """Measures the policy and writes ``results.json`` and ``responses.jsonl.zst``.

    Of a suite each task has a folder with these, and ``results.json`` of the stage names them. A
    stop that is asked for while sampling ends the run there: nothing of the stage is kept, and it
    is measured again as a whole, with the same responses.
    """
    started = time.perf_counter()
    stage = cast(Eval, context.stage)
    verifier = judge_of(stage, context.registry)
    # Before anything is sampled: minutes later would be late to learn of other terms.
    asked = [*_asked(context, stage, verifier)]
    training = context.training_hashes()
    for each in asked:
        problems = (request.problem for request in each.requests)
        assert_separate(training, {text_hash(one.problem): one.problem for one in problems})
    decoder = context.load_policy()
    found = [_measured(context, each, decoder, verifier, len(training)) for each in asked]
    for each, (results, graded) in zip(asked, found, strict=True):
        each.folder.mkdir(parents=True, exist_ok=True)
        told = _told(context, each, graded)
        write_jsonl(each.folder / "responses.jsonl.zst", told)
        write_json(each.folder / "results.json", results)
        label = each.label(context.name)
        context.echo(f"{label}: held-out accuracy {results['text']}")
        if each.before is not None:
            context.echo(f"{label} against {stage.against}: {results['against']['text']}")
    if stage.suite is not None:
        context.directory.mkdir(parents=True, exist_ok=True)
        tasks = {str(each.task): results for each, (results, _) in zip(asked, found, strict=True)}
        write_json(context.directory / "results.json", _of_suite(stage, tasks))
    return {
        "tokens": sum(one.response.generated_tokens for _, graded in found for one in graded),
        "time_s": time.perf_counter() - started,
    }


def _asked(context: EvalContext, stage: Eval, verifier: Verifier) -> Iterator[_Asked]:
    """Every set that the stage asks; what cannot be asked or compared is refused."""
    seeds = evaluation_seeds(context.recipe, context.name)
    eos_ids = context.tokenizer.eos_ids
    sets: list[tuple[str | None, ProblemSet | None]] = [(None, None)]
    if stage.suite is not None:
        sets = [*sets_of(stage, context.registry).items()]
    for task, source in sets:
        problems = problems_of(context) if source is None else source.problems
        questions = None if source is None else source.questions
        put = shown(stage, context.tokenizer, problems, questions)
        put.check(problems[0])
        wanted = Terms.of(stage, None if source is None else source.samples)
        max_tokens = wanted.max_tokens or context.model.context
        requests = make_requests(
            problems,
            put,
            samples=wanted.samples,
            budget=wanted.budget,
            max_tokens=max_tokens,
            context=context.model.context,
        )
        profile = put.profile
        protocol = protocol_of(
            requests,
            seed=seeds.integer("responses") >> 11,  # below 2**53, which every reader of JSON keeps
            temperature=max(wanted.temperature, LIKELIEST),
            budget=wanted.budget,
            max_tokens=max_tokens,
            eos_ids=eos_ids,
            verifier=grader_of(verifier, context.registry),
            natural_end=needs_end(stage, verifier),
            top_p=wanted.top_p,
            profile=None if profile is None else profile.record,
            template=None if profile is None else profile.template_hash(context.tokenizer),
        )
        before = None
        if stage.against is not None:
            named = stage.against if task is None else f"{stage.against}/{task}"
            before = context.results_of(named)
            ours = {"protocol_id": protocol.id, "protocol": protocol.record()}
            refuse_other_protocol(ours, before, our_name=context.name, their_name=stage.against)
        yield _Asked(
            task=task,
            folder=context.directory if task is None else context.directory / task,
            requests=requests,
            shown=put,
            protocol=protocol,
            source=source,
            before=before,
        )


def _measured(
    context: EvalContext, asked: _Asked, decoder: Decoder, verifier: Verifier, training: int
) -> tuple[dict[str, Any], list[Graded]]:
    stage = cast(Eval, context.stage)
    protocol, profile = asked.protocol, asked.shown.profile
    sampler = Sampler(
        decoder,
        context.tokenizer,
        eos_ids=protocol.eos_ids,
        temperature=protocol.temperature,
        seed=protocol.seed,
        top_p=protocol.top_p,
        graphs=step_graphs(decoder.device, kept_gib=0.0),
    )
    stops = () if profile is None else profile.stops
    first = asked.requests[0]
    results, graded = evaluate(
        _Stoppable(sampler=sampler, context=context, stops=stops),
        asked.requests,
        verifier,
        protocol,
        context=context.model.context,
        confidence=stage.confidence,
        opened=opened_by(context.tokenizer, first.prompt_ids),
    )
    results["separation"] = {
        "held_out": protocol.count,
        "training": training,
        "shared": 0,
        "text": "no overlap found in the training stages of this run",
    }
    if profile is not None:
        results["profile"] = {
            **profile.record,
            "template": profile.template_hash(context.tokenizer),
            "rendering": profile.rendering(context.tokenizer, protocol.eos_ids),
            "example": {"problem_id": first.problem.id, "prompt": list(first.prompt_ids)},
        }
    if asked.source is not None:
        results["benchmark"] = asked.source.record
    if asked.before is not None and stage.against is not None:
        results["against"] = paired_difference(
            asked.before,
            results,
            before_name=asked.label(stage.against),
            after_name=asked.label(context.name),
            confidence=stage.confidence,
        )
    return results, graded


def _of_suite(stage: Eval, tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What ``results.json`` says of a suite: each task's score; there is none of the whole."""
    return {
        "suite": stage.suite,
        "missing": suite_of(stage).missing,
        "tasks": {
            name: {key: each[key] for key in ("correct", "total", "score", "interval")}
            | {"protocol_id": each["protocol_id"]}
            for name, each in tasks.items()
        },
    }


def _told(
    context: EvalContext, asked: _Asked, graded: Sequence[Graded]
) -> Iterator[dict[str, Any]]:
    """The records of all responses: whose they are, on which terms, and token by token."""
    protocol = asked.protocol
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
    """A sampler that looks for a stop whenever a response is done and others are not.

    At ``stops`` responses end.
    """

    sampler: Samples
    context: EvalContext
    stops: Sequence[str] = ()

    def generate(
        self, requests: Sequence[Request], policy_version: int
    ) -> Iterator[tuple[int, Response]]:
        responses = self.sampler.generate(requests, policy_version)
        tokenizer = self.context.tokenizer
        ends = frozenset(tokenizer.eos_ids)
        for done, (index, response) in enumerate(responses, start=1):
            if self.context.stop.requested and done < len(requests):
                raise RunStopped(
                    f"stopped in stage {self.context.name!r}; it will be measured again",
                    self.context.run.path,
                )
            yield index, cut_at(response, self.stops, tokenizer, ends)


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
