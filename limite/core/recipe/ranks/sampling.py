"""One batch of responses, of which each rank samples a part and all get the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from limite.core.checkpoint.state import decode, encode
from limite.core.recipe.ranks.ranks import Ranks
from limite.core.recipe.ranks.shares import shares
from limite.core.rollout_kinds import Request
from limite.core.types import Response

Generate = Callable[[Sequence[Request]], Iterable[tuple[int, Response]]]


def sampled_together(
    generate: Generate,
    requests: Sequence[Request],
    ranks: Ranks,
    what: str,
    *,
    alone: bool = False,
) -> Iterator[tuple[int, Response]]:
    """A response to every request, in their order, on every rank.

    Neighbours that share a prompt stay on one rank, which reads it once. What a response is depends
    on its seed, problem and sample index alone, so that it is the same on any number of ranks. With
    ``alone`` rank 0 samples all of them.
    """
    mine = requests_of(requests, ranks.rank, ranks.world_size)
    if alone:
        mine = range(len(requests) if ranks.rank == 0 else 0)
    picked = requests[mine.start : mine.stop]
    found = dict(generate(picked)) if picked else {}
    told = [encode(attrs.asdict(found[place]), where="response") for place in range(len(picked))]
    everything = [each for part in ranks.actors.gather(told, what) for each in part]
    for index, each in enumerate(everything):
        yield index, Response(**decode(each))


def requests_of(requests: Sequence[Request], rank: int, world_size: int) -> range:
    """The requests that a rank answers: neighbours, and never a part of those with one prompt."""
    starts = [
        place
        for place, request in enumerate(requests)
        if not place or request.problem is not requests[place - 1].problem
    ]
    ends = [*starts[1:], len(requests)] if starts else []
    sizes = [
        sum(each.budget_tokens + len(each.prompt_ids) for each in requests[start:end])
        for start, end in zip(starts, ends, strict=True)
    ]
    groups = shares(sizes, world_size)[rank]
    if not groups:
        return range(0)
    return range(starts[groups[0]], ends[groups[-1]])
