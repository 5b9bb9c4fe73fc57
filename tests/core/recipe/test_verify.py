"""A run's files are checked from themselves: everything that is not as it was written is found."""

from __future__ import annotations

import json
import random
import shutil
from datetime import datetime, timedelta

import pytest
import zstandard
from click.testing import CliRunner

from limite.core.cli.main import cli
from limite.core.cli.verify import counted
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, read_jsonl, write_json, write_jsonl
from limite.core.receipts import read_receipt, write_receipt
from limite.core.recipe.engine import go_on
from limite.core.recipe.rundir import RunDirectory, hashes_of
from limite.core.recipe.verify import verify_run
from limite.evaluate.compare import paired_difference
from limite.evaluate.recounted import recounted


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a finished run, to be changed."""
    return shutil.copytree(finished.path, tmp_path / "run")


def sealed_again(folder, **changes):
    """Makes receipts say what a stage's files are now, as a careful forger would."""
    receipt = read_receipt(folder / "receipt.json")
    write_receipt(folder / "receipt.json", {**receipt, "files": hashes_of(folder), **changes})
    RunDirectory.open(folder.parents[1]).bind_stage(folder.name.partition("-")[2])


def unbound(run, *names):
    """Takes stages out of the run's receipt, as if it had not come to their ends."""
    receipt = read_receipt(run / "receipt.json")
    kept = {name: told for name, told in receipt["finished"].items() if name not in names}
    write_receipt(run / "receipt.json", {**receipt, "finished": kept})


def wrong(run):
    return [(each.file, each.line, each.message) for each in verify_run(run).violations]


def test_a_run_is_what_it_says(run):
    found = verify_run(run)
    assert found.violations == []
    assert found.notes == []
    batches = [*read_jsonl(run / "stages/03-rl/rollouts/000001.jsonl.zst")]
    assert found.counts["stages"] == 4
    assert found.counts["responses"] > 4 * len(batches)
    assert found.counts["checkpoints"] > 2


def test_the_receipt_says_when_a_run_began_and_each_stage_ended(run):
    receipt = read_receipt(run / "receipt.json")
    ended = [receipt["finished"][name]["time"] for name in ("sft", "before", "rl", "after")]
    times = [receipt["time_begun"], *ended]
    assert times == sorted(times)
    assert all(datetime.fromisoformat(each).utcoffset() == timedelta(0) for each in times)


