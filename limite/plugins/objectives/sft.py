"""Supervised learning: every token of a text becomes likelier."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.core.types import Loss, TokenBatch


@attrs.frozen(kw_only=True)
class CrossEntropy:
    """The cross-entropy of the target tokens, averaged over those of the whole update.

    ``loss = sum of -logp / N``, in nats per token. Which tokens are targets is the mask's to say,
    never their ids: an end token that is also the padding token stays one.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, batch: TokenBatch) -> Loss:
        return Loss(value=batch.mean(-batch.logp))
