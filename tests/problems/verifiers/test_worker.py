"""The worker: hostile texts, deadlines, kills and forks each cost their own answer at most."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from limite.core.types import Answer
from limite.problems import verify, verify_all
from limite.problems.verifiers import batch
from limite.problems.verifiers.worker import Worker

HOSTILE = {
    "ten megabytes of digits": "9" * 10_000_000,
    "ten megabytes of boxes": "\\boxed{" * 1_400_000,
    "boxes in boxes": "\\boxed{" * 200 + "7" + "}" * 200,
    "a tower": "\\boxed{9**9**9**9}",
    "another tower": "\\boxed{9^{9^{9^{9}}}}",
    "a factorial": "\\boxed{(10^9)!}",
    "a binomial": "\\boxed{\\binom{10^9}{5\\cdot10^8}}",
    "an exponent": "\\boxed{1e999999999}",
    "brackets": "\\boxed{" + "(" * 5_000 + "7" + ")" * 5_000 + "}",
    "signs": "\\boxed{" + "-" * 4_999 + "7}",
    "roots": "\\boxed{" + "\\sqrt" * 3_000 + "7}",
    "powers": "\\boxed{" + "2^" * 3_000 + "7}",
    "bars": "\\boxed{" + "|" * 3_000 + "7}",
    "groups": "\\boxed{1" + ",111" * 4_000 + ",}",
    "a long sum": "\\boxed{" + "+".join(f"1/{n}" for n in range(1, 2_000)) + "}",
    "a sum": "\\boxed{\\sum_{k=1}^{10^9}k}",
    "other digits": "\\boxed{٧}",
    "open braces": "\\boxed{{{{{7}",
    "closed braces": "}}}}\\boxed{7}}}}}}8}",
    "nulls": "\\boxed{\0\0}",
    "half a pair": "\\boxed{\ud800}",
    "a backslash": "\\boxed{7\\",
    "code": "\\boxed{__import__('os').system('true')}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("type_name", ["integer", "rational", "string"])
def test_hostile_texts_get_a_verdict(text: str, type_name: str) -> None:
    gold = {"integer": "6", "rational": "6/5", "string": "six"}[type_name]
    assert verify({"type": type_name, "value": gold}, text).outcome in ("unreadable", "wrong")


def request(text: str) -> dict[str, object]:
    return {
        "type": "integer", "value": "7", "params": {}, "text": text, "extract": True,
        "fallbacks": (),
    }  # fmt: skip


def test_a_killed_worker_is_replaced() -> None:
    worker = Worker()
    try:
        assert [each.correct for each in worker.judge([request("\\boxed{7}")])] == [True]
        first = worker.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        verdicts = worker.judge([request("\\boxed{7}"), request("\\boxed{8}")] * 100)
        assert [each.outcome for each in verdicts] == ["right", "wrong"] * 100
        assert worker.pid != first
    finally:
        worker.close()


def test_killed_in_the_middle_no_verdict_is_lost() -> None:
    worker = Worker()
    requests = [request(f"\\boxed{{{number % 9}}}") for number in range(20_000)]
    found: list[str] = []
    thread = threading.Thread(
        target=lambda: found.extend(each.outcome for each in worker.judge(requests))
    )
    try:
        worker.judge(requests[:1])
        first = worker.pid
        assert first is not None
        thread.start()
        os.kill(first, signal.SIGKILL)
        thread.join()
    finally:
        worker.close()
    assert found == ["right" if number % 9 == 7 else "wrong" for number in range(20_000)]


def test_a_deadline_is_kept_and_what_follows_is_judged() -> None:
    worker = Worker(deadline_s=1.0)
    try:
        worker.judge([request("\\boxed{7}")])
        stopped = worker.pid
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
        verdicts = worker.judge([request("\\boxed{7}")] * 3)
        assert [each.outcome for each in verdicts] == ["timed-out", "right", "right"]
    finally:
        worker.close()


def test_too_little_memory_is_a_verdict() -> None:
    worker = Worker(memory_bytes=150 * 1024**2)
    try:
        (verdict,) = worker.judge([request("\\boxed{" + "9" * 100_000_000)])
    finally:
        worker.close()
    assert verdict.outcome == "unreadable"


def test_a_forked_process_has_a_worker_of_its_own() -> None:
    seven = Answer(type="integer", value="7")
    assert verify(seven, "\\boxed{7}").correct
    mine = batch.worker().pid
    child = os.fork()
    if child == 0:
        code = 1
        try:
            right = verify_all([(seven, "\\boxed{7}"), (seven, "\\boxed{8}")])
            own = batch.worker().pid
            code = 0 if [each.correct for each in right] == [True, False] and own != mine else 2
            batch.worker().close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert batch.worker().pid == mine
    assert verify(seven, "\\boxed{7}").correct
