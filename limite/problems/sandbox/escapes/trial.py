"""Every attempt in turn, against one backend: what held, and what did not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import attrs

from limite.problems.sandbox.escapes import (
    files,
    network,
    places,
    processes,
    resources,
    system,
)
from limite.problems.sandbox.escapes.attempt import Attempt
from limite.problems.sandbox.escapes.world import World
from limite.problems.sandbox.pool import Pool
from limite.problems.sandbox.result import Result

ATTEMPTS: tuple[Attempt, ...] = (
    *files.FILES,
    *places.PLACES,
    *files.SECRETS,
    *files.TRICKS,
    *processes.ALL,
    *network.NETWORK,
    *system.SYSTEM,
    *resources.RESOURCES,
)


@attrs.frozen(kw_only=True)
class Outcome:
    """What came of one attempt."""

    attempt: Attempt
    escaped: bool
    how: str
    """What was reached; or what kept it from that."""
    result: Result


def trial(pool: Pool, some: Sequence[Attempt] = ATTEMPTS) -> Iterator[Outcome]:
    """Runs the attempts one by one; the first harmless program must work, or nothing is shown."""
    works = pool.run("def f(x): return x + 1", "f", [1])
    if works.status != "ok" or works.value != 2:
        raise RuntimeError(f"a harmless program does not run: {works.error}")
    with World() as world:
        for attempt in some:
            result = pool.run(attempt.source, "attempt", [world.told()], attempt.limits)
            if attempt.wait_s:
                time.sleep(attempt.wait_s)
            found = attempt.judge(result) or world.harm()
            if result.status == "unavailable":
                found = found or result.error
            if world.harm() or found:
                world.renew()
            yield Outcome(
                attempt=attempt,
                escaped=bool(found),
                how=found or _held(result),
                result=result,
            )


def _held(result: Result) -> str:
    return result.error or ("nothing was reached" if result.status == "ok" else result.status)
