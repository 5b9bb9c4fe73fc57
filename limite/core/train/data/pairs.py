"""Pairs of responses to one prompt, a preferred and another one: as files have them, and as ids."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from limite.core.tokenizer import Tokenizer
from limite.core.train.data.counts import Counts
from limite.core.train.data.prompts import Prompt, prompt_of
from limite.core.train.data.records import Record, text_of


@attrs.frozen(kw_only=True)
class Pair:
    """One line of a file of pairs."""

    prompt: Prompt
    chosen: str
    rejected: str


@attrs.frozen(kw_only=True)
class PairIds:
    """The same as token ids. Both responses end with one end token, unless they were cut."""

    prompt: Sequence[int]
    chosen: Sequence[int]
    rejected: Sequence[int]

    @property
    def tokens(self) -> int:
        """How many tokens go through the model for it."""
        return 2 * len(self.prompt) + len(self.chosen) + len(self.rejected)

    @property
    def longest(self) -> int:
        return len(self.prompt) + max(len(self.chosen), len(self.rejected))


def pair_of(record: Record) -> Pair:
    """The pair of a line; a ValueError says what is wrong with it."""
    pair = Pair(
        prompt=prompt_of(record),
        chosen=text_of(record, "chosen"),
        rejected=text_of(record, "rejected"),
    )
    if pair.chosen == pair.rejected:
        raise ValueError("'chosen' and 'rejected' are the same text: there is nothing to prefer")
    return pair


def pair_ids(pair: Pair, tokenizer: Tokenizer) -> PairIds:
    """A pair as ids: one prompt for both sides, and exactly one end token after each."""
    return PairIds(
        prompt=pair.prompt.ids(tokenizer),
        chosen=ended("chosen", pair.chosen, tokenizer),
        rejected=ended("rejected", pair.rejected, tokenizer),
    )


def ended(name: str, text: str, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of a response with its end token, which the text may bring or not."""
    ids = tokenizer.encode(text)
    ends = set(tokenizer.eos_ids)
    if not ids or ids[-1] not in ends:
        ids = (*ids, tokenizer.eos_id)
    if not ends.isdisjoint(ids[:-1]):
        place = next(index for index, each in enumerate(ids) if each in ends)
        raise ValueError(f"{name}: an end token stands in the middle, as token {place + 1}")
    return ids


def fitted(pair: PairIds, max_tokens: int, counts: Counts) -> PairIds | None:
    """The pair within ``max_tokens`` for prompt and response together; None where nothing is left.

    A prompt is never cut, a response is cut at its end and then has no end token.
    """
    counts.read += 1
    room = max(max_tokens - len(pair.prompt), 0)
    short = attrs.evolve(pair, chosen=pair.chosen[:room], rejected=pair.rejected[:room])
    if not room or list(short.chosen) == list(short.rejected):
        counts.dropped += 1
        return None
    counts.cut += pair.longest > max_tokens
    return short


def told(counts: Counts, max_tokens: int) -> str:
    """What became of the pairs of a file, in one line."""
    return counts.told("pairs", max_tokens, "no response, or twice the same")
