"""What an engine is given of a stage: the policy as files, and what the learner says of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.tensor_header import TensorEntry
from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.errors import RunFailed
from limite.core.pretrained.export import export_model
from limite.core.recipe.export import planned_source
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL
from limite.core.rollout_kinds import Engine, EngineContext, EngineRun, Policy, Request
from limite.core.train.replay import Row, replay
from limite.core.types import Response

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext

FOLDER = "engine"
"""In a stage's folder: what its engine keeps until the stage is finished."""


def asks_elsewhere(stage: RL) -> bool:
    """Whether what samples is another program, which is given the policy as files."""
    return bool(getattr(type(stage.engine), "takes_files", False))


class Idle:
    """The engine of a rank that asks for nothing."""

    def generate(
        self, requests: Iterable[Request], policy: Policy, *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        raise AssertionError("the first rank asks for everything")

    def metrics(self) -> Mapping[str, float]:
        return {}

    def close(self) -> None:
        """There is nothing to close."""


def engine_at_work(context: StageContext, stage: RL) -> EngineRun:
    """The engine of a stage; of several ranks, the first alone talks to what is elsewhere."""
    if asks_elsewhere(stage) and context.ranks.rank:
        return Idle()
    return cast(Engine, stage.engine).build(
        EngineContext(
            tokenizer=context.tokenizer,
            temperature=stage.temperature,
            listed_tokens=stage.listed_tokens,
            detector=stage.repetition,
            limits=stage.health,
            directory=context.directory / FOLDER,
            export=lambda decoder, target, dtype: export_policy(
                context.recipe, decoder, target, dtype
            ),
            replay=lambda decoder, prompt, completion: replayed(
                decoder, prompt, completion, temperature=stage.temperature
            ),
            echo=context.echo,
        )
    )


@attrs.frozen(kw_only=True, eq=False)
class Live:
    """The parameters of a module that is being trained, as an export reads them."""

    values: Mapping[str, Tensor]

    def entry(self, name: str) -> TensorEntry:
        value = self.values[name]
        return TensorEntry(value.dtype, tuple(value.shape), 0, 0)

    def deferred(self, name: str, dtype: torch.dtype | None = None) -> DeferredTensor:
        value = self.values[name].detach()
        kind = value.dtype if dtype is None else dtype

        def make() -> Tensor:
            written = value.to(device="cpu", dtype=kind)
            if not torch.isfinite(written).all():
                raise RunFailed(f"{name}: holds numbers that {kind} cannot, or that are not finite")
            return written

        return DeferredTensor(dtype=kind, shape=tuple(value.shape), make=make)


def export_policy(recipe: Recipe, decoder: Decoder, target: Path, dtype: str | None) -> None:
    """Writes the policy as it is into the new directory ``target``, with its tokenizer's files."""
    values = dict(decoder.named_parameters())
    source = attrs.evolve(planned_source(recipe), tensors=Live(values=values))
    export_model(source, target, dtype=dtype)


@torch.no_grad()
def replayed(
    decoder: Decoder, prompt: Sequence[int], completion: Sequence[int], *, temperature: float
) -> list[float]:
    """What the learner says of each token of a completion, in nats."""
    said = replay(decoder, [Row(prompt=prompt, completion=completion)], temperature=temperature)
    return [float(each) for each in said.logp[0].tolist()]
