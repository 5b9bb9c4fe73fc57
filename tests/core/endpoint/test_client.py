"""What a client makes of replies, addresses and refusals, whatever they are for."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from limite.core.endpoint.client import (
    Address,
    Client,
    Final,
    Hopeless,
    Passing,
    Patience,
    Unanswered,
)
from limite.core.errors import LimiteError
from tests.problems.gen.chat_server import ChatServer

KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as found:
        yield found


def client(server: ChatServer, **more) -> Client:
    address = Address.of(server.url, "url")
    return Client(address, KEY, wait=lambda _s: None, clock=lambda: 0.0, **more)


def ask(server: ChatServer, read=lambda found: found, **more):
    return client(server, **more).ask("/any", {"messages": [{"content": "?"}]}, read)


@pytest.mark.parametrize(
    ("url", "path", "whole"),
    [
        ("http://h/v1", "/completions", "http://h/v1/completions"),
        ("https://h:8000/", "/generate", "https://h:8000/generate"),
        ("http://h/v1/chat/completions", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1?version=2", "/chat", "http://h/v1/chat?version=2"),
    ],
)
def test_a_path_comes_behind_an_address(url: str, path: str, whole: str) -> None:
    assert Address.of(url, "url").at(path) == whole


@pytest.mark.parametrize("url", ["h:8000", "ftp://h", "http://", "http://me@h", "http://h:port"])
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(LimiteError, match=r"engine\.url: expected an address like") as refused:
        Address.of(url, "engine.url")
    assert url not in str(refused.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!doctype html><p>Not yet", "a web page in place of JSON, 2 times"),
        (b'{"choices": [', "a reply that is no JSON, 2 times"),
        (b"[" * 100_000, "a reply that is no JSON, 2 times"),
        (b"\xff\xfe", "a reply that is no JSON, 2 times"),
    ],
)
def test_what_is_no_json_is_asked_for_again_and_then_told(
    server: ChatServer, body: bytes, reason: str
) -> None:
    server.always = (200, {}, body)
    with pytest.raises(Unanswered) as failed:
        ask(server, patience=Patience(retries=1))
    assert failed.value.reason == reason
    assert len(server.bodies) == 2


def test_a_reader_says_whether_another_attempt_may_help(server: ChatServer) -> None:
    seen = []

    def read(found):
        seen.append(found)
        raise Passing("half of it") if len(seen) < 3 else Final("all of it is wrong")

    with pytest.raises(Unanswered, match="all of it is wrong"):
        ask(server, read)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "too\nmany\x1b[31m logprobs"}}, "too many [31m logprobs"),
        ({"detail": [{"loc": "x"}]}, '[{"loc": "x"}]'),
        ({"message": f"the key {KEY} has no credit"}, "the key *** has no credit"),
        ({"error": "x" * 1000}, "x" * 297 + "..."),
    ],
)
def test_a_refusal_is_told_in_the_words_of_the_server(server: ChatServer, body, said) -> None:
    server.always = (400, {}, json.dumps(body).encode())
    with pytest.raises(Unanswered) as failed:
        ask(server)
    assert (failed.value.reason, failed.value.said) == ("status 400", said)
    assert KEY not in str(failed.value)


def test_trouble_that_does_not_end_is_told_in_the_words_of_the_server(server: ChatServer) -> None:
    server.always = (500, {}, json.dumps({"error": {"message": f"not with {KEY}"}}).encode())
    with pytest.raises(Unanswered, match=r"status 500, 2 times: not with \*\*\*"):
        ask(server, patience=Patience(retries=1))


def test_a_hopeless_refusal_ends_the_client(server: ChatServer) -> None:
    server.always = (403, {}, b"{}")
    asked = client(server)
    with pytest.raises(Hopeless, match=f"{server.host} refuses every request: status 403"):
        asked.ask("/any", {"messages": []}, lambda found: found)
    with pytest.raises(Unanswered, match="not asked for any more"):
        asked.ask("/any", {"messages": []}, lambda found: found)
    assert len(server.bodies) == 1


def test_this_machine_is_asked_without_a_proxy(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert "choices" in ask(server, patience=Patience(retries=0))
