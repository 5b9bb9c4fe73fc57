"""The models of a run: the one that writes, and the one that problems are meant for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.endpoint.client import Address, Client, Patience
from limite.core.errors import LimiteError
from limite.core.kinds import Verifier
from limite.problems.author.aim import Aim, Behind, Here
from limite.problems.author.budget import Budget
from limite.problems.author.journal import Journal
from limite.problems.author.local import Local
from limite.problems.author.offline import HOST, Offline
from limite.problems.author.server import Server
from limite.problems.author.settings import Settings
from limite.problems.gen.local_policy import LocalPolicy
from limite.problems.gen.policies import INSTRUCTION

VERIFIER = "mathematics"


@attrs.frozen(kw_only=True)
class Models:
    """Models that are here, loaded before anything is asked for or written; None for others."""

    writer: LocalPolicy | None
    reader: LocalPolicy | None

    @classmethod
    def of(cls, given: Settings, note: Callable[[str], object]) -> Models:
        """Those of a call; a LimiteError where a place holds no model."""
        found = cls(
            writer=_loaded(given, "--local", given.local, given.temperature, given.max_tokens, ""),
            reader=_loaded(given, "--policy", given.policy, 1.0, given.policy_max_tokens, None),
        )
        for policy in (found.writer, found.reader):
            for each in policy.notes if policy is not None else ():
                note(each)
        return found

    def refuse(self, given: Settings, prompt: str) -> None:
        """Raises LimiteError where the writer cannot read what it would be asked."""
        if self.writer is None:
            return
        try:
            self.writer.reads(prompt)
        except LimiteError as error:
            self.writer.close()
            raise LimiteError(f"--local {given.local}: cannot be asked to write: {error}") from None

    def name(self, given: Settings) -> str:
        """The writer's, as records hold it."""
        return given.model or (self.writer.name if self.writer is not None else str(given.local))

    def record(self, given: Settings) -> dict[str, Any]:
        """What of the reader decides a file; nothing where none is asked."""
        if not given.measures:
            return {}
        if self.reader is not None:
            reader = dict(self.reader.record)
        elif given.offline:
            reader = {"policy": f"{given.policy_model} at {HOST}", "instruction": INSTRUCTION}
            reader |= {"temperature": 1.0, "max_tokens": given.policy_max_tokens}
        else:
            host = Address.of(_address(given), "--policy-endpoint").host
            reader = {"policy": f"{given.policy_model} at {host}", "instruction": INSTRUCTION}
            reader |= {"temperature": 1.0, "max_tokens": given.policy_max_tokens}
        return {"aim": {**reader, "samples": given.policy_samples, "window": [*given.window]}}


def _loaded(
    given: Settings,
    option: str,
    place: Path | None,
    temperature: float,
    max_tokens: int,
    said: str | None,
) -> LocalPolicy | None:
    if place is None:
        return None
    return LocalPolicy(
        place,
        option=option,
        stage=None,
        seed=given.seed,
        temperature=temperature,
        max_tokens=max_tokens,
        instruction=said,
    )


def _address(given: Settings) -> str:
    address = given.policy_endpoint or given.endpoint
    assert address is not None
    return address


def writer_of(
    given: Settings,
    models: Models,
    journal: Journal,
    budget: Budget,
    terms: Mapping[str, Any],
    note: Callable[[str], object],
) -> Server | Local | Offline:
    """Whoever writes, its replies kept with those of earlier calls."""
    if given.offline:
        return Offline(kept=journal.replies, terms=terms, schemas=not given.no_schema)
    if models.writer is not None:
        return Local(models.writer, kept=journal.replies, budget=budget)
    assert given.endpoint is not None
    return Server(
        _client(given, given.endpoint, "--endpoint", given.key, note),
        kept=journal.replies,
        budget=budget,
        terms=terms,
        schemas=not given.no_schema,
        tell=note,
    )


def aim_of(
    given: Settings,
    models: Models,
    journal: Journal,
    budget: Budget,
    writer: Server | Local | Offline,
    note: Callable[[str], object],
) -> Aim | None:
    """How hard problems should be for whom, if that matters."""
    if not given.measures:
        return None
    judge: Verifier | str = VERIFIER
    reader: Behind | Here
    if models.reader is not None:
        judge = models.reader.verifier or judge
        reader = Here(models.reader, journal.replies, budget)
    elif isinstance(writer, Offline):
        assert given.policy_model is not None
        terms = {"max_tokens": given.policy_max_tokens, "temperature": 1.0}
        reader = Behind(writer.asking(terms), given.policy_model, given.seed)
    else:
        assert given.policy_model is not None
        # The key of one server is never sent to another.
        key = given.policy_key or ("" if given.policy_endpoint else given.key)
        server = Server(
            _client(given, _address(given), "--policy-endpoint", key, note),
            kept=journal.replies,
            budget=budget,
            terms={"max_tokens": given.policy_max_tokens, "temperature": 1.0},
            schemas=False,
            tell=note,
        )
        reader = Behind(server, given.policy_model, given.seed)
    if isinstance(judge, str):
        found: Verifier = load_registry().get("verifier", judge).load()()
        judge = found
    low, high = given.window
    return Aim(reader=reader, judge=judge, samples=given.policy_samples, low=low, high=high)


def _client(
    given: Settings, url: str, option: str, key: str, note: Callable[[str], object]
) -> Client:
    return Client(
        Address.of(url, option),
        key,
        timeout_s=given.timeout,
        patience=Patience(retries=given.retries),
        tell=note,
    )
