"""The policy that a KL penalty pulls towards: frozen weights beside those being trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from limite.core.checkpoint.state import module_payload, restore_module
from limite.core.recipe.stages import RL, START
from limite.core.train.replay import Row, replay

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext
    from limite.core.recipe.runners.session import TrainingSession

PAYLOAD = "reference"


def frozen(context: StageContext, stage: str) -> Decoder:
    """The weights an earlier stage ended with, or for ``"start"`` those this one begins with."""
    if stage == START:
        decoder = context.load_policy()
    else:
        decoder = context.new_decoder(values=False)
        restore_module(decoder, context.final_checkpoint(stage, only=("model",)).payloads["model"])
    return decoder.eval().requires_grad_(False)


class Reference:
    """Frozen weights, and how often they were replaced by those of the policy."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder.eval().requires_grad_(False)
        self.resets = 0

    @classmethod
    def of(cls, context: StageContext, stage: RL, session: TrainingSession) -> Reference | None:
        """The reference of a stage, as it was when the stage was last saved; None without one."""
        if stage.reference is None:
            return None
        found = cls(frozen(context, stage.reference))
        saved = session.saved_state.get(PAYLOAD)
        if saved is not None and saved["resets"]:
            restore_module(found.decoder, session.saved_payloads[PAYLOAD])
            found.resets = int(saved["resets"])
        return found

    @torch.no_grad()
    def logp(
        self, rows: Sequence[Row], *, temperature: float, share_prompts: bool = True
    ) -> Tensor:
        """``[B, T]`` nats of every completion token."""
        plain = [Row(prompt=row.prompt, completion=row.completion) for row in rows]
        said = replay(self.decoder, plain, temperature=temperature, share_prompts=share_prompts)
        return said.logp

    def reset(self, policy: Decoder) -> None:
        """Takes the weights of ``policy`` as they are now (arXiv:2505.24864)."""
        restore_module(self.decoder, module_payload(policy))
        self.resets += 1

    def state(self) -> dict[str, Any]:
        return {PAYLOAD: {"resets": self.resets}}

    def payloads(self) -> Mapping[str, Mapping[str, Tensor]]:
        """Its weights, where they are no earlier stage's any more."""
        return {PAYLOAD: module_payload(self.decoder)} if self.resets else {}
