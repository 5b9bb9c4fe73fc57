"""``limite eval --endpoint``: what a server is asked, and what of its replies is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator

import attrs
import pytest

from limite.core.endpoint.client import Address, Client, Unanswered
from limite.core.jsonl import read_json, read_jsonl
from limite.evaluate.exchange.files import read as read_foreign
from limite.evaluate.journal import JOURNAL, RESPONSES
from limite.evaluate.models import Terms
from limite.evaluate.served import PUBLISHED
from limite.evaluate.suites.publisher import TASKS
from limite.evaluate.suites.run import published_terms
from tests.evaluate.asked import files_in
from tests.problems.gen.chat_server import ChatServer, Told, told

TERMS = Terms(samples=None, temperature=1.5, seed=1, max_tokens=None)


class Counting(ChatServer):
    """A server that tells how many tokens there were: 7 read and 5 written, or ``length``."""

    length = 5
    usage = True
    ending = "stop"
    thoughts = ""

    def reply(self, body, key) -> Told:
        body.setdefault("messages", [{"content": body.get("prompt")}])  # of plain completions
        status, headers, data = super().reply(body, key)
        if data.startswith(b"{") and status == 200:
            found = json.loads(data)
            if self.usage:
                found["usage"] = {"prompt_tokens": 7, "completion_tokens": self.length}
            found["choices"][0]["finish_reason"] = self.ending
            if self.thoughts:
                found["choices"][0]["message"]["reasoning_content"] = self.thoughts
            data = json.dumps(found).encode()
        return status, headers, data


@pytest.fixture
def server() -> Iterator[Counting]:
    with Counting() as found:
        # Right on even numbers: "4+1=?" is answered 5, "3+1=?" 0.
        found.answers = lambda text: (
            f"\\boxed{{{int(text[0]) + 1 if int(text[0]) % 2 == 0 else 0}}}"
        )
        yield found


@pytest.fixture(autouse=True)
def there(place, monkeypatch) -> None:
    monkeypatch.chdir(place)


@pytest.fixture
def ask(evaluate, server, tmp_path):
    def call(*more: object, out: str = "out"):
        return evaluate(
            "--endpoint", server.url, "--model-name", "m", "--benchmark", "p.jsonl",
            "--samples", 2, "--max-tokens", 9, "--out", tmp_path / out, *more,
        )  # fmt: skip

    return call


def folder_in(tmp_path):
    [found] = [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    return found


def test_each_response_is_asked_for_once_with_a_seed_of_its_own(ask, server, tmp_path):
    ended = ask()
    assert ended.code == 0, ended.err
    assert "6/10 = 60.00%" in ended.out
    assert len(server.bodies) == 10
    assert len({body["seed"] for body in server.bodies}) == 10
    assert {body["max_tokens"] for body in server.bodies} == {9}
    assert all("boxed" in body["messages"][0]["content"] for body in server.bodies)
    before = files_in(tmp_path / "out")
    assert ask().code == 0
    assert len(server.bodies) == 10
    assert files_in(tmp_path / "out") == before
    assert ask("--temperature", 0.7, out="other").code == 0
    by_question = [
        {(each["messages"][0]["content"], each["seed"]) for each in part}
        for part in (server.bodies[:10], server.bodies[10:])
    ]
    assert by_question[0] == by_question[1]  # of seed, problem and number alone
    records = list(read_jsonl(folder_in(tmp_path) / RESPONSES))
    assert {each["prompt_tokens"] for each in records} == {7}
    assert [each["sample_index"] for each in records[:3]] == [0, 1, 0]


def test_a_set_with_refused_requests_has_no_score_and_goes_on(ask, server, tmp_path):
    server.planned = [told(400)] * 3
    ended = ask("--concurrency", 1)
    assert ended.code == 1
    assert "7 of 10 responses came (3 status 400: no)" in ended.err
    found = read_json(folder_in(tmp_path) / "results.json")
    assert found["complete"] is False
    assert (found["recorded_samples"], found["expected_samples"]) == (7, 10)
    assert "score" not in found
    assert len(server.bodies) == 7
    ended = ask()
    assert ended.code == 0, ended.err
    assert len(server.bodies) == 10
    assert not (folder_in(tmp_path) / JOURNAL).exists()


def test_a_busy_server_is_asked_again_and_what_it_has_answered_is_not(ask, server, tmp_path):
    server.planned = [told(503, {"Retry-After": "0"}), (200, {}, b"<p>Later</p>"), ("cut", {}, b"")]
    ended = ask("--concurrency", 1)
    assert ended.code == 1
    assert "9 of 10 responses came (1 a web page in place of JSON)" in ended.err
    assert ask().code == 0
    assert len(server.bodies) == 10


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (told(429, {"Retry-After": "0"}), "status 429"),
        (told(503), "status 503"),
        ((200, {}, b"<p>Later</p>"), "a web page in place of JSON"),
    ],
)
def test_a_published_suite_repeats_only_what_got_no_answer(server, refusal, reason):
    waits: list[float] = []
    asked = Client(
        Address.of(server.url, "url"), patience=PUBLISHED, wait=waits.append, clock=lambda: 0.0
    )

    def turn(question: str) -> str:
        body = {"messages": [{"content": question}], "seed": 7}
        return asked.ask("/chat/completions", body, lambda found: found["choices"][0])["message"]

    server.planned = [("cut", {}, b"")] * 3
    assert turn("4?")["content"] == "\\boxed{5}"
    assert waits == [1.0, 2.0, 4.0]
    assert len(server.bodies) == 1
    server.planned = [("cut", {}, b"")] * 5
    with pytest.raises(Unanswered, match="4 times"):
        turn("4?")
    assert len(server.planned) == 1
    server.planned = [refusal]
    with pytest.raises(Unanswered) as failed:
        turn("4?")
    assert (failed.value.reason, waits) == (reason, [1.0, 2.0, 4.0] * 2)
    assert (len(server.bodies), server.planned) == (1, [])


def test_a_published_suite_is_asked_so(evaluate, server, tmp_path):
    (tmp_path / "gsm8k.jsonl").write_text('{"question": "6?", "answer": "so #### 7"}\n')
    server.planned = [told(503, {"Retry-After": "0"})]
    ended = evaluate(
        "--endpoint", server.url, "--model-name", "m", "--suite", "math-extended/gsm8k", "--data",
        tmp_path, "--out", tmp_path / "out", "--budget", "fixed-response", "--max-tokens", 9,
    )  # fmt: skip
    assert (ended.code, "(1 status 503: no)" in ended.err) == (1, True), ended.err
    assert server.bodies == []


def test_replies_that_cannot_be_checked_are_refused(ask, server):
    server.usage = False
    ended = ask("--concurrency", 1)
    assert (ended.code, "without usage" in ended.err) == (1, True)
    server.usage, server.length = True, 10
    ended = ask(out="long")
    assert (ended.code, "the server keeps no budget" in ended.err) == (1, True)
    server.always = told(401)
    ended = ask(out="key")
    assert (ended.code, "refuses every request" in ended.err) == (1, True)


def test_a_budget_that_ended_early_is_told(ask, server, tmp_path):
    server.ending = "length"
    ended = ask()
    assert ended.code == 0, ended.err
    found = read_json(folder_in(tmp_path) / "results.json")
    assert found["endings"]["length"] == 10
    assert found["correct_but_truncated"] == 6
    assert found["cut_below_budget"]["count"] == 10
    assert "AUDIT" in ended.out


@pytest.mark.parametrize(
    ("thought", "ending", "more", "right"),
    [
        ("<think>it is</think>", "stop", (), 6),
        ("<think>it is", "stop", (), 0),
        ("", "length", (), 6),
        ("", "length", ("--natural-end",), 0),
        ("<think>it is</think>", "stop", ("--natural-end",), 6),
    ],
)
def test_an_answer_counts_where_the_thinking_is_closed(
    ask, server, tmp_path, thought, ending, more, right
):
    answers = server.answers
    server.answers = lambda text: thought + answers(text)
    server.ending = ending
    server.length = 9 if ending == "length" else 5
    assert ask(*more).code == 0
    found = read_json(folder_in(tmp_path) / "results.json")
    assert found["correct"] == right
    assert found["cut_below_budget"]["count"] == 0
    assert found["closed_reasoning"]["count"] == (0 if thought == "<think>it is" else 10)


def test_a_base_model_can_begin_within_its_thinking(ask, server, tmp_path):
    (tmp_path / "shots.jsonl").write_text(
        '{"problem": "What is 8+8?", "answer": {"type": "integer", "value": "16"}, '
        '"solution": "\\\\boxed{16}"}\n'
    )
    server.answers = lambda text: "so \\boxed{1}" if "0+1" in text else "</think>\\boxed{2}"
    shots = ("--profile", "base-few-shot", "--shots", tmp_path / "shots.jsonl")
    ended = ask(*shots, "--thinking", "--top-p", 0.9)
    assert ended.code == 0, ended.err
    assert server.bodies[0]["prompt"].endswith(
        "=?\n\nPut the final answer in \\boxed{}.\nSolution:\n<think>\n"
    )
    assert server.bodies[0]["top_p"] == 0.9
    found = read_json(folder_in(tmp_path) / "results.json")
    assert (found["correct"], found["closed_reasoning"]["count"]) == (2, 8)
    assert found["protocol"]["top_p"] == 0.9
    assert "top-p 0.9" in ended.out
    for more, said in (
        (("--thinking",), "--thinking: belongs to the profile base-few-shot"),
        (("--budget", "native-context"), "--max-tokens: budget native-context"),
        (("--budget", "reserved-prompt"), "--served names the directory"),
        (("--top-p", 0), "not in the range"),
    ):
        ended = ask(*more, out="none")
        assert (ended.code, said in ended.err) == (2, True), ended.err


def test_what_was_found_is_written_as_another_tool_does(ask, server, tmp_path):
    ended = ask("--export", "lm-eval")
    assert ended.code == 0, ended.err
    asked = len(server.bodies)
    found = read_foreign(tmp_path / "out" / "lm-eval")
    assert (found.samples, [each.correct for each in found.answered]) == (2, [2, 0, 2, 0, 2])
    assert found.answered[0].problem.startswith("0+1=?")
    before = files_in(tmp_path / "out")
    assert ask("--export", "lm-eval").code == 0
    assert files_in(tmp_path / "out") == before
    assert len(server.bodies) == asked


def test_a_published_suite_is_graded_on_whole_texts_of_the_models_it_pins(
    evaluate, server, tmp_path
):
    (tmp_path / "gsm8k.jsonl").write_text('{"question": "6?", "answer": "so #### 7"}\n')
    common = (
        "--endpoint", server.url, "--model-name", "m", "--suite", "math-extended/gsm8k", "--data",
        tmp_path, "--out", tmp_path / "out", "--budget", "fixed-response", "--max-tokens", 9,
    )  # fmt: skip
    server.thoughts = "6 is even"
    ended = evaluate(*common)
    assert (ended.code, "without a parser of reasoning" in ended.err) == (1, True), ended.err
    pinned = tmp_path / "limite-1b-base"
    pinned.mkdir()
    config = {"model_type": "limite", "architectures": ["LimiteForCausalLM"], "vocab_size": 151936}
    (pinned / "config.json").write_text(json.dumps(config))
    asked = len(server.bodies)
    ended = evaluate(pinned, *common)
    assert ended.code == 2
    assert "note: " in ended.err  # nothing tells the revision
    assert f"{pinned}: config.json: eos_token_id is None, expected 151643" in ended.err
    assert "limite-1b-base is asked by the profile base-few-shot, with --shots" in ended.err
    assert len(server.bodies) == asked


def test_a_published_suite_asks_in_its_own_words(evaluate, server, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "math500.jsonl").write_text(
        '{"problem": "4 or 2?", "answer": "\\\\frac{10}{2}"}\n{"problem": "3?", "answer": "9"}\n'
    )
    (data / "gsm8k.jsonl").write_text('{"question": "6?", "answer": "so\\n#### 1,007"}\n')
    common = (
        "--endpoint", server.url, "--model-name", "m", "--suite", "math-extended", "--data", data,
        "--out", tmp_path / "out",
    )  # fmt: skip
    fixed = ("--budget", "fixed-response", "--max-tokens", 9)
    ended = evaluate(*common, *fixed)
    assert ended.code == 0, ended.err
    assert "olympiadbench: no score: its prompts" in ended.out
    assert "aime24: no score: its data are not there" in ended.out
    found = read_json(tmp_path / "out" / "suite.json")
    scores = {task: (each["correct"], each["total"]) for task, [each] in found["tasks"].items()}
    assert scores == {"math500": (4, 8), "gsm8k": (0, 1)}  # "4 or 2?" is answered 5
    [results] = read_json(tmp_path / "out" / "math500" / "summary.json")["models"]
    revision = TASKS["math500"].revision
    assert results["benchmark"]["source"] == f"HuggingFaceH4/MATH-500@{revision}@first2"
    terms = results["protocol"]
    assert (terms["temperature"], terms["top_p"], terms["seed"]) == (0.6, 0.95, 0)
    assert results["grading"]["headline"] == "reference"
    asked = {body["messages"][0]["content"] for body in server.bodies}
    assert "6?\nPlease reason step by step, and put your final answer within \\boxed{}." in asked
    for arguments, said in (
        ((*common, *fixed, "--profile", "base-zero-shot"), "asks by chat-zero-shot or base-few"),
        (common, "--served names the directory"),
        ((*common[:4], "--suite", "math-extended"), "--data: say where"),
        (
            (*common[:4], *fixed, "--suite", "math-extended/aime24", "--data", data),
            "none of aime24",
        ),
        ((*common[:4], "--suite", "math"), "--suite: no suite 'math'"),
        ((*common, "--benchmark", "limite-sums"), "give --benchmark or --suite"),
        ((*common[:4], "--benchmark", "p.jsonl", "--data", data), "--data: belongs to --suite"),
    ):
        ended = evaluate(*arguments)
        assert (ended.code, said in ended.err) == (2, True), ended.err
    (data / "gsm8k.jsonl").write_text('{"question": "6?", "answer": "7"}\n[]\n')
    ended = evaluate(*common, *fixed, "--suite", "math-extended/gsm8k", "--out", tmp_path / "none")
    assert ended.code == 2
    assert "gsm8k.jsonl:1: 'answer': holds nothing to ask, or no answer" in ended.err
    assert "gsm8k.jsonl:2: expected an object" in ended.err


def test_the_tasks_of_the_contract_are_those_that_were_published():
    asked = {name: (task.samples, bool(task.before)) for name, task in TASKS.items()}
    assert asked["aime26"] == (32, True)
    assert asked["math500"] == (4, False)
    assert asked["gsm8k"] == (1, False)
    assert sum(samples == 32 for samples, _ in asked.values()) == 7
    base = published_terms("base-few-shot", TERMS, frozenset())
    assert (base.temperature, base.samples, base.max_tokens) == (0.0, 1, 8192)
    assert base.budget == "fixed-response"
    greedy = published_terms(None, attrs.evolve(TERMS, temperature=0.0), frozenset(["temperature"]))
    assert (greedy.temperature, greedy.top_p, greedy.samples) == (0.0, None, 1)
    chat = published_terms(None, TERMS, frozenset(["temperature"]))
    assert (chat.temperature, chat.top_p, chat.budget) == (1.5, 0.95, "reserved-prompt")


@pytest.mark.parametrize(
    ("grading", "right"), [("reference", 2), ("lenient", 8), ("permissive", 10)]
)
def test_every_protocol_grades_and_one_of_them_is_the_score(ask, server, tmp_path, grading, right):
    texts = ["\\boxed{1}", "the answer is 2", "<think>\\boxed{3}", "\\boxed{4", "5 or 6"]
    server.answers = lambda text: texts[int(text[0])]
    ended = ask("--grading", grading)
    assert ended.code == 0, ended.err
    found = read_json(folder_in(tmp_path) / "results.json")
    assert found["correct"] == right
    scores = found["grading"]["protocols"]
    assert scores["exact"] == {"absent": "no grader of the benchmark's publisher is named"}
    assert [scores[name]["correct"] for name in ("reference", "lenient", "permissive")] == [
        2,
        8,
        10,
    ]
    assert found["protocol"]["verifier"]["type"] == f"grading-{grading}"
    assert found["grading"]["shapes"] == {"E": 2, "N": 4, "U": 2}
    records = list(read_jsonl(folder_in(tmp_path) / RESPONSES))
    assert records[0]["grading"]["reference"] is True
    assert records[2]["grading"]["exact"] is None
    assert "PERMISSIVE" in ended.out


def test_a_publisher_s_grader_is_named(ask, server, tmp_path):
    server.answers = lambda text: f"#{int(text[0]) + 1}"
    ended = ask("--grading", "exact", "--exact", "exact")
    assert ended.code == 0, ended.err
    found = read_json(folder_in(tmp_path) / "results.json")
    assert found["grading"]["protocols"]["exact"]["correct"] == found["correct"] == 10
    assert found["grading"]["protocols"]["reference"]["correct"] == 0
    for more, said in (
        (("--grading", "exact"), "--grading exact: the benchmark names no grader"),
        (("--exact", "exact"), "--exact: belongs to --grading"),
        (("--grading", "lenient", "--verifier", "exact"), "--verifier: --grading judges"),
        (("--grading", "lenient", "--exact", "exakt"), "did you mean 'exact'"),
    ):
        ended = ask(*more, out="none")
        assert (ended.code, said in ended.err) == (2, True), ended.err


def test_mistakes_are_told_before_anything_is_asked(evaluate, server):
    for arguments, said in (
        (("--endpoint", server.url), "--model-name: an endpoint"),
        (("letters", "--model-name", "m"), "--model-name: belongs to --endpoint"),
        (("--endpoint", server.url, "--model-name", "m"), "--max-tokens: a server"),
        (("--endpoint", "ftp://x", "--model-name", "m"), "--endpoint: expected an address"),
        (
            ("--endpoint", server.url, "--model-name", "m", "--key-env", "LIMITE_NO_KEY"),
            "the environment has no LIMITE_NO_KEY",
        ),
    ):
        ended = evaluate(*arguments, "--benchmark", "p.jsonl")
        assert (ended.code, said in ended.err) == (2, True), ended.err
    assert not server.bodies
