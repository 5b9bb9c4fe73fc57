"""Replies that are kept, and calls that are made together."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from limite.core.endpoint.replies import KeptReplies, request_hash
from limite.core.endpoint.together import as_they_come
from limite.core.errors import LimiteError


def test_a_kill_costs_the_line_it_cut_alone(tmp_path: Path) -> None:
    place = tmp_path / "replies.jsonl"
    kept = KeptReplies(place)
    one, other = request_hash(["one", 1]), request_hash(["other", 2])
    kept.keep([(one, {"text": "1"})])
    kept.keep([(other, {"text": "2"}), (one, {"text": "another"})])
    place.write_bytes(place.read_bytes()[:-3])
    again = KeptReplies(place)
    assert again.get(one) == {"text": "1"}
    assert again.get(other) is None
    again.keep([(other, {"text": "2"})])
    assert len(KeptReplies(place)) == 2


def test_equal_requests_have_one_hash() -> None:
    assert request_hash({"a": 1, "b": [2.5]}) == request_hash({"b": [2.5], "a": 1})
    assert request_hash({"a": 1}) != request_hash({"a": 2})


def test_another_file_is_not_taken_for_replies(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "1"}\n')
    with pytest.raises(LimiteError, match="a line has no 'request'"):
        KeptReplies(tmp_path / "x.jsonl")


def test_calls_are_begun_only_where_there_is_room() -> None:
    begun: list[int] = []
    gates = [threading.Event() for _ in range(5)]

    def calls():
        for number in range(5):
            begun.append(number)
            yield lambda number=number: gates[number].wait() and number * 10

    coming = as_they_come(calls(), 2)
    gates[1].set()
    assert next(coming) == (1, 10)
    assert begun == [0, 1]
    gates[2].set()
    assert next(coming) == (2, 20)
    assert begun == [0, 1, 2]
    for gate in gates:
        gate.set()
    assert sorted(coming) == [(0, 0), (3, 30), (4, 40)]


def test_a_failed_call_is_raised() -> None:
    def broken() -> int:
        raise LimiteError("no")

    with pytest.raises(LimiteError, match="no"):
        list(as_they_come([broken], 3))
    assert list(as_they_come([], 3)) == []
