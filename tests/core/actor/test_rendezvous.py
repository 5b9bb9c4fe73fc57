"""Ranks that wait for each other on the host, and say who did not come."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from torch.distributed import FileStore, HashStore

from limite.core.actor.rendezvous import Alone, StoreRendezvous
from limite.core.errors import RunFailed

RANKS = 3


def in_threads(work: Callable[[int], Any], ranks: int = RANKS) -> list[Any]:
    """What each rank's ``work`` gave or raised."""
    found: list[Any] = [None] * ranks

    def run(rank: int) -> None:
        try:
            found[rank] = work(rank)
        except RunFailed as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_one_rank_waits_for_nobody():
    alone = Alone()
    alone.arrive("batch 0")
    assert alone.gather({"step": 1}, "state") == [{"step": 1}]


def test_nobody_passes_before_the_last_has_come():
    store, order, last = HashStore(), [], threading.Event()

    def work(rank: int) -> None:
        meeting = StoreRendezvous(store, rank=rank, world_size=RANKS, timeout_s=60)
        if rank == 2:
            last.wait()
            order.append("last")
        meeting.arrive("batch 0")
        order.append("passed")

    opener = threading.Timer(0.1, last.set)
    opener.start()
    in_threads(work)
    opener.join()
    assert order == ["last", "passed", "passed", "passed"]


def test_all_see_what_each_gave_meeting_after_meeting():
    store = HashStore()

    def work(rank: int) -> list[Any]:
        meeting = StoreRendezvous(store, rank=rank, world_size=RANKS, timeout_s=60)
        return [meeting.gather([rank, f"é{number}"], f"text {number}") for number in range(20)]

    wanted = [[[rank, f"é{number}"] for rank in range(RANKS)] for number in range(20)]
    assert in_threads(work) == [wanted] * RANKS
    # Only what the last meeting left is still there.
    assert store.num_keys() == RANKS


def test_whoever_does_not_come_is_named():
    store = HashStore()

    def work(rank: int) -> None:
        meeting = StoreRendezvous(store, rank=rank, world_size=4, timeout_s=0.05)
        if rank in (0, 2):
            meeting.arrive("batch 7")

    found = in_threads(work, ranks=4)
    assert found[1] is found[3] is None
    for rank in (0, 2):
        assert str(found[rank]) == (
            f"rank {rank} waited 0:00:00.050000 at 'batch 7' for ranks 1, 3 of 4, which did not "
            "come"
        )


def test_ranks_at_different_places_are_told_apart():
    store = HashStore()

    def work(rank: int) -> None:
        meeting = StoreRendezvous(store, rank=rank, world_size=2, timeout_s=60)
        meeting.arrive("an evaluation" if rank else "batch 3")

    first, second = in_threads(work, ranks=2)
    assert str(first) == "rank 0 is at 'batch 3', and rank 1 is at 'an evaluation'"
    assert str(second) == "rank 1 is at 'an evaluation', and rank 0 is at 'batch 3'"


PROCESS = """
import sys
from torch.distributed import FileStore
from limite.core.actor.rendezvous import StoreRendezvous

meeting = StoreRendezvous(FileStore(sys.argv[1], 3), rank=1, world_size=3, timeout_s=60)
print(meeting.gather(10, "first"))
"""


def test_ranks_meet_through_a_file(tmp_path):
    def work(rank: int) -> Any:
        store = FileStore(str(tmp_path / "store"), 2)
        meeting = StoreRendezvous(store, rank=rank, world_size=2, timeout_s=60)
        return [meeting.gather(rank, "first"), meeting.gather(-rank, "second")]

    assert in_threads(work, ranks=2) == [[[0, 1], [0, -1]]] * 2


@pytest.mark.nightly
def test_processes_meet_through_a_file_and_miss_the_one_that_died(tmp_path):
    place = str(tmp_path / "store")
    other = subprocess.Popen(
        [sys.executable, "-c", PROCESS, place], stdout=subprocess.PIPE, text=True
    )

    def work(number: int) -> Any:
        store, rank = FileStore(place, 3), 2 * number
        meeting = StoreRendezvous(store, rank=rank, world_size=3, timeout_s=60)
        found = meeting.gather(10 * rank, "first")
        other.wait(timeout=60)
        meeting.timeout_s = 0.1
        with pytest.raises(RunFailed, match=r"at 'second' for rank 1 of 3, which did not come"):
            meeting.arrive("second")
        return found

    assert in_threads(work, ranks=2) == [[0, 10, 20]] * 2
    assert other.communicate() == ("[0, 10, 20]\n", None)
