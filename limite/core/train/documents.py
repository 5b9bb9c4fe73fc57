"""Supervised documents: a problem, one of its worked solutions, and the order they come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.core.seeds import Seeds
from limite.core.tokenizer import Tokenizer
from limite.core.types import Problem


@attrs.frozen(kw_only=True)
class Document:
    """Token ids of one training text; the first ``prompt_tokens`` are the question."""

    ids: tuple[int, ...]
    prompt_tokens: int
    style: str


def pick_style(problem: Problem, styles: Mapping[str, float], seeds: Seeds) -> str:
    """One of the styles that the problem is solved in, by weight; the same one ever after."""
    names = [style for style in styles if style in problem.solutions]
    if not any(styles[name] for name in names):
        missing = next(iter(styles))
        near = did_you_mean(missing, problem.solutions)
        raise LimiteError(
            f"styles: the problems have no solutions in the style {missing!r}{near}; "
            f"they have {', '.join(problem.solutions)}"
        )
    rng = seeds.stream("style", problem.id)
    return rng.choices(names, weights=[styles[name] for name in names])[0]


def make_documents(
    problems: Sequence[Problem],
    styles: Mapping[str, float],
    tokenizer: Tokenizer,
    seeds: Seeds,
    *,
    picked: Sequence[str] | None = None,
) -> list[Document]:
    """One document a problem: its prompt, the solution in its style, the end token.

    ``picked`` is what ``pick_style`` says of each problem, where that is known already.
    """
    documents = []
    if picked is None:
        picked = [pick_style(problem, styles, seeds) for problem in problems]
    for problem, style in zip(problems, picked, strict=True):
        prompt = tokenizer.render_prompt(problem)
        solution = tokenizer.encode(problem.solutions[style])
        documents.append(
            Document(
                ids=(*prompt, *solution, tokenizer.eos_id), prompt_tokens=len(prompt), style=style
            )
        )
    return documents


@lru_cache(maxsize=2)
def epoch_order(epoch: int, documents: int, seeds: Seeds) -> tuple[int, ...]:
    """The seeded permutation that epoch ``epoch`` reads the documents in."""
    order = list(range(documents))
    seeds.stream("order", epoch).shuffle(order)
    return tuple(order)


def batch_indexes(step: int, batch: int, documents: int, seeds: Seeds) -> list[int]:
    """Which documents update ``step`` reads: epochs of seeded permutations, end to end.

    A pure function of the step, so that resuming needs no cursor.
    """
    picked: list[int] = []
    position = step * batch
    while len(picked) < batch:
        epoch, offset = divmod(position, documents)
        order = epoch_order(epoch, documents, seeds)
        taken = order[offset : offset + batch - len(picked)]
        picked += taken
        position += len(taken)
    return picked
