"""``limite eval`` as a shell would call it: what it leaves, how it goes on, and what it refuses."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from limite.core.cli.main import main
from limite.core.jsonl import read_json, read_jsonl, write_json
from limite.core.recipe.engine import start
from limite.core.separation import is_held_out
from limite.evaluate.journal import JOURNAL, RESPONSES
from limite.evaluate.models import LocalModel
from limite.evaluate.problem_sets import problem_set
from limite.evaluate.shipped import FOLDER, shipped
from limite.evaluate.significance import holm
from limite.problems.gen.main import main as gen
from limite.problems.verifiers.mathematics import Mathematics
from tests.evaluate.asked import files_in, problem


@pytest.fixture(autouse=True)
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


COMMON = ("letters", "--benchmark", "p.jsonl", "--samples", 3, "--max-tokens", 5)


def test_two_stages_are_compared_and_the_same_bytes_come_again(evaluate, tmp_path):
    outs = [tmp_path / "a", tmp_path / "b"]
    for out in outs:
        ended = evaluate(*COMMON, "--against", "runs/letters:sft", "--out", out)
        assert ended.code == 0, ended.err
    assert "letters/more@1 against letters/sft@1:" in ended.out
    assert "covers resampling of evaluation problems" in ended.out
    assert "MAJORITY" in ended.out
    assert "McNemar" in ended.out
    first, second = map(files_in, outs)
    assert first.keys() == second.keys()
    assert {Path(name).name for name in first} == {
        "results.json", RESPONSES, "report.html", "summary.json", "table.txt",
    }  # fmt: skip
    same = [name for name in first if not name.startswith("summary")]
    assert {name: first[name] for name in same} == {name: second[name] for name in same}
    assert evaluate(*COMMON, "--against", "runs/letters:sft", "--out", outs[0]).code == 0
    assert files_in(outs[0]) == first
    summary = read_json(outs[0] / "summary.json")
    assert [each["total"] for each in summary["models"]] == [15, 15]
    assert summary["comparisons"][0]["protocol_id"] == summary["models"][0]["protocol_id"]


def test_what_an_evaluation_has_left_is_compared_over_training_seeds(evaluate, capsys, tmp_path):
    def compare(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["compare", *map(str, arguments)])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    ended = evaluate(*COMMON, "--against", "runs/letters:sft", "--out", tmp_path / "a")
    assert ended.code == 0, ended.err
    folders = sorted(path for path in (tmp_path / "a").iterdir() if path.is_dir())
    code, out, err = compare(*folders)
    assert code == 0, err
    assert "differs in weights of stage" in out
    # A second training of the same recipe: the same results under another seed.
    other = tmp_path / "b" / folders[0].name
    other.mkdir(parents=True)
    results = read_json(folders[0] / "results.json")
    assert results["trained"]["stage"] == "more"
    results["trained"]["recipe"]["seed"] += 1
    write_json(other / "results.json", results)
    code, out, err = compare(folders[0], tmp_path / "b")
    assert code == 0, err
    assert "2 training seeds" in out
    assert "0.00% (seed 1), 0.00% (seed 2)" in out
    for arguments, said in (
        ((tmp_path / "a",), "holds results of several models; name one"),
        ((folders[0], folders[0]), "are one recipe with one seed"),
        ((folders[0], "--stage", "eval"), "it has no stages"),
        ((folders[0], "runs/letters"), "different protocols"),
    ):
        code, _, err = compare(*arguments)
        assert (code, said in err) == (2, True), err
    write_json(other / "results.json", {**results, "complete": False, "recorded_samples": 3})
    code, _, err = compare(folders[0], other)
    assert (code, "holds 3 of 0 responses, and a part has no score" in err) == (2, True), err
    write_json(other / "results.json", {"results": {}})
    assert "none that limite eval has written" in compare(other, folders[0])[2]


def test_several_comparisons_are_adjusted_together(evaluate, tmp_path):
    out = tmp_path / "out"
    models = ("runs/letters:sft", *COMMON)
    assert evaluate(*models, "--out", tmp_path / "first").code == 0
    [earlier] = (tmp_path / "first").glob("letters-more*")
    ended = evaluate(*models, "--against", earlier, "--out", out)
    assert ended.code == 0, ended.err
    assert "as one of 2 comparisons (Holm)" in ended.out
    found = read_json(out / "summary.json")["comparisons"]
    assert [each["p_value_holm"] for each in found] == holm([each["p_value"] for each in found])


def test_a_record_is_kept_at_once_and_none_is_sampled_twice(evaluate, tmp_path, monkeypatch):
    assert evaluate(*COMMON, "--out", tmp_path / "whole").code == 0
    sampled: list[tuple[str, int]] = []
    sample = LocalModel.sample

    def killed(self, wanted, profile, protocol_id):
        for count, found in enumerate(sample(self, wanted, profile, protocol_id), start=1):
            sampled.append(found.place)
            yield found
            if count == 4:
                raise KeyboardInterrupt

    out = tmp_path / "parts"
    with monkeypatch.context() as patched:
        patched.setattr(LocalModel, "sample", killed)
        ended = evaluate(*COMMON, "--out", out)
    assert ended.code == 130
    assert "4 of 15 responses" in ended.err
    [folder] = [path for path in out.iterdir() if path.is_dir()]
    found = read_json(folder / "results.json")
    assert found["complete"] is False
    assert (found["recorded_samples"], found["expected_samples"]) == (4, 15)
    assert "score" not in found
    # A kill in the middle of a line.
    journal = folder / JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"completion_budget":5,"comple')

    def counted(self, wanted, profile, protocol_id):
        for found in sample(self, wanted, profile, protocol_id):
            sampled.append(found.place)
            yield found

    with monkeypatch.context() as patched:
        patched.setattr(LocalModel, "sample", counted)
        assert evaluate(*COMMON, "--out", out).code == 0
    assert len(sampled) == len(set(sampled)) == 15
    ours, theirs = files_in(out), files_in(tmp_path / "whole")
    for name in theirs:
        if not name.startswith("summary"):  # which names the folder
            assert ours[name] == theirs[name], name


def test_a_foreign_record_is_named(evaluate, tmp_path):
    out = tmp_path / "out"
    assert evaluate(*COMMON, "--out", out).code == 0
    [folder] = [path for path in out.iterdir() if path.is_dir()]
    records = list(read_jsonl(folder / RESPONSES))
    changes = {
        "a second time": records[:1] * 2,
        "is none of those that are asked": [{**records[0], "problem_id": "0" * 32}],
        "there are 0 to 2": [{**records[0], "sample_index": 3}],
        "under protocol": [{**records[0], "protocol_id": "f" * 64}],
        "a response of somebody": [{**records[0], "model": "somebody"}],
        "'reasoning_closed': expected bool": [{**records[0], "reasoning_closed": 1}],
        "exceed the budget": [{**records[0], "generated_tokens": 9}],
    }
    (folder / RESPONSES).unlink()
    for said, lines in changes.items():
        text = "".join(f"{json.dumps(each)}\n" for each in [records[4], *lines])
        (folder / JOURNAL).write_text(text)
        ended = evaluate(*COMMON, "--out", out)
        assert ended.code == 2
        assert said in ended.err
        assert f"{JOURNAL}:{len(lines) + 1}" in ended.err, ended.err
    (folder / JOURNAL).write_text(
        "".join(f"{json.dumps(each)}\n" for each in records[:-1]), encoding="utf-8"
    )
    ended = evaluate(*COMMON, "--seed", 2, "--out", out)
    assert (ended.code, "other problems, terms or prompts" in ended.err) == (2, True)


def test_mistakes_are_told_before_anything_is_sampled(evaluate, tmp_path, monkeypatch):
    monkeypatch.setattr(LocalModel, "sample", None)
    bad = tmp_path / "bad.jsonl"
    records = [problem(1), {"problem": "2+2=?"}, problem(1), problem(3, answer={"value": "1"})]
    bad.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    ended = evaluate("letters", "--benchmark", bad)
    assert ended.code == 2
    assert f"{bad}:2: 'answer': expected an object" in ended.err
    assert f"{bad}:3: the problem of line 1 again" in ended.err
    assert f"{bad}:4: 'answer': expected texts" in ended.err
    long = tmp_path / "long.jsonl"
    sums = "+".join("1" * 40)
    long.write_text(f"{json.dumps(problem(1))}\n{json.dumps(problem(2, problem=sums))}\n")
    for arguments, said in (
        (("letters",), "--benchmark: say which problems"),
        (("letters", "--benchmark", long), "problem 2 ("),
        (("letters", "--benchmark", "limite-eesy"), "did you mean 'limite-easy'?"),
        (("letters", "--benchmark", "no.jsonl"), "no.jsonl: no such file"),
        (("letters", "--profile", "base-fewshot"), "did you mean 'base-few-shot'?"),
        (("letters", "--budget", "native"), "is none of fixed-response, native-context"),
        (("leters", "--benchmark", "p.jsonl"), "did you mean"),
        (("letters", "--stage", "mor", "--benchmark", "p.jsonl"), "did you mean 'more'?"),
        (("letters:mor", "--benchmark", "p.jsonl"), "letters:mor: runs/letters has no stage 'mor'"),
        (
            ("letters", "--against", "letters:eval", "--benchmark", "p.jsonl"),
            "letters:eval: 'eval' trains nothing; stages that do are sft, more",
        ),
        (
            ("letters", "--benchmark", "p.jsonl", "--max-tokens", 60),
            "has a context of 64 tokens, and behind the longest prompt, of 7, there is room for 57",
        ),
        (("letters", "letters", "--benchmark", "p.jsonl"), "is named twice"),
        (("letters", "--benchmark", "p.jsonl", "--profile", "chat-zero-shot"), "no chat template"),
        (("letters", "--benchmark", "p.jsonl", "--profile", "base-few-shot"), "--shots: missing"),
        (("letters", "--benchmark", "p.jsonl", "--shots", "p.jsonl"), "--shots: belongs to"),
        (("letters", "--benchmark", "p.jsonl", "--temperature", 0), "all be the same"),
        ((), "say what to measure"),
    ):
        ended = evaluate(*arguments)
        assert ended.code == 2, said
        assert said in ended.err


def test_all_that_is_wrong_with_one_command_is_told_at_once(evaluate, place, tmp_path):
    bare = tmp_path / "bare.toml"
    bare.write_text(
        'name = "bare"\nmodel = { width = 8, layers = 1, heads = 1, head_width = 8 }\n'
        "[stages.look]\n"
        'type = "eval"\nproblems = { sources = { gcd = 1 } }\ncount = 2\nsamples = 1\n'
        "max_tokens = 2\n"
    )
    start(bare, out=tmp_path, name="bare", echo=lambda _line: None)
    ended = evaluate(
        tmp_path / "bare", "--benchmark", "limite-eazy", "--verifier", "mathematcs", "--eos", 2,
        "--budget", "native-context", "--max-tokens", 9, "--served", tmp_path, "--data", tmp_path,
    )  # fmt: skip
    assert ended.code == 2
    told = ended.err.removeprefix("error: ").splitlines()
    for said in (
        "--eos: belongs to --audit FILE",
        "--served: belongs to --endpoint",
        "--data: belongs to --suite math-extended",
        "--max-tokens: budget native-context is what the context leaves; give one",
        f"{tmp_path / 'bare'}: no stage of it trains, so that it has no weights",
        "unknown verifier 'mathematcs'; did you mean 'mathematics'?",
        "did you mean 'limite-easy'?",
    ):
        assert any(said in each for each in told), (said, ended.err)
    assert len(told) == 7
    ended = evaluate("--against", tmp_path / "no", "--samples", 1)
    assert ended.code == 2
    assert "say what to measure" in ended.err
    assert "--benchmark: say which problems" in ended.err
    assert f"{tmp_path / 'no'}: no such run" in ended.err


def test_weights_that_are_gone_are_told_in_a_sentence(evaluate, tmp_path):
    shutil.copytree("runs/letters", tmp_path / "gone")
    [checkpoint] = (tmp_path / "gone" / "stages" / "02-more" / "checkpoints").iterdir()
    (checkpoint / "model.safetensors").unlink()
    ended = evaluate(tmp_path / "gone", *COMMON[1:])
    assert (ended.code, f"{checkpoint / 'model.safetensors'}: " in ended.err) == (2, True)
    shutil.rmtree(checkpoint)
    ended = evaluate(tmp_path / "gone", *COMMON[1:])
    assert (ended.code, ended.err) == (2, f"{checkpoint}: no such checkpoint folder\n")


def test_a_model_that_cannot_read_the_instruction_is_asked_without_it(evaluate, capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["export", "runs/letters", "--to", str(tmp_path / "exported")])
    assert ended.value.code == 0, capsys.readouterr().err
    model = (tmp_path / "exported", *COMMON[1:])
    ended = evaluate(*model)
    assert ended.code == 2
    assert "has no 'P', and \"Put the final answer in \\boxed{}.\" stands behind" in ended.err
    assert "--instruction '' asks without it" in ended.err
    ended = evaluate(*model, "--instruction", "", "--out", tmp_path / "out")
    assert ended.code == 0, ended.err


def test_another_protocol_is_refused_or_said_first(evaluate, tmp_path):
    assert evaluate(*COMMON, "--out", tmp_path / "one").code == 0
    other = (*COMMON, "--stage", "sft", "--against", tmp_path / "one", "--out", tmp_path / "two")
    ended = evaluate(*other)
    assert ended.code == 0, ended.err
    ended = evaluate(*other[:-1], tmp_path / "three", "--seed", 2)
    assert (ended.code, "differ in seed (1 -> 2)" in ended.err) == (2, True)
    ended = evaluate(*other[:-1], tmp_path / "three", "--seed", 2, "--allow-protocol-mismatch")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("PROTOCOL MISMATCH: ")
    ended = evaluate(*other[:-1], tmp_path / "three", "--samples", 2, "--allow-protocol-mismatch")
    assert (ended.code, "another number of samples: nothing pairs" in ended.err) == (2, True)
    ended = evaluate(
        *other[:-1], tmp_path / "four", "--instruction", "now", "--allow-protocol-mismatch"
    )
    assert (ended.code, "never subtracted" in ended.err) == (2, True)


def test_what_a_run_has_trained_on_is_looked_for(evaluate, tmp_path, place):
    (tmp_path / "t.jsonl").write_text('{"messages":[{"role":"user","content":" 3+1=?!"}]}\n')
    ended = evaluate(*COMMON, "--training", tmp_path / "t.jsonl", "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    found = read_json(tmp_path / "out" / "summary.json")["models"][0]["overlap"]
    assert (found["checked"], found["exact"], found["near"]) == (5, 1, 0)
    assert [each["texts"] for each in found["sources"]] == [2, 4, 4]
    assert found["score_of_matches"]["total"] == 3
    assert found["score_of_others"]["total"] == 12
    assert "1 exact and 0 near matches of 5 checked" in ended.out


def test_the_shipped_benchmarks_are_what_their_seals_say(evaluate):
    for name, about in shipped().items():
        found = problem_set(name, Mathematics())
        assert (found.sha256, len(found.problems)) == (about["sha256"], about["problems"])
        assert all(is_held_out(each.problem) for each in found.problems)
        areas = {each.tags[0].partition("/")[0] for each in found.problems}
        assert len(areas) == (2 if name == "limite-sums" else 9)
        assert name in evaluate("--list").out
        assert about["sha256"] in evaluate("--list").out
    assert {path.name for path in FOLDER.glob("*.jsonl")} == {
        about["file"] for about in shipped().values()
    }


@pytest.mark.nightly
def test_the_shipped_benchmarks_are_made_again_by_their_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "families.toml").write_bytes((FOLDER / "families.toml").read_bytes())
    for about in shipped().values():
        for command in about["made_by"]:
            with pytest.raises(SystemExit) as ended:
                gen(shlex.split(command)[1:])
            assert ended.value.code == 0
        made = (tmp_path / about["file"]).read_bytes()
        assert made == (FOLDER / about["file"]).read_bytes()
        for path in tmp_path.glob("*.jsonl*"):
            path.unlink()


def test_responses_of_a_run_are_audited_by_its_recipe_and_corrected(evaluate, place, tmp_path):
    path = "runs/letters/stages/03-eval/responses.jsonl.zst"
    ended = evaluate("--audit", path)
    assert (ended.code, ended.out.rsplit(": ", 1)[1]) == (0, "clean\n"), ended.err
    first = next(iter(read_jsonl(path)))["completion_ids"][0]
    out = tmp_path / "corrected"
    ended = evaluate("--audit", path, "--correct-eos", first, "-o", out)
    assert ended.code == 0, ended.err
    assert f"corrected to end at {first}: " in ended.out
    results = read_json(out / "results.json")
    assert results["recorded"]["total"] == results["corrected"]["total"] == 2
    record = next(iter(read_jsonl(out / RESPONSES)))
    assert record["completion_ids"] == [first]
    assert record["text"] == ""
    assert record["recorded"]["generated_tokens"] >= 1
    assert evaluate("--audit", path, "--correct-eos", first, "-o", out).code == 2
    ended = evaluate("letters:more", "--audit", path)
    assert ended.code == 1
    assert "leaves" in ended.err  # of the native context, and these had four tokens
