"""The stage's model in float64 on the reference kernels: what the others are held against."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from limite.core.kernels.ops import use
from limite.core.model.decoder import Decoder
from limite.core.model.init import unset_decoder
from limite.core.recipe.admit.canary import Bench


@contextmanager
def exact_decoder(bench: Bench) -> Iterator[Decoder]:
    """A decoder in float64 with the bench's weights; within the block the reference runs.

    Built anew from the sizes, so that what the model in use keeps beside its parameters is made
    again too.
    """
    source = bench.decoder
    exact = unset_decoder(source.spec, dtype=torch.float64, device=source.device)
    theirs = dict(source.named_parameters())
    with torch.no_grad():
        for name, parameter in exact.named_parameters():
            parameter.copy_(theirs[name])
    exact.train(source.training)
    with use("reference"):
        yield exact
