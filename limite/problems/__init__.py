"""Problems with answers that can be checked: making them, reading answers, comparing them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limite.core.types import Answer, Verdict


def verify(
    answer: Answer | Mapping[str, Any],
    text: str,
    *,
    extract: bool = True,
    fallbacks: Collection[str] = (),
) -> Verdict:
    """Whether ``text`` states ``answer``: right, wrong, unreadable or timed out.

    ``answer`` is a record's answer, or the same as plain data. ``text`` is a whole response, whose
    last box is the answer; with ``extract=False`` it is the final answer itself. ``fallbacks``
    (``"hash"``, ``"answer"``) say what else may mark an answer where there is no box. It is judged
    in a process of its own, which is killed when it takes too long.
    """
    return verify_all([(answer, text)], extract=extract, fallbacks=fallbacks)[0]


def verify_all(
    pairs: Iterable[tuple[Answer | Mapping[str, Any], str]],
    *,
    extract: bool = True,
    fallbacks: Collection[str] = (),
) -> list[Verdict]:
    """The verdicts on many answers and texts, in order; much faster than one call for each."""
    from limite.problems.verifiers.batch import judged

    return judged(pairs, extract=extract, fallbacks=tuple(fallbacks))
