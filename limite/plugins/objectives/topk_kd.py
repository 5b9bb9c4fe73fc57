"""Distillation from a teacher's likeliest tokens: a divergence over a short list and its rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs
import torch
from attrs.validators import and_, ge, lt
from torch import Tensor
from torch.nn.functional import hardshrink

from limite.core.types import Loss, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.slope import with_slope

SMALLEST_REST = 1e-12
"""The least probability of all tokens outside a list, where its logarithm is taken."""

BLOCK, LARGE_BLOCK = 2**16, 2**24
"""Entries of lists that are looked at at a time, on a CPU and elsewhere."""


@attrs.frozen(kw_only=True)
class TopKDistill:
    """The divergence between teacher and student over listed tokens, averaged over positions.

    ``p`` and ``s`` are their probabilities of the tokens ``v`` of the teacher's list at a position.
    Forward: ``KL(p || s) = sum_v p_v ln(p_v / s_v) + p_rest ln(p_rest / s_rest)``; reverse: the
    same with the two exchanged, which on the student's own samples is on-policy distillation
    (arXiv:2306.13649). ``tail`` says what becomes of the tokens outside of the list: one entry for
    all of them, ``bucket``; none, after both lists were made to sum to 1, ``renormalize``; or none
    at all, ``ignore``, which may be negative.

    ``ce_weight = w`` mixes in the cross-entropy of the text: ``(1 - w) KL - w ln s(token)``. Lists
    may have minus infinity for entries that are not there.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"topk_logp", "teacher_topk_logp"})

    tail: str = attrs.field(
        default="bucket",
        validator=option("bucket", "renormalize", "ignore"),
        metadata={"help": "what becomes of tokens outside of the list"},
    )
    direction: str = attrs.field(
        default="forward",
        validator=option("forward", "reverse"),
        metadata={"help": "KL(teacher || student), or KL(student || teacher)"},
    )
    ce_weight: float = attrs.field(
        default=0.0,
        validator=and_(ge(0.0), lt(1.0)),
        metadata={"help": "share of the cross-entropy of the text in the loss"},
    )

    def __call__(self, batch: TokenBatch) -> Loss:
        student = batch.column("topk_logp")  # [B, T, K]
        divergence = reverse_kl if self.direction == "reverse" else forward_kl
        parted = block_by_block(divergence, batch.column("teacher_topk_logp"), student, self.tail)
        values = with_slope(student, parted.value, parted.slope)
        figures = {
            "kd/divergence_nats": values,
            "kd/teacher_mass": 1.0 - parted.teacher_rest,
            "kd/student_mass": 1.0 - parted.student_rest,
        }
        if self.ce_weight:
            figures["kd/cross_entropy_nats"] = -batch.logp
            values = (1.0 - self.ce_weight) * values - self.ce_weight * batch.logp
        return Loss(value=batch.mean(values), metrics=batch.metrics(figures))


@attrs.frozen(kw_only=True, eq=False)
class Parted:
    """A divergence of every position, its derivative, and what lies outside of the lists."""

    value: Tensor  # [B, T] nats
    slope: Tensor  # [B, T, K]: d value / d ln s_v
    teacher_rest: Tensor  # [B, T]
    student_rest: Tensor  # [B, T]


