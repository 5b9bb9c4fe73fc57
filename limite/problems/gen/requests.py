"""``limite-gen requests``: what ``limite-gen author`` would ask, for somebody else to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limite.core.errors import LimiteError
from limite.problems.gen.author import author

ASKS_ITSELF: dict[str, Any] = {
    **dict.fromkeys(("endpoint", "local", "policy_endpoint", "max_requests", "max_tokens_total")),
    **dict.fromkeys(("max_cost", "max_time", "price_in", "price_out")),
    "timeout": 1.0,
    "retries": 0,
}
"""Options of ``author`` that are about asking a model, and what they are here."""

_NAMES = {*ASKS_ITSELF, "key_env", "policy_key_env", "write_prompts"}


@click.command(params=[each for each in author.params if each.name not in _NAMES])
def requests(topics: Path | None, out: Path | None, **given: object) -> None:
    """Write what a language model should be asked to a file, for a server that takes such files.

    The same as limite-gen author, but for the asking: what is needed next is written to
    OUT.requests.jsonl, a line for each request with its custom_id. Give the replies to limite-gen
    collect, and call this again: first problems are asked for, then solvers, then readings, until
    OUT is complete and no request is left.
    """
    from limite.problems.author.session import author_file
    from limite.problems.author.settings import Settings

    if topics is None:
        raise LimiteError("expected a file of topics, such as topics.toml")
    if out is None and not given["dry_run"]:
        raise LimiteError("say where problems go: -o FILE.jsonl")
    settings = Settings(
        topics=topics,
        out=out,
        offline=True,
        key="",
        policy_key="",
        **{**given, **ASKS_ITSELF},
    )
    author_file(settings)