def test_nothing_is_changed(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    verify_run(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_bit_flipped_anywhere_is_found(run):
    """But in what is bound by nothing: the log and the page, which are words for people."""
    places = sorted(
        path
        for path in run.rglob("*")
        if path.is_file() and path.name not in ("log.txt", "report.html", "report.png")
    )
    rng = random.Random(11)
    for count in range(100):
        place = places[count % len(places)]
        kept = place.read_bytes()
        at = rng.randrange(len(kept))
        place.write_bytes(kept[:at] + bytes([kept[at] ^ 1 << rng.randrange(8)]) + kept[at + 1 :])
        try:
            found = wrong(run)
        except LimiteError as error:
            found = [str(error)]  # a recipe that is no recipe is no run
        place.write_bytes(kept)
        assert found, f"a bit of {place.relative_to(run)}, byte {at}"
    assert wrong(run) == []


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_file_cut_short_is_found(run, cut):
    for place in (
        run / "stages/03-rl/rollouts/000002.jsonl.zst",
        run / "stages/03-rl/checkpoints/step-000004/model.safetensors",
        run / "stages/03-rl/checkpoints/step-000004/manifest.json",
        run / "stages/04-after/results.json",
    ):
        kept = place.read_bytes()
        place.write_bytes(kept[:cut])
        assert any(place.relative_to(run).as_posix() == each[0] for each in wrong(run))
        place.write_bytes(kept)


def test_files_that_are_gone_or_new_are_named(run):
    (run / "stages/03-rl/rollouts/000002.jsonl.zst").unlink()
    (run / "stages/01-sft/notes.txt").write_text("mine")
    (run / "stages/09-more").mkdir()
    (run / "recipe.source.toml").unlink()
    found = wrong(run)
    assert found[0] == ("receipt.json", None, "the recipe as it was given is gone")
    told = {(file, message) for file, _, message in found}
    assert ("stages/09-more", "the recipe has no such stage") in told
    assert (
        "stages/03-rl/rollouts/000002.jsonl.zst",
        "is gone; receipt.json of its stage names it",
    ) in told
    assert ("stages/01-sft/notes.txt", "receipt.json of its stage does not name it") in told
    assert (
        "stages/03-rl/rollouts",
        "holds batches 1 and 3 to 4; receipt.json of its stage says 4 steps",
    ) in told


def test_what_a_finished_stage_left_cannot_go_unnoticed(run):
    (run / "stages/03-rl/receipt.json").unlink()
    shutil.rmtree(run / "stages/04-after")
    (run / "report.html").unlink()
    (run / "log.txt").unlink()
    gone = "is gone; receipt.json of the run says that its stage is finished"
    found = wrong(run)
    assert ("stages/03-rl/receipt.json", None, gone) in found
    assert ("stages/04-after/receipt.json", None, gone) in found
    assert ("report.html", None, "is gone; receipt.json names it") in found
    assert ("log.txt", None, "is gone; receipt.json names it") in found
    assert verify_run(run).notes == []  # nobody is told that the stage had not ended


def test_a_stage_whose_receipt_is_gone_makes_it_again_and_says_so(run):
    (run / "stages/03-rl/receipt.json").unlink()
    said = []
    go_on(run, echo=said.append)
    assert [line for line in said if line.startswith("rl: ")] == [
        "rl: was finished, and its receipt is gone or damaged; it is made again from what the "
        "stage left",
        "rl: goes on after step 4",
    ]
    assert wrong(run) == []


def test_a_run_of_other_code_is_told_so(run):
    receipt = read_receipt(run / "receipt.json")
    write_receipt(run / "receipt.json", {**receipt, "limite": "0.0.1", "limite_sha256": "0" * 64})
    (note,) = verify_run(run).notes
    assert note.startswith("the run was made by limite 0.0.1 with other code than this ")


def test_a_receipt_that_was_sealed_again_is_not_the_one_that_the_run_names(run):
    place = run / "stages/01-sft/receipt.json"
    write_receipt(place, {**read_receipt(place), "updates": 1})
    assert wrong(run) == [
        ("stages/01-sft/receipt.json", None, "is not what receipt.json of the run says")
    ]
    with pytest.raises(LimiteError, match=r"is not what receipt\.json of the run says, which was"):
        go_on(run, echo=lambda _line: None)


def test_a_process_killed_before_the_run_named_its_stage_is_told_apart(run):
    unbound(run, "after")
    found = verify_run(run)
    assert found.violations == []
    assert found.notes == [
        "stage 'after' is finished, and receipt.json of the run does not say so yet: "
        "limite resume adds it"
    ]
    go_on(run, echo=lambda _line: None)
    assert verify_run(run).notes == []
    unbound(run, "rl")
    assert wrong(run) == [("receipt.json", None, "does not say that the stage 'rl' is finished")]


def test_what_does_not_belong_to_a_checkpoint_is_told(run):
    checkpoint = run / "stages/03-rl/checkpoints/step-000004"
    (checkpoint / "notes.txt").write_text("mine")
    (checkpoint / "more").mkdir()
    (checkpoint / ".hidden").write_text("")
    foreign = "manifest.json of its checkpoint does not name it"
    assert wrong(run) == [
        (f"stages/03-rl/checkpoints/step-000004/{name}", None, foreign)
        for name in (".hidden", "more", "notes.txt")
    ]


def rewritten(run, change, step=2):
    """One batch with ``change`` done to its lines, and the receipts made to agree."""
    folder = run / "stages/03-rl"
    place = folder / f"rollouts/{step:06d}.jsonl.zst"
    lines = list(read_jsonl(place))
    change(lines)
    write_jsonl(place, lines, sort_keys=True)
    sealed_again(folder)
    return [each for each in wrong(run) if each[0].startswith("stages/03-rl/rollouts")]


def relabelled(lines):
    line = next(each for each in lines if each["finish_reason"] == "length")
    line["finish_reason"] = "eos"


def longer_than_its_budget(lines):
    lines[0]["completion_budget"] = len(lines[0]["completion_ids"]) - 1


def without_a_log_probability(lines):
    del lines[0]["logprobs"][0]


def likelier_than_certain(lines):
    lines[0]["logprobs"][0] = 0.5


def of_a_later_policy(lines):
    for line in lines:
        line["policy_version"] += 1


def without_a_response(lines):
    del lines[0]


def of_another_problem(lines):
    lines[0]["problem"]["answer"]["value"] = "123456"


def right_without_an_end(lines):
    line = next(each for each in lines if each["finish_reason"] == "length")
    line["correct"] = True


def rewarded(lines):
    lines[1]["reward"] = 0.5


def judged_right(lines):
    line = next(each for each in lines if each["finish_reason"] == "eos" and not each["correct"])
    line["correct"], line["reward"], line["verdict"]["outcome"] = True, 1.0, "right"


def of_another_text(lines):
    lines[1]["text"] += "1"


def beyond_the_vocabulary(lines):
    lines[1]["completion_ids"][0] = 57


def asked_otherwise(lines):
    lines[1]["prompt_ids"] = lines[1]["prompt_ids"][:-1]


def of_another_budget(lines):
    line = next(each for each in lines if each["finish_reason"] == "eos")
    line["completion_budget"] += 1


def of_a_repetition(lines):
    line = next(each for each in lines if each["finish_reason"] == "length")
    line["completion_budget"] += 1
    line["finish_reason"] = "repetition"


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (rewarded, 2, "graded again it has reward 0.5, not "),
        (judged_right, None, "graded again it has verdict right, not "),
        (of_another_text, 2, "its text is '"),
        (beyond_the_vocabulary, 2, "its response has the token 57, with a vocabulary of "),
        (asked_otherwise, 2, "its prompt is not that of its problem"),
        (of_another_budget, None, "its budget is 7 tokens, and its stage gives 6"),
        (of_a_repetition, None, "ended by repetition after 6 tokens: nobody looked"),
    ],
)
def test_what_can_be_computed_again_of_a_response_is(run, change, line, said):
    found = rewritten(run, change)
    assert {each[0] for each in found} == {"stages/03-rl/rollouts/000002.jsonl.zst"}
    told = [each for each in found if said in each[2]]
    assert told
    assert told[0][1] is not None
    assert line in (None, told[0][1])


