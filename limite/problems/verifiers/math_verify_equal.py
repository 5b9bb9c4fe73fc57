"""Whether two answers are equal to ``math-verify``: what several published graders rest on.

Runs in the worker that judges answers: parsing and comparing have a limit each, and the worker is
killed should it not hold.
"""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Sequence
from typing import Any

from limite.core.types import Verdict
from limite.problems.verifiers.worker import Worker

LIMIT_S = 5
"""For parsing each of the two answers, and for comparing them."""

CHARACTERS = 20_000
"""The longest answer that is parsed at all."""

_KEPT: list[Worker] = []


def version() -> str:
    """Of the package that compares."""
    return importlib.metadata.version("math-verify")


def equal(pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
    """For each gold answer and answer whether they are equal: right, wrong, or timed-out.

    Both are put into a box and parsed, the gold one is compared with the other. What cannot be
    parsed, or raises, is wrong. Each pair is asked once, however often it stands there.
    """
    if not _KEPT:
        _KEPT.append(Worker(deadline_s=3 * LIMIT_S + 1))
    distinct = list(dict.fromkeys(pairs))
    short = [pair for pair in distinct if max(map(len, pair)) <= CHARACTERS]
    asked = [{"gold": gold, "stated": stated} for gold, stated in short]
    found = dict(zip(short, _KEPT[0].judge(asked), strict=True))
    too_long = Verdict(outcome="wrong", reason=f"limit: more than {CHARACTERS:,} characters")
    return [found.get(pair, too_long) for pair in pairs]


def compared(gold: str, stated: str) -> dict[str, Any]:
    """The worker's half: the verdict on one pair, as plain data."""
    from math_verify import parse, verify

    late = _Late()
    logger = logging.getLogger("math_verify")
    logger.addHandler(late)
    logger.propagate = False
    try:
        sides = [parse(f"\\boxed{{{each}}}", parsing_timeout=LIMIT_S) for each in (gold, stated)]
        same = verify(*sides, timeout_seconds=LIMIT_S)
    except Exception as error:  # of any kind: whatever cannot be compared is wrong
        return {"outcome": "wrong", "reason": f"cannot be compared: {type(error).__name__}"}
    finally:
        logger.removeHandler(late)
    if late.seen and not same:
        return {"outcome": "timed-out", "reason": f"no verdict within {LIMIT_S} s"}
    return {"outcome": "right" if same else "wrong", "reason": "equal" if same else "another value"}


class _Late(logging.Handler):
    """Hears of limits that were reached: the package calls such answers wrong, and logs why."""

    seen = False

    def emit(self, record: logging.LogRecord) -> None:
        self.seen = self.seen or str(record.msg).startswith("Timeout")
