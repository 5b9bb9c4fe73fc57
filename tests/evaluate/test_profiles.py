"""Rendering profiles: the very token ids of a prompt, and what makes one unfit to be answered."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import attrs
import pytest
import tokenizers

from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, read_jsonl
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Answer, Problem
from limite.evaluate.figures import summary
from limite.evaluate.graded import Graded
from limite.evaluate.journal import RESPONSES, Recorded
from limite.evaluate.profiles import Profile, stopped, tokens_until
from limite.evaluate.protocol import Protocol
from limite.problems.gen.main import main as gen
from limite.problems.verifiers.mathematics import Mathematics
from tests.core.pretrained.words import CHATML, CONFIG, START, byte_level, write_words
from tests.evaluate.asked import problem

CONTEXT = 160
SPEC = LlamaSpec(
    width=16, layers=1, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=CONTEXT,
    vocabulary=370,
)  # fmt: skip
WORKED = {
    "problem": "What is 20 + 3?",
    "answer": {"type": "integer", "value": "23"},
    "solution": "20 + 3 is \\boxed{23}.",
}
QUESTION = Problem(problem="2+2=?", answer=Answer(type="integer", value="4"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model, with a chat template and without; problems, and worked ones."""
    folder = tmp_path_factory.mktemp("profiles")
    for name, template in (("chat", CHATML), ("base", None)):
        save_pretrained(build_decoder(SPEC.filled(), 1), folder / name)
        write_words(folder / name, generation={"eos_token_id": 0}, template=template)
    for name, records in (("p", [problem(1), problem(2)]), ("shots", [WORKED])):
        text = "".join(f"{json.dumps(each)}\n" for each in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def there(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)


@pytest.fixture
def measured(evaluate, tmp_path):
    """The results of one model, and its records."""

    def call(model: str, *more: object, benchmark: str = "p.jsonl"):
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        ended = evaluate(model, "--benchmark", benchmark, "--samples", 1, "--out", out, *more)
        assert ended.code == 0, ended.err
        [folder] = [path for path in out.iterdir() if path.is_dir()]
        return read_json(folder / "results.json"), list(read_jsonl(folder / RESPONSES))

    return call


def test_a_chat_model_reads_its_template_and_a_base_model_the_question(measured, models):
    expected = {
        "chat": f"{START}user\n1+1=?\n\nPut the final answer in \\boxed{{}}.<|im_end|>\n"
        f"{START}assistant\n",
        "base": "1+1=?\n\nPut the final answer in \\boxed{}.\n",
    }
    for name, kind in (("chat", "chat-zero-shot"), ("base", "base-zero-shot")):
        results, _ = measured(name, "--max-tokens", 3)
        inner = tokenizers.Tokenizer.from_file(str(models / name / "tokenizer.json"))
        ids = inner.encode(expected[name], add_special_tokens=False).ids
        assert results["profile"]["kind"] == kind
        assert results["profile"]["example"]["prompt"] == ids


def test_thinking_that_the_template_opens_is_open_until_it_is_closed(evaluate, models, tmp_path):
    path = tmp_path / "thinks"
    save_pretrained(build_decoder(SPEC.filled(), 1), path)
    opening = CHATML.replace("assistant\\n", "assistant\\n<think>\\n")
    assert opening != CHATML
    write_words(path, generation={"eos_token_id": 0}, template=opening)
    out = tmp_path / "out"
    ended = evaluate(path, "--benchmark", "p.jsonl", "--max-tokens", 3, "--out", out)
    assert ended.code == 0, ended.err
    [results] = read_json(out / "summary.json")["models"]
    assert results["closed_reasoning"]["count"] == 0


def test_an_answer_within_thinking_that_the_template_opened_has_no_vote():
    """Of two responses the first stops in its thinking at 9, the second states 4 behind it."""
    texts = ["so \\boxed{9}", "so \\boxed{9}</think> \\boxed{4}", "\\boxed{9}"]
    graded = [
        Graded(
            problem=QUESTION,
            response=recorded(number, text, closed="</think>" in text),
            verdict=Mathematics()(QUESTION.answer, text),
            closed="</think>" in text,
            correct="</think>" in text,
        )
        for number, text in enumerate(texts)
    ]
    protocol = Protocol(
        problems="", prompts="", count=1, samples=3, seed=1, temperature=1.0, max_tokens=9,
        eos_ids=(0,), verifier={}, natural_end=False,
    )  # fmt: skip
    found = summary(graded, protocol, 0.95, Mathematics())
    assert found["majority"]["correct"] == 1
    assert found["closed_reasoning"]["count"] == 1
    opened = [attrs.evolve(each, closed=True) for each in graded]
    assert summary(opened, protocol, 0.95, Mathematics())["majority"]["correct"] == 0


def recorded(number: int, text: str, *, closed: bool) -> Recorded:
    return Recorded(
        model="m", protocol_id="p", problem_id=QUESTION.id, sample_index=number, seed="1",
        prompt_tokens=3, completion_budget=9, generated_tokens=4, finish_reason="eos",
        reasoning_closed=closed, text=text,
    )  # fmt: skip


def test_worked_problems_stand_before_a_base_model_question(measured, models):
    terms = ("--profile", "base-few-shot", "--shots", "shots.jsonl", "--max-tokens", 3)
    results, records = measured("base", *terms, "--instruction", "")
    inner = tokenizers.Tokenizer.from_file(str(models / "base" / "tokenizer.json"))
    text = "Problem: What is 20 + 3?\nSolution: 20 + 3 is \\boxed{23}.\n\nProblem: 1+1=?\nSolution:"
    assert results["profile"]["example"]["prompt"] == inner.encode(text).ids
    assert results["profile"]["stops"] == ["\nProblem:", "\n\nProblem:", "**Problem"]
    assert len(results["profile"]["shots"]) == 1
    assert all("2" not in each["problem"].split("=")[1] for each in records)


def test_the_context_behind_each_prompt_is_its_budget(measured):
    # The other prompt is longer, and has less left.
    _, records = measured("base", "--seed", 3)
    for each in records:
        assert each["prompt_tokens"] + each["completion_budget"] == CONTEXT
        used = each["generated_tokens"] == each["completion_budget"]
        assert (each["finish_reason"] == "length") == (used and each["completion_ids"][-1] != 0)


def test_shots_that_give_an_answer_away_are_refused(evaluate, tmp_path):
    shots = tmp_path / "shots.jsonl"
    records = [problem(9), {**problem(1), "problem": " 1+1 = ??", "solution": "\\boxed{2}"}]
    records[1]["problem"] = "1+1=??"
    shots.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    ended = evaluate(
        "base", "--benchmark", "p.jsonl", "--profile", "base-few-shot", "--shots", shots
    )
    assert ended.code == 2
    assert f"{shots}:1: has no worked solution to be shown" in ended.err
    assert f"{shots}:2: is one of the problems that are asked" in ended.err


def test_scores_of_two_profiles_are_never_subtracted(evaluate):
    ended = evaluate(
        "chat", "--against", "base", "--benchmark", "p.jsonl", "--allow-protocol-mismatch"
    )
    assert (ended.code, "scores of two profiles are never subtracted" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (CHATML.replace("add_generation_prompt", "false"), "opens no turn for the assistant"),
        (f"{{{{ '{START}{START}' }}}}{CHATML}", "begins with the begin token"),
        (CHATML.replace("assistant\\n", "assistant<|endoftext|>"), "which ends a response"),
    ],
)
def test_a_prompt_that_cannot_be_answered_is_refused(tmp_path, template, said):
    config = {**CONFIG, "bos_token": START}
    end = byte_level().token_to_id("<|endoftext|>")
    write_words(tmp_path, config=config, generation={"eos_token_id": end}, template=template)
    tokenizer = PretrainedTokenizer(path=str(tmp_path))
    with pytest.raises(LimiteError, match=said):
        Profile(kind="chat-zero-shot").check(QUESTION, tokenizer)


