"""Composed problems: answers written into the next question, and read back from it."""

from __future__ import annotations

import random
import re

import attrs
import pytest

from limite.core.discover import load_registry
from limite.problems.procedural import chain
from limite.problems.procedural.composed import FAMILIES

every = pytest.mark.parametrize("name", FAMILIES)


def family(name):
    return load_registry().get("generator", name).load()()


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("There are \x00 rows.", "There are $N + 5$ rows."),
        ("Find $\x00!$ now.", "Find $(N + 5)!$ now."),
        ("Find $f(\x00)$.", "Find $f(N + 5)$."),
        ("Solve $x^{\x00} = \x00$.", "Solve $x^{N + 5} = N + 5$."),
        ("Let $\x00x$ be and $7 - \x00$.", "Let $(N + 5)x$ be and $7 - (N + 5)$."),
        (
            "From $1$ to $\x00$, and $1 \\le \x00 \\le 9$.",
            "From $1$ to $N + 5$, and $1 \\le N + 5 \\le 9$.",
        ),
    ],
)
def test_a_number_is_written_as_a_sum_and_read_back(template, shown):
    assert chain._placed(template, "N + 5") == shown
    assert template.replace("\x00", "12") in list(chain._filled(shown, "N", 7))


def test_letters_in_words_are_no_answers():
    assert list(chain._filled("Nina has $3$ pens and $\\Nabla$.", "N", 7)) == []


@every
def test_the_first_family_of_each_place_never_fails(name):
    one = family(name)
    rng = random.Random(name)
    for step in range(200):
        assert one.givers[0].draw(rng, step / 199).gold.answer.type == "integer"
        assert one.middles[0].family.draw(rng, step / 199).gold.answer.type == "integer"
    for links in (one.middles, one.lasts):
        assert set(links[0].slots) == set(links[0].family.wordings.asks)


@every
def test_slots_are_whole_numbers_of_the_wordings(name):
    one = family(name)
    for link in (*one.middles, *one.lasts):
        for ask, slots in link.slots.items():
            for wording in link.family.wordings.asks[ask]:
                assert set(slots) <= wording.slots, (link.family.name, ask)


@every
def test_another_first_answer_is_another_problem(name):
    """With another number in the last question, the answer that was given is not confirmed."""
    one, refused, tried = family(name), 0, 0
    rng = random.Random(name)
    for _ in range(60):
        problem = one.sample(rng, 0.5)
        last = "M" if "$M$" in problem.problem else "N"
        changed = re.sub(
            rf"\b{last} ([-+]) ([0-9]+)",
            lambda match: f"{match[0][0]} {match[1]} {int(match[2]) + 1}",
            problem.problem,
        )
        if changed != problem.problem:
            tried += 1
            refused += not one.check(attrs.evolve(problem, problem=changed))
    assert tried > 40
    assert refused > 0.7 * tried


@every
def test_both_lengths_come_and_chains_grow(name):
    one = family(name)
    rng = random.Random(name)
    assert {one.draw(rng, 0.0).ask for _ in range(40)} == {"two"}
    assert {one.draw(rng, 1.0).ask for _ in range(40)} == {"three"}
