"""The four grading protocols, on responses where they part."""

from __future__ import annotations

import pytest

from limite.core.errors import LimiteError
from limite.core.types import Answer, Verdict
from limite.evaluate.grading import read
from limite.evaluate.grading.protocols import Grading, told
from limite.problems.verifiers.math_verify_equal import equal

HALF = Answer(type="rational", value="1/2")
# text, reference, lenient, permissive, format_ok, shape
CASES = {
    "boxed": ("so \\boxed{\\frac{1}{2}}", True, True, True, True, ""),
    "another form": ("so \\boxed{0.5}", True, True, True, True, ""),
    "last box counts": ("\\boxed{1/2} no, \\boxed{1/3}", False, False, True, True, "W"),
    "first box does not": ("\\boxed{1/3} no, \\boxed{1/2}", True, True, True, True, ""),
    "behind thinking": ("<think>\\boxed{1/3}</think> \\boxed{1/2}", True, True, True, True, ""),
    "only in thinking": ("<think>\\boxed{1/2}</think> done", False, False, True, False, "N"),
    "thinking left open": ("<think> it is \\boxed{1/2}", False, True, True, False, "U"),
    "box left open": ("so \\boxed{\\frac{1}{2}", False, True, True, False, "E"),
    "empty box": ("1/2 \\boxed{}", False, True, True, False, "E"),
    "stated": ("hm\nThe final answer is: $1/2$.", False, True, True, False, "N"),
    "stated with a sign": ("Answer = 1/2", False, True, True, False, "N"),
    "last formula": ("thus $x=3$ and $\\frac12$", False, True, True, False, "N"),
    "last number": ("we get 3 and then 0.5", False, True, True, False, "N"),
    "first number": ("we get 0.5 and then 3", False, False, True, False, "N"),
    "earlier line": ("the answer is 1/2\nso be it, 7", False, False, True, False, "N"),
    "nothing": ("I do not know", False, False, False, False, "N"),
    "no text": ("", False, False, False, False, "N"),
    "half a set": ("\\boxed{\\{1/2, 1\\}}", False, False, True, True, "W"),
}


@pytest.mark.parametrize("name", CASES)
def test_protocols_part_where_they_should(name):
    text, *expected = CASES[name]
    marks = Grading(headline="reference").marks([(HALF, text)])[0]
    assert marks.exact is None
    found = [marks.reference.correct, marks.lenient, marks.permissive, marks.boxed, marks.shape]
    assert found == expected


class Shouted:
    """The grader of a publisher that wants capital letters."""

    def __call__(self, answer: Answer, text: str) -> Verdict:
        right = f"ANSWER {answer.value}" in text
        return Verdict(outcome="right" if right else "wrong")


def test_the_publisher_s_own_grader_is_the_base_of_the_wider_ones():
    pairs = [(HALF, "ANSWER 1/2!"), (HALF, "\\boxed{1/2}"), (HALF, "\\boxed{3}")]
    grading = Grading.of("exact", Shouted(), "shouted")
    marks = grading.marks(pairs)
    assert [each.says("exact") for each in marks] == [True, False, False]
    assert [each.says("reference") for each in marks] == [False, True, False]
    assert [each.says("lenient") for each in marks] == [True, True, False]
    assert [each.correct for each in grading.judge(pairs)] == [True, False, False]
    assert (grading.base, Grading(headline="lenient").base) == ("exact", "reference")
    assert grading.record["exact"] == "shouted"
    figures = told(marks, [False, False, True], grading)
    assert figures["protocols"]["lenient"] == {
        "correct": 2, "total": 3, "score": 2 / 3, "base": "exact",
    }  # fmt: skip
    with pytest.raises(LimiteError, match="--grading exact: the benchmark names no grader"):
        Grading.of("exact", None, None)


def test_diagnostics_leave_out_what_was_cut_off_inside_its_thinking():
    texts = ["\\boxed{1/2}", "<think>1/2", "<think>\\boxed{3}", "I pass"]
    grading = Grading(headline="reference")
    marks = grading.marks([(HALF, text) for text in texts])
    found = told(marks, [False, True, False, False], grading)
    assert found["format_ok"] == {"count": 1, "total": 3}
    assert found["truncated"] == {"count": 1, "total": 4}
    assert found["shapes"] == {"N": 1, "U": 2}
    assert found["protocols"]["exact"] == {
        "absent": "no grader of the benchmark's publisher is named"
    }
    assert found["protocols"]["reference"] == {"correct": 1, "total": 4, "score": 0.25}


@pytest.mark.parametrize(
    ("gold", "stated", "same"),
    [
        ("336^\\circ", "336", True),
        ("\\frac{1}{2}", "0.5", True),
        ("x+1", "1+x", True),
        ("42", "43", False),
        ("1,2", "2,1", True),
        ("}", "{", False),
        ("9" * 20_001, "9" * 20_001, False),  # too long to be parsed
    ],
)
def test_answers_are_equal_to_the_comparator(gold, stated, same):
    assert equal([(gold, stated)])[0].correct == same


@pytest.mark.nightly
def test_an_answer_that_takes_too_long_is_timed_out_and_the_next_is_not():
    found = equal([("1", "10^{10^{10^{10}}}!"), ("7", "7")])
    assert found[1].correct
    assert not found[0].correct


def test_a_gold_answer_may_stand_in_a_box():
    assert read.unboxed(" \\boxed{\\frac{1}{2}} ") == "\\frac{1}{2}"
    assert read.unboxed("\\boxed{1} and \\boxed{2}") == "\\boxed{1} and \\boxed{2}"
    assert Grading(headline="reference")(
        Answer(type="string", value="\\boxed{7}"), "\\boxed{7}"
    ).correct


def test_only_the_last_candidates_are_looked_at():
    text = " ".join(map(str, range(1, 100)))
    found = read.candidates(text)
    assert (len(found), found[0], found[-1]) == (64, "99", "36")
    assert read.candidates("1,234 and $1234$") == ["1234"]
