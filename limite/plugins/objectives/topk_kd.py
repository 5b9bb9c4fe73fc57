"""Distillation from a teacher's likeliest tokens: a divergence over a short list and its rest."""

from __future__ import annotations

from typing import ClassVar

import attrs
import torch
from attrs.validators import and_, ge, lt
from torch import Tensor

from limite.core.types import Loss, TokenBatch
from limite.core.validators import option

SMALLEST_REST = 1e-12
"""The least probability of all tokens outside a list, where its logarithm is taken."""


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
        teacher, student = batch.column("teacher_topk_logp"), batch.column("topk_logp")
        present = teacher > -torch.inf  # [B, T, K]
        left = remaining(teacher, present), remaining(student, present)  # [B, T] each
        values = self.divergence(teacher, student, present, *left)
        figures = {
            "kd/divergence_nats": values,
            "kd/teacher_mass": 1.0 - left[0].detach(),
            "kd/student_mass": 1.0 - left[1].detach(),
        }
        if self.ce_weight:
            figures["kd/cross_entropy_nats"] = -batch.logp
            values = (1.0 - self.ce_weight) * values - self.ce_weight * batch.logp
        return Loss(value=batch.mean(values), metrics=batch.metrics(figures))

    def divergence(
        self,
        teacher: Tensor,
        student: Tensor,
        present: Tensor,
        teacher_rest: Tensor,
        student_rest: Tensor,
    ) -> Tensor:
        """``[B, T]`` from lists of nats ``[B, T, K]`` and what they leave, ``[B, T]``."""
        reverse = self.direction == "reverse"
        if self.tail == "renormalize":
            teacher, student = (_renormalised(each, present) for each in (teacher, student))
        sure, other = (student, teacher) if reverse else (teacher, student)
        sure, other = (each.masked_fill(~present, 0.0) for each in (sure, other))
        listed = (sure.exp() * (sure - other)).masked_fill(~present, 0.0).sum(dim=-1)
        if self.tail != "bucket":
            return listed
        ours, theirs = (student_rest, teacher_rest) if reverse else (teacher_rest, student_rest)
        return listed + _rest_term(ours, theirs)


def remaining(logp: Tensor, present: Tensor) -> Tensor:
    """The probability of all tokens outside of a list, ``[B, T]``; rounding may make it negative.

    Taken from what the likeliest one leaves, so that it stays exact where that has nearly all.
    """
    listed = logp.masked_fill(~present, -torch.inf)  # [B, T, K]
    largest, at = listed.max(dim=-1)  # [B, T]
    others = listed.exp().scatter(-1, at[..., None], 0.0).sum(dim=-1)
    return -torch.expm1(largest) - others


def _renormalised(logp: Tensor, present: Tensor) -> Tensor:
    """Nats of the list's tokens given that it is one of them; 0 where the list is empty."""
    listed = logp.masked_fill(~present, -torch.inf)
    there = present.any(dim=-1, keepdim=True)
    return listed - torch.where(there, listed, torch.zeros_like(listed)).logsumexp(-1, keepdim=True)


def _rest_term(ours: Tensor, theirs: Tensor) -> Tensor:
    """``r ln(r / q)`` of what both lists leave, ``[B, T]``; 0, without gradient, where ``r`` is."""
    there = ours > 0
    floor = torch.full_like(ours, SMALLEST_REST)
    ratio = torch.where(there, ours, floor).log() - theirs.clamp(min=SMALLEST_REST).log()
    return torch.where(there, ours * ratio, torch.zeros_like(ours))
