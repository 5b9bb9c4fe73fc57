"""majority@n: is the answer that most responses to a problem give the right one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

from limite.core.errors import LimiteError
from limite.core.kinds import Verifier
from limite.core.rollout.grading import verdicts_on
from limite.core.types import Answer

RIGHT = True  # the vote of a response that was found right, whatever it wrote


def majority(votes: Sequence[Hashable | None]) -> Hashable | None:
    """The most frequent vote; of several the one that came first. None if there is none at all."""
    counts: dict[Hashable, int] = {}
    for vote in votes:
        if vote is not None:
            counts[vote] = counts.get(vote, 0) + 1
    return max(counts, key=lambda vote: counts[vote]) if counts else None


def majority_correct(
    problems: Sequence[tuple[Answer, Sequence[str | None], Sequence[bool]]], verifier: Verifier
) -> int:
    """To how many problems the majority answers rightly.

    Each problem is its gold answer, what every response to it stated (None without an answer), and
    which were found right. Two wrong answers are one vote if the verifier calls one right where the
    other is gold; it is asked only where that decides. Without ``write`` it cannot be asked, and
    texts are compared.
    """
    votes = [_votes(stated, correct) for _, stated, correct in problems]
    open_ones = [place for place, each in enumerate(votes) if _is_open(each)]
    asked = [
        (place, pair)
        for place in open_ones
        for pair in combinations(dict.fromkeys(v for v in votes[place] if isinstance(v, str)), 2)
    ]
    write = getattr(verifier, "write", None)
    alike: dict[int, set[tuple[str, str]]] = {}
    if callable(write) and asked:
        golds = [
            (_stating(problems[place][0], first), write(_stating(problems[place][0], second)))
            for place, (first, second) in asked
        ]
        verdicts = verdicts_on(verifier, golds)
        for (place, pair), verdict in zip(asked, verdicts, strict=True):
            if verdict.correct:
                alike.setdefault(place, set()).add(pair)
    for place, pairs in alike.items():
        votes[place] = list(_joined(votes[place], pairs))
    return sum(majority(each) is RIGHT for each in votes)


def _votes(stated: Sequence[str | None], correct: Sequence[bool]) -> list[Hashable | None]:
    if len(stated) != len(correct):
        raise LimiteError(
            f"{len(stated)} answers and {len(correct)} verdicts are of no one problem"
        )
    return [
        RIGHT if right else None if text is None else " ".join(text.split())
        for text, right in zip(stated, correct, strict=True)
    ]


def _is_open(votes: Sequence[Hashable | None]) -> bool:
    """Whether joining wrong answers could still change what the majority says."""
    wrong = [vote for vote in votes if isinstance(vote, str)]
    return majority(votes) is RIGHT and len(set(wrong)) > 1 and len(wrong) >= votes.count(RIGHT)


def _stating(gold: Answer, text: str) -> Answer:
    return Answer(type=gold.type, value=text, params=gold.params)


def _joined(
    votes: Sequence[Hashable | None], alike: set[tuple[str, str]]
) -> Iterator[Hashable | None]:
    """Votes, each wrong one named by the first that equals it."""
    names: dict[str, str] = {}
    firsts: list[str] = []
    for vote in votes:
        if isinstance(vote, str) and vote not in names:
            names[vote] = next((each for each in firsts if (each, vote) in alike), vote)
            if names[vote] == vote:
                firsts.append(vote)
        yield names[vote] if isinstance(vote, str) else vote
