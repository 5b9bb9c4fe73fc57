"""Cases of pairs, of lists from a teacher, and of averages of weights."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.pretrained.average import average, checked_weights, uniform
from limite.core.registry import Registry
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Loss
from limite.plugins.golden.case import Case, tensor_of
from limite.plugins.golden.spelling import settings_of


def dpo(case: Case, registry: Registry) -> None:
    """Pairs of responses, each given by its summed log-probability."""
    kind = registry.get("objective", case.param("objective", "dpo")).load()
    spelled = {name: case.param(name) for name in case.params if name != "objective"}
    objective = kind(**settings_of(kind, spelled))
    logp = _pairs(case, "chosen_logp", "rejected_logp").requires_grad_()
    reference = _pairs(case, "ref_chosen_logp", "ref_rejected_logp")
    mask = torch.ones(logp.shape, dtype=torch.bool)
    totals = totals_of(mask, response_tokens=1, rows_together=2)
    batch = token_batch(mask, {"logp": logp, "reference_logp": reference}, totals)
    loss = objective(batch)
    loss.value.backward()
    if loss.value.dtype != case.dtype:
        case.fail(f"loss: expected {case.dtype}, got {loss.value.dtype}")
    case.check("loss", loss.value)
    assert logp.grad is not None
    case.check("grad_chosen_logp", logp.grad[0::2, 0])
    case.check("grad_rejected_logp", logp.grad[1::2, 0])
    sides = ("chosen_reward", "rejected_reward")
    if case.expects("per_pair") or any(case.expects(side) for side in sides):
        *rewards, whole = objective.rewards(batch)
        if not bool(whole.all()):
            case.fail("a pair was left out")
        case.check("per_pair", objective.pair_loss(rewards[0] - rewards[1]))
        for name, found in zip(sides, rewards, strict=True):
            case.check(name, found)
            metric = loss.metrics[f"pair/{name}"].result()
            case.compare(f"pair/{name}", metric, float(found.detach().double().mean()))
    for name in ("accuracy", "margin"):
        if case.expects(name):
            case.check(name, loss.metrics[f"pair/{name}"].result())


def _pairs(case: Case, chosen: str, rejected: str) -> Tensor:
    """Rows of one token, ``[2 P, 1]``: each preferred response and then the other one."""
    return torch.stack([case.tensor(chosen), case.tensor(rejected)], dim=1).reshape(-1, 1)


def listed_logp(logits: Tensor, ids: Tensor) -> Tensor:
    """Nats of the tokens ``ids [B, T, K]``, from logits ``[B, T, V]``."""
    return logits.log_softmax(-1).gather(-1, ids)


def topk_kd(case: Case, registry: Registry) -> None:
    """A student's logits against a teacher's lists of likely tokens."""
    kind = registry.get("objective", case.param("objective", "topk-kd")).load()
    spelled = {name: case.param(name) for name in case.params if name != "objective"}
    objective = kind(**settings_of(kind, spelled))
    logits = case.tensor("student_logits").requires_grad_()  # [B, T, V]
    ids = case.tensor("teacher_ids", torch.float64).long()  # [B, T, K]
    teacher = case.tensor("teacher_logp")
    mask = case.tensor("mask", torch.float64).bool()

    def loss_over(active: Tensor) -> Loss:
        listed = listed_logp(logits, ids)
        columns = {"logp": listed[..., 0], "topk_logp": listed, "teacher_topk_logp": teacher}
        found: Loss = objective(token_batch(active, columns, totals_of(active, response_tokens=1)))
        return found

    loss = loss_over(mask)
    loss.value.backward()
    if loss.value.dtype != case.dtype:
        case.fail(f"loss: expected {case.dtype}, got {loss.value.dtype}")
    case.check("loss", loss.value)
    case.check("grad_logits", logits.grad)
    count = int(mask.sum())
    for name in ("teacher_mass", "student_mass"):
        if case.reads(name, "expected"):
            mean = float(tensor_of(case.expected[name], name)[mask].sum()) / count
            case.compare(name, loss.metrics[f"kd/{name}"].result(), mean)
    if case.expects("per_token"):
        alone = torch.zeros(mask.shape, dtype=case.dtype)
        for row, position in mask.nonzero().tolist():
            one = torch.zeros_like(mask)
            one[row, position] = True
            alone[row, position] = loss_over(one).value.detach()
        case.check("per_token", alone)


def soup(case: Case, registry: Registry) -> None:
    """The average of checkpoints."""
    rows = list(case.tensor("checkpoints"))
    given = case.param("weights", None)
    weights = uniform(len(rows)) if given is None else checked_weights(given, len(rows), "weights")
    case.check("average", average(rows, weights, case.dtype))
