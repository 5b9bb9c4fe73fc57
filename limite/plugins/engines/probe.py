"""Whether a server can be learned from at all, and whether it has the weights it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from limite.core.endpoint.client import Unanswered
from limite.core.errors import LimiteError, RunFailed
from limite.core.rollout_kinds import EngineContext, Policy, Request
from limite.plugins.engines.dialects import Ask, Lacks, Told
from limite.plugins.engines.judge import listed, wrongs

PROBE_TOKENS = 16
MOVED_NATS = 0.05
"""So far must the policy have moved that old weights can be told from rounding."""
NEARER = 4.0

Asked = Callable[[Ask], Told]
Seen = Mapping[int, tuple[float, float]]
"""The likeliest first tokens of the probe: nats of the server, and of the policy."""


@attrs.define(kw_only=True, eq=False)
class Probe:
    """Asks for one short response before anything else is, and after every push for a token."""

    context: EngineContext
    told: Asked = attrs.field(repr=False)
    _ask: Ask | None = None
    _seen: list[Seen] = attrs.field(factory=list)  # at the first policy, and at the last

    def __call__(
        self,
        request: Request,
        policy: Policy,
        version: str | None,
        ask: Callable[..., Ask],
        *,
        not_pushed: str = "",
    ) -> None:
        """A LimiteError tells all that stands in the way, ``not_pushed`` first: why the server has
        not the weights, in which case nothing is asked of its probabilities."""
        if self._ask is None:
            short = ask(request, policy, budget=min(PROBE_TOKENS, request.budget_tokens))
            reasons = [not_pushed] if not_pushed else []
            reasons += self._refusals(short, None if not_pushed else policy, version)
            if reasons:
                raise LimiteError(
                    "the server cannot sample for this stage:\n  " + "\n  ".join(reasons)
                )
            self._ask = attrs.evolve(short, budget_tokens=1)
        seen = self._look(self._ask, policy)
        for earlier in self._seen:
            refuse_old_weights(earlier, seen, policy.version)
        self._seen = [*self._seen[:1], seen]

    def _refusals(self, ask: Ask, policy: Policy | None, version: str | None) -> Iterator[str]:
        context = self.context
        try:
            told = self.told(ask)
        except Lacks as error:
            yield from error.reasons
            return
        except Unanswered as error:
            yield f"it answers no request for tokens: {error}"
            return
        wrong = list(wrongs(told, ask, context.tokenizer))
        if policy is not None and version is not None and told.version != version:
            wrong.append(
                f"it says that it sampled with weights {told.version!r}, where version {version!r} "
                "was pushed"
            )
        if context.listed_tokens is not None and len(told.logprobs) == len(told.ids):
            try:
                listed(told, context.listed_tokens)
            except LimiteError as error:
                wrong.append(str(error))
        if context.temperature != 1.0:
            wrong += self._temperature(ask)
        yield from wrong
        if policy is not None and not wrong:
            yield from disagreement(told, ask, policy, context)

    def _temperature(self, ask: Ask) -> Iterator[str]:
        """Whether probabilities are of the temperature that it samples at."""
        one = attrs.evolve(ask, budget_tokens=1)
        hot = _first_tokens(self.told(one))
        plain = _first_tokens(self.told(attrs.evolve(one, temperature=1.0)))
        both = sorted(hot.keys() & plain.keys(), key=lambda token: plain[token])
        if len(both) < 2:
            return
        low, high = both[0], both[-1]
        spread, wide = plain[high] - plain[low], hot[high] - hot[low]
        if abs(wide - spread) < abs(wide - spread / ask.temperature):
            yield (
                f"its log-probabilities are of temperature 1, and it samples at {ask.temperature}; "
                "vLLM gives the right ones when it is started with "
                "--logprobs-mode processed_logprobs"
            )

    def _look(self, ask: Ask, policy: Policy) -> Seen:
        first = _first_tokens(self.told(ask))
        replay = self.context.replay
        return {
            token: (nats, replay(policy.decoder, ask.prompt_ids, [token])[0])
            for token, nats in first.items()
            if 0 <= token < self.context.tokenizer.vocabulary
        }


def _first_tokens(told: Told) -> dict[int, float]:
    """The first position's likeliest tokens and the drawn one, in nats."""
    drawn = {told.ids[0]: told.logprobs[0]} if told.ids and told.logprobs else {}
    rows: dict[int, Any] = {**drawn, **dict(told.listed[0] if told.listed else ())}
    return {token: nats for token, nats in rows.items() if nats is not None}


def disagreement(told: Told, ask: Ask, policy: Policy, context: EngineContext) -> Iterator[str]:
    """Whether the policy gives the tokens other probabilities than the server says.

    The gates of the stage on its batches decide, here on one response before any update.
    """
    import torch

    from limite.core.health.gates import ratio_gates
    from limite.core.health.ratios import RatioSums

    ours = context.replay(policy.decoder, ask.prompt_ids, told.ids)
    theirs = [each for each in told.logprobs if each is not None]
    sums = RatioSums.of(
        torch.tensor(ours), torch.tensor(theirs), torch.ones(len(ours), dtype=torch.bool)
    )
    failed = [gate for gate in ratio_gates(sums.health(), context.limits) if not gate.passed]
    if not failed:
        return
    place = max(range(len(ours)), key=lambda at: abs(ours[at] - theirs[at]))
    gates = ", ".join(f"{gate.name} is {gate.figure:.3g}, limit {gate.limit}" for gate in failed)
    yield (
        f"its log-probabilities are not those of the policy: over {len(ours)} tokens {gates}; "
        f"token {told.ids[place]} at position {place} has {theirs[place]:.3f} nats there and "
        f"{ours[place]:.3f} here"
    )


def refuse_old_weights(before: Seen, now: Seen, version: int) -> None:
    """Refuses a server that goes on as before a push, where the policy itself has moved."""
    both = before.keys() & now.keys()
    moved = max((abs(now[each][1] - before[each][1]) for each in both), default=0.0)
    if moved < MOVED_NATS:
        return
    from_new = max(abs(now[each][0] - now[each][1]) for each in both)
    from_old = max(abs(now[each][0] - before[each][1]) for each in both)
    if from_old * NEARER < from_new:
        raise RunFailed(
            f"the server does not have the weights of version {version} that it was given: its "
            f"log-probabilities are {from_old:.3f} nats from those of earlier weights and "
            f"{from_new:.3f} from those of the new ones"
        )
