"""For which probabilities a game is worth playing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.core.types import Answer
from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_GIVE = "Give all such $p$ with $0 \\le p \\le 1$ as an interval."


@attrs.frozen(kw_only=True)
class FavourableChances(Family):
    """For which probabilities a game pays on average, or one of two games is the better one."""

    name = "favourable-chances"
    tag = "probability/expectation"
    wordings = Wordings(
        gain=(
            "A game is won with probability $p$. A win pays $<win>$ crowns, and a loss costs "
            f"$<loss>$ crowns. For which $p$ is the average gain positive? {_GIVE}",
        ),
        fee=(
            "To enter a game costs $<fee>$ crowns. With probability $p$ it pays back $<prize>$ "
            "crowns, otherwise nothing. For which $p$ does the player lose nothing on average, "
            f"that is, for which $p$ is the average payment at least the fee? {_GIVE}",
        ),
        better=(
            "With probability $p$ the first of two games pays $<first_win>$ crowns and otherwise "
            "$<first_rest>$ crowns; the second one pays $<second_win>$ crowns with the same "
            "probability $p$ and otherwise $<second_rest>$ crowns. For which $p$ does the first "
            "one "
            f"pay more on average? {_GIVE}",
        ),
        insured=(
            "A thing worth $<value>$ crowns is lost with probability $p$. An insurance that pays "
            "this worth costs $<price>$ crowns. For which $p$ is the price at most the average "
            f"payment? {_GIVE}",
        ),
    )

    most: Ends = dial(20, 120, "largest payment", least=10, most=10_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.most, difficulty)
        ask = base.rising(rng, ("fee", "insured", "gain", "better"), difficulty)
        high = base.whole(rng, 4, most)
        low = base.whole(rng, 2, high - 1)
        if ask == "gain":
            win, loss = base.whole(rng, 2, most), base.whole(rng, 2, most)
            edge = Fraction(loss, win + loss)
            return Drawn(
                ask=ask,
                values={"win": win, "loss": loss},
                gold=_above(edge, closed=False),
                steps=f"The average gain is ${win} p - {loss} (1 - p) = {win + loss} p - {loss}$. "
                f"It is positive for $p > {ratio_text(edge)}$, and $p$ is at most $1$.",
            )
        edge = Fraction(low, high)
        if ask == "fee":
            return Drawn(
                ask=ask,
                values={"fee": low, "prize": high},
                gold=_above(edge, closed=True),
                steps=f"The average payment is ${high} p$, and ${high} p \\ge {low}$ means "
                f"$p \\ge {ratio_text(edge)}$.",
            )
        if ask == "insured":
            return Drawn(
                ask=ask,
                values={"value": high, "price": low},
                gold=_above(edge, closed=True),
                steps=f"On average the insurance pays ${high} p$ crowns, and ${low} \\le {high} p$ "
                f"means $p \\ge {ratio_text(edge)}$.",
            )
        # The games differ the one way with a win and the other way without.
        more, less = base.whole(rng, 1, most / 2), base.whole(rng, 1, most / 2)
        second_win, second_rest = base.whole(rng, 1, most), base.whole(rng, 1, most)
        edge = Fraction(less, more + less)
        wins = rng.random() < 0.5  # whether the first one is better with a win
        first_win = second_win + more if wins else second_win
        first_rest = second_rest if wins else second_rest + less
        if wins:
            second_rest += less
        else:
            second_win += more
        terms = f"{first_win} p + {first_rest} (1 - p) > {second_win} p + {second_rest} (1 - p)"
        short = f"{more} p > {less} (1 - p)" if wins else f"{less} (1 - p) > {more} p"
        return Drawn(
            ask=ask,
            values={
                "first_win": first_win,
                "first_rest": first_rest,
                "second_win": second_win,
                "second_rest": second_rest,
            },
            gold=_above(edge, closed=False) if wins else _below(edge),
            steps=f"The condition is ${terms}$, that is ${short}$, and so $p "
            f"{'>' if wins else '<'} "
            f"{ratio_text(edge)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The advantage is linear in p: from its values at 0 and at 1, where its sign changes.
        closed = ask in ("fee", "insured")
        if ask == "gain":
            at_zero, at_one = -values["loss"], values["win"]
        elif ask == "better":
            at_zero = values["first_rest"] - values["second_rest"]
            at_one = values["first_win"] - values["second_win"]
        else:
            names = ("fee", "prize") if ask == "fee" else ("price", "value")
            at_zero = -values[names[0]]
            at_one = values[names[1]] - values[names[0]]
        if at_zero * at_one >= 0:
            return None
        edge = Fraction(at_zero, at_zero - at_one)
        return _above(edge, closed=closed) if at_one > 0 else _below(edge)


def _above(edge: Fraction, *, closed: bool) -> Gold:
    bracket = "[" if closed else "("
    return Gold(
        Answer(type="interval", value=f"{bracket}{edge},1]", params={"variable": "p"}),
        f"\\left{bracket}{ratio_text(edge)}, 1\\right]",
    )


def _below(edge: Fraction) -> Gold:
    return Gold(
        Answer(type="interval", value=f"[0,{edge})", params={"variable": "p"}),
        f"\\left[0, {ratio_text(edge)}\\right)",
    )
