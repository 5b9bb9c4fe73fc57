"""How many people chose what, from the sizes of groups that overlap."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_TRIPLES = (
    ("tea", "coffee", "cocoa"),
    ("football", "tennis", "chess"),
    ("French", "Spanish", "Latin"),
    ("apples", "pears", "plums"),
)


@attrs.frozen(kw_only=True)
class OverlappingGroups(Family):
    """How many people are in no group, in exactly one, or in all, when groups overlap."""

    name = "overlapping-groups"
    tag = "discrete/sets"
    wordings = Wordings(
        two=(
            "Of $<all>$ people, $<first>$ like <one:word> and $<second>$ like <other:word>; "
            "$<both>$ like both. How many like neither?",
            "Among $<all>$ guests, $<first>$ chose <one:word>, $<second>$ chose <other:word>, and "
            "$<both>$ of these chose both. How many guests chose neither of the two?",
        ),
        none=(
            "Of $<all>$ people, $<first>$ like <one:word>, $<second>$ like <other:word> and "
            "$<third>$ like <last:word>. Both <one:word> and <other:word> are liked by $<a>$, both "
            "<one:word> and <last:word> by $<b>$, both <other:word> and <last:word> by $<c>$, and "
            "all three by $<three>$ (these are counted in the numbers before as well). How many "
            "like none of the three?",
        ),
        single=(
            "Of $<all>$ people, $<first>$ like <one:word>, $<second>$ like <other:word> and "
            "$<third>$ like <last:word>. Both <one:word> and <other:word> are liked by $<a>$, both "
            "<one:word> and <last:word> by $<b>$, both <other:word> and <last:word> by $<c>$, and "
            "all three by $<three>$ (these are counted in the numbers before as well). How many "
            "like exactly one of the three?",
        ),
        three=(
            "Each of $<all>$ people likes at least one of <one:word>, <other:word> and "
            "<last:word>: $<first>$ like <one:word>, $<second>$ like <other:word> and $<third>$ "
            "like <last:word>. Both <one:word> and <other:word> are liked by $<a>$, both "
            "<one:word> and <last:word> by $<b>$, both <other:word> and <last:word> by $<c>$ "
            "(whoever likes all three is counted in each of these numbers). How many like all "
            "three?",
        ),
    )

    part: Ends = dial(10, 60, "most people of one kind", least=5, most=1000)
    groups: Ends = dial(0.2, 1, "share with three groups", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.part, difficulty)
        # How many people are in just these groups: bit k of the place is the group k.
        kinds = [base.whole(rng, 2, most) for _ in range(8)]
        names = base.shuffled(rng, base.chosen(rng, _TRIPLES))
        values: dict[str, Any] = dict(zip(("one", "other", "last"), names, strict=True))
        if rng.random() >= base.steady(self.groups, difficulty):
            first, second, both = kinds[1] + kinds[3], kinds[2] + kinds[3], kinds[3]
            union = first + second - both
            values |= {"all": sum(kinds[:4]), "first": first, "second": second, "both": both}
            return Drawn(
                ask="two",
                values=values,
                gold=gold.integer(kinds[0]),
                steps=f"At least one of the two is liked by ${first} + {second} - {both} = "
                f"{union}$, since those who like both are counted twice. That leaves "
                f"${sum(kinds[:4])} - {union}$.",
            )
        ask = base.chosen(rng, ("none", "single", "three"))
        if ask == "three":
            kinds[0] = 0
        every = sum(kinds)
        sizes = [sum(kinds[place] for place in range(8) if place >> k & 1) for k in range(3)]
        pairs = [kinds[3] + kinds[7], kinds[5] + kinds[7], kinds[6] + kinds[7]]
        values |= {"all": every, "first": sizes[0], "second": sizes[1], "third": sizes[2]}
        values |= {"a": pairs[0], "b": pairs[1], "c": pairs[2], "three": kinds[7]}
        singles, doubles = sum(sizes), sum(pairs)
        added = " + ".join(map(str, sizes))
        taken = " - ".join(map(str, pairs))
        if ask == "none":
            answer = kinds[0]
            steps = (
                f"At least one is liked by ${added} - {taken} + {kinds[7]} = {every - kinds[0]}$. "
                f"That leaves ${every} - {every - kinds[0]}$."
            )
        elif ask == "three":
            answer = kinds[7]
            steps = (
                f"With $x$ for all three, ${added} - {taken} + x = {every}$, so $x = {every} - "
                f"{singles - doubles}$."
            )
        else:
            answer = kinds[1] + kinds[2] + kinds[4]
            steps = (
                f"${added} = {singles}$ counts those with exactly one once, with two twice and "
                f"with three three times. ${' + '.join(map(str, pairs))} = {doubles}$ counts those "
                f"with two once and with three three times. So take away twice that and give back "
                f"three times the last number: ${singles} - 2 \\cdot {doubles} + 3 \\cdot "
                f"{kinds[7]}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(answer), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The parts of the diagram one after the other, from the middle outwards.
        if ask == "two":
            both = values["both"]
            left, right = values["first"] - both, values["second"] - both
            parts = [values["all"] - left - right - both, left, right, both]
            return gold.integer(parts[0]) if min(parts) >= 0 else None
        found = set()
        for middle in [values["three"]] if "three" in values else range(values["all"] + 1):
            pairs = [values[name] - middle for name in ("a", "b", "c")]
            singles = [
                values["first"] - pairs[0] - pairs[1] - middle,
                values["second"] - pairs[0] - pairs[2] - middle,
                values["third"] - pairs[1] - pairs[2] - middle,
            ]
            outside = values["all"] - middle - sum(pairs) - sum(singles)
            if min(middle, outside, *pairs, *singles) < 0 or (ask == "three" and outside):
                continue
            found.add({"none": outside, "single": sum(singles), "three": middle}[ask])
        return gold.integer(found.pop()) if len(found) == 1 else None
