"""``limite-gen collect``: takes the replies to what ``limite-gen requests`` has written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from limite.core.errors import LimiteError
from limite.core.jsonl import dumps


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("replies", type=click.Path(path_type=Path))
@click.option("--give-up", is_flag=True, help="Ask for what failed no more.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def collect(file: Path, replies: Path, give_up: bool, as_json: bool) -> None:
    """Keep the replies of a server to the requests for FILE, as limite-gen requests names it.

    REPLIES has a line for each, in any order, with the custom_id of its request. What failed is
    asked for again by the next limite-gen requests, unless it is given up.
    """
    from limite.core.endpoint.replies import KeptReplies
    from limite.problems import files
    from limite.problems.author.offline import asked_in
    from limite.problems.author.offline import collect as taken
    from limite.problems.gen.output import beside

    file = files.suffixed(file)
    place = beside(file, "requests.jsonl")
    if not place.exists():
        raise LimiteError(f"{place}: no such file; limite-gen requests -o {file} writes it")
    found = taken(
        replies, KeptReplies(beside(file, "replies.jsonl")), asked_in(place), give_up=give_up
    )
    failed = Counter(found.failed.values())
    if as_json:
        click.echo(
            dumps(
                {
                    "new": found.new,
                    "known": found.known,
                    "strangers": found.strangers,
                    "failed": dict(sorted(failed.items())),
                    "tokens_in": found.tokens[0],
                    "tokens_out": found.tokens[1],
                }
            )
        )
        return
    told = "".join(f"\n  {count:,} failed: {reason}" for reason, count in failed.most_common())
    others = f", {found.strangers:,} to nothing that was asked" if found.strangers else ""
    click.echo(
        f"{found.new:,} replies taken, {found.known:,} known already{others}; "
        f"{found.tokens[0]:,} tokens in, {found.tokens[1]:,} out{told}"
    )
