"""The policy itself, sampled where it is trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from limite.core.kinds import EngineContext, Policy, Request
from limite.core.types import Response


@attrs.frozen(kw_only=True)
class BuiltIn:
    """Samples in this process: exactly what the learner replays, and reproducible bit for bit."""

    def build(self, context: EngineContext) -> BuiltInRun:
        return BuiltInRun(context)


class BuiltInRun:
    """The sampler of ``limite.core.rollout.sampler``; it keeps nothing."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def generate(
        self, requests: Iterable[Request], policy: Policy, *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        from limite.core.rollout.sampler import SLOTS, Sampler

        context = self._context
        sampler = Sampler(
            policy.decoder,
            context.tokenizer,
            temperature=context.temperature,
            seed=policy.seed,
            listed_tokens=context.listed_tokens,
            slots=min(slots or SLOTS, SLOTS),
            detector=context.detector,
        )
        return sampler.generate(requests, policy_version=policy.version)

    def metrics(self) -> Mapping[str, float]:
        return {}

    def close(self) -> None: ...
