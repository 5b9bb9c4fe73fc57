"""Evaluations with a sampler that says what it is told: counts, protocols, claims, refusals."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Answer, Problem, Response, Verdict
from limite.evaluate.compare import SCOPE, paired_difference, wording
from limite.evaluate.intervals import WITHOUT_SPREAD
from limite.evaluate.measure import evaluate, make_requests, protocol_of
from limite.evaluate.records import records
from limite.evaluate.shares import wilson
from limite.problems.verifiers.exact import Exact

TOKENIZER = CharacterTokenizer()
SAMPLES = 4
PROBLEMS = [
    Problem(
        problem=f"{number}+1=?",
        answer=Answer(type="integer", value=str(number + 1)),
        meta={"arm": "even" if number % 2 == 0 else "odd"},
    )
    for number in range(10)
]


class Scripted:
    """Answers as ``script(problem, sample_index)`` says: a text, and whether it ends by itself."""

    def __init__(self, script):
        self.script = script

    def respond(self, request):
        text, ends = self.script(request.problem, request.sample_index)
        ids = TOKENIZER.encode(text)
        ids = (*ids, TOKENIZER.eos_id) if ends else ids
        return Response(
            problem_id=request.problem.id,
            sample_index=request.sample_index,
            prompt_ids=request.prompt_ids,
            completion_ids=ids,
            logprobs=(-0.5,) * len(ids),
            finish_reason="eos" if ends else "length",
            completion_budget=request.budget_tokens if ends else len(ids),
            policy_version=0,
            text=text,
        )

    def generate(self, requests, policy_version):
        # Not in the order asked for: completion times must not matter.
        for index in reversed(range(len(requests))):
            yield index, self.respond(requests[index])


def requests(problems=PROBLEMS, samples=SAMPLES):
    return make_requests(
        problems,
        TOKENIZER,
        samples=samples,
        budget="fixed-response",
        max_tokens=20,
        context=64,
    )


def protocol(asked, **changes):
    settings = {
        "seed": 3,
        "temperature": 1.0,
        "budget": "fixed-response",
        "max_tokens": 20,
        "eos_ids": (TOKENIZER.eos_id,),
        "verifier": {"type": "exact"},
    }
    return protocol_of(asked, **{**settings, **changes})


def measure(script, verifier=None, **changes):
    asked = requests()
    return evaluate(Scripted(script), asked, verifier or Exact(), protocol(asked, **changes))


def right_for(count_of):
    """A script that answers rightly to the first ``count_of(number)`` samples of each problem."""

    def script(problem, sample):
        number = int(problem.problem.partition("+")[0])
        return (f"#{number + 1 if sample < count_of(number) else 99}", True)

    return script


def test_an_untrained_policy_is_measured_too():
    results, graded = measure(lambda problem, sample: ("??", True))
    assert results["score"] == 0
    # Ten problems that all fail leave room for a share of them that would not.
    assert results["interval"] == list(wilson(0, 10))
    assert results["interval_count"] is None
    assert results["method"] == WITHOUT_SPREAD
    assert results["text"] == "0/40 = 0.00%, 95% interval [0.0%, 27.8%]"
    assert results["first_sample"]["wilson"][1] > 0.2
    assert results["grader"] == {"ok": 0, "no_answer": 40, "error": 0, "timeout": 0}
    assert results["tokens"]["correct"]["mean"] is None
    assert len(graded) == 40


def test_figures_of_a_known_pattern():
    results, graded = measure(right_for(lambda number: number % 5))
    assert (results["correct"], results["total"], results["problems"]) == (20, 40, 10)
    assert results["text"].startswith("20/40 = 50.00%, 95% interval [")
    assert results["first_sample"]["correct"] == 8
    assert results["pass_at_k"] == {
        "1": pytest.approx(0.5),
        "2": pytest.approx((0 + 1 / 2 + 5 / 6 + 1 + 1) / 5),
        "4": pytest.approx(0.8),
    }
    assert results["endings"] == {"eos": 40, "length": 0, "repetition": 0, "stop": 0}
    assert results["natural_end"]["share"] == 1
    assert results["by_arm"] == {
        "even": {"problems": 5, "correct": 10, "total": 20, "score": 0.5},
        "odd": {"problems": 5, "correct": 10, "total": 20, "score": 0.5},
    }
    assert [entry["correct"] for entry in results["per_problem"]] == [0, 1, 2, 3, 4] * 2
    assert [one.response.sample_index for one in graded] == [0, 1, 2, 3] * 10
    low, high = results["interval_count"]
    assert results["interval"] == [low / 40, high / 40]
    assert 0 < low < 20 < high < 40


def test_an_answer_cut_off_does_not_count_but_is_told():
    results, _ = measure(lambda problem, sample: (f"#{problem.answer.value}", sample > 0))
    assert results["correct"] == 30
    assert results["correct_but_truncated"] == 10
    assert results["endings"]["length"] == 10
    assert results["natural_end"]["count"] == 30


def test_a_grader_that_fails_on_a_response_costs_that_one_alone():
    """It is not correct, is told as an error, and more than 1% of them spoil the score."""

    class Fragile(Exact):
        def __call__(self, answer, text):
            if text.endswith("#3"):
                raise ZeroDivisionError("no such number")
            return super().__call__(answer, text)

    results, graded = measure(right_for(lambda number: 4), verifier=Fragile())
    assert results["grader"] == {"ok": 36, "no_answer": 0, "error": 4, "timeout": 0}
    assert (results["correct"], results["unreliable"]) == (36, True)
    failed = [each for each in records(graded) if each["grader_status"] == "error"]
    assert len(failed) == 4
    assert failed[0]["grader_reason"] == "the grader failed: ZeroDivisionError: no such number"


def test_graders_out_of_time_make_a_score_unreliable():
    def slow(answer, text):
        return Verdict(outcome="timed-out" if text == "#1" else "right")

    results, _ = measure(right_for(lambda number: 4), verifier=slow)
    assert results["grader"]["timeout"] == 4
    assert results["unreliable"] is True
    assert measure(right_for(lambda number: 4))[0]["unreliable"] is False


def test_records_are_plain_and_complete():
    _, graded = measure(right_for(lambda number: 1))
    lines = list(records(graded))
    assert len({(line["problem_id"], line["sample_index"]) for line in lines}) == 40
    first = lines[0]
    assert first["problem"] == "0+1=?"
    assert first["extracted_answer"] == "1"
    assert first["generated_tokens"] == 3
    assert (first["correct"], first["grader_status"]) == (True, "ok")
    assert lines[1]["correct"] is False


@pytest.mark.parametrize("fault", ["twice", "missing", "foreign"])
def test_incomplete_sets_have_no_score(fault):
    class Faulty(Scripted):
        def generate(self, requests, policy_version):
            for index, response in super().generate(requests, policy_version):
                if fault == "missing" and index == 3:
                    continue
                if fault == "foreign" and index == 3:
                    response = attrs.evolve(response, sample_index=17)
                yield index, response
                if fault == "twice" and index == 3:
                    yield index, response

    asked = requests()
    with pytest.raises(LimiteError, match="39 of 40" if fault == "missing" else "twice or was not"):
        evaluate(Faulty(right_for(lambda number: 1)), asked, Exact(), protocol(asked))


def test_a_hidden_cut_off_fails_the_audit():
    class Cut(Scripted):
        def respond(self, request):
            response = super().respond(request)
            return attrs.evolve(response, completion_budget=20)  # ends on length, far below it

    asked = requests()
    with pytest.raises(LimiteError, match="refused"):
        evaluate(Cut(lambda problem, sample: ("#1", False)), asked, Exact(), protocol(asked))


def compare(before, after, **names):
    return paired_difference(before, after, before_name="sft", after_name="rl", **names)


def test_paired_difference_of_the_worked_example():
    """One -4, two -2, five -1, two +1, twenty 0: an observed regression of 9.17 points."""
    changes = [-4, -2, -2, -1, -1, -1, -1, -1, 1, 1, *[0] * 20]
    common = {"protocol_id": "p", "protocol": {}, "complete": True, "total": 120}
    before = {**common, "per_problem": [{"id": n, "correct": 4 - (n in (8, 9))} for n in range(30)]}
    after = {
        **common,
        "per_problem": [
            {"id": n, "correct": 4 - (n in (8, 9)) + change} for n, change in enumerate(changes)
        ],
    }
    found = compare(before, after)
    assert found["difference_count"] == -11
    assert found["interval_count"] == [-22, -2]
    assert found["method"] == "paired problem bootstrap, exact"
    assert found["interval"] == [-22 / 120, -2 / 120]
    assert found["wording"] == "regressed"
    assert found["text"] == "-9.2 points, 95% paired interval [-18.3, -1.7]: regressed"
    assert found["scope"] == SCOPE
    assert found["training_runs"] == 1
    mirrored = compare(after, before)
    assert mirrored["wording"] == "improved"
    assert (mirrored["better_problems"], mirrored["worse_problems"]) == (8, 2)


@given(
    before=st.lists(st.integers(0, 4), min_size=10, max_size=10),
    after=st.lists(st.integers(0, 4), min_size=10, max_size=10),
)
def test_differences_are_paired_and_claims_follow_the_interval(before, after):
    was, _ = measure(right_for(lambda number: before[number]))
    now, _ = measure(right_for(lambda number: after[number]))
    found = compare(was, now)
    assert found["difference"] == pytest.approx(now["score"] - was["score"])
    low, high = found["interval"]
    assert low <= found["difference"] <= high
    said = {"improved": low > 0, "regressed": high < 0}.get(found["wording"], low <= 0 <= high)
    assert said
    assert low < high
    assert compare(was, was)["text"].startswith("+0.0 points, 95% paired interval [-27.8, +27.8]")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0, 0, "no observed difference"),
        (0, 1, "no observed difference"),  # one response of four, by only ten problems
        (0, 2, "improved"),
        (4, 2, "regressed"),
        (0, 4, "improved"),
    ],
)
def test_problems_that_all_change_alike_make_a_claim_only_beyond_their_number(before, after, said):
    was, _ = measure(right_for(lambda number: before))
    now, _ = measure(right_for(lambda number: after))
    found = compare(was, now)
    assert found["method"] == WITHOUT_SPREAD
    assert found["interval_count"] is None
    assert found["wording"] == said
    low, high = found["interval"]
    assert -1 <= low < high <= 1


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.0, 0.2, "no observed difference"),
        (-0.2, 0.0, "no observed difference"),
        (-0.1, 0.1, "no observed difference"),
        (0.01, 0.1, "improved"),
        (-0.1, -0.01, "regressed"),
    ],
)
def test_touching_zero_supports_no_claim(low, high, said):
    assert wording(low, high) == said


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"temperature": 0.6},
        {"max_tokens": 21},
        {"eos_ids": (2, 3)},
        {"verifier": {"type": "other"}},
    ],
)
def test_other_terms_are_another_protocol_and_not_compared(change):
    ours, _ = measure(right_for(lambda number: 1))
    asked = requests()
    theirs = {**ours, "protocol": protocol(asked, **change).record()}
    theirs["protocol_id"] = protocol(asked, **change).id
    assert theirs["protocol_id"] != ours["protocol_id"]
    with pytest.raises(LimiteError, match=next(iter(change))):
        compare(theirs, ours)


def test_other_problems_golds_prompts_or_samples_are_another_protocol():
    ids = {
        protocol(requests()).id,
        protocol(requests(PROBLEMS[:-1])).id,
        protocol(requests(PROBLEMS[::-1])).id,
        protocol(requests(samples=2)).id,
        protocol(
            requests(
                [
                    attrs.evolve(PROBLEMS[0], answer=Answer(type="integer", value="7")),
                    *PROBLEMS[1:],
                ]
            )
        ).id,
        protocol([attrs.evolve(one, prompt_ids=(1, *one.prompt_ids)) for one in requests()]).id,
    }
    assert len(ids) == 6
    assert protocol(requests()).id == protocol(requests()).id


def test_a_damaged_result_is_not_compared():
    ours, _ = measure(right_for(lambda number: 1))
    with pytest.raises(LimiteError, match="same complete set"):
        compare({**ours, "per_problem": ours["per_problem"][1:]}, ours)
    with pytest.raises(LimiteError, match="same complete set"):
        compare({**ours, "complete": False}, ours)


def test_a_budget_that_does_not_fit_is_named():
    with pytest.raises(LimiteError, match="context"):
        make_requests(
            PROBLEMS, TOKENIZER, samples=1, budget="fixed-response", max_tokens=60, context=64
        )
