"""The policy itself, sampled where it is trained."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from limite.core.rollout_kinds import EngineContext, Policy, Request
from limite.core.types import Response

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.rollout.drawing import Drawing
    from limite.core.rollout.graphs import StepGraphs


@attrs.frozen(kw_only=True)
class BuiltIn:
    """Samples in this process: exactly what the learner replays, and reproducible bit for bit.

    On a GPU a decoding step is captured as a graph for each number of rows and capacity, and played
    again; ``graphs = false`` launches it operation by operation. On a CPU a few steps tell at the
    start whether batches of 8 or 16 rows leave every bit of a response as it is; if not, or with
    ``fewer_rows = false``, they are filled up with copies to multiples of 32.
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

    fewer_rows: bool = attrs.field(
        default=True,
        metadata={"help": "on a CPU, batches of fewer than 32 rows where that keeps every bit"},
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
        self._multiples: dict[Hashable, int] = {}  # of rows, by what they follow from

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
        if settings.fewer_rows:
            sampler.multiple = self._multiple(policy.decoder, sampler.drawing)
        return sampler.generate(requests, policy_version=policy.version)

    def _multiple(self, decoder: Decoder, drawing: Drawing) -> int:
        import torch

        from limite.core.rollout.fewer_rows import fewest_rows

        kind = (decoder.spec, decoder.dtype, drawing.identity, torch.get_num_threads())
        if kind not in self._multiples:
            self._multiples[kind] = fewest_rows(decoder, drawing)
        return self._multiples[kind]

    def metrics(self) -> Mapping[str, float]:
        return {} if self._graphs is None else self._graphs.metrics()

    def close(self) -> None:
        self._graphs = None
