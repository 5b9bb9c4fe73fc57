"""majority@n against the plainest way to count it, and as the verifier compares answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limite.core.types import Answer, Verdict
from limite.evaluate.majority import majority, majority_correct
from limite.problems.verifiers.exact import Exact

FIVE = Answer(type="integer", value="5")


def plainly(votes):
    """Counts every vote against every other, and looks from the front for the largest count."""
    voted = [vote for vote in votes if vote is not None]
    if not voted:
        return None
    largest = max(sum(other == vote for other in voted) for vote in voted)
    return next(v for v in voted if sum(other == v for other in voted) == largest)


@given(st.lists(st.sampled_from([None, "a", "b", "c"]), max_size=12))
def test_the_most_frequent_and_the_earlier_of_equals(votes):
    assert majority(votes) == plainly(votes)


def test_ties_and_silence():
    assert majority(["b", "a", "a", "b"]) == "b"
    assert majority([None, "a", "b"]) == "a"
    assert majority([None, None]) is None
    assert majority([]) is None


def by_exact(gold, texts):
    verdicts = [Exact()(gold, f"#{text}") if text is not None else None for text in texts]
    correct = [verdict is not None and verdict.correct for verdict in verdicts]
    return majority_correct([(gold, texts, correct)], Exact())


def test_wrong_answers_that_are_one_value_are_one_vote():
    assert by_exact(FIVE, ["5", "5", "7", "07"]) == 1  # a tie, and 5 came first
    assert by_exact(FIVE, ["7", "5", "5", "07"]) == 0  # a tie that 7 began
    assert by_exact(FIVE, ["5", "5", "7", "07", "+7"]) == 0
    assert by_exact(FIVE, ["5", "5", "7", "8", "9"]) == 1
    assert by_exact(FIVE, ["05", "+5", "7", "7", None]) == 1
    assert by_exact(FIVE, [None, None, None]) == 0


integers = st.sampled_from([None, "5", "05", "7", "07", "+7", "8", "08", "x"])


@given(st.lists(integers, min_size=1, max_size=9))
def test_answers_are_compared_by_their_value(texts):
    def value(text):
        return text if text in (None, "x") else str(int(text))

    assert by_exact(FIVE, texts) == (plainly([value(text) for text in texts]) == "5")


def test_a_verifier_that_cannot_write_is_asked_nothing():
    def silent(answer, text):
        raise AssertionError("asked")

    assert majority_correct([(FIVE, ["5", "7", "07"], [True, False, False])], silent) == 1


def test_the_verifier_is_asked_only_where_it_decides():
    asked = []

    class Counting:
        def write(self, answer):
            return answer.value

        def __call__(self, answer, text):
            asked.append((answer.value, text))
            return Verdict(outcome="wrong")

    clear = (FIVE, ["5", "5", "5", "7", "8"], [True, True, True, False, False])
    lost = (FIVE, ["7", "7", "5"], [False, False, True])
    alone = (FIVE, ["5", "7", "8"], [True, False, False])
    assert majority_correct([clear, lost, alone], Counting()) == 2
    assert asked == [("7", "8")]