def test_figures_of_a_batch_are_those_of_its_responses(run):
    """As where all its log-probabilities are scaled, of which nothing else would speak."""

    def scaled(lines):
        for line in lines:
            line["logprobs"] = [1.5 * nats for nats in line["logprobs"]]

    assert rewritten(run, scaled) == []
    (found,) = wrong(run)
    assert found[:2] == ("stages/03-rl/metrics.jsonl", 2)
    assert found[2].startswith("entropy/mean is ")


def evaluated_otherwise(run, change):
    """One line of an evaluation changed, its results counted again, and the receipts resealed."""
    folder = run / "stages/04-after"
    lines = list(read_jsonl(folder / "responses.jsonl.zst"))
    change(lines)
    write_jsonl(folder / "responses.jsonl.zst", lines, sort_keys=True)
    results = read_json(folder / "results.json")
    results |= recounted(lines, results["samples"], results["confidence"])
    before = read_json(run / "stages/02-before/results.json")
    change_told = paired_difference(before, results, before_name="before", after_name="after")
    write_json(folder / "results.json", {**results, "against": change_told})
    sealed_again(folder)
    return wrong(run)


def test_responses_of_an_evaluation_are_judged_again(run):
    place = "stages/04-after/responses.jsonl.zst"
    ended = next(
        number
        for number, line in enumerate(read_jsonl(run / place))
        if line["finish_reason"] == "eos"
    )

    def turned(lines):
        lines[ended]["correct"] = not lines[ended]["correct"]

    def of_another_answer(lines):
        lines[0]["answer"] = "123456"

    def of_another_text(lines):
        lines[0]["text"] += "1"

    kept = shutil.copytree(run, run.with_name("kept"))
    (found,) = evaluated_otherwise(run, turned)
    assert found[:2] == (place, ended + 1)
    assert found[2].startswith("graded again it has right ")
    other = shutil.copytree(kept, run.with_name("other"))
    assert (place, 1, "problem and answer are not what 'problem_id' says") in evaluated_otherwise(
        other, of_another_answer
    )
    assert (place, 1, "its text is not what 'text_sha256' says") in evaluated_otherwise(
        kept, of_another_text
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (relabelled, "its finish reason is 'eos' but its last token is"),
        (longer_than_its_budget, "exceed its budget of"),
        (without_a_log_probability, "tokens but"),
        (likelier_than_certain, "a log-probability is 0.5, above 0"),
        (of_a_later_policy, "; its batch is of"),
        (without_a_response, "holds the samples [1, 2"),
        (of_another_problem, "names another problem"),
        (right_without_an_end, "counts as right, and did not come to its own end (length)"),
    ],
)
def test_a_forged_batch_breaks_a_promise(run, change, said):
    found = rewritten(run, change)
    assert found
    assert said in found[0][2]
    assert found[0][0] == "stages/03-rl/rollouts/000002.jsonl.zst"


