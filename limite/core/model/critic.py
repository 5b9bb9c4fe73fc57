"""A critic: a decoder's trunk with one number for each token, what is still to be won from there.

``V(s_n) = w . h_n + b`` of the final hidden state ``h_n [width]``, as in PPO (arXiv:1707.06347).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.settings import DecoderSpec
from limite.core.model.weights import Matrix, small_dtype
from limite.core.seeds import Seeds


class Critic(nn.Module):
    """Values over packed rows. Its trunk is a decoder of any family, without a head of its own.

    The head is float32 (float64 on a trunk of float64) whatever the trunk's matrices are. Its name
    ends as the names of other heads do, so that optimizers do not take it for a hidden matrix.
    """

    def __init__(self, trunk: Decoder, *, outputs: int = 1) -> None:
        """A critic on ``trunk`` itself, its head unset: see ``start_head`` and ``critic_from``.

        With ``outputs`` above 1 it says so many numbers of a state, such as logits of bins.
        """
        super().__init__()
        self.trunk = trunk.without_head()
        kind = small_dtype(trunk.dtype)
        with trunk.device:
            self.value_head = Matrix(outputs, trunk.spec.width, kind, bias=True)

    @property
    def outputs(self) -> int:
        """How many numbers it says of a state."""
        return self.value_head.weight.shape[0]

    @property
    def spec(self) -> DecoderSpec:
        return self.trunk.spec

    @property
    def device(self) -> torch.device:
        return self.trunk.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the trunk's matrices and activations."""
        return self.trunk.dtype

    def values(self, tokens: Tensor, layout: Layout) -> Tensor:
        """``tokens [N]``, packed rows, to values ``[N]``, float32, with a gradient to the trunk.

        The value at a token is that of the state in which its row has been read up to it, which is
        the state before the next token: the last token of a prompt has what the response is worth.
        """
        found: Tensor = self(tokens, layout)
        return found

    def forward(self, tokens: Tensor, layout: Layout) -> Tensor:
        """``values``."""
        return self.score(self.trunk(tokens, layout))

    def score(self, hidden: Tensor) -> Tensor:
        """Final hidden states ``[..., width]`` to values ``[...]``, each by itself to the bit.

        Where there are more ``outputs`` than one: ``[..., outputs]``.
        """
        weight, bias = self.value_head.weight, self.value_head.bias
        assert bias is not None
        wide = hidden.to(weight.dtype)
        # No matrix product: its order of summation may depend on how many states there are.
        found = [(wide * row).sum(-1) + start for row, start in zip(weight, bias, strict=True)]
        return found[0] if len(found) == 1 else torch.stack(found, -1)


@torch.no_grad()
def start_head(
    critic: Critic, *, bias: float | Sequence[float] = 0.0, seed: int | Seeds | None = None
) -> Critic:
    """Gives the head of ``critic`` its first values, and returns the critic.

    With weight 0 every value is exactly ``bias``: with the mean return of what it will be fitted
    to, the first loss is the returns' variance, and nothing random has to be unlearnt. The first
    gradient then reaches the head alone, and the trunk from the second update on. ``seed`` draws a
    normal weight of variance 1 / width instead. With more outputs than one ``bias`` lists them.
    """
    weight, start = critic.value_head.weight, critic.value_head.bias
    assert start is not None
    said = [bias] if isinstance(bias, int | float) else list(bias)
    if len(said) != critic.outputs:
        raise ValueError(f"bias must be {critic.outputs} numbers, got {len(said)}")
    start.copy_(torch.tensor(said, dtype=torch.float64))
    if seed is None:
        weight.zero_()
        return critic
    seeds = seed if isinstance(seed, Seeds) else Seeds(seed)
    values = torch.empty(weight.shape, dtype=torch.float32, device="cpu")
    generator = seeds.torch_stream("init", "value_head.weight")
    weight.copy_(values.normal_(0.0, weight.shape[1] ** -0.5, generator=generator))
    return critic


def critic_from(
    actor: Decoder,
    *,
    bias: float | Sequence[float] = 0.0,
    seed: int | Seeds | None = None,
    share: bool = False,
) -> Critic:
    """A critic on a copy of the actor's trunk, all of which trains, with a new head.

    An output head of the actor's own is not copied. With ``share`` the trunk is not copied either:
    each sees what the other learns. ``bias`` and ``seed`` are those of ``start_head``; as many
    numbers as ``bias`` lists are said of each state.
    """
    trunk = actor.without_head()
    if not share:
        trunk = copy.deepcopy(trunk).requires_grad_(True)
    outputs = 1 if isinstance(bias, int | float) else len(bias)
    return start_head(Critic(trunk, outputs=outputs), bias=bias, seed=seed)
