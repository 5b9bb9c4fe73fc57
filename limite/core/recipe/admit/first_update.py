"""Gate: the first optimizer step against what Adam's equations say it is.

With moments that start at 0 the bias-corrected first step of Adam is ``lr * g / (|g| + eps)``, so
no optimizer is needed to predict it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.migration import sampled
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.tolerances import verdict

NORM_EPSILON = 1e-6  # beside the norm that gradients are scaled by

Followed = tuple[Mapping[str, Any], str]
"""The group of a parameter, and the name of what it follows."""


def first_update(bench: Bench) -> list[Gate]:
    """The gate of what follows Adam, and another that says what does not."""
    requests = bench.requests(responses=4, short=0)
    base = sampled(bench, bench.decoder, requests)
    problems = {id(each.problem): each.problem for each in requests}
    rows = bench.rows(
        bench.scored(
            [
                (problem, [base[i] for i, each in enumerate(requests) if each.problem is problem])
                for problem in problems.values()
            ]
        )
    )
    with bench.at_start() as session:
        names = {id(each): name for name, each in session.decoder.named_parameters()}
        session.stepper.lr_schedule = lambda _step, _total: 1.0
        following: dict[str, Followed] = {}
        others: dict[str, Followed] = {}
        for group in session.optimizer.param_groups:
            if "weight_decay" in group:
                group["weight_decay"] = 0.0
            told = algorithm_of(session.optimizer, group)
            target = following if told == "adamw" else others
            target.update({names[id(each)]: (group, told) for each in group["params"]})
        before = {n: each.detach().clone() for n, each in session.decoder.named_parameters()}
        gradients: dict[str, Tensor] = {}
        still = sorted(following)[-1:]
        apply = session.update

        def watched(loss: float) -> dict[str, float]:
            for name, each in session.decoder.named_parameters():
                if name in still:
                    each.grad = None  # so that there is something that must not move
                elif each.grad is not None:
                    gradients[name] = each.grad.detach().clone()
            return apply(loss)

        setattr(session, "update", watched)  # noqa: B010
        try:
            bench.learner.update(rows, bench.totals(rows))
        finally:
            delattr(session, "update")
        after = {n: each.detach().clone() for n, each in session.decoder.named_parameters()}
        gates = []
        if following:
            groups = {name: group for name, (group, _) in following.items()}
            gates.append(held(bench, before, after, gradients, groups))
    if others:
        told = ", ".join(sorted({each for _, each in others.values()}))
        gates.append(
            Gate(
                name="first-update (other)" if following else "first-update",
                not_applicable=f"the oracle is for AdamW; {len(others)} tensors follow {told}",
                recorded={"tensors": sorted(others)},
            )
        )
    return gates


def algorithm_of(optimizer: torch.optim.Optimizer, group: Mapping[str, Any]) -> str:
    """What a group of parameters follows: ``adamw``, or some other name."""
    said = group.get("algorithm")
    if said is not None:
        return str(said)
    plain = isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW))
    return "adamw" if plain and not group.get("amsgrad") else type(optimizer).__name__


def held(
    bench: Bench,
    before: Mapping[str, Tensor],
    after: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    groups: Mapping[str, Mapping[str, Any]],
) -> Gate:
    """Observed changes of every tensor against those predicted."""
    norm = float(torch.stack([g.double().square().sum() for g in gradients.values()]).sum().sqrt())
    scale = min(1.0, bench.stage.clip_norm / (norm + NORM_EPSILON))
    moved_without, moved, worst, tensors = 0, 0, [0.0], {}
    for name, group in groups.items():
        observed = after[name].double() - before[name].double()
        moved += bool(observed.any())
        if name not in gradients:
            moved_without += bool(observed.any())
            continue
        wanted = predicted(before[name], gradients[name], scale, group)
        size = float(wanted.norm())
        tensors[name] = {
            "max_abs": float((observed - wanted).abs().max()),
            "relative_l2": float((observed - wanted).norm()) / size if size else 0.0,
            "largest_excess": float(excess(before[name], observed, wanted, group["lr"]).max()),
        }
        worst.append(tensors[name]["largest_excess"])
    return Gate(
        name="first-update",
        verdicts=[
            verdict(
                "first-update/largest_excess",
                float(torch.tensor(worst, dtype=torch.float64).max()) if tensors else None,
            ),
            verdict("first-update/moved_without_gradient", moved_without),
            verdict("first-update/moved_tensors", moved),
        ],
        recorded={
            "gradient_norm": norm,
            "clip_norm": bench.stage.clip_norm,
            "rate": sorted({float(group["lr"]) for group in groups.values()}),
            "weight_decay": "left out",
            "without_gradient": sorted(groups.keys() - gradients.keys()),
            "tensors": tensors,
        },
    )


def predicted(before: Tensor, gradient: Tensor, scale: float, group: Mapping[str, Any]) -> Tensor:
    """The change of a tensor in its first step, in float32 beside float32 masters; as float64."""
    scaled = (gradient * scale).to(gradient.dtype).float()
    step: Tensor = group["lr"] * scaled / (scaled.abs() + group["eps"])
    master = before.float()
    return ((master - step).to(before.dtype).double()) - before.double()


def excess(before: Tensor, observed: Tensor, wanted: Tensor, rate: float) -> Tensor:
    """How far changes are from those wanted, beyond what rounding the result explains, by the rate.

    That is one unit in the last place of the larger of the weight before and after: a step may
    lead over a power of two, beyond which numbers lie farther apart.
    """
    after = (before.double() + wanted).abs().to(before.dtype)
    unit = spacing(torch.maximum(before.abs(), after))
    return ((observed - wanted).abs() - unit).clamp(min=0.0) / rate


def spacing(sizes: Tensor) -> Tensor:
    """From each number, none below 0, to the next larger one of its dtype; as float64."""
    following = torch.nextafter(sizes, torch.full_like(sizes, torch.inf))
    return following.double() - sizes.double()
