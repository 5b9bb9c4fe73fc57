"""The policy itself, sampled where it is trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from limite.core.rollout_kinds import EngineContext, Policy, Request
from limite.core.types import Response

if TYPE_CHECKING:
    from limite.core.rollout.graphs import StepGraphs


@attrs.frozen(kw_only=True)
class BuiltIn:
    """Samples in this process: exactly what the learner replays, and reproducible bit for bit.

    On a GPU a decoding step is captured as a graph for each number of rows and capacity, and played
    again; ``graphs = false`` launches it operation by operation.
    """

    graphs: bool = attrs.field(
        default=True, metadata={"help": "on a GPU, decoding steps captured and played again"}
    )
    graphs_gib: float = attrs.field(
        default=4.0,
        validator=attrs.validators.ge(0.0),
        metadata={
            "unit": "GiB",
            "help": "caches of captured steps that are kept from batch to batch",
        },
    )

    @property
    def keeps_gib(self) -> float:
        """What captured steps keep on a GPU from batch to batch, at most."""
        return self.graphs_gib if self.graphs else 0.0

    def build(self, context: EngineContext) -> BuiltInRun:
        return BuiltInRun(context, self)


class BuiltInRun:
    """The sampler of ``limite.core.rollout.sampler``; it keeps captured steps, if any."""

    def __init__(self, context: EngineContext, settings: BuiltIn) -> None:
        self._context = context
        self._settings = settings
        self._graphs: StepGraphs | None = None

    def generate(
        self, requests: Iterable[Request], policy: Policy, *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        from limite.core.rollout.graphs import step_graphs
        from limite.core.rollout.sampler import SLOTS, Sampler

        context, settings = self._context, self._settings
        if settings.graphs and self._graphs is None:
            self._graphs = step_graphs(policy.decoder.device, kept_gib=settings.graphs_gib)
        sampler = Sampler(
            policy.decoder,
            context.tokenizer,
            temperature=context.temperature,
            seed=policy.seed,
            listed_tokens=context.listed_tokens,
            slots=min(slots or SLOTS, SLOTS),
            detector=context.detector,
            graphs=self._graphs,
        )
        return sampler.generate(requests, policy_version=policy.version)

    def metrics(self) -> Mapping[str, float]:
        return {} if self._graphs is None else self._graphs.metrics()

    def close(self) -> None:
        self._graphs = None
