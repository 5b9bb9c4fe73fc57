"""Supervised fine-tuning on worked solutions. Cross-entropy over the targets of a whole update."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.kinds import LRSchedule, Optimizer
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.runners.session import TrainingSession, accumulate
from limite.core.recipe.stages import SFT
from limite.core.separation import text_hash
from limite.core.train.documents import Document, batch_indexes, make_documents
from limite.core.types import Problem

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext


def problems_of(context: StageContext, stage: SFT) -> list[Problem]:
    """The distinct training problems of the stage: a pure function of its settings and seed."""
    source = ProblemSource(
        stage.problems, context.registry, context.seeds.child("problems"), held_out=False
    )
    return list(source.distinct(stage.documents))


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of everything the stage trains on."""
    return {
        text_hash(problem.problem) for problem in problems_of(context, cast(SFT, context.stage))
    }


def cross_entropy(
    decoder: Decoder, documents: Sequence[Document], targets: str
) -> tuple[Tensor, int]:
    """Summed ``-log p(next token)`` over the targets in nats, and how many they are.

    Targets are picked by position, never by token id, so the end token is always among them.
    """
    device = next(decoder.parameters()).device
    lengths = [len(document.ids) - 1 for document in documents]
    tokens = torch.tensor(
        list(chain.from_iterable(document.ids[:-1] for document in documents)), device=device
    )  # [N]
    following = torch.tensor(
        list(chain.from_iterable(document.ids[1:] for document in documents)), device=device
    )  # [N]
    hidden = decoder(tokens, Layout.from_lengths(lengths, device=device))  # [N, width]
    if targets == "response":
        wanted = torch.tensor(
            [
                position >= document.prompt_tokens - 1
                for document, length in zip(documents, lengths, strict=True)
                for position in range(length)
            ],
            device=device,
        )  # [N]
        hidden, following = hidden[wanted], following[wanted]
    logp, _ = decoder.log_probabilities(hidden, following)  # [M] nats
    return -logp.sum(), following.numel()


def run(context: StageContext) -> dict[str, Any]:
    """Trains the stage to its last step, from its newest checkpoint if it has one."""
    stage = cast(SFT, context.stage)
    documents = make_documents(
        problems_of(context, stage), stage.styles, context.tokenizer, context.seeds
    )
    context.fits(max(len(document.ids) for document in documents), "the longest document")
    session = TrainingSession(
        context,
        optimizer=cast(Optimizer, stage.optimizer),
        lr_schedule=cast(LRSchedule, stage.lr_schedule),
        total_updates=stage.steps,
        clip_norm=stage.clip_norm,
        keep=stage.keep,
    )
    clocks = session.clocks
    with context.loggers(stage.steps) as log:
        while clocks.step < stage.steps:
            picked = [
                documents[index]
                for index in batch_indexes(clocks.step, stage.batch, len(documents), context.seeds)
            ]
            total, count = cross_entropy(session.decoder, picked, stage.targets)
            loss = accumulate(total / count)
            optim = session.update(loss)
            clocks.step += 1
            clocks.tokens += sum(len(document.ids) for document in picked)
            log(
                clocks.step,
                {"time_s": session.time_s(), "tokens": clocks.tokens, "loss": loss, **optim},
            )
            context.after_step(
                clocks.step, lambda: session.save({}), stage.checkpoint_every, stage.steps
            )
    return {
        "steps": clocks.step,
        "updates": clocks.updates,
        "tokens": clocks.tokens,
        "time_s": clocks.time_s,
        "documents": len(documents),
        "parameters": session.parameters(),
    }
