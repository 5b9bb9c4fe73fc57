"""Figures of results that do not follow from their responses are named, though all is resealed."""

from __future__ import annotations

import shutil

import pytest

from limite.core.jsonl import read_json, read_jsonl, write_json, write_jsonl
from limite.core.receipts import read_receipt, write_receipt
from limite.core.recipe.rundir import RunDirectory, hashes_of
from limite.core.recipe.verify import verify_run
from limite.core.recipe.verify.finding import Findings
from limite.core.recipe.verify.told import check_tasks, differences

AFTER = "stages/04-after"
RESULTS = f"{AFTER}/results.json"


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a finished run, to be changed."""
    return shutil.copytree(finished.path, tmp_path / "run")


def sealed_again(folder):
    """Makes receipts say what a stage's files are now, as a careful forger would."""
    receipt = read_receipt(folder / "receipt.json")
    write_receipt(folder / "receipt.json", {**receipt, "files": hashes_of(folder)})
    RunDirectory.open(folder.parents[1]).bind_stage(folder.name.partition("-")[2])


def told_otherwise(run, path, value):
    """One figure of the results replaced; what is wrong then."""
    results = read_json(run / RESULTS)
    *outer, last = path
    inner = results
    for key in outer:
        inner = inner[key]
    assert inner[last] != value
    inner[last] = value
    write_json(run / RESULTS, results)
    sealed_again(run / AFTER)
    return [(each.file, each.message) for each in verify_run(run).violations]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("score",), 0.99),
        (("problems",), 9),
        (("text",), "16/16 = 100.00%"),
        (("interval",), [0.9, 1.0]),
        (("first_sample", "correct"), 99),
        (("first_sample", "wilson"), [0.9, 1.0]),
        (("by_arm", "linear-equation@0-0", "correct"), 99),
        (("per_problem", 3, "correct"), 99),
        (("per_problem", 0, "arm"), "another"),
        (("pass_at_k", "2"), 0.99),
        (("tokens", "all", "mean"), 0.5),
        (("natural_end", "share"), 0.123),
        (("complete",), False),
        (("against", "difference"), 0.99),
        (("against", "interval"), [0.5, 0.9]),
        (("against", "wording"), "improved"),
        (("against", "p_value"), 0.0001),
        (("against", "better_problems"), 99),
        (("against", "stage"), "rl"),
        (("protocol", "temperature"), 0.5),
    ],
)
def test_a_figure_that_the_responses_do_not_give_is_named(run, path, value):
    found = told_otherwise(run, path, value)
    named = path[0] if path[0] in ("per_problem", "protocol") else ".".join(map(str, path))
    wanted = {"protocol": "'protocol_id' is not that", "problems": "holds 8 problems;"}
    said = wanted.get(named, f"{named} is ")
    assert any(message.startswith(said) for _, message in found), found


def test_a_change_that_was_left_out_is_missed(run):
    results = read_json(run / RESULTS)
    del results["against"]
    write_json(run / RESULTS, results)
    sealed_again(run / AFTER)
    (found,) = verify_run(run).violations
    assert found.message == "tells no change; its stage is compared with 'before'"


def test_responses_stand_in_the_order_they_were_asked(run):
    """Otherwise another sample of a problem could be called its first."""
    place = run / AFTER / "responses.jsonl.zst"
    lines = list(read_jsonl(place))
    write_jsonl(place, [lines[1], lines[0], *lines[2:]], sort_keys=True)
    sealed_again(run / AFTER)
    (found,) = verify_run(run).violations
    assert found.message == "its responses are not in order: problem by problem, from 0"


def test_figures_that_other_code_made_are_held_to_what_is_counted(run):
    """How it made intervals is its own; a count is a count."""
    receipt = read_receipt(run / "receipt.json")
    write_receipt(run / "receipt.json", {**receipt, "limite_sha256": "0" * 64})
    found = told_otherwise(run, ("interval",), [0.9, 1.0])
    assert not [message for file, message in found if file == RESULTS]
    found = told_otherwise(run, ("first_sample", "correct"), 99)
    told = [message.split(" is ")[0] for file, message in found if file == RESULTS]
    assert told == ["first_sample.correct"]


def test_differences_are_told_by_their_place():
    wanted = {"a": {"b": 1, "c": [0.1, None]}, "d": 0.3}
    assert not [*differences({"a": {"b": 1, "c": [0.1, None]}, "d": 0.1 + 0.2}, wanted, True)]
    assert [*differences({"a": {"b": True, "c": [0.1]}}, wanted, True)] == [
        "a.b is true, and the responses give 1",
        "a.c is [0.1], and the responses give [0.1,null]",
        "d is null, and the responses give 0.3",
    ]
    assert [*differences({"a": {"b": 1, "x": 2}}, {"a": {"b": 1}}, True)] == [
        "a has x, of which the responses give none"
    ]


def test_a_suite_says_of_its_tasks_what_they_say(tmp_path):
    (tmp_path / "one").mkdir()
    write_json(tmp_path / "one" / "results.json", {"correct": 3, "total": 4})
    findings = Findings(tmp_path)
    told = {"tasks": {"one": {"correct": 4, "total": 4}, "two": {"correct": 1}}}
    check_tasks(tmp_path / "results.json", told, findings)
    (found,) = findings.violations
    assert found.message == "one: correct is 4, and its own results say 3"