@torch.no_grad()
def block_by_block(
    divergence: Callable[[Lists, str], tuple[Tensor, Tensor]],
    teacher: Tensor,
    student: Tensor,
    tail: str,
) -> Parted:
    """``divergence`` of lists ``[B, T, K]``, of few positions at a time.

    What is found on the way is several times as large as the lists; of a block it stays in the
    cache of a CPU. That adds up lists several times faster where the same entry of all of them
    lies together.
    """
    entries = student.shape[-1]
    if teacher.shape != student.shape or not entries:
        raise ValueError(
            "'teacher_topk_logp' and 'topk_logp' must list the same tokens, at least one: "
            f"got shapes {tuple(teacher.shape)} and {tuple(student.shape)}"
        )
    slope = torch.empty(student.shape, dtype=student.dtype, device=student.device)
    numbers = student.new_empty((3, *student.shape[:-1]))
    block = max((BLOCK if student.is_cpu else LARGE_BLOCK) // max(entries, 1), 1)  # positions
    for theirs, ours, derivative, found in zip(
        teacher.reshape(-1, entries).split(block),
        student.detach().reshape(-1, entries).split(block),
        slope.view(-1, entries).split(block),
        numbers.view(3, -1).split(block, dim=-1),
        strict=True,
    ):
        if student.is_cpu:
            theirs, ours = theirs.t().contiguous().t(), ours.t().contiguous().t()
        lists = Lists.of(theirs, ours)
        found[0], derivative[:] = divergence(lists, tail)
        found[1], found[2] = lists.teacher_rest, lists.student_rest
    value, teacher_rest, student_rest = numbers
    return Parted(value=value, slope=slope, teacher_rest=teacher_rest, student_rest=student_rest)


@attrs.frozen(kw_only=True, eq=False)
class Lists:
    """What teacher and student give to the same tokens, in nats, and to all others. No gradient.

    Entries that are not there are minus infinity in both lists. Rests are exact where one token has
    nearly everything; rounding may make them negative.
    """

    teacher: Tensor  # [B, T, K] ln p
    student: Tensor  # [B, T, K] ln s
    p: Tensor  # [B, T, K]
    s: Tensor  # [B, T, K]
    teacher_rest: Tensor  # [B, T]
    student_rest: Tensor  # [B, T]
    whole: bool  # whether no entry is missing

    @classmethod
    def of(cls, teacher: Tensor, student: Tensor) -> Lists:
        whole = not teacher.numel() or float(teacher.amin()) > -torch.inf
        if not whole:
            student = student.masked_fill(teacher == -torch.inf, -torch.inf)
        p, s = teacher.exp(), student.exp()
        return cls(
            teacher=teacher,
            student=student,
            p=p,
            s=s,
            teacher_rest=remaining(teacher, p),
            student_rest=remaining(student, s),
            whole=whole,
        )

    def renormalised(self) -> Lists:
        """The same given that the token is one of the list."""
        teacher, student = _renormalised(self.teacher), _renormalised(self.student)
        p, s = teacher.exp(), student.exp()
        return attrs.evolve(self, teacher=teacher, student=student, p=p, s=s)

    def gap(self) -> Tensor:
        """``ln p - ln s``, ``[B, T, K]``; 0 where an entry is missing."""
        gap = self.teacher - self.student
        return gap if self.whole else gap.nan_to_num(nan=0.0)


def forward_kl(lists: Lists, tail: str) -> tuple[Tensor, Tensor]:
    """``KL(p || s)`` ``[B, T]``, and its derivative by ``ln s_v``, ``[B, T, K]``."""
    if tail == "renormalize":
        lists = lists.renormalised()
    value = lists.gap().mul_(lists.p).sum(dim=-1)
    if tail == "renormalize":
        return value, lists.s - lists.p
    if tail == "ignore":
        return value, -lists.p
    ours, theirs = lists.teacher_rest.clamp(min=0.0), lists.student_rest.clamp(min=SMALLEST_REST)
    share = ours / theirs
    value += torch.special.xlogy(ours, share)
    # A rest at its least is a constant.
    share.masked_fill_(lists.student_rest <= SMALLEST_REST, 0.0)
    return value, (share[..., None] * lists.s).sub_(lists.p)


def reverse_kl(lists: Lists, tail: str) -> tuple[Tensor, Tensor]:
    """``KL(s || p)`` ``[B, T]``, and its derivative by ``ln s_v``, ``[B, T, K]``."""
    if tail == "renormalize":
        lists = lists.renormalised()
    gap = -lists.gap()
    value = (lists.s * gap).sum(dim=-1)
    if tail == "renormalize":
        return value, lists.s * (gap - value[..., None])
    if tail == "ignore":
        return value, lists.s * (gap + 1.0)
    ours, theirs = lists.student_rest.clamp(min=0.0), lists.teacher_rest.clamp(min=SMALLEST_REST)
    value = value + torch.special.xlogy(ours, ours / theirs)
    # Where nothing is left there is no rest to shrink.
    others = torch.where(ours > 0, ours.clamp(min=SMALLEST_REST).log() - theirs.log(), -1.0)
    return value, lists.s * (gap - others[..., None])


def remaining(logp: Tensor, probabilities: Tensor) -> Tensor:
    """``1 - sum of probabilities`` over a list ``[..., K]``: all tokens outside of it.

    Taken from what the one token that has more than half leaves, if there is one: a sum near 1
    would have lost it.
    """
    likely = hardshrink(probabilities, 0.5)  # 0 where it is not above a half
    alone = likely.sum(dim=-1) > 0
    others = likely.neg_().add_(probabilities).sum(dim=-1)
    left = torch.expm1(logp.amax(dim=-1)).neg_()
    return left.masked_fill_(~alone, 1.0).sub_(others)


def _renormalised(logp: Tensor) -> Tensor:
    """Nats of a list's tokens given that it is one of them; an empty list stays as it is."""
    mass = logp.logsumexp(dim=-1, keepdim=True)
    return logp - mass.masked_fill(mass == -torch.inf, 0.0)
