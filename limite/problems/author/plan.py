"""What a run of authoring will do: what decides its file, and what it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from limite.core.jsonl import dumps
from limite.problems.author.budget import Prices
from limite.problems.author.pipeline import Pipeline
from limite.problems.author.prompts import VARYING
from limite.problems.author.settings import Settings
from limite.problems.author.topics import Topic, drawn
from limite.problems.gen.output import file_hash


def request_of(
    given: Settings,
    topics: Sequence[Topic],
    pipeline: Pipeline,
    terms: Mapping[str, Any],
    host: str,
) -> dict[str, Any]:
    """All that decides the file; budgets and patience do not."""
    return {
        "topics": [topic.plain for topic in topics],
        "endpoint": host,
        "model": pipeline.terms.model,
        "solver_models": list(given.solver_models),
        "terms": dict(terms),
        "prompts": {
            name: template.mark
            for name, template in pipeline.templates.items()
            if any(topic.vary for topic in topics) or name not in VARYING
        },
        "count": given.count,
        "most_asked": given.most,
        "solvers": given.solvers,
        "min_agree": given.min_agree,
        "reading_share": given.reading_share,
        "per_template": given.per_template,
        "against": [file_hash(path) for path in given.against],
        "benchmarks": [file_hash(path) for path in given.benchmarks],
        "packages": list(given.packages),
        "steps": [repr(step) for _, step in pipeline.steps],
        "program_seconds": given.program_seconds,
        "program_memory": given.program_memory,
        "seed": given.seed,
    }


def show_plan(given: Settings, topics: Sequence[Topic], pipeline: Pipeline, prices: Prices) -> None:
    """Prints the first prompt as it would be sent, and what all of it may take."""
    prompt = pipeline.prompt(0, drawn(topics, given.seed, 0), ())
    names = [drawn(topics, given.seed, slot).name for slot in range(given.count)]
    each = 1 + given.solvers + (given.reading_share > 0)
    if any(topic.vary for topic in topics):
        each += 1 + given.solvers
    if given.policy_model is not None:
        each += given.policy_samples * (1 + max(topic.vary or 0 for topic in topics))
    tokens = len(prompt.encode()) // 4 * each * given.count, given.max_tokens * each * given.count
    cost = prices.cost(*tokens)
    counts = {name: names.count(name) for name in sorted(set(names))}
    if given.as_json:
        click.echo(
            dumps({"prompt": prompt, "topics": counts, "requests_each": each, "most_cost": cost})
        )
        return
    click.echo(prompt)
    click.echo("----------")
    asked = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    click.echo(f"the first {given.count:,} requests for problems: {asked}")
    click.echo(f"for each problem {each:,} requests at most; {given.most:,} problems asked at most")
    money = "n/a" if cost is None else f"{cost:.2f}"
    click.echo(
        f"if all are kept: about {tokens[0]:,} tokens in, {tokens[1]:,} out at most, cost {money}"
    )
