"""Models that are here, as something that can be measured: nothing of their weights is read first.

Importing this module reaches torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
import torch

from limite.core.checkpoint.manifest import check_sizes
from limite.core.cli.model_place import found_model
from limite.core.device import choose_device, deterministic
from limite.core.errors import LimiteError
from limite.core.model.memory import cache_bytes
from limite.core.recipe.sample import Speaker, speaker_in, speaker_of
from limite.core.recipe.trained import Trained, trained
from limite.core.rollout.budget import BUDGETS, completion_budget, reasoning_is_closed
from limite.core.rollout.graphs import step_graphs
from limite.core.rollout.sampler import LIKELIEST, SLOTS, Sampler, capacity_tokens
from limite.core.rollout.uniforms import row_key
from limite.core.rollout_kinds import Request
from limite.core.tokenizer import Tokenizer
from limite.core.types import Problem, Response
from limite.evaluate.journal import Recorded
from limite.evaluate.profiles import Profile, default_kind, stopped, tokens_until
from limite.evaluate.suites.checkpoints import revision_of
from limite.problems.gen.local_policy import check_instruction, weights_hash

FIXED, NATIVE, RESERVED = BUDGETS
CACHE_BYTES = 4 * 2**30
"""Of main memory, for what is remembered of the rows that are sampled together."""


@attrs.frozen(kw_only=True)
class Terms:
    """How responses are sampled. Without ``max_tokens`` the context is the budget.

    Without ``samples`` it is for the benchmark to say. ``slots`` are the responses sampled
    together, and change none of them; without it as many as memory allows.
    """

    samples: int | None
    temperature: float
    seed: int
    max_tokens: int | None
    slots: int | None = None
    top_p: float | None = None
    named_budget: str | None = None

    @property
    def budget(self) -> str:
        """By name: as it was named, else by whether there is a number."""
        return self.named_budget or (NATIVE if self.max_tokens is None else FIXED)

    def check(self) -> None:
        """Refuses a budget whose name and number do not belong together."""
        if self.named_budget == NATIVE and self.max_tokens is not None:
            raise LimiteError(f"--max-tokens: budget {NATIVE} is what the context leaves; give one")
        if self.named_budget == FIXED and self.max_tokens is None:
            raise LimiteError(f"--max-tokens: budget {FIXED} needs the number")


@attrs.frozen(kw_only=True)
class Prompted:
    """What a model is shown of one problem, and how long its response may get."""

    problem: Problem
    shown: tuple[int, ...] | str
    budget_tokens: int


class Model(Protocol):
    """A model that can be measured."""

    @property
    def name(self) -> str:
        """Who answers: where they can be known, the same name means the same weights."""
        ...

    @property
    def notes(self) -> Sequence[str]: ...

    @property
    def default_profile(self) -> str: ...

    @property
    def run(self) -> Trained | None:
        """The run that has trained it, where that is known."""
        ...

    def prompts(self, problems: Sequence[Problem], profile: Profile) -> list[Prompted]:
        """What it is shown of every problem; a LimiteError names the first that does not fit."""
        ...

    def facts(self, profile: Profile) -> Mapping[str, Any]:
        """``eos_ids``, ``max_tokens`` and ``template`` of the protocol, ``rendering``, and the
        ``revision`` of a checkpoint, where it is known."""
        ...

    def sample(
        self, wanted: Sequence[tuple[Prompted, int]], profile: Profile, protocol_id: str
    ) -> Iterator[Recorded]:
        """A response for every problem and sample number, as they come."""
        ...

    @property
    def failures(self) -> Mapping[str, int]:
        """Why responses did not come, and how many."""
        ...

    def close(self) -> None: ...


class LocalModel:
    """What a run has trained, or a model's directory."""

    def __init__(self, named: str, *, stage: str | None, terms: Terms) -> None:
        place, within = Path(named), None
        if not place.exists() and ":" in named:  # RUN:STAGE
            before, _, within = named.rpartition(":")
            place = Path(before)
        path, is_run = found_model(place)
        self.terms = terms
        self.failures: Mapping[str, int] = {}
        self.run: Trained | None = None
        self._directory = None if is_run else path
        if is_run:
            said = named if within else "--stage"
            self.run = trained(path, within or stage, said=said)
            check_sizes(self.run.checkpoint)
            self._speaker: Speaker = speaker_of(self.run)
            checkpoint = weights_hash(self.run.checkpoint)
            self.name = f"{path.resolve().name}/{self.run.stage}@{self.run.step}:{checkpoint}"
        elif within is not None:
            raise LimiteError(f"{named}: {path} is a model's directory, which has no stages")
        else:
            self._speaker = speaker_in(path)
            self.name = f"{path.resolve().name}:{weights_hash(path)}"
        self._sampler: Sampler | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        return self._speaker.tokenizer

    @property
    def context(self) -> int:
        """Tokens of prompt and response together."""
        return self._speaker.spec.context

    @property
    def notes(self) -> Sequence[str]:
        return self._speaker.notes

    @property
    def default_profile(self) -> str:
        return default_kind(self.tokenizer)

    @property
    def verifier(self) -> Any:
        """What the run judges answers by; None for a directory."""
        if self.run is None:
            return None
        stages = reversed(self.run.recipe.stages.values())
        judges = (getattr(each, "verifier", None) for each in stages)
        return next((each for each in judges if each is not None), None)

    def facts(self, profile: Profile) -> Mapping[str, Any]:
        return {
            "eos_ids": ends_of(self.tokenizer),
            "max_tokens": self.terms.max_tokens or self._speaker.spec.context,
            "template": profile.template_hash(self.tokenizer),
            "rendering": profile.rendering(self.tokenizer, ends_of(self.tokenizer)),
            "revision": None if self._directory is None else revision_of(self._directory),
        }

    def prompts(self, problems: Sequence[Problem], profile: Profile) -> list[Prompted]:
        return prompts_of(self.name, problems, profile, self._speaker, self.terms)

    def sample(
        self, wanted: Sequence[tuple[Prompted, int]], profile: Profile, protocol_id: str
    ) -> Iterator[Recorded]:
        requests = [
            Request(
                problem=each.problem,
                sample_index=number,
                prompt_ids=tuple(each.shown),  # type: ignore[arg-type]
                budget_tokens=each.budget_tokens,
            )
            for each, number in wanted
        ]
        ends = frozenset(ends_of(self.tokenizer))
        with deterministic(torch.get_num_threads()):
            for _, response in self._asked(requests).generate(requests, 0):
                response = cut_at(response, profile.stops, self.tokenizer, ends)
                ids, text = response.completion_ids, response.text
                yield Recorded(
                    model=self.name,
                    protocol_id=protocol_id,
                    problem_id=response.problem_id,
                    sample_index=response.sample_index,
                    seed=str(row_key(self.terms.seed, response.problem_id, response.sample_index)),
                    prompt_tokens=response.prompt_tokens,
                    completion_budget=response.completion_budget,
                    generated_tokens=len(ids),
                    finish_reason=response.finish_reason,
                    reasoning_closed=reasoning_is_closed(
                        opened_by(self.tokenizer, response.prompt_ids) + text
                    ),
                    text=text,
                    completion_ids=tuple(ids),
                )

    def _asked(self, requests: Sequence[Request]) -> Sampler:
        if self._sampler is None:
            decoder = self._speaker.decoder(choose_device())
            longest = max(capacity_tokens(each, self._speaker.spec.context) for each in requests)
            row = cache_bytes(decoder, 1, longest, decoder.dtype)
            fitting = max(1, min(SLOTS, _spare_bytes(decoder.device) // max(1, row)))
            self._sampler = Sampler(
                decoder,
                self.tokenizer,
                seed=self.terms.seed,
                eos_ids=ends_of(self.tokenizer),
                temperature=max(self.terms.temperature, LIKELIEST),
                slots=self.terms.slots or fitting,
                top_p=self.terms.top_p,
                graphs=step_graphs(decoder.device, kept_gib=0.0),
            )
        return self._sampler

    def close(self) -> None:
        """Lets go of the weights."""
        self._sampler = None


def _spare_bytes(device: torch.device) -> int:
    """What the caches of the rows sampled together may take."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free // 2
    return CACHE_BYTES


def opened_by(tokenizer: Tokenizer, prompt: Sequence[int]) -> str:
    """What a template that opens the thinking itself has written last."""
    tail = tokenizer.decode(tuple(prompt[-8:]))
    return tail[tail.rfind("<think>") :] if "<think>" in tail else ""


def ends_of(tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids that end a response, each once; a LimiteError where a model knows none."""
    return tuple(sorted({tokenizer.eos_id, *tokenizer.eos_ids}))


def prompts_of(
    name: str, problems: Sequence[Problem], profile: Profile, speaker: Speaker, terms: Terms
) -> list[Prompted]:
    """What a model is shown of every problem, and the budget that its context leaves for each."""
    if not all(each.id in profile.questions for each in problems):
        check_instruction(speaker.tokenizer, profile.instruction)
    profile.check(problems[0], speaker.tokenizer)
    context = speaker.spec.context

    def refused(number: int, problem: Problem, error: LimiteError) -> LimiteError:
        return LimiteError(f"{name}: problem {number} ({problem.id}) cannot be asked: {error}")

    shown: list[tuple[int, ...]] = []
    for number, problem in enumerate(problems, start=1):
        try:
            shown.append(profile.ids(problem, speaker.tokenizer))
        except LimiteError as error:
            raise refused(number, problem, error) from error
    if terms.budget == FIXED and terms.max_tokens is not None:
        _check_room(name, [len(ids) for ids in shown], terms.max_tokens, context)
    found = []
    for number, (problem, ids) in enumerate(zip(problems, shown, strict=True), start=1):
        try:
            budget = completion_budget(
                terms.budget,
                prompt_tokens=len(ids),
                max_tokens=terms.max_tokens or context,
                context=context,
            )
        except LimiteError as error:
            raise refused(number, problem, error) from error
        found.append(Prompted(problem=problem, shown=ids, budget_tokens=budget))
    return found


def _check_room(name: str, prompts: Sequence[int], most: int, context: int) -> None:
    """Refuses more tokens of a response than the context leaves behind the longest prompt.

    Prompts that leave no room at all are not counted: to lower the number would not help them.
    """
    longest = max((tokens for tokens in prompts if tokens < context), default=context)
    if longest < context < longest + most:
        raise LimiteError(
            f"--max-tokens {most}: {name} has a context of {context:,} tokens, and behind the "
            f"longest prompt, of {longest:,}, there is room for {context - longest:,}"
        )


def cut_at(
    response: Response, stops: Sequence[str], tokenizer: Tokenizer, ends: frozenset[int]
) -> Response:
    """The response as a server gives it that ends one at any of ``stops``; ``ends`` are the ids
    that end it by themselves."""
    ids = response.completion_ids
    before_end = ids[:-1] if ids and ids[-1] in ends else ids
    until = tokens_until(stops, before_end, tokenizer) if stops else None
    if until is None:
        return response
    return attrs.evolve(
        response,
        completion_ids=ids[:until],
        logprobs=response.logprobs[:until],
        text=response.text[: stopped(response.text, stops)],
        finish_reason="stop",
    )
