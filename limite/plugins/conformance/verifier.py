"""Laws of verifiers: a verifier is the reward, so its mistakes are what the policy learns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from limite.core.kinds import Verifier
from limite.core.types import Answer, Verdict

integers = st.integers(-(10**40), 10**40)
golds = integers.map(lambda number: Answer(type="integer", value=str(number)))
# Half of the texts are made of the marks that answers are made of.
texts = st.text(max_size=60) | st.text("0123456789+-*/#.,=()\\{}boxed $^_\u2212\n", max_size=60)


def verifier_laws(component: Verifier) -> dict[str, Callable[[], None]]:
    """A test per law of verifiers, by name.

    How an answer is stated is asked of the verifier's own ``write(answer)`` where it has one; else
    it is the marker ``#`` and the answer.
    """
    return {
        law.__name__: functools.partial(law, component)
        for law in (
            its_own_gold_is_right,
            another_value_is_wrong,
            containing_the_gold_is_not_enough,
            any_text_gets_a_verdict,
            an_unreadable_gold_pays_nothing,
            the_same_text_gets_the_same_verdict,
            long_texts_get_a_verdict,
            many_at_once_are_judged_as_one_by_one,
        )
    }


def write(component: Verifier, answer: Answer) -> str:
    """A response that states ``answer``."""
    writer = getattr(component, "write", None)
    return str(writer(answer)) if callable(writer) else f"#{answer.value}"


def its_own_gold_is_right(component: Verifier) -> None:
    @given(gold=golds)
    def check(gold: Answer) -> None:
        verdict = component(gold, write(component, gold))
        assert verdict.outcome == "right", f"{gold.value} is {verdict.outcome}: {verdict.reason}"

    check()


def another_value_is_wrong(component: Verifier) -> None:
    @given(gold=golds, change=integers.filter(bool))
    def check(gold: Answer, change: int) -> None:
        value = int(gold.value)
        for wrong in {value + change, value + 1, value - 1, 10 * value, -value} - {value}:
            other = attrs.evolve(gold, value=str(wrong))
            assert not component(gold, write(component, other)).correct, (
                f"{other.value} passes for {gold.value}"
            )

    check()


def containing_the_gold_is_not_enough(component: Verifier) -> None:
    @given(gold=golds, digit=st.sampled_from("123456789"))
    def check(gold: Answer, digit: str) -> None:
        for value in (f"{gold.value}{digit}", f"{digit}{gold.value.lstrip('-')}"):
            given_answer = attrs.evolve(gold, value=value)
            verdict = component(gold, write(component, given_answer))
            assert not verdict.correct or int(value) == int(gold.value), (
                f"{value} passes for {gold.value}"
            )

    check()


def any_text_gets_a_verdict(component: Verifier) -> None:
    @given(gold=golds, text=texts)
    def check(gold: Answer, text: str) -> None:
        _is_verdict(component(gold, text))
        _is_verdict(component(gold, write(component, gold) + text))

    check()


def an_unreadable_gold_pays_nothing(component: Verifier) -> None:
    @given(kind=st.sampled_from(["integer", "rational", "no-such-type"]), value=texts)
    def check(kind: str, value: str) -> None:
        gold = Answer(type=kind, value=f"?{value}")
        verdict = component(gold, write(component, gold))
        _is_verdict(verdict)
        assert not verdict.correct, f"the gold {gold.value!r} is no {kind}, and still passes"

    check()


def the_same_text_gets_the_same_verdict(component: Verifier) -> None:
    @given(gold=golds, text=texts)
    def check(gold: Answer, text: str) -> None:
        assert component(gold, text) == component(gold, text)

    check()


def long_texts_get_a_verdict(component: Verifier) -> None:
    gold = Answer(type="integer", value="42")
    stated = write(component, gold)
    verdict = component(gold, stated * 20_000)
    _is_verdict(verdict)
    if not getattr(component, "last_counts", False):
        assert not verdict.correct, "an answer stated again and again passes for one"
    longer = write(component, attrs.evolve(gold, value=f"42{'0' * 1_000_000}"))
    for text in ("9" * 1_000_000, longer, "(" * 100_000):
        verdict = component(gold, text)
        _is_verdict(verdict)
        assert not verdict.correct, f"{text[:20]!r}... passes for 42"


def many_at_once_are_judged_as_one_by_one(component: Verifier) -> None:
    judge = getattr(component, "judge", None)
    odd = st.sampled_from(
        [{}, {}, {"type": "no-such-type"}, {"params": {"given": b"no plain data"}}]
    )

    @given(drawn=st.lists(st.tuples(golds, odd, st.none() | texts), max_size=6))
    def check(drawn: list[tuple[Answer, dict[str, Any], str | None]]) -> None:
        assert judge is not None
        pairs = [
            (attrs.evolve(gold, **changes), write(component, gold) if text is None else text)
            for gold, changes, text in drawn
        ]
        together = list(judge(pairs))
        alone = [component(gold, text) for gold, text in pairs]
        assert together == alone, f"{pairs!r} is {together!r} at once and {alone!r} one by one"

    if judge is not None:  # a verifier need not offer it
        check()


def _is_verdict(verdict: object) -> None:
    assert isinstance(verdict, Verdict), f"{verdict!r} is not a Verdict"
    assert verdict.outcome in ("right", "wrong", "unreadable", "timed-out"), verdict.outcome
