"""Files of lm-eval and lighteval: what is read of them, what is refused, and what is written.

``foreign`` holds what lm-eval 0.4.13 has written of a toy task with two filters.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from limite.core.cli.main import main
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, read_jsonl
from limite.evaluate.audit import audit
from limite.evaluate.exchange import lighteval, lm_eval
from limite.evaluate.exchange.files import WRITERS, is_foreign, read, write_imported

FOREIGN = Path(__file__).parent / "foreign" / "org__toy"
SAMPLES = next(FOREIGN.glob("samples_*"))
STRICT = "exact_match,strict"
TERMS = {
    "samples": 2, "max_tokens": 9, "temperature": 0.6, "profile": {"stops": ["##"]},
}  # fmt: skip
RESULTS = {
    "model": "letters/sft@1:0123456789abcdef",
    "benchmark": {"name": "sums"},
    "protocol": TERMS,
    "protocol_id": "p",
    "profile": {"shots": []},
}
RECORDS = [
    {
        "problem_id": f"id{problem}", "sample_index": sample, "problem": f"{problem}+1=?",
        "answer": str(problem + 1), "answer_type": "integer", "text": f"\\boxed{{{problem + 1}}}",
        "extracted_answer": str(problem + 1), "correct": sample == 0 or problem == 2,
        "completion_ids": [5, 6, 7],
    }
    for problem in range(3)
    for sample in range(2)
]  # fmt: skip
PROMPTS = {f"id{problem}": f"Q: {problem}+1=?" for problem in range(3)}


@pytest.fixture
def copied(tmp_path: Path):
    """The files of lm-eval, with lines of the samples changed."""

    def make(change=lambda lines: lines) -> Path:
        folder = tmp_path / f"c{len(list(tmp_path.iterdir()))}" / "org__toy"
        shutil.copytree(FOREIGN, folder)
        path = folder / SAMPLES.name
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(each) + "\n" for each in change(lines)))
        return path

    return make


def test_samples_of_lm_eval_have_a_score_with_an_interval(tmp_path):
    found = read(FOREIGN.parent, STRICT)
    assert (found.task, found.model, found.samples) == ("toy", "org/toy", 1)
    results = write_imported(found, tmp_path / "out", 0.95)
    aggregated = read_json(next(FOREIGN.glob("results_*")))["results"]["toy"]
    assert results["score"] == pytest.approx(aggregated["exact_match,strict"])
    assert (results["correct"], results["total"]) == (2, 3)
    assert results["interval"][0] < 2 / 3 < results["interval"][1]
    assert [each["correct"] for each in results["per_problem"]] == [1, 1, 0]
    records = list(read_jsonl(tmp_path / "out" / "responses.jsonl.zst"))
    assert [each["correct"] for each in records] == [True, True, False]
    assert records[0]["text"] == "The answer is 2"
    assert (records[0]["answer"], records[0]["extracted_answer"]) == ("2", "2")
    with pytest.raises(LimiteError, match="exists and is never overwritten"):
        write_imported(found, tmp_path / "out", 0.95)


def test_what_a_file_does_not_tell_was_not_looked_at():
    found = audit(SAMPLES, records=read(SAMPLES, STRICT).records())
    assert (found.clean, found.native, found.responses) == (True, False, 3)
    assert "'completion_budget', 'generated_tokens', 'finish_reason'" in found.unseen[0]
    twice = [*read(SAMPLES, STRICT).records()] * 2
    assert "a second time" in str(audit(SAMPLES, records=twice).violations[0])


def test_a_metric_is_named_where_there_are_several():
    for metric, said in (
        (None, "name one of exact_match,loose, exact_match,strict"),
        ("exact_match,stricd", "no filter 'stricd'; did you mean 'strict'"),
        ("exact", "has no metric 'exact'"),
    ):
        with pytest.raises(LimiteError, match=said):
            read(SAMPLES, metric)


def test_sets_that_have_no_score_are_named_by_their_line(copied):
    def part(lines):
        return [each for each in lines if each["doc_id"] < 2]

    results = read(copied(part), STRICT).results()
    assert results["complete"] is False
    assert (results["recorded_samples"], results["expected_samples"]) == (2, 3)
    assert "score" not in results
    for change, said in (
        (lambda lines: [*lines, *lines], r":7: the problem of line 1 again"),
        (lambda lines: [{**lines[0], "exact_match": 0.5}], r":1: 'exact_match' is 0\.5, which is"),
        (lambda lines: [{**lines[0], "resps": [["a"], ["b"]]}], ":1: a sample of 2 requests"),
        (lambda lines: [{"doc_id": 1}], "neither samples of lm-eval"),
        (lambda lines: [lines[0], {"doc_id": 1}], ":2: no sample of lm-eval: it lacks resps"),
        (lambda lines: [], "neither samples of lm-eval"),
    ):
        with pytest.raises(LimiteError, match=said):
            read(copied(change), STRICT)


def test_a_filter_that_takes_the_first_scores_the_first(copied):
    def more(lines):
        return [{**each, "resps": [[*each["resps"][0], "?"]]} for each in lines]

    found = read(copied(more), STRICT)
    assert found.samples == 1
    assert "takes the first of 2 responses" in found.notes[0]

    def all_of(lines):
        return [
            {**each, "filtered_resps": [["1", "2"]], "exact_match": 0.5} for each in more(lines)
        ]

    results = read(copied(all_of), STRICT).results()
    assert (results["samples"], results["correct"], results["total"]) == (2, 3, 6)
    assert results["first_sample"] is None


def test_two_files_are_compared_by_problem(copied, capsys):
    def worse(lines):
        return [{**each, "exact_match": 0.0} for each in lines]

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    other = copied(worse)
    results = next(other.parent.glob("results_*"))
    results.write_text(results.read_text().replace('"org/toy"', '"org/other"'))
    code, out, err = call("compare", SAMPLES, other, "--metric", STRICT)
    assert code == 0, err
    assert "org/other against org/toy: -66.67 points" in out
    code, out, err = call("compare", SAMPLES, SAMPLES, "--metric", STRICT)
    assert (code, "are one model" in err) == (2, True), err
    code, out, err = call("eval", "--audit", SAMPLES, "--metric", STRICT)
    assert (code, "clean in all that was looked at" in out) == (0, True), err
    code, out, err = call("eval", "--import", SAMPLES, "--metric", STRICT)
    assert (code, "--out DIR says where" in err) == (2, True), err


def test_what_is_written_for_lm_eval_is_read_again(tmp_path):
    lm_eval.write(tmp_path / "a", RESULTS, RECORDS, PROMPTS)
    found = read(tmp_path / "a")
    assert (found.task, found.model, found.samples) == ("sums", RESULTS["model"], 2)
    assert [each.correct for each in found.answered] == [1, 1, 2]
    assert [each.problem for each in found.answered] == list(PROMPTS.values())
    assert found.expected == 3
    ours = {key for line in read_jsonl(found.place) for key in line}
    assert ours == {key for line in read_jsonl(SAMPLES) for key in line}
    lm_eval.write(tmp_path / "b", RESULTS, RECORDS, PROMPTS)
    for path in (tmp_path / "a").rglob("*.json*"):
        again = tmp_path / "b" / path.relative_to(tmp_path / "a")
        assert again.read_bytes() == path.read_bytes()
    assert WRITERS.keys() == {"lm-eval", "lighteval"}
    assert not is_foreign(tmp_path / "none.jsonl")


def test_details_of_lighteval_are_written_and_read(tmp_path):
    if importlib.util.find_spec("pyarrow") is None:
        (tmp_path / "details_a_b.parquet").touch()
        with pytest.raises(LimiteError, match=r"limite\[data\]"):
            read(tmp_path)
        with pytest.raises(LimiteError, match=r"limite\[data\]"):
            lighteval.write(tmp_path / "out", RESULTS, RECORDS, PROMPTS)
        return
    lighteval.write(tmp_path / "out", RESULTS, RECORDS, PROMPTS)
    found = read(tmp_path / "out")
    assert (found.task, found.samples) == ("sums", 2)
    assert [each.correct for each in found.answered] == [1, 1, 2]
    facts = found.records()[0][1]
    assert (facts["completion_budget"], facts["generated_tokens"]) == (9, 3)
    table = importlib.import_module("pyarrow.parquet").read_table(found.place)
    assert table.column_names == ["doc", "metric", "model_response"]
    rows: list[dict[str, Any]] = table.to_pylist()
    assert rows[0]["doc"]["choices"] == ["1"]
    assert rows[0]["model_response"]["text"] == ["\\boxed{1}", "\\boxed{1}"]
    [results] = (tmp_path / "out" / "results").rglob("results_*.json")
    assert read_json(results)["results"]["sums|0"]["avg@n:n=2"] == pytest.approx(4 / 6)
    with pytest.raises(LimiteError, match="has no metric 'maj'; there are avg@n:n=2"):
        read(tmp_path / "out", "maj")
