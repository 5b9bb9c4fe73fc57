"""Short programs in plain words, run by hand."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_NAMES = "xyz"
_TIMES = {2: "twice", 3: "three times", 4: "four times"}
_RULE = re.compile(
    r"(?:if \$([xyz])\$ is (even|odd|greater than|less than)(?: \$(\w+)\$)?, )?"
    r"(?:\$([xyz])\$ becomes \$(.+?)\$|\$([xyz])\$ and \$([xyz])\$ swap their values)"
)
_SUM = re.compile(r"(-?)(\d*)([xyz]?)")


@attrs.frozen
class _Rule:
    """If a test holds, a variable becomes a sum, or two of them swap."""

    text: str
    test: Callable[[dict[str, int]], bool]
    act: Callable[[dict[str, int]], None]


@attrs.frozen(kw_only=True)
class ProgramTrace(Family):
    """What the variables of a short program hold when its loop has ended."""

    name = "program-trace"
    tag = "discrete/programs"
    wordings = Wordings(
        one=(
            "A program begins with <begin:text>. Then it does the following <rounds:text>, in this "
            "order: <rules:text>. What is the value of $<asked:word>$ at the end?",
            "At first, <begin:text>. These steps are carried out <rounds:text>, each time in this "
            "order: <rules:text>. Which value does $<asked:word>$ have then?",
        ),
        all=(
            "A program begins with <begin:text>. Then it does the following <rounds:text>, in this "
            "order: <rules:text>. Give the final values $(<names:text>)$.",
        ),
    )

    rounds: Ends = dial(2, 6, "how often the steps are carried out", least=2, most=40)
    rules: Ends = dial(2, 4, "how many steps there are", least=2, most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        rounds = base.whole_near(rng, base.steady(self.rounds, difficulty))
        count = base.whole_near(rng, base.steady(self.rules, difficulty))
        names = _NAMES[: 2 + (count > 3)]
        for _ in range(20):  # until the numbers stay small and none is idle
            begin = {name: base.whole(rng, 1, 9) for name in names}
            rules = [_rule(rng, place, names) for place in range(count)]
            rows = _run(begin, rules, rounds)
            last = rows[-1]
            if max(map(abs, last.values())) < 3000 and last != begin:
                break
        listed = [f"${name} = {value}$" for name, value in begin.items()]
        values: dict[str, Any] = {
            "begin": f"{', '.join(listed[:-1])} and {listed[-1]}",
            "rounds": _TIMES.get(rounds, f"${rounds}$ times"),
            "rules": "; ".join(rule.text for rule in rules),
        }
        shown = ", then ".join(f"${tuple(row.values())}$" for row in rows)
        steps = f"After each round $({', '.join(names)})$ is {shown}."
        if rng.random() < 0.3:
            values["names"] = ", ".join(names)
            answer = gold.ordered(list(last.values()), names=tuple(names))
            return Drawn(ask="all", values=values, gold=answer, steps=steps)
        values["asked"] = asked = base.chosen(rng, names)
        return Drawn(ask="one", values=values, gold=gold.integer(last[asked]), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The words of the text are carried out one by one.
        state = {
            name: int(value) for name, value in re.findall(r"\$([xyz]) = (\d+)\$", values["begin"])
        }
        words = {said: number for number, said in _TIMES.items()}
        rounds = words.get(values["rounds"]) or int(values["rounds"].split("$")[1])
        for _ in range(rounds):
            for text in values["rules"].split("; "):
                match = _RULE.fullmatch(text)
                if match is None:
                    return None
                who, how, limit, target, total, one, other = match.groups()
                if who:
                    bound = state[limit] if limit in state else int(limit or 0)
                    holds = {
                        "even": state[who] % 2 == 0,
                        "odd": state[who] % 2 == 1,
                        "greater than": state[who] > bound,
                        "less than": state[who] < bound,
                    }[how]
                    if not holds:
                        continue
                if target:
                    state[target] = _total(total, state)
                else:
                    state[one], state[other] = state[other], state[one]
        if ask == "all":
            names = values["names"].split(", ")
            return gold.ordered([state[name] for name in names], names=tuple(names))
        return gold.integer(state[values["asked"]])


def _total(text: str, state: Mapping[str, int]) -> int:
    total = 0
    for part in text.replace(" - ", " + -").split(" + "):
        sign, factor, name = _SUM.fullmatch(part).groups()  # type: ignore[union-attr]
        size = int(factor or 1) * (state[name] if name else 1)
        total += -size if sign else size
    return total


def _run(begin: Mapping[str, int], rules: Sequence[_Rule], rounds: int) -> list[dict[str, int]]:
    state, rows = dict(begin), []
    for _ in range(rounds):
        for rule in rules:
            if rule.test(state):
                rule.act(state)
        rows.append(dict(state))
    return rows


def _rule(rng: random.Random, place: int, names: str) -> _Rule:
    target = names[place % len(names)]
    other = base.chosen(rng, [name for name in names if name != target])
    number = base.whole(rng, 1, 6)
    kind = rng.random()
    act: Callable[[dict[str, int]], None]
    if kind < 0.3:
        text = f"${target}$ becomes ${target} + {other}$"

        def act(state: dict[str, int]) -> None:
            state[target] += state[other]

    elif kind < 0.5:
        text = f"${target}$ becomes ${other} - {number}$"

        def act(state: dict[str, int]) -> None:
            state[target] = state[other] - number

    elif kind < 0.7:
        text = f"${target}$ becomes $2{target} - {number}$"

        def act(state: dict[str, int]) -> None:
            state[target] = state[target] * 2 - number

    elif kind < 0.85:
        text = f"${target}$ becomes ${target} + {number}$"

        def act(state: dict[str, int]) -> None:
            state[target] += number

    else:
        text = f"${target}$ and ${other}$ swap their values"

        def act(state: dict[str, int]) -> None:
            state[target], state[other] = state[other], state[target]

    if rng.random() < 0.55:
        return _Rule(text, lambda _state: True, act)
    tested, limit = base.chosen(rng, names), base.whole(rng, 3, 12)
    if rng.random() < 0.5:
        odd = rng.random() < 0.5
        words = f"if ${tested}$ is {'odd' if odd else 'even'}"
        return _Rule(f"{words}, {text}", lambda state: state[tested] & 1 == odd, act)
    if rng.random() < 0.5:
        words = f"if ${tested}$ is greater than ${limit}$"
        return _Rule(f"{words}, {text}", lambda state: state[tested] > limit, act)
    beside = base.chosen(rng, [name for name in names if name != tested])
    words = f"if ${tested}$ is less than ${beside}$"
    return _Rule(f"{words}, {text}", lambda state: state[tested] < state[beside], act)
