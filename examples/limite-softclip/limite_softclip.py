"""A third-party objective: a smooth gate in place of a hard clip."""

from typing import ClassVar

import attrs

from limite import Loss, TokenBatch, hookimpl


@attrs.frozen(kw_only=True)
class SoftClip:
    """Sigmoid-gated importance ratio: sigmoid(temperature * (ratio - 1)) * 4 / temperature."""

    needs: ClassVar[frozenset[str]] = frozenset({"behavior_logp", "advantage"})
    temperature: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def __call__(self, batch: TokenBatch) -> Loss:
        log_ratio = (batch.logp - batch.behavior_logp).clamp(-20, 20)  # [B, T] nats
        gate = 4 / self.temperature * (self.temperature * log_ratio.expm1()).sigmoid()
        return Loss(value=batch.mean(-gate * batch.advantage))


@hookimpl
def limite_register(registry):
    registry.objective("softclip", SoftClip)
