"""A run whose files were emptied, taken away or filled up with copies is told as that."""

from __future__ import annotations

import shutil

import pytest
from click.testing import CliRunner

from limite.core.cli.main import cli
from limite.core.jsonl import read_json, read_jsonl, write_json, write_jsonl
from limite.core.receipts import read_receipt, write_receipt
from limite.core.recipe.rundir import RunDirectory, hashes_of
from limite.core.recipe.verify import verify_run

SFT, RL, AFTER = "stages/01-sft", "stages/03-rl", "stages/04-after"
RESPONSES = f"{AFTER}/responses.jsonl.zst"


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a finished run, to be changed."""
    return shutil.copytree(finished.path, tmp_path / "run")


def sealed_again(folder, **changes):
    """Makes receipts say what a stage's files are now, as a careful forger would."""
    receipt = read_receipt(folder / "receipt.json")
    write_receipt(folder / "receipt.json", {**receipt, "files": hashes_of(folder), **changes})
    RunDirectory.open(folder.parents[1]).bind_stage(folder.name.partition("-")[2])


def wrong(run):
    return [(each.file, each.line, each.message) for each in verify_run(run).violations]


def emptied(place):
    place.write_bytes(b"")


def without_content(place):
    for each in place.iterdir():
        each.unlink()


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (f"{SFT}/metrics.jsonl", emptied, "is empty; 60 steps were made"),
        (f"{SFT}/metrics.jsonl", lambda place: place.unlink(), "is gone; 60 steps were made"),
        (f"{RL}/metrics.jsonl", emptied, "is empty; 4 steps were made"),
        (f"{RL}/metrics.jsonl", lambda place: place.unlink(), "is gone; 4 steps were made"),
        (
            f"{RL}/health.jsonl",
            emptied,
            "is empty; metrics.jsonl says that gates were looked at",
        ),
        (
            f"{RL}/health.jsonl",
            lambda place: place.unlink(),
            "is gone; metrics.jsonl says that gates were looked at",
        ),
        (f"{RL}/rollouts", shutil.rmtree, "is gone; 4 batches were sampled"),
        (f"{RL}/rollouts", without_content, "is empty; 4 batches were sampled"),
        (f"{AFTER}/results.json", lambda place: place.unlink(), "is gone; an evaluation has"),
        (RESPONSES, lambda place: place.unlink(), "is gone; results.json has 16 responses"),
    ],
)
def test_what_was_emptied_or_taken_away_is_told_alone(run, name, change, said):
    change(run / name)
    sealed_again((run / name).parent)
    ((file, line, message),) = wrong(run)
    assert (file, line) == (name, None)
    assert message.startswith(said)


def test_a_step_whose_gates_are_gone_is_named(run):
    lines = list(read_jsonl(run / RL / "health.jsonl"))
    write_jsonl(run / RL / "health.jsonl", [each for each in lines if each["step"] != 2])
    sealed_again(run / RL)
    assert wrong(run) == [
        (
            f"{RL}/health.jsonl",
            None,
            "no line of step 2, whose gates metrics.jsonl has figures of",
        )
    ]


def test_a_run_whose_recipe_logs_no_lines_lacks_none(run):
    """Which its receipt says, and that alone is what is changed here."""
    receipt = read_receipt(run / "receipt.json")
    receipt["recipe"]["loggers"] = ["console"]
    write_receipt(run / "receipt.json", receipt)
    (run / SFT / "metrics.jsonl").unlink()
    sealed_again(run / SFT)
    assert not [each for each in wrong(run) if each[0] == f"{SFT}/metrics.jsonl"]
    (run / RL / "metrics.jsonl").unlink()
    sealed_again(run / RL)
    assert not [each for each in wrong(run) if each[0].startswith(RL) and "jsonl" in each[0]]


