"""Gate: the distributions that are sampled from against those the learner replays.

Decoding and replay round differently, so these are not the same bits; the check of
``limite.core.health.conditional`` says whether they are near enough, position by position.
"""

from __future__ import annotations

import attrs
import torch
from torch import Tensor

from limite.core.health.conditional import LARGEST_MEAN_MASS, conditional_health
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.migration import Counted, sampled
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.tolerances import TOLERANCES, verdict
from limite.core.rollout.drawing import log_probabilities
from limite.core.train.replay import Row, replay

CANARIES = 4  # responses to a problem


@attrs.define(eq=False)
class Recording(Counted):
    """A decoder that keeps the logits it was asked for, one ``[R, V]`` for each position."""

    seen: list[Tensor] = attrs.field(factory=list)

    def logits(self, hidden: Tensor) -> Tensor:
        found = self.decoder.logits(hidden)
        self.seen.append(found[:CANARIES].clone())
        return found


@torch.no_grad()
def conditional(bench: Bench) -> Gate:
    """Whole responses, each with the full distribution at every token, on both paths."""
    temperature = bench.stage.temperature
    sampling, learning, differing, lengths = [], [], 0, []
    requests = bench.requests(responses=CANARIES, short=0)
    for first in range(0, len(requests), CANARIES):
        # One problem at a time: no row leaves the batch before the others, so that row i of the
        # logits is response i.
        recording = Recording(bench.decoder)
        responses = sampled(bench, recording, requests[first : first + CANARIES])
        for row, response in sorted(responses.items()):
            length = len(response.completion_ids)
            logits = torch.stack([each[row] for each in recording.seen[:length]])  # [L, V]
            mu = log_probabilities(logits, temperature)
            tokens = torch.tensor(response.completion_ids, device=mu.device)
            drawn = mu.gather(1, tokens[:, None]).squeeze(1)
            recorded = torch.tensor(response.logprobs, dtype=drawn.dtype, device=mu.device)
            differing += int((drawn != recorded).sum())
            everything = torch.arange(mu.shape[1], device=mu.device).expand(length, -1)
            row_of = Row(prompt=response.prompt_ids, completion=response.completion_ids)
            said = replay(
                bench.decoder, [row_of], temperature=temperature, listed=everything.contiguous()
            )
            assert said.listed_logp is not None
            sampling.append(mu.double().exp())
            learning.append(said.listed_logp[said.mask].double().exp())
            lengths.append(length)
    health = conditional_health(torch.cat(sampling), torch.cat(learning))
    largest = float(torch.maximum(health.mass_behavior, health.mass_learner).max())
    return Gate(
        name="conditional",
        verdicts=[
            *(
                verdict(each.name, each.figure)
                for each in health.gates()
                if each.name in TOLERANCES
            ),
            verdict("conditional/recorded_differing_tokens", differing),
        ],
        recorded={
            "responses": len(lengths),
            "positions": sum(lengths),
            "worst_position": {
                "mass": largest,
                "limit": f"< {LARGEST_MEAN_MASS}",
                "passed": largest < LARGEST_MEAN_MASS,
                "gates": False,
            },
        },
    )
