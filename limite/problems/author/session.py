"""One call of ``limite-gen author``: from its settings to its files."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from limite.core.discover import load_registry
from limite.core.endpoint.client import Address, Client
from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import dumps
from limite.problems import files
from limite.problems.author.budget import Budget, Most, Prices
from limite.problems.author.duplicates import Benchmarks, Known
from limite.problems.author.journal import Journal
from limite.problems.author.local import Local
from limite.problems.author.pipeline import Pipeline, Terms
from limite.problems.author.program import LIMITS, Runner
from limite.problems.author.prompts import read_templates
from limite.problems.author.report import Counts, spent, spent_text
from limite.problems.author.run import Run
from limite.problems.author.server import Server
from limite.problems.author.topics import Topic, drawn, read_topics
from limite.problems.author.weigh import calibrated, evaluated, weighed
from limite.problems.gen.output import file_hash
from limite.problems.sandbox.limits import MIB
from limite.problems.sandbox.pool import WEAK, WeakSandbox

EVERY_S = 10.0
_OWN = ("model", "messages", "seed", "response_format", "stream", "n")


@attrs.frozen(kw_only=True)
class Settings:
    """The options of the command, under their names."""

    topics: Path
    out: Path | None
    endpoint: str | None
    model: str | None
    local: Path | None
    key: str = attrs.field(repr=False)
    solver_models: Sequence[str]
    count: int
    most_asked: int | None
    solvers: int
    min_agree: int
    reading_share: float
    against: Sequence[Path]
    benchmarks: Sequence[Path]
    per_template: int
    steps: Sequence[str]
    from_calibration: Path | None
    from_eval: Path | None
    prompts: Path | None
    packages: Sequence[str]
    program_seconds: float
    program_memory: int
    allow_weak_sandbox: bool
    concurrency: int
    timeout: float
    retries: int
    max_tokens: int
    temperature: float
    extra: str | None
    no_schema: bool
    seed: int
    max_requests: int | None
    max_tokens_total: int | None
    max_cost: float | None
    max_time: float | None
    price_in: float | None
    price_out: float | None
    dry_run: bool
    force: bool
    as_json: bool

    @property
    def most(self) -> int:
        """So many problems are asked for at most."""
        return 10 * self.count if self.most_asked is None else self.most_asked

    def terms(self) -> dict[str, Any]:
        """What each request says beside model, prompt and seed."""
        extra: Any = {}
        if self.extra is not None:
            try:
                extra = json.loads(self.extra)
            except ValueError as error:
                raise LimiteError(f"--extra: not JSON: {error}") from None
            if not isinstance(extra, dict):
                raise LimiteError('--extra: expected an object, such as {"top_p": 0.95}')
            if taken := [name for name in _OWN if name in extra]:
                raise LimiteError(f"--extra: {taken[0]!r} is said by limite itself")
        return {"max_tokens": self.max_tokens, "temperature": self.temperature, **extra}


def author_file(given: Settings) -> None:
    """Does what the command was asked for; all mistakes are told before a request is made."""
    _refuse(given)
    terms = given.terms()
    topics = _weighed(given, read_topics(given.topics))
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
    host = "here" if given.endpoint is None else Address.of(given.endpoint, "--endpoint").host
    name = given.model or str(given.local)
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
        _dry(given, topics, pipeline, budget.prices)
        return
    assert given.out is not None
    try:
        runner.start()
        request = _request(given, topics, pipeline, terms, host)
        journal = Journal(given.out, request, force=given.force)
        try:
            _write(given, topics, pipeline, budget, journal, terms)
        finally:
            journal.close()
    finally:
        runner.close()


def _refuse(given: Settings) -> None:
    if (given.endpoint is None) == (given.local is None):
        raise LimiteError("say who writes: --endpoint URL with --model NAME, or --local RUN_OR_DIR")
    if given.endpoint is not None and given.model is None:
        raise LimiteError("--model: an endpoint is asked for a model by its name")
    if given.local is not None:
        for option, value in (
            ("--model", given.model),
            ("--solver-model", given.solver_models),
            ("--key-env", given.key),
            ("--extra", given.extra),
        ):
            if value:
                raise LimiteError(f"{option}: belongs to --endpoint")
    if given.min_agree > given.solvers:
        raise LimiteError(
            f"--min-agree {given.min_agree}: of {given.solvers} solvers no more can agree; "
            "--solvers asks for others"
        )
    if given.max_cost is not None and (given.price_in is None or given.price_out is None):
        raise LimiteError("--max-cost: needs --price-in and --price-out; cost is unknown else")
    if given.from_calibration is not None and given.from_eval is not None:
        raise LimiteError("--from-eval: topics are weighed by one file, and --from-calibration is")


def _weighed(given: Settings, topics: Sequence[Topic]) -> Sequence[Topic]:
    if given.from_calibration is not None:
        return weighed(topics, calibrated(given.from_calibration), given.from_calibration)
    if given.from_eval is not None:
        return weighed(topics, evaluated(given.from_eval), given.from_eval)
    return topics


def _request(
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
        "prompts": {template.name: template.mark for template in pipeline.templates.values()},
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


def _dry(given: Settings, topics: Sequence[Topic], pipeline: Pipeline, prices: Prices) -> None:
    """Prints the first prompt as it would be sent, and what all of it may take."""
    prompt = pipeline.prompt(0, drawn(topics, given.seed, 0), ())
    names = [drawn(topics, given.seed, slot).name for slot in range(given.count)]
    each = 1 + given.solvers + (given.reading_share > 0)
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


def _write(
    given: Settings,
    topics: Sequence[Topic],
    pipeline: Pipeline,
    budget: Budget,
    journal: Journal,
    terms: Mapping[str, Any],
) -> None:
    writer: Server | Local
    if given.local is not None:
        writer = Local(
            given.local,
            kept=journal.replies,
            budget=budget,
            seed=given.seed,
            temperature=given.temperature,
            max_tokens=given.max_tokens,
        )
    else:
        assert given.endpoint is not None
        client = Client(
            Address.of(given.endpoint, "--endpoint"),
            given.key,
            timeout_s=given.timeout,
            retries=given.retries,
            tell=_note,
        )
        writer = Server(
            client,
            kept=journal.replies,
            budget=budget,
            terms=terms,
            schemas=not given.no_schema,
            tell=_note,
        )
    pipeline.writer = writer
    if given.allow_weak_sandbox:
        _note(f"--allow-weak-sandbox: where there is no other, {WEAK}")
    at_once = 1 if given.local is not None else given.concurrency
    run = Run(journal, pipeline, topics, given.count, given.most, at_once, _Teller(given, budget))
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
        counts = run.counts
        records = [each["record"] for each in run.accepted]
        journal.finish(state, records, run.refused, counts.plain())
        _tell(given, counts, budget, state)
    writer.check()
    if budget.reason == INTERRUPTED:
        raise KeyboardInterrupt(
            f"stopped after {counts.accepted:,} problems; the same command goes on from them"
        )
    if state == "stopped":
        raise RunFailed(f"{budget.reason}; the same command goes on, with a budget of its own")
    if state == "short":
        raise RunFailed(
            f"{counts.accepted:,} of {given.count:,} problems after {counts.asked:,} were "
            f"asked for (--most-asked); {journal.refused} says why others were not kept"
        )


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
    click.echo(f"this call: {spent_text(told)}")


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)
