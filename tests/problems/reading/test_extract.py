"""Which part of a response is its answer."""

from __future__ import annotations

import pytest

from limite.problems.reading.extract import extract


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("\\boxed{5}, no: \\boxed{7}.", "7"),
        ("\\boxed {7}", "7"),
        ("\\fbox{7}", "7"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{\\{1,2\\}}", "\\{1,2\\}"),
        ("\\boxed{\\boxed{7}}", "\\boxed{7}"),
        ("\\boxed{5} and \\boxed{7", None),
        ("\\boxed{5} and \\boxed{}", None),
        ("\\boxed{ }", None),
        ("the answer is 7", None),
        ("#### 7", None),
        ("<think>\\boxed{7}</think> nothing", None),
        ("<think>\\boxed{7}", None),
        ("<think>\\boxed{5}</think>\\boxed{7}", "7"),
        ("\\boxedly{7}", None),
        ("", None),
    ],
)
def test_the_last_box_after_the_thinking(text: str, answer: str | None) -> None:
    assert extract(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("so\n#### 7", "7"),
        ("so\n**Answer: 7**", "7"),
        ("Hence the final answer is 7", "7"),
        ("The answer is 7\nand more", None),
        ("#### 7\nand more", None),
        ("#### 5 \\boxed{7}", "7"),
        ("#### 7 \\boxed{", None),
        ("in the end 7", None),
    ],
)
def test_fallbacks(text: str, answer: str | None) -> None:
    assert extract(text, fallbacks=("hash", "answer")) == answer


def test_another_end_of_thinking() -> None:
    assert extract("\\boxed{1}[/T]\\boxed{2}", thinking=("[T]", "[/T]")) == "2"


def test_a_box_far_from_both_ends_is_found() -> None:
    for before in (0, 1, 99_980, 99_990, 100_000, 250_000):
        for behind in (0, 1, 99_980, 99_985, 99_990, 100_000, 250_000):
            assert extract(f"{'a ' * before}\\boxed{{7}}{' b' * behind}") == "7"
