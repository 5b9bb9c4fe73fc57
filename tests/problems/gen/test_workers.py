"""Worker processes: results, errors, and processes that are killed at any moment."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from limite.problems.gen.workers import Ticket, WorkerLost, Workers

_held: list[str] = []


def begin(word: str) -> None:
    _held.append(word)


def repeat(size: int) -> str:
    """A text of this many letters; none of 0."""
    if size < 0:
        raise ValueError("less than nothing")
    return _held[0] * size


def own_process() -> int:
    return os.getpid()


def nothing() -> None:
    pass


def results(workers: Workers, tickets: list[Ticket], repeat: int = 0) -> list[str]:
    """The results of all tickets, and of this many more tasks that are sent after them."""
    found = [workers.result(each) for each in tickets]
    return found + [workers.result(workers.send(1)) for _ in range(repeat)]


def test_results_come_whatever_the_order_they_are_asked_in() -> None:
    workers = Workers(2, repeat, begin, ("a",))
    try:
        tickets = [workers.send(size) for size in range(20)]
        assert [workers.result(each) for each in reversed(tickets)] == [
            "a" * size for size in reversed(range(20))
        ]
    finally:
        workers.close()


def test_an_error_is_raised_where_its_result_is_asked_for() -> None:
    workers = Workers(1, repeat, begin, ("a",))
    try:
        bad, good = workers.send(-1), workers.send(2)
        assert workers.result(good) == "aa"
        with pytest.raises(ValueError, match="less than nothing"):
            workers.result(bad)
    finally:
        workers.close()


def test_a_process_killed_in_the_middle_of_an_answer_is_seen() -> None:
    """Ten megabytes do not fit in a pipe: it is killed while it writes them."""
    workers = Workers(2, repeat, begin, ("a",))
    try:
        ready = [workers.send(1), workers.send(1)]
        for each in ready:
            workers.result(each)
        tickets = [workers.send(10_000_000), workers.send(10_000_000)]
        time.sleep(0.3)  # long enough for the pipe to be full
        first = workers._workers[0].process.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        with pytest.raises(WorkerLost):
            results(workers, tickets)
    finally:
        workers.close()


def test_a_process_killed_at_any_moment_is_seen() -> None:
    rng = random.Random(5)
    for _ in range(5):
        workers = Workers(2, repeat, begin, ("a",))
        try:
            tickets = [workers.send(200_000) for _ in range(8)]
            time.sleep(rng.random() * 0.4)
            for each in workers._workers:
                each.process.kill()
            with pytest.raises(WorkerLost):
                results(workers, tickets, repeat=1)
        finally:
            workers.close()


def test_every_process_gets_work_and_ends_with_close() -> None:
    workers = Workers(2, own_process, nothing, ())
    tickets = [workers.send() for _ in range(4)]
    found = {workers.result(each) for each in tickets}
    processes = [each.process for each in workers._workers]
    assert found == {each.pid for each in processes}
    workers.close()
    assert not any(each.is_alive() for each in processes)


def held_back() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_interrupt_does_not_reach_a_worker_even_while_it_starts() -> None:
    workers = Workers(1, held_back, nothing, ())
    try:
        os.kill(workers._workers[0].process.pid or 0, signal.SIGINT)
        assert workers.result(workers.send())
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        workers.close()
