"""The nine short families: their laws, the truth of every step they write, and their sizes."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from fractions import Fraction

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.tokenizer import CharacterTokenizer
from limite.plugins.conformance.generator import difficulties, generator_laws, seeds
from limite.problems.procedural import arithmetic
from limite.problems.procedural.base import MARKER
from limite.problems.procedural.gcd import Gcd
from limite.problems.procedural.linear_equation import LinearEquation
from limite.problems.procedural.linear_system import LinearSystem
from limite.problems.procedural.mean import Mean
from limite.problems.procedural.modular_expression import ModularExpression
from limite.problems.procedural.product import Product
from limite.problems.procedural.progression import Progression
from limite.problems.procedural.quotient import Quotient
from limite.problems.procedural.sum_chain import SumChain

FAMILIES = {
    "sum-chain": SumChain(),
    "linear-equation": LinearEquation(),
    "modular-expression": ModularExpression(),
    "gcd": Gcd(),
    "linear-system": LinearSystem(),
    "product": Product(),
    "quotient": Quotient(),
    "progression": Progression(),
    "mean": Mean(),
}
LAWS = {
    f"{name}-{law}": run
    for name, family in FAMILIES.items()
    for law, run in generator_laws(family).items()
}
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_laws(law):
    law()


def unknowns(problem):
    """The values of x and y, read from the question alone."""
    equations = [part.split("=") for part in problem.problem.split(", ")[:-1]]
    forms = [tuple(arithmetic.linear_form(side) for side in equation) for equation in equations]
    rows = [
        [left.get(letter, 0) - right.get(letter, 0) for letter in ("x", "y")]
        + [right.get("", 0) - left.get("", 0)]
        for left, right in forms
    ]
    if len(rows) == 1:
        return {"x": Fraction(rows[0][2]) / rows[0][0]}
    for x in range(-200, 201):
        for y in [Fraction(rows[0][2] - rows[0][0] * x) / rows[0][1]]:
            if rows[1][0] * x + rows[1][1] * y == rows[1][2]:
                return {"x": Fraction(x), "y": y}
    raise AssertionError(f"no solution found for {problem.problem}")


@families
@given(seed=seeds, difficulty=difficulties)
def test_every_step_is_true(family, seed, difficulty):
    problem = family.sample(random.Random(seed), difficulty)
    values = unknowns(problem) if ", " in problem.problem else {}
    assert set(problem.solutions) == {"direct", "coarse", "fine"}
    assert problem.solutions["direct"] == f"{MARKER}{problem.answer.value}"
    for style, text in problem.solutions.items():
        steps, _, answer = text.partition(MARKER)
        assert answer == problem.answer.value
        assert bool(steps) == (style != "direct")
        for step in steps.split(";") if steps else []:
            left, right = (
                arithmetic.substitute(arithmetic.linear_form(side), values)
                for side in step.split("=")
            )
            assert left == right, f"{step!r} in {text!r} for {problem.problem!r}"


@families
@given(seed=seeds, difficulty=difficulties)
def test_texts_are_short_and_the_tokenizer_knows_their_characters(family, seed, difficulty):
    problem = family.sample(random.Random(seed), difficulty)
    tokenizer = CharacterTokenizer()
    for text in (problem.problem, *problem.solutions.values()):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(problem.problem) <= 32
    assert len(problem.solutions["coarse"]) <= 110
    assert len(problem.solutions["fine"]) <= 180


@families
@given(seed=seeds, difficulty=difficulties)
def test_a_problem_says_where_it_came_from(family, seed, difficulty):
    problem = family.sample(random.Random(seed), difficulty)
    name = next(name for name, known in FAMILIES.items() if known is family)
    assert problem.source == {"kind": "procedural", "generator": name, "version": 1}
    assert problem.difficulty == {"level": round(100 * difficulty)}
    assert problem.answer.type == "integer"
    assert problem.tags


@families
@given(seed=seeds, difficulty=difficulties)
def test_no_degenerate_text(family, seed, difficulty):
    problem = family.sample(random.Random(seed), difficulty)
    for text in (problem.problem, *problem.solutions.values()):
        assert not re.search(r"(?<!\d)[01][xy]|\+-|--|/1;", text), text
    assert not re.search(r"mod 1=|(?<!\d)[01]\*|\*[01](?!\d)", problem.problem), problem.problem


@families
def test_it_gets_harder_everywhere(family):
    """Mean size of question and steps rises with every fifth of the dial."""
    stream = random.Random(7)
    sizes = []
    for step in range(6):
        problems = [family.sample(stream, step / 5) for _ in range(1500)]
        sizes.append(sum(len(p.problem) + len(p.solutions["fine"]) for p in problems) / 1500)
    assert sizes == sorted(sizes), sizes
    assert sizes[-1] > 1.15 * sizes[0]


@families
@given(seed=seeds, difficulty=st.sampled_from([-0.1, 1.1, float("nan"), float("inf")]))
def test_a_difficulty_off_the_dial_is_refused(family, seed, difficulty):
    with pytest.raises(LimiteError, match="0 to 1"):
        family.sample(random.Random(seed), difficulty)


@families
@given(seed=seeds, text=st.text("0123456789+-*/()=,;.?# xymodgc", max_size=40))
def test_check_is_total(family, seed, text):
    problem = family.sample(random.Random(seed), 0.5)
    for broken in (text, problem.problem[:-2], problem.problem + text, problem.problem[1:]):
        assert family.check(attrs.evolve(problem, problem=broken)) in (True, False)
    for value in ("", "x", "007", "1.0", "9" * 5000):
        answer = attrs.evolve(problem.answer, value=value)
        assert not family.check(attrs.evolve(problem, answer=answer))


@families
@pytest.mark.parametrize("cell", [(0.0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1.0)])
def test_every_third_of_the_dial_has_over_a_thousand_problems(family, cell):
    stream = random.Random(3)
    low, high = cell
    seen = {
        family.sample(stream, low + (high - low) * stream.random()).problem for _ in range(6000)
    }
    assert len(seen) > 1000


PROGRAM = """
import random
from limite.problems.procedural import gcd, linear_equation, linear_system
from limite.problems.procedural import modular_expression, sum_chain
for family in (sum_chain.SumChain(), linear_equation.LinearEquation(), gcd.Gcd(),
               modular_expression.ModularExpression(), linear_system.LinearSystem()):
    stream = random.Random(11)
    for step in range(21):
        problem = family.sample(stream, step / 20)
        print(problem.id, problem.problem, dict(problem.solutions), problem.source, problem.tags)
