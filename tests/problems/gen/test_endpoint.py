"""How patiently an endpoint is asked, and what ends a request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from email.utils import format_datetime

import pytest

from limite.core.endpoint import client as endpoints
from limite.core.endpoint.client import Patience
from limite.core.errors import LimiteError, RunFailed
from limite.problems.gen.endpoint import Endpoint
from limite.problems.gen.policies import Reply
from tests.problems.gen.chat_server import ChatServer, told


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as found:
        found.answers = lambda text: text.upper()
        yield found


def patient(server: ChatServer, **more) -> tuple[Endpoint, list[float]]:
    """An endpoint for which time stands still, and the waits it asks for."""
    waits: list[float] = []
    return Endpoint(server.url, "m", wait=waits.append, clock=lambda: 0.0, **more), waits


def test_waits_grow_and_the_reply_comes(server: ChatServer) -> None:
    server.planned = [told(503), told(500), told(408)]
    endpoint, waits = patient(server)
    assert endpoint.chat("hello", {}) == Reply(text="HELLO")
    assert len(waits) == 3
    for wait, least in zip(waits, (0.5, 1.0, 2.0), strict=True):
        assert least <= wait <= 1.25 * least


@pytest.mark.parametrize(("said", "least"), [("7", 7.0), ("0", 0.0), ("soon", 0.5)])
def test_a_server_says_how_long_to_wait(server: ChatServer, said: str, least: float) -> None:
    server.planned = [told(503, {"Retry-After": said})]
    endpoint, waits = patient(server)
    assert endpoint.chat("hello", {}).text == "HELLO"
    assert least <= waits[0] <= 1.25 * least


def test_a_server_may_say_until_when(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime, timedelta

    now = datetime(2030, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(endpoints.time, "time", now.timestamp)
    date = format_datetime(now + timedelta(seconds=9), usegmt=True)
    server.planned = [told(503, {"Retry-After": date})]
    endpoint, waits = patient(server)
    assert endpoint.chat("hello", {}).text == "HELLO"
    assert 9 <= waits[0] <= 1.25 * 9


def test_too_many_requests_quiet_all_of_them(server: ChatServer) -> None:
    server.planned = [told(429, {"Retry-After": "3"})]
    endpoint, waits = patient(server)
    endpoint.chat("one", {})
    endpoint.chat("two", {})
    assert len(waits) == 2  # the second request as well: time stands still here
    assert all(3 <= wait <= 3.75 for wait in waits)


def test_nothing_lasts_for_ever(server: ChatServer) -> None:
    server.always = told(500, {"Retry-After": "100000"})
    endpoint, waits = patient(server, patience=Patience(retries=2))
    assert endpoint.chat("hello", {}) == Reply(failure="status 500, 3 times")
    assert waits == [endpoints.LONGEST_WAIT_S] * 2


def test_a_slow_reply_is_given_up(server: ChatServer) -> None:
    over = threading.Event()
    server.answers = lambda _text: str(over.wait(30))
    endpoint = Endpoint(server.url, "m", timeout_s=0.2, patience=Patience(retries=0))
    assert endpoint.chat("hello", {}) == Reply(failure="no reply in time")
    over.set()


def test_half_a_reply_is_none(server: ChatServer) -> None:
    server.planned = [("half", {}, b'{"choices"')]
    endpoint, waits = patient(server)
    assert endpoint.chat("hello", {}).text == "HELLO"
    assert len(waits) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 302])
def test_some_refusals_end_all(server: ChatServer, status: int) -> None:
    server.always = told(status, {"Location": "http://127.0.0.1:1/elsewhere"})
    endpoint, waits = patient(server)
    with pytest.raises(RunFailed, match=f"status {status}"):
        endpoint.chat("hello", {})
    assert endpoint.chat("hello", {}).failure == "not asked for any more"
    assert (len(server.bodies), waits) == (1, [])


def test_what_a_filter_holds_back_is_no_answer(server: ChatServer) -> None:
    server.planned = [
        (200, {}, b'{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}')
    ]
    assert patient(server)[0].chat("hello", {}) == Reply(failure="held back by a filter")


def test_thinking_that_took_all_of_the_room_is_an_empty_answer(server: ChatServer) -> None:
    server.planned = [
        (200, {}, b'{"choices":[{"message":{"content":null},"finish_reason":"length"}]}')
    ]
    assert patient(server)[0].chat("hello", {}) == Reply(text="")


def test_no_connection_is_a_failure(server: ChatServer) -> None:
    notes: list[str] = []
    endpoint = Endpoint(
        "http://127.0.0.1:1/v1",
        "m",
        wait=lambda _s: None,
        patience=Patience(retries=1),
        tell=notes.append,
    )
    for _ in range(2):
        assert endpoint.chat("hello", {}) == Reply(failure="no connection, 2 times")
    assert notes == ["127.0.0.1:1: no connection; asking again"]


def test_a_key_is_one_line() -> None:
    with pytest.raises(LimiteError, match="a line break"):
        Endpoint("http://h/v1", "m", "a\nb")