def test_results_are_counted_again(run):
    folder = run / "stages/04-after"
    results = read_json(folder / "results.json")
    write_json(folder / "results.json", {**results, "correct": results["correct"] + 1})
    sealed_again(folder)
    assert wrong(run) == [
        (
            "stages/04-after/results.json",
            None,
            f"right: {results['correct'] + 1}, and responses.jsonl.zst has {results['correct']}",
        )
    ]


def test_a_stage_began_with_the_checkpoint_it_names(run):
    folder = run / "stages/03-rl"
    start = read_json(folder / "receipt.json")["start"]
    sealed_again(folder, start={**start, "manifest_sha256": "0" * 64})
    assert [each[2] for each in wrong(run)] == ["is not what the stage 'rl' began with"]


def test_a_checkpoint_of_another_stage_is_found(run):
    theirs = sorted((run / "stages/01-sft/checkpoints").iterdir())[-1]
    shutil.copytree(theirs, run / "stages/03-rl/checkpoints" / theirs.name)
    messages = [each[2] for each in wrong(run)]
    assert "belongs to the stage 'sft'" in messages


def test_a_log_with_a_step_missing_is_found(run):
    folder = run / "stages/03-rl"
    lines = list(read_jsonl(folder / "metrics.jsonl"))
    write_jsonl(folder / "metrics.jsonl", [lines[0], *lines[2:]], sort_keys=False)
    sealed_again(folder)
    assert ("stages/03-rl/metrics.jsonl", 2, "step 3 where step 2 was due") in wrong(run)


@pytest.mark.parametrize("line", ["garbage", "7", '{"step": 5, "step": 5}'])
@pytest.mark.parametrize("log", ["metrics.jsonl", "health.jsonl"])
def test_a_line_of_a_log_that_is_no_record_is_named(run, log, line):
    place = run / "stages/03-rl" / log
    at = len(place.read_text().splitlines()) + 1
    with place.open("a") as file:
        file.write(line + "\n")
    sealed_again(place.parent)
    ((file, number, message),) = wrong(run)
    assert (file, number) == (f"stages/03-rl/{log}", at)
    assert message.startswith("not what limite writes there: no" if line == "7" else "not JSON: ")


def test_a_line_of_responses_that_is_not_json_is_named(run):
    place = run / "stages/03-rl/rollouts/000001.jsonl.zst"
    lines = [json.dumps(each) for each in read_jsonl(place)]
    text = "\n".join([lines[0], "garbage", *lines[1:]]) + "\n"
    place.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    sealed_again(run / "stages/03-rl")
    assert ("stages/03-rl/rollouts/000001.jsonl.zst", 2) in [each[:2] for each in wrong(run)]


def test_an_unfinished_stage_is_checked_as_far_as_it_came(run):
    folder = run / "stages/03-rl"
    (folder / "receipt.json").unlink()
    shutil.rmtree(run / "stages/04-after")
    unbound(run, "rl", "after")
    found = verify_run(run)
    assert found.violations == []
    assert found.notes == [
        "2 of 4 stages are finished",
        "stage 'rl' is not finished: what it has left so far is checked",
    ]
    (folder / "checkpoints/step-000002/model.safetensors").write_bytes(b"")
    assert [each.file for each in verify_run(run).violations] == [
        "stages/03-rl/checkpoints/step-000002/model.safetensors"
    ]


def test_one_of_a_kind_is_counted_as_one():
    assert [counted(1, "stages"), counted(1_000, "log lines")] == ["1 stage", "1,000 log lines"]


def test_the_command_ends_with_1_and_names_what_is_wrong(run):
    good = CliRunner().invoke(cli, ["verify", str(run)])
    assert good.exit_code == 0
    assert good.output.endswith("all as the receipts say\n")
    assert ": 4 stages, " in good.output
    (run / "stages/04-after/results.json").write_text("{}")
    bad = CliRunner().invoke(cli, ["verify", str(run), "--json"])
    data = json.loads(bad.stdout)
    assert not data["ok"]
    assert data["violations"][0]["file"] == "stages/04-after/results.json"
    assert isinstance(bad.exception, Exception)
    assert "stages/04-after/results.json: is not what" in str(bad.exception)
    with pytest.raises(LimiteError, match="no such run"):
        verify_run(run / "nothing")
