"""One call of ``limite-gen author``: from its settings to its files."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import click

from limite.core.discover import load_registry
from limite.core.endpoint.client import Address
from limite.core.errors import RunFailed
from limite.core.jsonl import dumps
from limite.problems import files
from limite.problems.author.budget import Budget, Most, Prices
from limite.problems.author.duplicates import Benchmarks, Known
from limite.problems.author.journal import Journal
from limite.problems.author.models import Models, aim_of, writer_of
from limite.problems.author.offline import HOST, Offline, write_requests
from limite.problems.author.pipeline import Pipeline
from limite.problems.author.plan import request_of, show_plan
from limite.problems.author.program import LIMITS, Runner
from limite.problems.author.prompts import read_templates
from limite.problems.author.quorum import Terms
from limite.problems.author.report import Counts, spent, spent_text
from limite.problems.author.run import Run
from limite.problems.author.settings import Settings, refuse, wanted
from limite.problems.author.topics import Topic, drawn, read_topics
from limite.problems.gen.output import beside
from limite.problems.sandbox.limits import MIB
from limite.problems.sandbox.pool import WEAK, WeakSandbox

EVERY_S = 10.0


def author_file(given: Settings) -> None:
    """Does what the command was asked for; all mistakes are told before a request is made."""
    refuse(given)
    terms = given.terms()
    topics = wanted(given, read_topics(given.topics))
    templates = read_templates(given.prompts)
    known = Known(per_template=given.per_template)
    for path in given.against:
        for row, problem in enumerate(files.iterate(path), start=1):
            known.add(problem.problem, f"{path.name}, row {row}", made=False)
    benchmarks = Benchmarks(given.benchmarks)
    registry = load_registry()
    steps = [(each, registry.get("author_step", each).load()()) for each in given.steps]
    budget = Budget(
        Most(
            requests=given.max_requests,
            tokens=given.max_tokens_total,
            cost=given.max_cost,
            time_s=given.max_time,
        ),
        Prices(tokens_in=given.price_in, tokens_out=given.price_out),
    )
    runner = Runner(
        limits=attrs.evolve(
            LIMITS,
            cpu_s=given.program_seconds,
            wall_s=2 * given.program_seconds + 10,  # a busy machine is no reason
            memory_bytes=given.program_memory * MIB,
        ),
        packages=tuple(given.packages),
        allow_weak=given.allow_weak_sandbox,
    )
    host = HOST if given.offline else "here"
    if given.endpoint is not None:
        host = Address.of(given.endpoint, "--endpoint").host
    models = Models(writer=None, reader=None) if given.dry_run else Models.of(given, _note)
    name = models.name(given)
    pipeline = Pipeline(
        terms=Terms(
            seed=given.seed,
            model=name,
            solver_models=given.solver_models or (name,),
            solvers=given.solvers,
            min_agree=given.min_agree,
            reading_share=given.reading_share,
        ),
        writer=None,  # type: ignore[arg-type]  # set below, once its files are open
        templates=templates,
        runner=runner,
        known=known,
        benchmarks=benchmarks,
        steps=steps,
    )
    if given.dry_run:
        show_plan(given, topics, pipeline, budget.prices)
        return
    models.refuse(given, pipeline.prompt(0, drawn(topics, given.seed, 0), ()))
    assert given.out is not None
    try:
        runner.start()
        request = request_of(given, topics, pipeline, terms, host) | models.record(given)
        journal = Journal(given.out, request, force=given.force)
        try:
            _write(given, models, topics, pipeline, budget, journal, terms)
        finally:
            journal.close()
    finally:
        runner.close()


def _write(
    given: Settings,
    models: Models,
    topics: Sequence[Topic],
    pipeline: Pipeline,
    budget: Budget,
    journal: Journal,
    terms: Mapping[str, Any],
) -> None:
    writer = writer_of(given, models, journal, budget, terms, _note)
    pipeline.aim = aim = aim_of(given, models, journal, budget, writer, _note)
    pipeline.writer = writer
    if given.allow_weak_sandbox:
        _note(f"--allow-weak-sandbox: where there is no other, {WEAK}")
    at_once = 1 if given.local is not None else given.concurrency
    run = Run(journal, pipeline, topics, given.count, given.most, at_once, _Teller(given, budget))
    if given.offline:
        run.round_size = given.count  # what is waited for is best asked for together
    state = "stopped"
    try:
        with _heard(budget), warnings.catch_warnings():
            # Said above; and programs of strangers are looked at, whatever the compiler thinks.
            warnings.simplefilter("ignore", WeakSandbox)
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            ended = run()
        if ended:
            state = "complete" if len(run.accepted) >= given.count else "short"
    finally:
        writer.close()
        if aim is not None:
            aim.reader.close()
        if isinstance(writer, Offline):
            write_requests(beside(journal.path, "requests.jsonl"), writer.waiting)
        counts = run.counts
        records = [
            record
            for each in run.accepted
            for record in (each["record"], *each.get("variants", ()))
        ]
        journal.finish(state, records, _others(run), counts.plain())
        _tell(given, counts, budget, state)
    writer.check()
    if aim is not None:
        aim.reader.check()
    if budget.reason == INTERRUPTED:
        raise KeyboardInterrupt(
            f"stopped after {counts.accepted:,} problems; the same command goes on from them"
        )
    if isinstance(writer, Offline) and state == "stopped":
        place = beside(journal.path, "requests.jsonl")
        click.echo(
            f"{place}: {len(writer.waiting):,} requests to be made; give the replies to limite-gen "
            "collect, and then this command goes on"
        )
        return
    if state == "stopped":
        reason = budget.reason or f"{writer.host} replied to nothing"
        raise RunFailed(f"{reason}; the same command goes on, with a budget of its own")
    if state == "short":
        raise RunFailed(
            f"{counts.accepted:,} of {given.count:,} problems after {counts.asked:,} were "
            f"asked for (--most-asked); {journal.refused} says why others were not kept"
        )


def _others(run: Run) -> list[Mapping[str, Any]]:
    """What is told of problems that were not kept, and of those that were not varied."""
    unvaried = [
        {
            "outcome": "unvaried",
            "slot": each["slot"],
            "topic": each["topic"],
            "problem": each["record"]["problem"],
            **each["unvaried"],
        }
        for each in run.accepted
        if "unvaried" in each
    ]
    return [*run.refused, *unvaried]


INTERRUPTED = "stopped by hand"


@contextlib.contextmanager
def _heard(budget: Budget) -> Iterator[None]:
    """Ctrl-C once lets what is under way come to its end; twice stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hear(*_: object) -> None:
        if budget.reason == INTERRUPTED:
            raise KeyboardInterrupt
        budget.stop(INTERRUPTED)
        _note("replies under way are waited for; Ctrl-C once more stops now")

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Teller:
    """Tells how far it has come, every ten seconds."""

    def __init__(self, given: Settings, budget: Budget) -> None:
        self._given, self._budget = given, budget
        self._told_s = time.monotonic()

    def __call__(self, run: Run) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s < EVERY_S:
            return
        self._told_s = now_s
        counts = run.counts
        told = spent(self._budget, counts, self._given.count)
        if self._given.as_json:
            click.echo(dumps({"event": "progress", **counts.plain(), **told}))
            return
        click.echo(
            f"{counts.accepted:,} of {self._given.count:,}: {counts.text}; {spent_text(told)}",
            err=True,
        )


def _tell(given: Settings, counts: Counts, budget: Budget, state: str) -> None:
    told = spent(budget, counts, given.count)
    if given.as_json:
        done = {"event": "done", "state": state, "file": str(given.out)}
        click.echo(dumps({**done, **counts.plain(), **told}))
        return
    click.echo(f"{given.out}: {counts.text}")
    for stage, reached, passed in counts.stages():
        if reached:
            click.echo(f"  {stage:8} {passed:,} of {reached:,} went on ({passed / reached:.0%})")
    if counts.aimed:
        click.echo(counts.aimed)
    if counts.varied:
        click.echo(counts.varied)
    click.echo(f"this call: {spent_text(told)}")


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)
