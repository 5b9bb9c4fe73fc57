"""A small decoder with every part at work, and requests of it of many lengths."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.settings import DecoderSpec
from limite.core.rollout_kinds import Request
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Answer, Problem

TOKENIZER = CharacterTokenizer()


def noisy(spec: DecoderSpec, dtype: torch.dtype = torch.float32) -> Decoder:
    """New weights with noise upon them: random gates, mixtures, and an eager end."""
    decoder = build_decoder(spec.filled(TOKENIZER.vocabulary), 5, dtype=dtype)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for parameter in decoder.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter += 0.2 * noise.to(parameter.dtype)
    return decoder


def requests(rollouts: int, prompts: Sequence[int], budgets: Sequence[int]) -> list[Request]:
    """So many to each problem; problems are told apart by the length of their prompt."""
    made = []
    for length, budget in zip(prompts, budgets, strict=True):
        text = ("34+56*7-(8/9)=x," * 8)[: length - 2]
        problem = Problem(problem=text, answer=Answer(type="integer", value="1"))
        prompt = TOKENIZER.render_prompt(problem)
        made += [
            Request(problem=problem, sample_index=i, prompt_ids=prompt, budget_tokens=budget)
            for i in range(rollouts)
        ]
    return made