def test_what_shapes_a_prompt_and_ends_a_response_has_a_digest_of_its_own(measured, models):
    tokenizer = PretrainedTokenizer(path=str(models / "chat"))
    chat, base = Profile(kind="chat-zero-shot"), Profile(kind="base-zero-shot")
    shots = Profile(kind="base-few-shot", shots=[attrs.evolve(QUESTION, solutions={"words": "4"})])
    found = [
        chat.rendering(tokenizer, (0,)),
        chat.rendering(tokenizer, (0, 1)),  # other end tokens are another rendering
        attrs.evolve(chat, system="s").rendering(tokenizer, (0,)),
        base.rendering(tokenizer, (0,)),
        attrs.evolve(base, stops=("#",)).rendering(tokenizer, (0,)),
        shots.rendering(tokenizer, (0,)),
        attrs.evolve(shots, thinking=True).rendering(tokenizer, (0,)),
    ]
    assert len(set(found)) == len(found)
    results, _ = measured("chat", "--max-tokens", 2)
    assert results["profile"]["rendering"] == found[0]
    assert results["rules"]["cut_off"] == "score"


def test_a_response_is_cut_where_a_server_would_have_stopped():
    tokenizer, stops = CharacterTokenizer(), ("\nproblem=", "##")
    for text, before in (
        ("a=1#1\nproblem= b\nproblem= c", "a=1#1"),
        ("a##b\nproblem=", "a"),
        ("\nproblem=", ""),
    ):
        ids = tokenizer.encode(text)
        count = tokens_until(stops, ids, tokenizer)
        assert text[: stopped(text, stops)] == before
        assert stopped(tokenizer.decode(ids[:count]), stops) == len(before)
        assert stopped(tokenizer.decode(ids[: count - 1]), stops) is None
    assert tokens_until(stops, tokenizer.encode("a#1"), tokenizer) is None


def test_parquet_and_lines_are_the_same_problems(measured, evaluate, tmp_path):
    packed = tmp_path / "p.parquet"
    if importlib.util.find_spec("pyarrow") is None:
        packed.touch()
        ended = evaluate("base", "--benchmark", packed)
        assert (ended.code, "limite[data]" in ended.err) == (2, True)
        return
    with pytest.raises(SystemExit) as exported:
        gen(["export", "p.jsonl", "--format", "parquet", "-o", str(packed)])
    assert exported.value.code == 0
    ours, theirs = (
        measured("base", "--max-tokens", 2, benchmark=str(each))[0] for each in (packed, "p.jsonl")
    )
    assert ours["protocol_id"] == theirs["protocol_id"]


def test_an_earlier_prompt_can_be_held_to(measured, evaluate, tmp_path):
    results, _ = measured("chat", "--max-tokens", 2)
    expected = tmp_path / "expected.json"
    expected.write_text(json.dumps(results), encoding="utf-8")
    measured("chat", "--max-tokens", 3, "--expect", expected)
    ended = evaluate("chat", "--benchmark", "p.jsonl", "--system", "S", "--expect", expected)
    assert (ended.code, "they differ from place" in ended.err) == (2, True)
    ended = evaluate("chat", "--benchmark", "p.jsonl", "--expect", "shots.jsonl")
    assert (ended.code, "is no results.json" in ended.err) == (2, True)


def test_the_rows_sampled_together_change_nothing(measured):
    first, second = (measured("base", "--max-tokens", 9, "--slots", each)[1] for each in (1, 64))
    assert first == second
