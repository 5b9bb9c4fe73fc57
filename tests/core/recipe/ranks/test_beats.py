"""Signs of life, and a store that no longer takes any."""

from __future__ import annotations

import threading

import pytest

from limite.core.recipe.ranks import beats
from limite.core.recipe.ranks.beats import Beats


class Deaf:
    """A store that answers until it is told not to, and then keeps everybody waiting."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.answers = threading.Event()
        self.answers.set()

    def set(self, key: str, value: str, /) -> None:
        self.answers.wait()
        self.held[key] = value.encode()

    def get(self, key: str, /) -> bytes:
        return self.held[key]

    def check(self, keys: list[str], /) -> bool:
        self.answers.wait()
        return all(key in self.held for key in keys)

    def delete_key(self, key: str, /) -> bool:
        return self.held.pop(key, None) is not None


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beats, "EVERY_S", 0.01)


def test_a_store_that_keeps_silent_is_noticed() -> None:
    store, noticed = Deaf(), threading.Event()
    with Beats(store, rank=0, world_size=2, patience_s=0.05, unheard=noticed.set):
        store.answers.clear()
        assert noticed.wait(30)
        store.answers.set()


def test_one_that_answers_is_not() -> None:
    store, noticed = Deaf(), threading.Event()
    with Beats(store, rank=0, world_size=2, patience_s=60.0, unheard=noticed.set) as found:
        first = found.last(0)
        while found.last(0) == first:
            pass
    assert not noticed.is_set()
