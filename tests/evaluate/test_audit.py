"""The audit of files: every rule by a record that breaks it alone, and corrections of endings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.cli.main import main
from limite.core.errors import LimiteError
from limite.core.jsonl import write_jsonl
from limite.core.rollout.budget import check_response
from limite.core.types import Response
from limite.evaluate.audit import audit
from limite.evaluate.correction import both_results, corrected
from limite.problems.verifiers.exact import Exact

EOS = 2


def record(sample=0, problem="p", ids=(5, 6, EOS), budget=10, reason="eos", **changed):
    return {
        "model": "m",
        "problem_id": problem,
        "sample_index": sample,
        "prompt_tokens": 90,
        "completion_budget": budget,
        "generated_tokens": len(ids),
        "finish_reason": reason,
        "completion_ids": list(ids),
        "correct": False,
        **changed,
    }


def told(tmp_path, *records, **options):
    path = tmp_path / "responses.jsonl"
    write_jsonl(path, records)
    found = audit(path, **{"eos_ids": [EOS], "context": 100, **options})
    return found, [str(each) for each in found.violations]


def test_clean_responses_of_both_endings_are_native(tmp_path):
    found, wrong = told(tmp_path, record(), record(1, ids=[5] * 10, reason="length"))
    assert wrong == []
    assert found.native
    assert found.endings == {"eos": 1, "length": 1}
    assert found.responses == 2


def test_tokens_that_are_given_need_no_count(tmp_path):
    counted = [record(), record(1, ids=[5] * 10, reason="length"), record(2, ids=[5] * 11)]
    bare = [
        {key: value for key, value in each.items() if key != "generated_tokens"} for each in counted
    ]
    assert told(tmp_path, *bare)[1] == told(tmp_path, *counted)[1] != []
    del bare[0]["completion_ids"]
    assert "lacks 'generated_tokens'" in told(tmp_path, bare[0])[1][0]


def test_responses_that_are_not_there_are_named(tmp_path):
    whole = [record(0), record(1), record(0, "q"), record(1, "q")]
    assert told(tmp_path, *whole)[0].missing == ""
    found, wrong = told(tmp_path, *whole[:2], whole[3])
    assert (found.clean, wrong) == (True, [])
    assert found.missing.startswith("sample 0 of problem q (line 3): a score")
    few = [record(2), record(0, "q"), record(2, "q"), record(1, "q")]
    assert "and 1 other:" in told(tmp_path, *few)[0].missing


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"budget": 11}, "leaves 10 behind a prompt of 90"),
        ({"ids": [5] * 11, "reason": "length"}, "11 tokens exceed its budget of 10"),
        ({"ids": [5, 6], "reason": "length"}, "hidden cut-off: it ended on length after 2 of 10"),
        ({"ids": [5, 6]}, "'eos' and its last token is 6"),
        ({"ids": [5, EOS], "reason": "stop"}, "'stop' and its last token is 2"),
        ({"ids": [*[5] * 9, EOS], "reason": "length"}, "'length' and its last token is 2"),
        ({"ids": [EOS, 5, EOS]}, "goes on after token 1 of 3"),
        ({"generated_tokens": 4}, "3 token ids and says 4"),
        ({"reason": "tired"}, "none of eos, length"),
        ({"ids": [5] * 10, "reason": "repetition"}, "its budget is used up"),
        ({"correct": 1}, "'correct': expected bool, got 1"),
        ({"sample_index": "0"}, "'sample_index': expected int, got '0'"),
        ({"sample_index": -1}, "below 0"),
        ({"completion_budget": None}, "'completion_budget': expected int, got null"),
    ],
)
def test_a_broken_record_is_named(tmp_path, broken, said):
    found, wrong = told(tmp_path, record(7), record(3, problem="q", **broken))
    assert not found.clean
    assert any(said in each for each in wrong), wrong
    assert all(each.startswith("line 2: ") for each in wrong)
    assert all("problem" in each for each in wrong)


def test_a_record_without_a_problem_is_told_so(tmp_path):
    lacking = record(3)
    del lacking["problem_id"]
    wrong = told(tmp_path, record(), lacking, {**record(4), "problem_id": None})[1]
    assert wrong == [
        "line 2: a response without a problem: lacks 'problem_id'",
        "line 3: a response without a problem: 'problem_id': expected str, got null",
    ]


def test_a_record_that_comes_twice_is_named(tmp_path):
    _, wrong = told(tmp_path, record(), record(1), record())
    assert wrong == ["line 3: sample 0 of problem p: a second time; it is in line 1 already"]
    assert told(tmp_path, record(), record(model="other"))[1] == []


def test_equal_lengths_that_nothing_explains_are_a_hidden_cut_off(tmp_path):
    def long(sample, problem="p", length=1500, reason="repetition", budget=2000):
        return record(sample, problem, [5] * length, budget, reason, prompt_tokens=0)

    cut = [long(0), long(0, "q"), long(1, "q")]
    _, wrong = told(tmp_path, *cut, context=2000)
    assert len(wrong) == 1
    assert "hidden cut-off: it and 2 more of its model have exactly 1,500 tokens" in wrong[0]
    assert told(tmp_path, *cut[:2], context=2000)[1] == []
    assert told(tmp_path, *cut[:2], long(3, length=1501), context=2000)[1] == []
    short = [long(each, length=1023) for each in range(3)]
    assert told(tmp_path, *short, context=2000)[1] == []


def test_a_budget_that_is_used_up_is_no_hidden_cut_off_where_it_is_known(tmp_path):
    full = [record(each, "p", [5] * 2000, 2000, "length", prompt_tokens=0) for each in range(3)]
    assert told(tmp_path, *full, context=2000)[1] == []
    assert told(tmp_path, *full, context=None, budget=2000)[1] == []
    found, wrong = told(tmp_path, *full, context=None)
    assert "hidden cut-off" in wrong[0]
    assert "neither a context nor a fixed budget" in found.unseen[0]


def test_what_a_file_does_not_tell_is_said(tmp_path):
    bare = record()
    del bare["completion_ids"], bare["prompt_tokens"]
    found, wrong = told(tmp_path, bare)
    assert wrong == []
    assert found.clean
    assert not found.native
    assert len(found.unseen) == 2
    assert told(tmp_path, record(), eos_ids=[])[0].unseen[0].startswith("last tokens")


def test_files_as_people_make_them(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(record()) + "\n{oops}\n[1]\n" + json.dumps(record(1))[:20])
    wrong = audit(path, eos_ids=[EOS], context=100).violations
    assert [each.line for each in wrong] == [2, 3]
    path.write_text("")
    with pytest.raises(LimiteError, match="no record"):
        audit(path)
    with pytest.raises(LimiteError, match="no such file"):
        audit(tmp_path / "s.jsonl")
    with pytest.raises(LimiteError, match="not both"):
        audit(path, context=5, budget=6)


@given(
    ids=st.lists(st.sampled_from([EOS, 5]), min_size=1, max_size=5),
    budget=st.integers(1, 6),
    reason=st.sampled_from(["eos", "length", "repetition"]),
)
def test_it_agrees_with_what_a_sampler_is_held_to(tmp_path_factory, ids, budget, reason):
    response = Response(
        problem_id="p",
        sample_index=0,
        prompt_ids=(1,) * (100 - budget),
        completion_ids=ids,
        logprobs=(-1.0,) * len(ids),
        finish_reason=reason,
        completion_budget=budget,
        policy_version=0,
        text="",
    )
    try:
        check_response(response, eos_ids=[EOS], context=100)
        sound = True
    except LimiteError:
        sound = False
    found = record(ids=ids, budget=budget, reason=reason, prompt_tokens=100 - budget)
    path = tmp_path_factory.getbasetemp() / "one.jsonl"
    write_jsonl(path, [found])
    assert audit(path, eos_ids=[EOS], context=100).clean == sound


def decode(ids):
    return "".join(chr(each) for each in ids)


def answered(sample, text, ended=True, correct=False):
    ids = [*map(ord, text), *([EOS] if ended else [])]
    return record(
        sample,
        ids=ids,
        budget=40 if ended else len(ids),
        reason="eos" if ended else "length",
        text=text,
        correct=correct,
        answer="5",
        answer_type="integer",
    )


CORRECTED = (ord("|"), EOS)


def again(*records, eos=CORRECTED):
    return corrected(records, eos, decode=decode, verifier=Exact(), natural_end=True)


def test_a_corrected_set_cuts_grades_again_and_keeps_what_was():
    found = again(
        answered(0, "#5|and then #6"), answered(1, "#5", correct=True), answered(2, "#5|x", False)
    )
    assert [each["correct"] for each in found] == [True, True, True]
    assert [each["cut"] for each in found] == [True, False, True]
    assert found[0]["text"] == "#5"
    assert found[0]["generated_tokens"] == 3
    assert found[0]["recorded"]["text"] == "#5|and then #6"
    assert found[0]["recorded"]["correct"] is False
    assert found[2]["finish_reason"] == "eos"
    assert found[2]["recorded"]["finish_reason"] == "length"
    results = both_results(found)
    assert (results["recorded"]["text"], results["corrected"]["text"]) == (
        "1/3 = 33.33%",
        "3/3 = 100.00%",
    )


def test_what_was_right_can_become_wrong_and_nothing_is_chosen():
    found = again(answered(0, "|#5", correct=True))
    assert found[0]["correct"] is False
    assert found[0]["recorded"]["correct"] is True


@given(st.lists(st.text(alphabet="#56|x", max_size=8), min_size=1, max_size=4))
def test_correcting_twice_changes_nothing_more(texts):
    first = again(*(answered(number, text) for number, text in enumerate(texts)))
    second = again(*first)
    keys = ("completion_ids", "text", "correct", "finish_reason", "generated_tokens")
    assert [[each[k] for k in keys] for each in first] == [
        [each[k] for k in keys] for each in second
    ]
    assert all(not each["cut"] for each in second)


def test_a_part_of_a_set_has_no_score():
    found = both_results(
        again(answered(0, "#5"), answered(1, "#5"))
        + again({**answered(0, "#5"), "problem_id": "q"})
    )
    assert found == {"complete": False, "cut": 0, "recorded_samples": 3, "expected_samples": 4}


def test_what_cannot_be_graded_again_is_named():
    with pytest.raises(LimiteError, match="line 2: sample 1 of problem p tells no gold"):
        again(answered(0, "#5"), {**answered(1, "#5"), "answer_type": None})
    with pytest.raises(LimiteError, match="no 'completion_ids'"):
        again({**answered(0, "#5"), "completion_ids": None})
    with pytest.raises(LimiteError, match="empty"):
        again(answered(0, "#5"), eos=())


def call(capsys, *arguments):
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["eval", *map(str, arguments)])
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


def test_the_command_names_records_and_ends_with_one(tmp_path, capsys):
    path = tmp_path / "r.jsonl.zst"
    write_jsonl(path, [record(), record(1, ids=[5, 6], reason="length")])
    code, out, err = call(capsys, "--audit", path, "--eos", EOS, "--context", 100)
    assert code == 1
    assert "2 responses (1 eos, 1 length): 1 violation" in out
    assert "sample 1 of problem p: hidden cut-off" in err
    code, out, _ = call(capsys, "--audit", path, "--eos", EOS, "--max-tokens", 10, "--json")
    assert code == 1
    assert json.loads(out)["violations"][0]["line"] == 2
    write_jsonl(path, [record()])
    code, out, _ = call(capsys, "--audit", path, "--eos", EOS, "--context", 100)
    assert (code, out.split(": ")[-1].strip()) == (0, "clean, with budgets of the native context")
    code, out, _ = call(capsys, "--audit", path)
    assert code == 0
    assert "clean in all that was looked at" in out
    assert "not looked at: last tokens" in out
    write_jsonl(path, [record(), record(2)])
    code, out, err = call(capsys, "--audit", path, "--eos", EOS, "--context", 100)
    assert (code, "a part of a set" in out) == (1, True)
    assert f"{path}: not there: sample 1 of problem p (line 1): a score" in err


def test_results_beside_a_file_say_what_it_is_held_to(tmp_path, capsys):
    """Budget and end tokens, and which responses were asked for at all."""
    path = tmp_path / "r.jsonl"
    terms = {"budget": "fixed-response", "max_tokens": 10, "eos_ids": [EOS], "natural_end": True}
    results = {"protocol": {**terms, "samples": 2}, "per_problem": [{"id": "p"}]}
    write_jsonl(path, [record(), record(1)])
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert call(capsys, "--audit", path)[:2] == (0, f"{path}: 2 responses (2 eos): clean\n")
    write_jsonl(path, [record(1)])
    code, out, err = call(capsys, "--audit", path)
    assert (code, out) == (1, f"{path}: 1 responses (1 eos): a part of a set\n")
    assert f"{path}: not there: sample 0 of problem p (line 1): a score" in err
    write_jsonl(path, [record(), record(2), {**record(1), "problem_id": "q"}])
    code, _, err = call(capsys, "--audit", path)
    assert code == 1
    assert f"{path}:2: sample 2 of problem p: there are samples 0 to 1 of a problem" in err
    assert f"{path}:3: sample 1 of problem q: its problem is none of those that were asked" in err
    code, _, err = call(capsys, "--audit", path, "--max-tokens", 11)
    assert (code, "a budget of 10 tokens, not 11" in err) == (1, True)


def test_the_command_refuses_what_does_not_belong(tmp_path, capsys):
    path = tmp_path / "r.jsonl"
    write_jsonl(path, [record()])
    for arguments, said in (
        (["--eos", 2], "--eos: belongs to --audit"),
        (["a", "b", "--audit", path], "name at most one"),
        (["--audit", path, "--correct-eos", 2], "--out DIR"),
        (["--audit", path, "--correct-eos", 2, "-o", tmp_path / "x"], "name the MODEL"),
    ):
        code, _, err = call(capsys, *arguments)
        assert (code, said in err) == (2, True), err
    assert not (tmp_path / "x").exists()


def test_an_answer_in_thinking_that_the_cut_left_open_does_not_count():
    found = again(answered(0, "<think>#5|</think>", correct=True))
    assert found[0]["correct"] is False
    assert found[0]["reasoning_closed"] is False
    assert found[0]["extracted_answer"] == "5"
