"""How many must be taken to be sure."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import listed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_DRAWER = "A <box> holds <counts:text> <things>. Without looking, <who> takes some of them out."
_LEAST = "What is the smallest number that makes it certain that"
_COLOURS = ("red", "blue", "green", "white", "black", "yellow")


@attrs.frozen(kw_only=True)
class Pigeonholes(Family):
    """How many things must be taken without looking to be sure of what is wanted."""

    name = "pigeonholes"
    tag = "combinatorics/pigeonhole"
    wordings = Wordings(
        words={
            "who": ("Ana", "Luc", "Mara", "Tom", "Noor", "Ravi"),
            "box": ("drawer", "bag", "box", "basket"),
            "things": ("socks", "marbles", "ribbons", "balls", "buttons"),
        },
        same=(
            f"{_DRAWER} {_LEAST} at least $<wanted>$ of those taken have the same colour?",
            "There are <counts:text> <things> in a <box>, and <who> takes out some without "
            "looking. How many must be taken at least, to be sure that at least $<wanted>$ have "
            "the same "
            "colour?",
        ),
        every=(f"{_DRAWER} {_LEAST} at least $<wanted>$ of every colour are among those taken?",),
        pairs=(
            f"{_DRAWER} {_LEAST} $<wanted>$ pairs can be made of those taken, each of two of the "
            "same colour, where nothing belongs to two pairs?",
        ),
        colours=(
            f"{_DRAWER} {_LEAST} at least $<wanted>$ different colours are among those taken?",
        ),
    )

    colours: Ends = dial(2, 5, "how many colours", least=2, most=6)
    most: Ends = dial(6, 14, "most of one colour", least=5, most=40)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        kinds = max(2, base.whole_near(rng, base.steady(self.colours, difficulty)))
        top = base.steady(self.most, difficulty)
        counts = [base.whole(rng, 3, top) for _ in range(kinds)]
        names = base.shuffled(rng, _COLOURS)[:kinds]
        ask = base.rising(rng, ("colours", "same", "every", "pairs"), difficulty)
        if ask == "same":
            wanted = base.whole(rng, 2, max(counts))
            kept = [min(count, wanted - 1) for count in counts]
            why = f"at most ${wanted - 1}$ of each colour"
            found = sum(kept)
        elif ask == "every":
            wanted = base.whole(rng, 2, min(counts))
            rare = counts.index(min(counts))
            kept = [count if each != rare else wanted - 1 for each, count in enumerate(counts)]
            why = (
                f"all of the other colours and only ${wanted - 1}$ of the {names[rare]} ones, of "
                "which there are fewest,"
            )
            found = sum(kept)
        elif ask == "pairs":
            wanted = base.whole(rng, 2, sum((count - 1) // 2 for count in counts))
            kept = [2 * (wanted - 1), *([1] * kinds)]
            why = (
                f"{'1 pair' if wanted == 2 else f'{wanted - 1} pairs'} and one more of each colour"
            )
            found = sum(kept)
        else:
            wanted = base.whole(rng, 2, kinds)
            order = sorted(counts, reverse=True)
            kept = order[: wanted - 1]
            why = (
                f"all of the ${wanted - 1}$ most frequent colours"
                if wanted > 2
                else "all of the most frequent colour"
            )
            found = sum(kept)
        total = " + ".join(map(str, kept))
        said = f"${total} = {found}$" if len(kept) > 1 else f"${found}$"
        return Drawn(
            ask=ask,
            values={
                "counts": listed(
                    [f"{count} {name}" for count, name in zip(counts, names, strict=True)]
                ),
                "wanted": wanted,
            },
            gold=gold.integer(found + 1),
            steps=f"With bad luck, {why} are taken: {said}, and what is wanted is still missing. "
            f"No larger number can miss it, so one more is enough, and ${found} + 1 = "
            f"{found + 1}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # An adversary tries everything: all totals that can be taken out and miss what is wanted,
        # colour after colour, with what has been reached so far.
        wanted = values["wanted"]
        counts = [int(each) for each in re.findall(r"\d+", values["counts"])]
        reached = {(0, 0)}
        step: Callable[[int], int] = {
            "same": lambda taken: int(taken >= wanted),
            "every": lambda taken: int(taken < wanted),
            "pairs": lambda taken: taken // 2,
            "colours": lambda taken: int(taken > 0),
        }[ask]
        for count in counts:
            reached = {
                (total + taken, score + step(taken))
                for total, score in reached
                for taken in range(count + 1)
            }
        if ask == "every":
            missing = [total for total, score in reached if score > 0]
        else:
            bound = {"same": 0, "pairs": wanted - 1, "colours": wanted - 1}[ask]
            missing = [total for total, score in reached if score <= bound]
        worst = max(missing)
        return gold.integer(worst + 1) if worst < sum(counts) else None