"""


def test_the_same_in_every_process_whatever_its_hash_seed():
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 105


@pytest.mark.parametrize(
    ("family", "setting", "value"),
    [
        (SumChain, "terms", (4.0, 2.0)),
        (SumChain, "terms", (1.0, 2.0)),
        (SumChain, "largest", (30.0, float("nan"))),
        (LinearEquation, "both_sides", (0.0, 1.5)),
        (LinearEquation, "coefficient", (2.0, 5.0)),
        (ModularExpression, "modulus", (1.0, 5.0)),
        (Gcd, "cofactor", (4.0,)),
        (LinearSystem, "solution", (0.0, 5.0)),
    ],
)
def test_settings_that_make_no_sense_are_refused(family, setting, value):
    with pytest.raises(ValueError, match=setting):
        family(**{setting: value})


@given(seed=seeds, difficulty=difficulties)
def test_other_sizes_hold_the_laws_too(seed, difficulty):
    for family in (
        SumChain(terms=(2.0, 20.0), largest=(3.0, 99_999.0)),
        LinearEquation(coefficient=(3.0, 3.0), solution=(2.0, 2.0), constant=(2.0, 2.0)),
        ModularExpression(operations=(12.0, 12.0), largest=(3.0, 9.0), modulus=(3.0, 3.0)),
        Gcd(divisor=(2.0, 900.0), cofactor=(4.0, 900.0)),
        LinearSystem(coefficient=(2.0, 99.0), solution=(2.0, 999.0)),
    ):
        problem = family.sample(random.Random(seed), difficulty)
        assert family.check(problem), problem
