"""Laws of objectives that learn from sampled tokens and their advantages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import attrs
import torch
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kinds import Objective
from limite.core.train.columns import token_batch, totals_of
from limite.plugins.conformance.strategies import Tokens, cells, drawn

LONGEST = 8  # tokens; the longest response of the stage the laws pretend to be
PLAIN = frozenset({"behavior_logp", "advantage"})
MOST_WEIGHT = 25.0  # times the weight on policy, of a token that was pushed up a hundredfold
HUNDREDFOLD = math.log(100.0)

levels = st.sampled_from((-0.8, -1.0, -2.5, -5.0, -12.0))
credits = st.sampled_from((1.0, -1.0, 0.25, -3.0))
Law = Callable[[Objective], None]


def policy_laws(component: Objective) -> list[Law]:
    """The laws that hold for a component, by what it says of itself.

    They are about objectives that read recorded log-probabilities and advantages, and nothing that
    pulls elsewhere. One that learns from some advantages alone says ``follows_advantage = False``.
    """
    needs = frozenset(getattr(component, "needs", None) or ()) - {"logp"}
    if needs != PLAIN or not getattr(component, "follows_advantage", True):
        return []
    return [
        on_policy_the_gradient_is_the_advantage,
        next_to_policy_every_token_is_kept,
        a_token_on_its_way_back_is_kept,
        a_token_far_up_weighs_no_more_than_it_may,
    ]


@st.composite
def sampled(draw: st.DrawFn) -> Tokens:
    """Responses with one advantage each, every one of them telling; policy and behaviour agree."""
    rows, width = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    mask = draw(cells(rows, width, st.sampled_from((1.0, 0.0, 1.0)))).bool()
    behavior = draw(cells(rows, width, levels))
    advantage = draw(cells(rows, 1, credits)).expand(rows, width).clone()
    columns = {"behavior_logp": behavior, "logp": behavior, "advantage": advantage}
    return Tokens(mask=mask, columns=columns)


def gradient(component: Objective, given: Tokens) -> Tensor:
    """Of the loss with respect to ``logp``, ``[B, T]``."""
    logp = given.columns["logp"].clone().requires_grad_()
    totals = totals_of(given.mask, response_tokens=LONGEST)
    loss = component(token_batch(given.mask, {**given.columns, "logp": logp}, totals))
    torch.autograd.backward(loss.value)
    return torch.zeros_like(logp) if logp.grad is None else logp.grad


def same_bits(actual: Tensor, expected: Tensor) -> bool:
    """Equal, NaN where the other is NaN: that a loss is no number is for other laws to say."""
    return torch.equal(actual.isnan(), expected.isnan()) and torch.equal(
        actual.nan_to_num(), expected.nan_to_num()
    )


def moved(given: Tokens, by: Tensor) -> Tokens:
    """The same responses under a policy that has moved ``by`` nats."""
    columns: Mapping[str, Tensor] = {**given.columns, "logp": given.columns["logp"] + by}
    return attrs.evolve(given, columns=columns)


def require_along(given: Tokens, slope: Tensor, when: str) -> None:
    """Every active token must be pushed the way its advantage says."""
    wrong = given.mask & ~(slope * given.columns["advantage"] < 0)
    if bool(wrong.any()):
        row, place = wrong.nonzero()[0].tolist()
        credit = float(given.columns["advantage"][row, place])
        raise AssertionError(
            f"{when}, a token with advantage {credit} has the gradient "
            f"{float(slope[row, place])}: a good token's must be below 0, a bad one's above"
        )


def on_policy_the_gradient_is_the_advantage(component: Objective) -> None:
    @drawn(given=sampled(), level=levels)
    def check(given: Tokens, level: float) -> None:
        slope = gradient(component, given)
        require_along(given, slope, "where policy and behaviour agree")
        other = torch.full_like(given.columns["logp"], level)
        columns = {**given.columns, "logp": other, "behavior_logp": other}
        elsewhere = gradient(component, attrs.evolve(given, columns=columns))
        torch.testing.assert_close(
            elsewhere,
            slope,
            rtol=1e-5,
            atol=1e-12,
            msg=lambda detail: (
                "where policy and behaviour agree, the gradient depends on how likely tokens are: "
                f"is a weight not detached?\n{detail}"
            ),
        )
        double = {**given.columns, "advantage": 2.0 * given.columns["advantage"]}
        torch.testing.assert_close(
            gradient(component, attrs.evolve(given, columns=double)),
            2.0 * slope,
            rtol=1e-5,
            atol=1e-12,
            msg=lambda detail: f"twice the advantage is not twice the gradient\n{detail}",
        )

    check()


def next_to_policy_every_token_is_kept(component: Objective) -> None:
    @drawn(given=sampled(), way=st.sampled_from((1.0, -1.0)))
    def check(given: Tokens, way: float) -> None:
        step = torch.full_like(given.columns["logp"], 1e-4 * way)
        slope = gradient(component, moved(given, step))
        require_along(given, slope, "a ten-thousandth away from behaviour")

    check()


def a_token_on_its_way_back_is_kept(component: Objective) -> None:
    @drawn(given=sampled(), size=st.sampled_from((0.05, 0.3, 0.6)))
    def check(given: Tokens, size: float) -> None:
        back = -size * given.columns["advantage"].sign()
        slope = gradient(component, moved(given, back))
        require_along(given, slope, "on its way back to behaviour")

    check()


def a_token_far_up_weighs_no_more_than_it_may(component: Objective) -> None:
    starts: Sequence[float] = (-12.0, -9.0, -5.0)

    @drawn(given=sampled(), start=st.sampled_from(starts))
    def check(given: Tokens, start: float) -> None:
        level = torch.full_like(given.columns["logp"], start)
        columns = {**given.columns, "logp": level, "behavior_logp": level}
        columns["advantage"] = columns["advantage"].abs()
        here = attrs.evolve(given, columns=columns)
        near = gradient(component, here).abs()
        # Below 0 it is pushed further; a pull back to behaviour may be as strong as it likes.
        there = gradient(component, moved(here, torch.full_like(level, HUNDREDFOLD)))
        far = (-there).clamp(min=0.0)
        most = float((far[here.mask] / near[here.mask]).max()) if here.mask.any() else 0.0
        assert most <= MOST_WEIGHT, (
            "a good token that is a hundred times likelier by now is still pushed up, "
            f"{most:.3g} times as hard as on policy: clip or cap the ratio"
        )

    check()
