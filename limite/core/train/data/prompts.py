"""Prompts in files: a question as text, or the turns of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from limite.core.separation import is_held_out, text_hash
from limite.core.tokenizer import Tokenizer
from limite.core.train.data.records import Record, required, text_of
from limite.core.types import Answer, Problem

ROLES = ("system", "user", "assistant", "tool")


@attrs.frozen
class Prompt:
    """What a model is asked: a text, or turns of which the last is not the assistant's."""

    said: str | tuple[Mapping[str, str], ...]

    @property
    def asked(self) -> tuple[str, ...]:
        """The texts a person says in it: what decides whether two prompts are the same."""
        if isinstance(self.said, str):
            return (self.said,)
        return tuple(turn["content"] for turn in self.said if turn["role"] == "user")

    @property
    def hashes(self) -> frozenset[str]:
        """Normalised-text hashes of what is asked, to be compared with those of evaluations."""
        return frozenset(map(text_hash, self.asked))

    def held_out(self, share: float) -> bool:
        """Whether its pairs, or its traces, are kept from training, to be measured on.

        A split of its own: it has nothing to do with the one between training and evaluations.
        """
        return share > 0 and is_held_out(" ".join(("kept from training", *self.asked)), share)

    def ids(self, tokenizer: Tokenizer) -> tuple[int, ...]:
        """As the model reads it."""
        if not isinstance(self.said, str):
            return tokenizer.render_turns(self.said)
        nothing = Answer(type="text", value="")
        return tokenizer.render_prompt(Problem(problem=self.said, answer=nothing))


def prompt_of(record: Record, name: str = "prompt") -> Prompt:
    """The prompt of a line; a ValueError says why there is none."""
    value = required(record, name)
    if not isinstance(value, list):
        return Prompt(text_of(record, name))
    return Prompt(_turns(value, name))


def _turns(turns: Sequence[object], name: str) -> tuple[Mapping[str, str], ...]:
    if not turns:
        raise ValueError(f"{name}: the conversation is empty")
    read = []
    for index, turn in enumerate(turns):
        place = f"{name}[{index}]"
        if not isinstance(turn, dict):
            raise ValueError(f"{place}: expected an object with 'role' and 'content'")
        try:
            role, content = text_of(turn, "role"), text_of(turn, "content")
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        if role not in ROLES:
            raise ValueError(f"{place}: the role must be one of {', '.join(ROLES)}, got {role!r}")
        read.append({"role": role, "content": content})
    if read[-1]["role"] == "assistant":
        raise ValueError(f"{name}: the last turn is the assistant's, whose turn is to come")
    if not any(turn["role"] == "user" for turn in read):
        raise ValueError(f"{name}: nobody asks anything: there is no turn of the role 'user'")
    return tuple(read)
