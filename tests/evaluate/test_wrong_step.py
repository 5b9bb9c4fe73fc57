"""Where a response first goes wrong: found where it was planted, and never in a sound solution."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.types import Answer, Problem, Verdict
from limite.evaluate.shipped import FOLDER, shipped
from limite.evaluate.wrong_step import equations_of, value_of, wrong_step
from limite.problems import files

UNREADABLE = Verdict(outcome="unreadable")


def solved() -> list[tuple[Problem, str]]:
    return [
        (problem, text)
        for about in shipped().values()
        for problem in files.iterate(FOLDER / about["file"])
        for text in problem.solutions.values()
    ]


def step_in(text: str, problem: str = "?", solution: str = "") -> tuple[str, str, str] | None:
    asked = Problem(
        problem=problem,
        answer=Answer(type="integer", value="5"),
        solutions={"words": solution} if solution else {},
    )
    found = wrong_step(asked, text, UNREADABLE)
    return None if found is None else (found.kind, text[found.start : found.end], found.right)


def test_no_worked_solution_has_a_wrong_step():
    checked = 0
    for problem, text in solved():
        assert wrong_step(problem, text, UNREADABLE) is None, text
        checked += sum(
            value_of(each.left) is not None and value_of(each.right.strip()) is not None
            for each in equations_of(text)
        )
    assert checked > 250  # equations that were worked out, and hold


def test_a_planted_mistake_is_found_where_it_is():
    """The last digit of every true equation between numbers, made another one in turn."""
    planted = found = 0
    for problem, text in solved()[::3]:
        for each in equations_of(text):
            right = each.right.strip()
            holds = value_of(each.left) is not None and value_of(each.left) == value_of(right)
            if not (holds and right.isdigit() and re.search(r"[0-9)}]\s*(?:\+|\\cdot)", each.left)):
                continue
            planted += 1
            end = each.end - 1
            other = str((int(text[end]) + 1) % 10)
            step = wrong_step(problem, text[:end] + other + text[end + 1 :], UNREADABLE)
            found += step is not None and (step.kind, step.end) == ("equation", each.end)
    assert planted > 40
    assert found >= 0.9 * planted


@pytest.mark.parametrize(
    ("text", "said", "right"),
    [
        ("So 3 + 4 = 8.", "3 + 4 = 8", "7"),
        ("34+56=91#91", "34+56=91", "90"),
        ("- 3 + 4 = 8", "- 3 + 4 = 8", "1"),
        ("1. 3 + 4 = 9", "3 + 4 = 9", "7"),
        ("Step 2: 3 + 4 = 9", "3 + 4 = 9", "7"),
        (r"\[ 3 \cdot 4 = 13 \]", r"3 \cdot 4 = 13", "12"),
        ("a = 3*4 = 13 = 13", "3*4 = 13", "12"),
        ("7 = 3 + 5", "7 = 3 + 5", "8"),
        ("1/3=0.36", "1/3=0.36", "1/3"),
        ("(2+3)(4) = 21", "(2+3)(4) = 21", "20"),
        ("We have 5·3 = 14 apples.", "5·3 = 14 apples", "15"),
        (r"<think>1+1=3</think> Then $\frac{1}{2} + 1 = 2$", r"\frac{1}{2} + 1 = 2", "3/2"),
    ],
)
def test_an_equation_that_does_not_hold(text, said, right):
    assert step_in(text) == ("equation", said, right)


@pytest.mark.parametrize(
    "text",
    [
        "x + 2 = 5", "log 8 = 3", "- 3 + 4 = 7", "f(3) + 2 = 9", "17 = 2 mod 5", "2 + 2 = 4x",
        "If 2 + 2 = 5 then", "is 2+3 = 6?", "1/3 = 0.33", "2/3 = 0.67", "2.5*3.1 = 8",
        "half of 8 + 2 = 5", "3 1/2 = 3.5", r"2\frac{1}{2} = 2.5", "12:30 + 45 = 75", "-2^2 = -4",
        "3*4 = 13 is wrong", r"8 \cdot 2 = 3 \pmod{13}", "1101_2 + 1 = 14", "50% + 1 = 51",
        "3 + 4 = 7 thousand", "2 + 2 != 5", "2 + 2 ≈ 5", "a_1 + 1 = 3", "g(0) = 2*0 + 6",
        "49 : 5 = 49/5", "1,5 + 1 = 3", "10!/8! = 90", "6/2(1+2) = 1", "2 + 2 = 5 \\text{ cm}",
        "x = 3, 4 = y", "1/0 = 5", "9^9^9^9 = 1", "=" * 50, "1 + 1 =", "= 1 + 1", "",
    ],
)  # fmt: skip
def test_what_is_not_meant_or_not_known_is_no_wrong_step(text):
    assert step_in(text) is None


def test_the_first_one_after_the_thinking_comes_before_those_in_it():
    text = "<think>1 + 1 = 3.</think>\nIt is 2 + 2 = 5. And 3 + 3 = 7."
    assert step_in(text) == ("equation", "2 + 2 = 5", "4")
    problem = Problem(problem="?", answer=Answer(type="integer", value="5"))
    thought = wrong_step(problem, "<think>1 + 1 = 3.</think> 5", UNREADABLE)
    assert thought is not None
    assert (thought.thinking, thought.start) == (True, len("<think>"))
    for text, closed in (("2 + 2 = 5 <think>", True), ("2 + 2 = 5", False)):
        thought = wrong_step(problem, text, UNREADABLE, closed=closed)
        assert thought is not None
        assert thought.thinking


QUESTION = "Find $x$ and $y$ with $x + y = 9$ and $x - y = 1$."
SOLUTION = "Adding gives $2x = 10$, so $x = 5$. Then $y = 4$."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Adding gives $x = 6$ and so on.", ("quantity", "x = 6", "x = 5")),
        ("So $x = 5$. Hence $y = 3$.", ("quantity", "y = 3", "y = 4")),
        ("$x = 6$, no: $x = 5$.", None),  # two values: one was tried
        ("Let $x = 6$.", None),
        ("When $x = 6$ it is less.", None),
        ("$z = 6$", None),
        ("$x = 10/2$", None),
        ("$x = 5.01$", None),
    ],
)
def test_a_value_that_the_worked_solution_contradicts(text, found):
    assert step_in(text, QUESTION, SOLUTION) == found
    assert step_in(text, QUESTION) is None
    assert step_in(text, "At first $x = 1$, $y = 2$.", SOLUTION) is None


def test_else_the_answer_is_the_first_thing_known_to_be_wrong():
    problem = Problem(problem="?", answer=Answer(type="integer", value="5"))
    text = "It is 7, surely. \\boxed{7}"
    found = wrong_step(problem, text, Verdict(outcome="wrong", extracted="7"))
    assert found is not None
    assert (found.kind, found.right, found.start) == ("answer", "5", len(text) - 2)
    assert wrong_step(problem, text, UNREADABLE) is None
    assert wrong_step(problem, "?", Verdict(outcome="wrong", extracted="7")) is None


@given(st.text("0123456789+-*/=().,\n$\\frac{}abx <think>^!:%_", max_size=200))
def test_any_text_is_looked_at(text):
    found = step_in(text)
    assert found is None or found[1] in text
