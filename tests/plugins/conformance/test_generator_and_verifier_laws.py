"""Each law catches the fault it is for: broken components must not pass."""

from __future__ import annotations

import random
from fractions import Fraction

import attrs
import pytest
from hypothesis import Phase, settings

from limite.core.types import Answer, Verdict
from limite.plugins.conformance.generator import generator_laws
from limite.plugins.conformance.verifier import verifier_laws
from limite.problems.procedural.sum_chain import SumChain
from limite.problems.verifiers.exact import Exact


@pytest.fixture(autouse=True, scope="module")
def failures_are_not_shrunk():
    before = settings.get_current_profile_name()
    settings.register_profile(
        "first-failure", derandomize=True, database=None, deadline=None, phases=[Phase.generate]
    )
    settings.load_profile("first-failure")
    yield
    settings.load_profile(before)


class Generator:
    """A sound generator, to be broken in one place."""

    def sample(self, rng, difficulty):
        return SumChain().sample(rng, difficulty)

    def check(self, problem):
        return SumChain().check(problem)


class Remembers(Generator):
    count = 0

    def sample(self, rng, difficulty):
        self.count += 1
        return SumChain().sample(random.Random(self.count), difficulty)


class UsesGlobalRandom(Generator):
    def sample(self, rng, difficulty):
        random.random()
        return SumChain().sample(rng, difficulty)


class WrongGold(Generator):
    def sample(self, rng, difficulty):
        problem = SumChain().sample(rng, difficulty)
        value = str(int(problem.answer.value) + (rng.random() < 0.5))
        return attrs.evolve(problem, answer=Answer(type="integer", value=value))


class ChecksNothing(Generator):
    def check(self, problem):
        return True


class WrongSolution(Generator):
    def sample(self, rng, difficulty):
        problem = SumChain().sample(rng, difficulty)
        return attrs.evolve(problem, solutions={**problem.solutions, "coarse": "#1#2"})


class Unfilled(Generator):
    def sample(self, rng, difficulty):
        problem = SumChain().sample(rng, difficulty)
        return attrs.evolve(problem, problem="{number}+1=?")

    def check(self, problem):
        return True


@pytest.mark.parametrize(
    ("component", "law"),
    [
        (Remembers(), "same_stream_same_problem"),
        (UsesGlobalRandom(), "global_random_state_is_untouched"),
        (WrongGold(), "the_gold_is_confirmed"),
        (ChecksNothing(), "another_gold_is_refused"),
        (WrongSolution(), "solutions_verify"),
        (Unfilled(), "the_text_is_finished"),
    ],
)
def test_a_broken_generator_is_caught(component, law):
    with pytest.raises(AssertionError):
        generator_laws(component)[law]()


def test_a_lenient_verifier_is_caught_by_the_law_of_generators():
    def lenient(answer, text):
        return Verdict(outcome="right")

    with pytest.raises(AssertionError):
        generator_laws(Generator(), verifier=lenient)["another_answer_is_wrong"]()


@pytest.mark.parametrize("law", list(generator_laws(Generator())))
def test_a_sound_generator_passes(law):
    generator_laws(Generator())[law]()


def says(right):
    """A verifier from a rule on (gold, stated answer)."""

    def verifier(answer, text):
        return Verdict(outcome="right" if right(answer.value, text[1:]) else "wrong")

    return verifier


def rounded(gold, stated):
    try:
        return abs(float(gold) - float(stated)) <= 1e-9 * abs(float(gold))
    except ValueError:
        return False


def raises(answer, text):
    value = Fraction(text[1:])
    return Verdict(outcome="right" if value == Fraction(answer.value) else "wrong")


def pays_for_a_bad_gold(answer, text):
    try:
        int(answer.value)
    except ValueError:
        return Verdict(outcome="right")
    return Exact()(answer, text)


def forgets(answer, text, seen=[]):  # noqa: B006
    seen.append(text)
    return attrs.evolve(Exact()(answer, text), reason=str(len(seen)))


class Batches:
    """A verifier of batches, from a rule on the verdicts of one by one."""

    def __init__(self, rule):
        self.rule = rule

    def __call__(self, answer, text):
        return Exact()(answer, text)

    def judge(self, pairs):
        return self.rule([self(answer, text) for answer, text in pairs])


def gives_up_together(verdicts):
    unsound = any("no-such-type" in verdict.reason for verdict in verdicts)
    return [Verdict(outcome="unreadable") for _ in verdicts] if unsound else verdicts


@pytest.mark.parametrize(
    ("component", "law"),
    [
        (says(lambda gold, stated: False), "its_own_gold_is_right"),
        (says(lambda gold, stated: True), "another_value_is_wrong"),
        (says(rounded), "another_value_is_wrong"),
        (says(lambda gold, stated: gold in stated), "containing_the_gold_is_not_enough"),
        (says(lambda gold, stated: stated.startswith(gold)), "long_texts_get_a_verdict"),
        (raises, "any_text_gets_a_verdict"),
        (pays_for_a_bad_gold, "an_unreadable_gold_pays_nothing"),
        (forgets, "the_same_text_gets_the_same_verdict"),
        (Batches(lambda verdicts: verdicts[::-1]), "many_at_once_are_judged_as_one_by_one"),
        (Batches(lambda verdicts: verdicts[:-1]), "many_at_once_are_judged_as_one_by_one"),
        (Batches(gives_up_together), "many_at_once_are_judged_as_one_by_one"),
    ],
)
def test_a_broken_verifier_is_caught(component, law):
    with pytest.raises((AssertionError, ValueError)):
        verifier_laws(component)[law]()


@pytest.mark.parametrize("law", list(verifier_laws(Exact())))
def test_a_sound_verifier_passes(law):
    verifier_laws(Exact())[law]()
    verifier_laws(Batches(list))[law]()
