"""The stage that learns from a teacher: stored lists, a live teacher, the student's own texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.character_files import character_files
from limite.core.pretrained.save import save_pretrained
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped, StageContext
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.runners import distill
from limite.core.recipe.verify import verify_run
from limite.core.seeds import Seeds
from limite.core.separation import text_hash
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.replay import Row
from limite.core.train.teacher import likeliest
from limite.core.types import Answer, Problem
from tests.core.recipe.conftest import pages

RECIPE = Path(__file__).parent / "traces.toml"
TOKENIZER = CharacterTokenizer()
SPEC = ModelSpec(width=24, layers=2, heads=3, kv_heads=1, head_width=8, mlp_width=32, context=32)
TEXTS = {f"{number}+1=?": f"#{number + 1}" for number in range(30)}


def quiet(_line: str) -> None:
    """Says nothing."""


def sharp_teacher() -> Any:
    """A model of random weights that is sure of what it says."""
    teacher = build_decoder(SPEC.filled(TOKENIZER.vocabulary), Seeds(11))
    teacher.requires_grad_(False)
    teacher.embed_tokens.weight.mul_(3.0)
    return teacher


def row_of(prompt: str, completion: str) -> Row:
    nothing = Answer(type="text", value="")
    asked = TOKENIZER.render_prompt(Problem(problem=prompt, answer=nothing))
    return Row(prompt=asked, completion=(*TOKENIZER.encode(completion), TOKENIZER.eos_id))


def trace(prompt: str, completion: str) -> dict[str, Any]:
    row = row_of(prompt, completion)
    ids, nats = likeliest(sharp_teacher(), [row], 8, among=TOKENIZER.vocabulary)
    return {
        "prompt": prompt,
        "completion": completion,
        "topk_ids": ids.tolist(),
        "topk_logprobs": nats.tolist(),
        "temperature": 1,
    }


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("traces") / "traces.jsonl.zst"
    write_jsonl(place, [trace(*each) for each in TEXTS.items()])
    return place


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    write_jsonl(place, [{"prompt": a, "completion": b} for a, b in TEXTS.items()])
    return place


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher") / "model"
    save_pretrained(sharp_teacher(), folder)
    for name, content in character_files(TOKENIZER, 32).items():
        (folder / name).write_bytes(content)
    return folder


def run(out: Path, traces: Path, *sets: str, name: str | None = None) -> RunResult:
    overrides = [f"stages.distill.traces={traces}", *sets]
    return start(RECIPE, out=out, overrides=overrides, name=name, echo=quiet)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, traces: Path) -> RunResult:
    return run(tmp_path_factory.mktemp("whole"), traces)


def lines_of(result: RunResult) -> list[dict[str, Any]]:
    log = result.path / "stages/01-distill/metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_the_student_comes_nearer_to_stored_lists(whole: RunResult) -> None:
    lines = lines_of(whole)
    assert lines[-1]["kd/divergence_nats"] < 0.85 * lines[0]["kd/divergence_nats"]
    assert lines[0]["loss"] == pytest.approx(lines[0]["kd/divergence_nats"], rel=1e-5)
    assert [line["step"] for line in lines if "held_out/divergence_nats" in line] == [3, 6, 8]
    assert lines[-1]["held_out/divergence_nats"] < lines[2]["held_out/divergence_nats"]
    assert all(0.3 < line["kd/teacher_mass"] <= 1 for line in lines)
    receipt = whole.stages["distill"]
    assert receipt["traces"] + receipt["held_out_traces"] == len(TEXTS)
    assert {path.name for path in (whole.path / "stages/01-distill").iterdir()} == {
        "metrics.jsonl",
        "receipt.json",
        "checkpoints",
    }


def test_a_live_teacher_says_what_was_stored(
    whole: RunResult, texts: Path, teacher: Path, tmp_path: Path
) -> None:
    live = run(tmp_path, texts, f"stages.distill.teacher={teacher}")
    for ours, theirs in zip(lines_of(live), lines_of(whole), strict=True):
        for figure in ("loss", "kd/teacher_mass", "kd/student_mass", "optim/gradient_norm"):
            assert ours[figure] == pytest.approx(theirs[figure], rel=1e-3), figure
    assert any(str(teacher) in name for name in live_receipt(live)["stage_files"])


def live_receipt(result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((result.path / "receipt.json").read_text())
    return found


def test_any_cut_into_micro_batches_gives_the_same_update(
    whole: RunResult, traces: Path, tmp_path: Path
) -> None:
    at_once = run(tmp_path, traces, "stages.distill.microbatch_tokens=9999")
    for ours, theirs in zip(lines_of(at_once), lines_of(whole), strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-4)
        assert ours["optim/gradient_norm"] == pytest.approx(theirs["optim/gradient_norm"], rel=1e-3)


def stopped_and_resumed(
    tmp_path: Path, traces: Path, sets: list[str], monkeypatch: pytest.MonkeyPatch
) -> Path:
    update = distill.update

    def stop_in_the_fifth(session: Any, *rest: Any) -> Any:
        if session.clocks.step == 4:
            raise KeyboardInterrupt
        return update(session, *rest)

    monkeypatch.setattr(distill, "update", stop_in_the_fifth)
    with pytest.raises(RunStopped):
        run(tmp_path, traces, *sets, name="stopped")
    monkeypatch.undo()
    go_on(tmp_path / "stopped", echo=quiet)
    return tmp_path / "stopped"


def test_a_stopped_stage_goes_on_to_the_same_bits(
    whole: RunResult, traces: Path, tmp_path: Path, digest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = stopped_and_resumed(tmp_path, traces, [], monkeypatch)
    assert digest(stopped) == digest(whole.path)


def test_on_policy_the_teacher_judges_what_the_student_writes(
    texts: Path, teacher: Path, tmp_path: Path, digest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    write_jsonl(prompts, [{"prompt": prompt} for prompt in TEXTS])
    sets = [
        f"stages.distill.teacher={teacher}",
        "stages.distill.on_policy=true",
        "stages.distill.response_tokens=7",
        "stages.distill.objective.direction=reverse",
    ]
    written: list[int] = []
    parts = distill.TraceLearner.parts

    def look(self: Any, traces: Any, rows: Any) -> Any:
        written.extend(len(row.completion) for row in rows)
        return parts(self, traces, rows)

    monkeypatch.setattr(distill.TraceLearner, "parts", look)
    result = run(tmp_path, prompts, *sets, name="whole")
    monkeypatch.undo()
    assert set(written) <= set(range(1, 8))
    assert max(written) == 7
    lines = lines_of(result)
    assert lines[-1]["kd/divergence_nats"] < 0.85 * lines[0]["kd/divergence_nats"]
    stopped = stopped_and_resumed(tmp_path, prompts, sets, monkeypatch)
    assert digest(stopped) == digest(result.path)


def test_what_the_student_writes_is_recorded(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    write_jsonl(prompts, [{"prompt": prompt} for prompt in TEXTS])
    sets = [
        f"stages.distill.teacher={teacher}",
        "stages.distill.on_policy=true",
        "stages.distill.response_tokens=5",
        "stages.distill.steps=3",
        "stages.distill.eval_every=2",
        "stages.distill.checkpoint_every=1",
    ]
    learned: list[list[list[int]]] = []
    parts = distill.TraceLearner.parts

    def look(self: Any, traces: Any, rows: Any) -> Any:
        learned.append([list(row.completion) for row in rows])
        return parts(self, traces, rows)

    monkeypatch.setattr(distill.TraceLearner, "parts", look)
    with pages():
        result = run(tmp_path, prompts, *sets, name="recorded")
    monkeypatch.undo()
    folder = result.path / "stages/01-distill/rollouts"
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"{step:06d}.jsonl.zst" for step in (1, 2, 3)]
    lines = [list(read_jsonl(file)) for file in files]
    said = [
        [line["completion_ids"] for line in step if line["held_out"] is held_out]
        for step in lines
        for held_out in (False, True)
    ]
    assert [each for each in said if each] == learned
    assert [bool(each) for each in said] == [True, False, True, True, True, True]
    for number, step in enumerate(lines):
        for line in step:
            assert len(line["logprobs"]) == len(line["completion_ids"]) <= 5
            assert line["policy_version"] == number + line["held_out"]
            assert line["prompt"].strip() in TEXTS
            assert line["completion_budget"] == 5
    assert "Sample responses" not in result.report.read_text()
    found = verify_run(result.path)
    assert found.violations == []
    assert found.counts["responses"] == sum(map(len, lines))
    for change, told in (
        ({"policy_version": 0}, "is of policy version 0, not 1"),
        ({"logprobs": []}, "tokens but 0 log-probabilities"),
        ({"held_out": True}, "holds 5 responses to learn from, not 6"),
        ({"text": "?"}, "its text is '?', and its tokens say "),
        ({"prompt_ids": [10**6]}, "its prompt has the token 1000000, with a vocabulary of "),
    ):
        write_jsonl(files[1], [{**lines[1][0], **change}, *lines[1][1:]])
        assert any(told in each.message for each in verify_run(result.path).violations), told
    # A record that is gone is no record: the stage does not go on without it.
    stage = result.path / "stages/01-distill"
    (stage / "receipt.json").unlink()
    files[1].unlink()
    with pytest.raises(LimiteError, match="a record of what it sampled is missing or damaged"):
        go_on(result.path, echo=quiet)


def test_texts_are_recorded_by_their_file_alone(whole: RunResult) -> None:
    assert not (whole.path / "stages/01-distill/rollouts").exists()


def test_texts_alone_are_learned_by_cross_entropy(texts: Path, tmp_path: Path) -> None:
    lines = lines_of(run(tmp_path, texts, "stages.distill.objective=sft"))
    assert lines[-1]["loss"] < 0.8 * lines[0]["loss"]


def test_prompts_it_trains_on_are_known_to_evaluations(
    whole: RunResult, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []
    update = distill.update

    def look(session: Any, *rest: Any) -> Any:
        context: StageContext = session.context
        seen.append(distill.training_hashes(context))
        return update(session, *rest)

    monkeypatch.setattr(distill, "update", look)
    run(tmp_path, traces, "stages.distill.steps=1")
    assert seen[0] < {text_hash(prompt) for prompt in TEXTS}
    assert len(seen[0]) == whole.stages["distill"]["traces"]


def test_the_plan_tells_what_it_costs(texts: Path, traces: Path, teacher: Path) -> None:
    def plan(*sets: str) -> Any:
        _, found = check_file(RECIPE, [f"stages.distill.{each}" for each in sets], load_registry())
        return found.stages[0]

    stored = plan(f"traces={traces}")
    assert (stored.updates, stored.sampled_tokens, stored.objective) == (8, 0, "topk-kd")
    assert stored.reads == ("teacher_topk_logp", "topk_logp")
    live = plan(f"traces={texts}", f"teacher={teacher}")
    own = plan(f"traces={texts}", f"teacher={teacher}", "on_policy=true", "response_tokens=4")
    assert stored.operations < live.operations < own.operations
    assert stored.memory_bytes < live.memory_bytes
    assert own.sampled_tokens == 8 * 6 * 4


GOOD = trace("1", "2")
SHORT = {**GOOD, "topk_ids": GOOD["topk_ids"][:1], "topk_logprobs": GOOD["topk_logprobs"][:1]}
TWICE = {**GOOD, "topk_ids": [[5, 5], [5, 6]], "topk_logprobs": [[-1, -1], [-1, -1]]}
HEAVY = {**GOOD, "topk_ids": [[5, 6], [5, 6]], "topk_logprobs": [[-0.1, -0.2], [-1, -1]]}
FAR = {**GOOD, "topk_ids": [[5, 6], [5, 99]], "topk_logprobs": [[-1, -1], [-1, -1]]}
RAGGED = {**GOOD, "topk_ids": [[5, 6], [5]], "topk_logprobs": [[-1, -1], [-1, -1]]}
POSITIVE = {**GOOD, "topk_ids": [[5], [5]], "topk_logprobs": [[-1], [0.5]]}
BAD = [
    ({"prompt": "1", "completion": "2"}, "a model that is asked for them with 'teacher'"),
    ({key: GOOD[key] for key in GOOD if key != "topk_ids"}, "lacks the key 'topk_ids'"),
    ({key: GOOD[key] for key in GOOD if key != "completion"}, "lacks the key 'completion'"),
    ({**GOOD, "temperature": 0.5}, "the lists are of temperature 0.5"),
    ({**GOOD, "completion_ids": [3, 99]}, "completion_ids: the id 99 is outside the vocabulary"),
    ({**GOOD, "completion_ids": []}, "completion_ids: expected a list of token ids"),
    ({**GOOD, "topk_logprobs": 3}, "topk_logprobs: expected a list of lists"),
    ({**GOOD, "topk_ids": [["a"], ["b"]], "topk_logprobs": [[-1], [-1]]}, "whole numbers"),
    ({**POSITIVE, "topk_logprobs": [[-1], ["NaN"]]}, "expected log-probabilities, got 'NaN'"),
    (SHORT, "the completion has 2 tokens, the end token among them, and 1 have a list"),
    (TWICE, "topk_ids[0]: the id 5 is there twice"),
    (HEAVY, "topk_logprobs[0]: the probabilities sum to 1.7236"),
    (FAR, "topk_ids: the id 99 is outside the vocabulary"),
    (RAGGED, "topk_ids and topk_logprobs differ in length"),
    (POSITIVE, "topk_logprobs[1]: a log-probability is at most 0, got 0.5"),
    ({**POSITIVE, "topk_ids": [[-3], [5]], "topk_logprobs": [[-1], [-1]]}, "an id is below 0"),
    ({**POSITIVE, "topk_ids": [[2**70], [5]], "topk_logprobs": [[-1], [-1]]}, "below 2**31"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_lines_are_told_before_anything_runs(
    tmp_path: Path, line: dict[str, Any], message: str
) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(f"{json.dumps(GOOD)}\n{json.dumps(line)}\n")
    with pytest.raises(SettingsError) as caught:
        run(tmp_path / "runs", own)
    assert [mistake.line for mistake in caught.value.mistakes] == [2]
    assert message in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_a_list_longer_than_the_vocabulary_is_refused(traces: Path) -> None:
    ids = TOKENIZER.vocabulary
    sets = [f"stages.distill.traces={traces}", f"stages.distill.listed_tokens={ids}"]
    assert check_file(RECIPE, sets, load_registry())
    sets[-1] = f"stages.distill.listed_tokens={ids + 1}"
    with pytest.raises(SettingsError, match=rf"at most {ids}, the tokens of the .* {ids + 1}$"):
        check_file(RECIPE, sets, load_registry())
    assert check_file(RECIPE, [*sets, "stages.distill.objective=sft"], load_registry())


def test_what_is_wrong_with_a_teacher_is_told(texts: Path, teacher: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    save_pretrained(sharp_teacher(), other)
    alphabet = TOKENIZER.alphabet.replace("ab", "ba")
    for name, content in character_files(attrs.evolve(TOKENIZER, alphabet=alphabet), 32).items():
        (other / name).write_bytes(content)
    cases = [
        (["stages.distill.teacher=./nowhere"], "there is no directory './nowhere'"),
        ([f"stages.distill.traces={tmp_path}"], "expected a file, and this is a folder"),
        (["stages.distill.on_policy=true"], "teacher: is needed to judge"),
        ([f"stages.distill.teacher={tmp_path}"], "config.json"),
        ([f"stages.distill.teacher={other}"], "has another tokenizer: its id"),
        (
            [f"stages.distill.teacher={teacher}", "stages.distill.objective=sft"],
            "teacher: has no use",
        ),
        (
            [f"stages.distill.teacher={teacher}", "model.context=64"],
            "has a context of 32 tokens, and texts have up to 64; set 'max_tokens'",
        ),
        (["stages.distill.objective=grpo"], "'grpo' reads advantage, behavior_logp, which a"),
        (["stages.distill.objective=dpo"], "'dpo' compares pairs of responses"),
    ]
    for sets, message in cases:
        with pytest.raises(SettingsError) as caught:
            run(tmp_path / "runs", texts, *sets)
        assert message in str(caught.value), message


def test_a_folder_that_is_no_model_is_told_where_it_is_named(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    recipe = tmp_path / "recipe.toml"
    teacher = f'teacher = "{tmp_path / "empty"}"'
    recipe.write_text(f'{RECIPE.read_text()}traces = "{texts}"\n{teacher}\n')
    line = recipe.read_text().splitlines().index(teacher) + 1
    with pytest.raises(SettingsError) as caught:
        check_file(recipe, [], load_registry())
    (told,) = caught.value.mistakes
    assert str(told).startswith(f"{recipe}:{line}: stages.distill.teacher: {tmp_path / 'empty'}: ")
    model = f"model={tmp_path / 'empty'}"
    with pytest.raises(SettingsError) as caught:
        check_file(recipe, [model], load_registry())
    told_of = [(each.file, each.path) for each in caught.value.mistakes]
    assert set(told_of) == {(str(recipe), "stages.distill.teacher"), (f"--set {model}", "model")}
