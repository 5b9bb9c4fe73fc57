"""What exactly was measured: the terms of an evaluation, and an id that differs when they do."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from attrs.validators import ge, gt

from limite.core.errors import LimiteError
from limite.core.jsonl import dumps
from limite.core.types import Problem


@attrs.frozen(kw_only=True)
class Protocol:
    """The terms under which responses are sampled and graded.

    ``problems`` and ``prompts`` are hashes: of every problem with its gold answer, and of the token
    ids each is shown as. The seed of a response is a function of (``seed``, problem, sample index)
    and of nothing else. With ``natural_end`` an answer counts only if its response ended by itself.
    """

    problems: str
    prompts: str
    count: int = attrs.field(validator=ge(1), metadata={"unit": "problems"})
    samples: int = attrs.field(validator=ge(1), metadata={"unit": "responses to a problem"})
    seed: int
    temperature: float = attrs.field(validator=gt(0.0))
    budget: str = "fixed-response"
    max_tokens: int = attrs.field(validator=ge(1), metadata={"unit": "tokens"})
    eos_ids: tuple[int, ...]
    verifier: Mapping[str, Any]
    natural_end: bool = True
    top_p: float | None = None

    def record(self) -> dict[str, Any]:
        """The terms as plain data. Without ``top_p`` the whole distribution is sampled."""
        return attrs.asdict(self) | {
            "eos_ids": list(self.eos_ids),
            "verifier": dict(self.verifier),
            "top_k": None,
        }

    @property
    def id(self) -> str:
        """SHA-256 over the canonical JSON of the terms, in hexadecimal."""
        return hashlib.sha256(dumps(self.record()).encode()).hexdigest()


@attrs.frozen(kw_only=True)
class AskedProtocol(Protocol):
    """Terms that say how questions are put, too.

    ``profile`` is what was asked for, ``template`` the model's own part in it.
    """

    profile: Mapping[str, Any]
    template: str | None = None


def problems_hash(problems: Sequence[Problem]) -> str:
    """Seals a set of problems: texts, gold answers and order."""
    content = [[p.id, p.problem, p.answer.type, p.answer.value] for p in problems]
    return hashlib.sha256(dumps(content).encode()).hexdigest()


def prompts_hash(prompts: Sequence[Sequence[int]]) -> str:
    """Seals what a model is shown, so that another tokenizer or template is another protocol."""
    return hashlib.sha256(dumps([list(prompt) for prompt in prompts]).encode()).hexdigest()


def refuse_other_protocol(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], *, our_name: str, their_name: str
) -> None:
    """A LimiteError, naming the terms that differ, unless both results share one protocol."""
    if ours["protocol_id"] == theirs["protocol_id"]:
        return
    mine, other = ours["protocol"], theirs["protocol"]
    terms = [term for term in mine if mine[term] != other.get(term)]
    shown = ", ".join(
        f"{term} ({_brief(other.get(term))} -> {_brief(mine[term])})" for term in terms
    )
    raise LimiteError(
        f"{our_name!r} cannot be compared with {their_name!r}: they were measured under different "
        f"protocols, which differ in {shown or 'their terms'}; give both stages the same settings"
    )


def _brief(value: object) -> str:
    text = dumps(value)
    if len(text) <= 24:
        return text
    return f"{value[:12]}..." if isinstance(value, str) else f"{text[:20]}..."
