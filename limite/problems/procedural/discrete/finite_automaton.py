"""Automata that read words."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_MOVE = re.compile(r"from state \$(\d+)\$, \$a\$ leads to \$(\d+)\$ and \$b\$ to \$(\d+)\$")
_MACHINE = (
    "A machine starts in state $1$ and reads letters $a$ and $b$: <moves:text>. "
    "It accepts a word if it is in <accepting:text> after the last letter. "
)


@attrs.frozen(kw_only=True)
class FiniteAutomaton(Family):
    """Where an automaton ends, and how many words of a length it accepts."""

    name = "finite-automaton"
    tag = "discrete/automata"
    wordings = Wordings(
        state=(
            "A machine starts in state $1$ and reads letters $a$ and $b$: <moves:text>. In which "
            "state is it after the word $<word:word>$?",
            "A deterministic automaton has the initial state $1$ and these transitions: "
            "<moves:text>. In which state does it end when it reads $<word:word>$?",
        ),
        accepts=(f"{_MACHINE}Does it accept the word $<word:word>$?",),
        count=(
            f"{_MACHINE}How many words of exactly $<length>$ letters does it accept?",
            f"{_MACHINE}How many of all words with $<length>$ letters $a$ or $b$ are accepted?",
        ),
    )

    states: Ends = dial(2, 5, "how many states", least=2, most=8)
    length: Ends = dial(4, 12, "length of the words", least=2, most=60)
    counts: Ends = dial(0.2, 0.8, "share that counts words", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        states = base.whole_near(rng, base.steady(self.states, difficulty))
        length = base.whole_near(rng, base.steady(self.length, difficulty))
        for _ in range(8):  # a state that nothing leaves gives the end away
            moves = _moves(rng, states)
            if all({state} != set(ends) for state, ends in enumerate(moves)):
                break
        accepting = sorted(base.distinct(rng, base.whole(rng, 1, max(1, states // 2)), 1, states))
        values: dict[str, Any] = {
            "moves": "; ".join(
                f"from state ${state}$, $a$ leads to ${to_a + 1}$ and $b$ to ${to_b + 1}$"
                for state, (to_a, to_b) in enumerate(moves, 1)
            ),
            "accepting": " or ".join(f"state ${each}$" for each in accepting),
            "length": length,
        }
        if rng.random() < base.steady(self.counts, difficulty):
            ways = [1, *[0] * (states - 1)]
            rows = []
            for _ in range(length):
                after = [0] * states
                for state, count in enumerate(ways):
                    after[moves[state][0]] += count
                    after[moves[state][1]] += count
                ways = after
                rows.append(f"$({', '.join(map(str, ways))})$")
            if sum(ways[each - 1] for each in accepting) < 2:
                accepting = [1 + ways.index(max(ways))]
                values["accepting"] = f"state ${accepting[0]}$"
            total = sum(ways[each - 1] for each in accepting)
            chosen = " + ".join(str(ways[each - 1]) for each in accepting)
            return Drawn(
                ask="count",
                values=values,
                gold=gold.integer(total),
                steps=f"Count for each length how many words lead to each of the states in order. "
                f"From one letter on this gives {', '.join(rows)}. In accepting states end "
                f"${chosen}$ of the longest ones.",
            )
        word = "".join(base.chosen(rng, "ab") for _ in range(length))
        trail, here = [1], 0
        for letter in word:
            here = moves[here]["ab".index(letter)]
            trail.append(here + 1)
        values["word"] = word
        arrow = " \\to ".join(map(str, trail))
        steps = f"The states are ${arrow}$"
        if rng.random() < 0.5:
            return Drawn(
                ask="state", values=values, gold=gold.integer(trail[-1]), steps=f"{steps}."
            )
        last, wanted = trail[-1], rng.random() < 0.5
        if wanted and last not in accepting:
            accepting = sorted([last, *accepting[1:]])
        elif not wanted and last in accepting:
            others = [each for each in range(1, states + 1) if each not in accepting]
            accepting = sorted([each for each in accepting if each != last] + others[:1])
        values["accepting"] = " or ".join(f"state ${each}$" for each in accepting)
        inside = last in accepting
        return Drawn(
            ask="accepts",
            values=values,
            gold=gold.boolean(inside),
            steps=f"{steps}, and the last one is {'an' if inside else 'no'} accepting state.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        table = {
            int(state): (int(to_a), int(to_b))
            for state, to_a, to_b in _MOVE.findall(values["moves"])
        }
        if ask == "state":
            # The whole word as one map of states, put together letter by letter from the end.
            after = {state: state for state in table}
            for letter in reversed(values["word"]):
                after = {state: after[table[state][letter == "b"]] for state in table}
            return gold.integer(after[1])
        accepting = {int(each) for each in re.findall(r"\d+", values["accepting"])}
        if ask == "accepts":
            good = accepting  # the states from which the rest of the word is accepted
            for letter in reversed(values["word"]):
                good = {state for state in table if table[state][letter == "b"] in good}
            return gold.boolean(1 in good)
        ways = {state: int(state in accepting) for state in table}
        for _ in range(values["length"]):
            ways = {state: ways[to_a] + ways[to_b] for state, (to_a, to_b) in table.items()}
        return gold.integer(ways[1])


def _moves(rng: random.Random, states: int) -> list[list[int]]:
    """Where ``a`` and ``b`` lead, so that every state can be reached from the first."""
    moves = [[-1, -1] for _ in range(states)]
    open_ends = [(0, 0), (0, 1)]
    for state in range(1, states):
        place = int(rng.random() * len(open_ends))
        here, letter = open_ends.pop(place)
        moves[here][letter] = state
        open_ends += [(state, 0), (state, 1)]
    for here, letter in open_ends:
        moves[here][letter] = int(rng.random() * states)
    return moves
