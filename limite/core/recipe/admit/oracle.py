"""Gate: attention and objective math, forward and backward, against float64 on the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import attrs
import torch
from torch import Tensor

from limite.core.model.decoder import Decoder
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.exact import exact_decoder
from limite.core.recipe.admit.migration import sampled
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.tolerances import verdict
from limite.core.recipe.runners.learner import Learner, ScoredRow
from limite.core.seeds import Seeds
from limite.core.train.columns import token_batch
from limite.core.train.replay import pack

SPREAD_NATS = 0.3  # between learner and sampler, so that ratios leave 1 and limits take hold
FLOOR = 1e-3  # of the joint norm: gradients smaller than that are held to that
ROWS = 8
LONG_TOKENS = 512  # of one more row, so that windows within that have an end


@attrs.frozen(kw_only=True, eq=False)
class Said:
    """Everything a decoder says of some rows, by the name of each tensor."""

    attention: Mapping[str, Tensor]
    streams: Mapping[str, Tensor]
    logp: Tensor  # [M] nats
    loss: Tensor
    shares: Tensor  # [M] what each token adds to the loss, roughly: its advantage
    gradients: Mapping[str, Tensor]


def oracle(bench: Bench) -> Gate:
    """Every tensor of a replay and its backward pass: largest and relative L2 error."""
    requests = bench.requests(responses=4, short=2)
    base = sampled(bench, bench.decoder, requests)
    groups = bench.scored(
        [
            (problem, [base[i] for i, each in enumerate(requests) if each.problem is problem])
            for problem in {id(each.problem): each.problem for each in requests}.values()
        ]
    )
    few = bench.rows(groups)[:ROWS]
    recorded = torch.tensor([each for row in few for each in row.behavior_logp])
    longest = min(LONG_TOKENS, bench.context.model.context)
    rows = [*spread(few, bench.seeds.child("spread")), bench.long_row(longest, 1)]
    ours = said(bench, bench.decoder, bench.learner, rows)
    with exact_decoder(bench) as exact:
        session = cast(Any, SimpleNamespace(decoder=exact))
        theirs = said(bench, exact, attrs.evolve(bench.learner, session=session), rows)
    squares = [each.square().sum() for each in theirs.gradients.values()]
    joint = float(torch.stack(squares).sum().sqrt())
    errors = {
        **errors_of("attention", ours.attention, theirs.attention),
        **errors_of("stream", ours.streams, theirs.streams),
        **errors_of("replay", {"logp": ours.logp}, {"logp": theirs.logp}),
        **errors_of("decode", {"logp": recorded}, {"logp": theirs.logp[: len(recorded)]}),
        **errors_of("gradient", ours.gradients, theirs.gradients, floor=FLOOR * joint),
    }
    dtype = bench.dtype

    def worst(kind: str, figure: str) -> float | None:
        found = [error[figure] for name, error in errors.items() if name.startswith(f"{kind}/")]
        # Not max(): a figure that is no number must not hide behind one that is.
        return float(torch.tensor(found, dtype=torch.float64).max()) if found else None

    scale = float(theirs.shares.abs().mean())
    loss = float((ours.loss.double() - theirs.loss).abs()) / scale if scale else None
    return Gate(
        name="oracle",
        verdicts=[
            verdict("oracle/attention_relative_l2", worst("attention", "relative_l2"), dtype=dtype),
            verdict("oracle/stream_relative_l2", worst("stream", "relative_l2"), dtype=dtype),
            verdict("oracle/logp_max_abs_nats", worst("replay", "max_abs"), dtype=dtype),
            verdict("oracle/decode_logp_max_abs_nats", worst("decode", "max_abs"), dtype=dtype),
            verdict("oracle/loss_relative", loss, dtype=dtype),
            verdict("oracle/gradient_relative_l2", worst("gradient", "relative_l2"), dtype=dtype),
        ],
        recorded={
            "rows": len(rows),
            "tokens": len(ours.logp),
            "longest_row_tokens": max(len(r.row.prompt) + len(r.row.completion) for r in rows),
            "joint_gradient_norm": joint,
            "tensors": errors,
        },
    )


def spread(rows: Sequence[ScoredRow], seeds: Seeds) -> list[ScoredRow]:
    """The rows as if another policy had sampled them."""
    found = []
    for number, row in enumerate(rows):
        stream = seeds.stream(number)
        moved = [
            min(0.0, each + SPREAD_NATS * (2.0 * stream.random() - 1.0))
            for each in row.behavior_logp
        ]
        found.append(attrs.evolve(row, behavior_logp=moved))
    return found


def said(bench: Bench, decoder: Decoder, learner: Learner, rows: Sequence[ScoredRow]) -> Said:
    """A replay of ``rows`` as the learner makes it, its loss and its gradients."""
    attention: dict[str, Tensor] = {}
    hooks = [
        mixer.register_forward_hook(_keep(attention, f"layer {layer}"))
        for layer, mixer in enumerate(decoder.mixers())
    ]
    try:
        packed = pack([row.row for row in rows], decoder.device, ragged=decoder.ragged)
        with torch.no_grad():
            streams, _ = decoder.watch(packed.tokens, cast(Any, packed.layout))
    finally:
        for hook in hooks:
            hook.remove()
    decoder.zero_grad(set_to_none=True)
    mask, columns = learner.columns(rows)
    shares = columns["advantage"].detach()  # [B, T], or [B]
    if shares.ndim == 1:
        shares = shares[:, None].expand(mask.shape)
    loss = learner.objective(token_batch(mask, columns, bench.totals(rows))).value
    loss.backward()
    gradients = {
        name: each.grad.detach().clone()
        for name, each in decoder.named_parameters()
        if each.grad is not None
    }
    decoder.zero_grad(set_to_none=True)
    return Said(
        attention=attention,
        streams={f"after layer {layer}": each for layer, each in enumerate(streams[1:])},
        logp=columns["logp"].detach()[mask],
        loss=loss.detach(),
        shares=shares[mask],
        gradients=gradients,
    )


def _keep(into: dict[str, Tensor], name: str) -> Any:
    def hook(_module: Any, _inputs: Any, output: Any) -> None:
        into[name] = output.detach()

    return hook


def errors_of(
    kind: str, ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor], *, floor: float = 0.0
) -> dict[str, dict[str, float]]:
    """Largest error and relative L2 error of every tensor; one that is missing is all error."""
    found = {}
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in ours or name not in theirs:
            found[f"{kind}/{name}"] = {"max_abs": torch.inf, "relative_l2": torch.inf}
            continue
        wanted = theirs[name].double()
        error = ours[name].double() - wanted
        size = max(float(wanted.norm()), floor)
        distance = float(error.norm())
        found[f"{kind}/{name}"] = {
            "max_abs": float(error.abs().max()) if error.numel() else 0.0,
            "relative_l2": distance / size if size else (torch.inf if distance else 0.0),
        }
    return found
