"""Responses to one text, of a model in a directory or of what a run has trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import torch

from limite.core.checkpoint.tensor_header import refuse_all
from limite.core.device import choose_device, deterministic
from limite.core.errors import LimiteError
from limite.core.model.decoder import Decoder
from limite.core.model.init import unset_decoder
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.load import matching, read_parameters
from limite.core.pretrained.settings import Pretrained
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.context import model_of, settings_of
from limite.core.recipe.export import refuse_other_files
from limite.core.recipe.trained import Trained
from limite.core.rollout.sampler import LIKELIEST, Sampler
from limite.core.rollout_kinds import Request
from limite.core.tokenizer import Tokenizer
from limite.core.types import Answer, Problem, Response

MAX_TOKENS = 256
"""The most of a response where nobody says how many; fewer where the context has no room."""


@attrs.frozen(kw_only=True, eq=False)
class Speaker:
    """A model that can be asked. Its weights are read when ``decoder`` is called."""

    spec: DecoderSpec
    tokenizer: Tokenizer
    decoder: Callable[[torch.device], Decoder]
    notes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Question:
    """A text, and how it is put: as a user's turn, or ``raw``, as a text to be continued."""

    text: str
    system: str | None = None
    raw: bool = False

    def __attrs_post_init__(self) -> None:
        if self.raw and self.system is not None:
            raise LimiteError("--system: belongs to a turn, and --raw makes none; leave one out")

    @property
    def problem(self) -> Problem:
        """The text as a sampler is asked: its answer is nobody's concern."""
        return Problem(problem=self.text, answer=Answer(type="none", value=""))

    def prompt(self, tokenizer: Tokenizer) -> tuple[int, ...]:
        """What the model reads."""
        if self.raw:
            return (*tokenizer.begin, *tokenizer.encode(self.text))
        if self.system is None:
            return tokenizer.render_prompt(self.problem)
        if not isinstance(tokenizer, PretrainedTokenizer):
            raise LimiteError("--system: this model knows no turns; leave it out")
        return attrs.evolve(tokenizer, system=self.system).render_prompt(self.problem)


@attrs.frozen(kw_only=True)
class Sampled:
    """Responses in the order of their numbers, and the terms on which they were sampled."""

    prompt_tokens: int
    max_tokens: int
    responses: Sequence[Response]


def speaker_in(path: str | Path) -> Speaker:
    """The model in a directory, once its files were found sound; all mistakes are told at once."""
    model = Pretrained(path=str(path))
    tokenizer = PretrainedTokenizer(path=str(path))
    refuse_all([*dict.fromkeys([*model.mistakes(), *tokenizer.mistakes()])])
    spec = model.filled(tokenizer.vocabulary)

    def decoder(device: torch.device) -> Decoder:
        return attrs.evolve(model.directory, spec=spec).load(model.dtype, device)

    return Speaker(spec=spec, tokenizer=tokenizer, decoder=decoder)


def speaker_of(found: Trained) -> Speaker:
    """What a stage of a run has trained, asked as the run asked it."""
    refuse_other_files(found)
    spec, model = model_of(found.recipe), settings_of(found.recipe)
    dtype = model.dtype if isinstance(model, Pretrained) else "float32"

    def decoder(device: torch.device) -> Decoder:
        tensors, aliases = found.weights()
        made = unset_decoder(spec, dtype=getattr(torch, dtype), device=device)
        names = {name: aliases.get(name, name) for name, _ in made.named_parameters()}
        read_parameters(made, tensors, matching(made, tensors, names))
        return made.eval()

    return Speaker(
        spec=spec, tokenizer=found.recipe.tokenizer, decoder=decoder, notes=tuple(found.notes())
    )


def ask(
    speaker: Speaker,
    question: Question,
    *,
    samples: int = 1,
    max_tokens: int | None = None,
    temperature: float = 1.0,
    seed: int = 1,
) -> Sampled:
    """``samples`` responses; the same seed gives the same ones on the same machine.

    Temperature 0 takes the likeliest token every time. Responses end at the ids that end one for
    the model, or after ``max_tokens``. That all fits is seen before weights are read.
    """
    if not 0 <= temperature < math.inf:
        raise LimiteError(
            f"--temperature: expected a finite number of at least 0, got {temperature}"
        )
    if samples > 1 and temperature == 0:
        raise LimiteError(
            f"--samples {samples}: with --temperature 0 they would all be the same one; "
            "leave out one of the two"
        )
    tokenizer = speaker.tokenizer
    ends = (tokenizer.eos_id, *tokenizer.eos_ids)  # the first refuses a model that knows no end
    prompt = question.prompt(tokenizer)
    budget = budget_tokens(len(prompt), max_tokens, speaker.spec.context)
    requests = [
        Request(
            problem=question.problem, sample_index=each, prompt_ids=prompt, budget_tokens=budget
        )
        for each in range(samples)
    ]
    decoder = speaker.decoder(choose_device())
    sampler = Sampler(
        decoder, tokenizer, seed=seed, eos_ids=ends, temperature=max(temperature, LIKELIEST)
    )
    with deterministic(torch.get_num_threads()):
        found = dict(sampler.generate(requests, 0))
    return Sampled(
        prompt_tokens=len(prompt),
        max_tokens=budget,
        responses=[found[each] for each in range(samples)],
    )


def budget_tokens(prompt_tokens: int, max_tokens: int | None, context: int) -> int:
    """How many tokens a response may have; a LimiteError where there is no room for them."""
    if prompt_tokens < 1:
        raise LimiteError("PROMPT: expected a text, got none; the model has nothing to begin with")
    room = context - prompt_tokens
    if room < 1:
        raise LimiteError(
            f"PROMPT: it has {prompt_tokens:,} tokens, and the model's context of {context:,} "
            "leaves no room for a response; shorten it"
        )
    if max_tokens is not None and max_tokens > room:
        raise LimiteError(
            f"--max-tokens {max_tokens}: behind a prompt of {prompt_tokens:,} tokens the model's "
            f"context of {context:,} has room for {room:,}"
        )
    return max_tokens or min(MAX_TOKENS, room)
