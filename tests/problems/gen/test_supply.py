"""How candidates are asked for from processes that make them ahead of time."""

from __future__ import annotations

from limite.problems.gen.candidate import Made
from limite.problems.gen.supply import BATCH, LOOK_EVERY, _Pool

Asked = tuple[int, int, int]


class Hands:
    """Two processes that make nothing, and remember what they were asked for."""

    count = 2

    def __init__(self) -> None:
        self.open: list[Asked] = []
        self.looked = 0

    def send(self, share: int, first: int, count: int) -> Asked:
        self.open.append((share, first, count))
        return share, first, count

    def result(self, ticket: Asked) -> list[Made]:
        self.open.remove(ticket)
        share, first, count = ticket
        return [(f"{share}-{index}", b"", "") for index in range(first, first + count)]

    def receive(self) -> None:
        self.looked += 1

    def close(self) -> None:
        pass


def test_every_process_searches_a_share_that_gives_hardly_anything_new() -> None:
    hands = Hands()
    pool = _Pool(hands, [0, 0], [100, 100_000])
    taken = [pool.take(0)[0] for _ in range(3000)]
    assert taken == [f"0-{index}" for index in range(3000)]
    waiting = [each for each in hands.open if each[0] == 0]
    assert len(waiting) >= hands.count
    assert all(count == BATCH for _, _, count in waiting)


def test_few_more_are_asked_for_where_few_are_wanted() -> None:
    hands = Hands()
    pool = _Pool(hands, [0], [100])
    for _ in range(101):
        pool.take(0)
    assert hands.open == []


def test_what_has_come_is_taken_while_lines_are_written() -> None:
    hands = Hands()
    pool = _Pool(hands, [0], [100_000])
    for _ in range(10 * LOOK_EVERY):
        pool.take(0)
    assert hands.looked >= 5
