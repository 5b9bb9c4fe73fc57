"""Gate: compaction, slots, shared prompts, reused memory, graphs and packing change no result.

What ran before stays what it is when the faster way takes over: identical tokens, probabilities and
endings. The sampler's streams are counters, so it has no state that could differ beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.health.gates import GateVerdict
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.settings import DecoderSpec
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.exact import exact_decoder
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.tolerances import verdict
from limite.core.rollout.graphs import step_graphs
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Policy, Request
from limite.core.train.replay import Row, replay
from limite.core.types import Response

NEVER = 1e9  # as a share of the batch that must be finished
FEW_SLOTS = 37  # no multiple of anything
ROWS = 12  # or a few more, that are replayed


@attrs.define(eq=False)
class Counted:
    """A decoder that counts what it is asked for."""

    decoder: Decoder
    row_steps: int = 0
    prefilled: int = 0  # tokens

    @property
    def spec(self) -> DecoderSpec:
        return self.decoder.spec

    @property
    def device(self) -> torch.device:
        return self.decoder.device

    def new_cache(self, rows: int, capacity_tokens: int) -> Any:
        return self.decoder.new_cache(rows, capacity_tokens)

    def extend(self, tokens: Tensor, layout: Layout, cache: Any) -> Tensor:
        self.prefilled += len(tokens)
        return self.decoder.extend(tokens, layout, cache)

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        self.row_steps += len(tokens)
        return self.decoder.step(tokens, cache)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.decoder.logits(hidden)


def sampled(
    bench: Bench, decoder: Any, requests: Sequence[Request], **settings: Any
) -> dict[int, Response]:
    """The responses of the built-in sampler, by the request's index."""
    sampler = Sampler(
        decoder,
        bench.context.tokenizer,
        seed=bench.seeds.integer("rollout"),
        temperature=bench.stage.temperature,
        detector=bench.stage.repetition,
        listed_tokens=bench.stage.listed_tokens,
        **settings,
    )
    return dict(sampler.generate(requests, policy_version=0))


def differing(ours: Mapping[int, Response], theirs: Mapping[int, Response]) -> int:
    """How many responses differ in a token, a bit of a probability, or their ending."""
    return sum(ours.get(index) != theirs.get(index) for index in ours.keys() | theirs.keys())


def migration(bench: Bench) -> Gate:
    """The stage's own sampler and replay, against the plain ways to the same."""
    requests = bench.requests()
    usual, uncompacted, unshared = (Counted(bench.decoder) for _ in range(3))
    base = sampled(bench, usual, requests)
    policy = Policy(decoder=bench.decoder, version=0, step=0, seed=bench.seeds.integer("rollout"))
    plain = sampled(bench, uncompacted, requests, compact_at=NEVER)
    slots = dict(bench.rollouts.engine.generate(requests, policy, slots=FEW_SLOTS))
    each = sampled(bench, unshared, requests, prefill_once=False)
    backwards = sampled(bench, bench.decoder, requests[::-1])
    again = {len(requests) - 1 - index: response for index, response in backwards.items()}
    graphs = step_graphs(bench.decoder.device, kept_gib=0.0)
    captured = None if graphs is None else sampled(bench, bench.decoder, requests, graphs=graphs)
    spared = verdict(
        "migration/compaction_spared_row_steps", uncompacted.row_steps - usual.row_steps
    )
    # Where every response is a single token none can leave before another.
    varied = len({request.budget_tokens for request in requests}) > 1
    verdicts = [
        verdict("migration/compaction_differing_responses", differing(base, plain)),
        *([spared] if varied else []),
        verdict("migration/slots_differing_responses", differing(base, slots)),
        verdict("migration/prefill_differing_responses", differing(base, each)),
        verdict("migration/prefill_spared_tokens", unshared.prefilled - usual.prefilled),
        verdict("migration/reuse_differing_responses", differing(base, again)),
    ]
    if captured is not None:
        verdicts.append(verdict("migration/graphs_differing_responses", differing(base, captured)))
    recorded = {
        "responses": len(base),
        "tokens": sum(len(response.completion_ids) for response in base.values()),
        "row_steps": usual.row_steps,
        "prefilled_tokens": usual.prefilled,
        "slots": FEW_SLOTS,
        "compaction": "tried" if varied else "nothing to compact: responses are of one token",
        "graphs": "none on this device" if graphs is None else dict(graphs.counts),
        "steps_not_captured": {} if graphs is None else dict(graphs.reasons),
    }
    packing, told = packed_and_padded(bench, list(base.values()))
    return Gate(name="migration", verdicts=[*verdicts, *packing], recorded=recorded | told)


@torch.no_grad()
def packed_and_padded(
    bench: Bench, responses: Sequence[Response]
) -> tuple[list[GateVerdict], dict[str, Any]]:
    """The learner's replay of ragged rows as it lays them out, and padded, each row whole."""
    if not bench.decoder.ragged:
        return [], {"packing": "the attention takes padded rows only: there is one way"}
    by_length = sorted(responses, key=lambda each: len(each.completion_ids))
    picked = by_length[:: max(1, len(responses) // ROWS)]
    rows = [Row(prompt=each.prompt_ids, completion=each.completion_ids) for each in picked]

    def both(decoder: Decoder) -> tuple[Tensor, Tensor]:
        shared = bench.stage.share_prompts
        temperature = bench.stage.temperature
        laid_out = replay(decoder, rows, temperature=temperature, share_prompts=shared)
        padded = replay(decoder, rows, temperature=temperature, share_prompts=False, pad=True)
        return laid_out.logp[laid_out.mask], padded.logp[padded.mask]

    ours, theirs = both(bench.decoder)
    with exact_decoder(bench) as exact:
        packed, padded = both(exact)
    differ = int((packed.float() != padded.float()).sum())
    most = float((ours - theirs).abs().max())
    return [
        verdict("migration/packing_differing_tokens", differ),
        verdict("migration/packing_float_max_abs_nats", most, dtype=bench.dtype),
    ], {"packing_rows": len(rows), "packing_tokens": len(packed)}
