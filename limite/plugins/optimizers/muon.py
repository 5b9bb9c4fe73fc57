"""Muon for hidden matrices, AdamW for everything else, behind one torch optimizer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import attrs
import torch
from attrs.validators import and_, ge, gt, le, lt
from torch import Tensor, nn

from limite.plugins.optimizers.adamw import valid_betas
from limite.plugins.optimizers.roles import split, whole_shape
from limite.plugins.optimizers.uncompiled import FusedAdamW, Uncompiled

OfWhole = Callable[
    [Callable[[list[Tensor]], list[Tensor]], Sequence[nn.Parameter], Sequence[Tensor]], list[Tensor]
]

QUINTIC = (3.4445, -4.7750, 2.0315)  # largest slope at 0; singular values end in about 0.7 .. 1.2
SMALLEST_NORM = 1e-7


@attrs.frozen(kw_only=True)
class Muon:
    """Orthogonalised momentum for hidden matrices; AdamW for embeddings, heads, gates and vectors.

    A matrix moves by ``lr sqrt(max(1, rows / columns))`` times the nearest orthogonal matrix to its
    Nesterov momentum (https://kellerjordan.github.io/posts/muon/, and as in ``torch.optim.Muon``).
    Everything else follows AdamW at ``other_lr_ratio`` of ``lr``, without weight decay.
    """

    shards: ClassVar[bool] = True

    lr: float = attrs.field(default=0.03, validator=and_(gt(0.0), le(1000.0)))
    momentum: float = attrs.field(default=0.95, validator=and_(ge(0.0), lt(1.0)))
    weight_decay: float = attrs.field(default=0.0, validator=and_(ge(0.0), le(1000.0)))
    newton_schulz_steps: int = attrs.field(default=5, validator=and_(ge(1), lt(100)))
    other_lr_ratio: float = attrs.field(
        default=0.15,
        validator=and_(gt(0.0), le(1000.0)),
        metadata={"help": "AdamW's rate as a part of lr"},
    )
    betas: tuple[float, float] = attrs.field(default=(0.9, 0.95), validator=valid_betas)
    eps: float = attrs.field(default=1e-8, validator=and_(gt(0.0), le(1.0)))

    def build(self, named_parameters: Iterable[tuple[str, nn.Parameter]]) -> torch.optim.Optimizer:
        matrices, others = split(named_parameters)
        groups: list[dict[str, Any]] = []
        if matrices:
            groups.append(
                {
                    "params": matrices,
                    "algorithm": "muon",
                    "lr": self.lr,
                    "momentum": self.momentum,
                    "weight_decay": self.weight_decay,
                    "newton_schulz_steps": self.newton_schulz_steps,
                }
            )
        if others:
            groups.append(
                {
                    "params": others,
                    "algorithm": "adamw",
                    "lr": self.lr * self.other_lr_ratio,
                    "betas": self.betas,
                    "eps": self.eps,
                    "weight_decay": 0.0,
                }
            )
        return MuonWithAdamW(groups)


class MuonWithAdamW(Uncompiled):
    """One optimizer whose groups follow Muon or AdamW, as each group's ``algorithm`` says.

    The AdamW groups are torch's own, sharing groups and state with this one, so that state,
    schedules and checkpoints see a single optimizer.
    """

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, {})
        for group in self.param_groups:
            group["initial_lr"] = group["lr"]
        self._adamw = self._inner_adamw()
        self.of_whole: OfWhole = lambda change, _, matrices: change(list(matrices))
        """Where parameters are rows of matrices: applies a function to the whole of them."""

    def _inner_adamw(self) -> FusedAdamW | None:
        groups = [group for group in self.param_groups if group["algorithm"] == "adamw"]
        if not groups:
            return None
        inner = FusedAdamW(groups)
        inner.state = self.state
        return inner

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._adamw = self._inner_adamw()  # groups and state are new objects now

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group["algorithm"] == "muon":
                self._muon_step(group)
        if self._adamw is not None:
            self._adamw.step()
        return loss

    def _muon_step(self, group: dict[str, Any]) -> None:
        parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
        if not parameters:
            return
        gradients = [parameter.grad for parameter in parameters]
        for parameter in parameters:
            if "momentum_buffer" not in self.state[parameter]:
                self.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter.grad)
        momenta = [self.state[parameter]["momentum_buffer"] for parameter in parameters]
        torch._foreach_lerp_(momenta, gradients, 1.0 - group["momentum"])
        steps = group["newton_schulz_steps"]
        updates = self.of_whole(
            lambda matrices: orthogonalise(matrices, steps),
            parameters,
            torch._foreach_lerp(gradients, momenta, group["momentum"]),
        )
        if group["weight_decay"]:
            torch._foreach_mul_(parameters, 1.0 - group["lr"] * group["weight_decay"])
        for parameter, update in zip(parameters, updates, strict=True):
            rows, columns = whole_shape(parameter)[-2:]
            scale = max(1.0, rows / columns) ** 0.5
            parameter.add_(update, alpha=-group["lr"] * scale)


def orthogonalise(matrices: Iterable[Tensor], steps: int) -> list[Tensor]:
    """Each matrix with its singular values brought near 1, by Newton-Schulz iterations.

    ``X <- a X + (b A + c A^2) X`` with ``A = X X^T``, from ``X`` at unit Frobenius norm. Matrices
    of one shape, lying or standing, are iterated as one batch: the same arithmetic as one by one,
    in a fraction of the calls. Runs in float32 on a CPU, where bfloat16 is slow, else in bfloat16.
    """
    batches: dict[tuple[int, ...], list[tuple[int, Tensor]]] = defaultdict(list)
    results: dict[int, Tensor] = {}
    for index, matrix in enumerate(matrices):
        lying = matrix.mT if matrix.shape[-2] > matrix.shape[-1] else matrix
        batches[tuple(lying.shape)].append((index, matrix))
    for shape, members in batches.items():
        stack = torch.stack([m if tuple(m.shape) == shape else m.mT for _, m in members])
        solved = newton_schulz(stack, steps)
        for (index, matrix), result in zip(members, solved, strict=True):
            results[index] = result if tuple(matrix.shape) == shape else result.mT
    return [results[index] for index in range(len(results))]


def newton_schulz(matrices: Tensor, steps: int) -> Tensor:
    """``[..., m, n]`` with ``m <= n``: the quintic iteration on every matrix."""
    a, b, c = QUINTIC
    shape, dtype = matrices.shape, matrices.dtype
    work = torch.float32 if matrices.device.type == "cpu" else torch.bfloat16
    x = matrices.reshape(-1, *shape[-2:]).to(work)  # [N, m, n]
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=SMALLEST_NORM)
    for _ in range(steps):
        gram = x @ x.mT  # [N, m, m]
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.reshape(shape).to(dtype)