def evaluated_otherwise(run, change):
    """Other responses of an evaluation, its results counted again, and the receipts resealed."""
    lines = change(list(read_jsonl(run / RESPONSES)))
    write_jsonl(run / RESPONSES, lines, sort_keys=True)
    results = read_json(run / AFTER / "results.json")
    endings: dict[str, int] = {}
    for line in lines:
        endings[line["finish_reason"]] = endings.get(line["finish_reason"], 0) + 1
    correct, total = sum(line["correct"] for line in lines), len(lines)
    told = {"correct": correct, "total": total, "score": correct / total, "endings": endings}
    write_json(run / AFTER / "results.json", {**results, **told})
    sealed_again(run / AFTER)
    return [each for each in wrong(run) if each[0] == RESPONSES]


def test_a_response_is_not_put_in_the_place_of_another(run):
    kept = list(read_jsonl(run / RESPONSES))
    problem = kept[0]["problem_id"]
    found = evaluated_otherwise(run, lambda lines: [lines[0], lines[0], *lines[2:]])
    assert found == [
        (RESPONSES, 2, f"sample 0 of problem {problem} a second time; line 1 has it"),
        (RESPONSES, None, f"problem {problem} has the samples [0]; results.json says 2 each"),
    ]


def test_every_problem_has_all_its_responses(run):
    last = list(read_jsonl(run / RESPONSES))[-1]["problem_id"]
    assert evaluated_otherwise(run, lambda lines: lines[:-1]) == [
        (RESPONSES, None, f"problem {last} has the samples [0]; results.json says 2 each")
    ]


def test_a_problem_that_is_left_out_is_missed_whatever_the_results_say(run):
    results = read_json(run / AFTER / "results.json")
    write_json(run / AFTER / "results.json", {**results, "problems": 7})
    found = evaluated_otherwise(run, lambda lines: lines[:-2])
    assert found == [(RESPONSES, None, "holds 7 problems; its protocol says 8")]
    results["protocol"]["count"] = 7
    told = read_json(run / AFTER / "results.json")
    write_json(run / AFTER / "results.json", {**told, "protocol": results["protocol"]})
    sealed_again(run / AFTER)
    assert (RESPONSES, None, "holds 7 problems; its stage says 8") in wrong(run)


def first_that(run, holds):
    return next(at for at, line in enumerate(read_jsonl(run / RESPONSES)) if holds(line))


@pytest.mark.parametrize(
    ("field", "changed", "said"),
    [
        ("completion_ids", lambda ids: [*ids[:-2], 4 + (ids[-2] == 4), ids[-1]], "its text is"),
        ("completion_ids", lambda ids: [*ids[:-2], 999, ids[-1]], "its response has the token 999"),
        ("generated_tokens", lambda told: told + 1, "'generated_tokens' is"),
        ("completion_budget", lambda _: 1, "tokens exceed its budget of 1"),
        ("completion_budget", lambda told: told + 1, "its budget is 7 tokens, and its stage"),
        ("finish_reason", lambda _: "length", "its finish reason is 'length' but its last"),
        ("finish_reason", lambda _: "stop", "its text is"),
    ],
)
def test_tokens_of_an_evaluation_are_looked_at(run, field, changed, said):
    at = first_that(run, lambda line: line["finish_reason"] == "eos" and len(line["text"]) > 1)

    def change(lines):
        lines[at][field] = changed(lines[at][field])
        if field == "finish_reason" and lines[at][field] == "stop":
            lines[at]["text"] += "1"
        return lines

    found = evaluated_otherwise(run, change)
    assert any(line == at + 1 and said in message for _, line, message in found), found


def test_how_many_stages_are_finished_is_told(run):
    """A run that has not come to its end, and one whose last stage was taken away, look alike."""
    shutil.rmtree(run / AFTER)
    receipt = read_receipt(run / "receipt.json")
    del receipt["finished"]["after"]
    write_receipt(run / "receipt.json", receipt)
    found = verify_run(run)
    assert found.violations == []
    assert found.notes == ["3 of 4 stages are finished"]
    command = CliRunner().invoke(cli, ["verify", str(run)])
    assert command.exit_code == 0
    assert "note: 3 of 4 stages are finished" in command.output
