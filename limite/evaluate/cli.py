"""``limite eval``: how good models are at problems, with intervals, on terms that are kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from limite.core.cli.table import show_json, show_table
from limite.core.errors import Gathered, LimiteError
from limite.core.recipe.stages.evaluation import GRADINGS, PROFILES
from limite.core.rollout.budget import BUDGETS
from limite.problems.gen.asking import sampling_options, server_options
from limite.problems.gen.say import Real, Word

if TYPE_CHECKING:
    from limite.evaluate.models import Model

EXPORTS = ("lm-eval", "lighteval")


@click.command("eval")
@click.argument("models", metavar="[MODEL]...", nargs=-1)
@click.option(
    "--benchmark", metavar="FILE_OR_NAME",
    help="Problems: .jsonl, .jsonl.zst, .parquet, a saved data set, or a name that --list tells.",
)  # fmt: skip
@click.option(
    "--suite", metavar="NAME[/TASK]",
    help="Several benchmarks instead: limite, or math-extended, whose terms are the publisher's.",
)  # fmt: skip
@click.option(
    "--data", metavar="DIR", type=click.Path(path_type=Path),
    help="Of --suite math-extended: where the tasks' data sets lie.",
)  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="Tell the benchmarks that are installed.")
@click.option(
    "--against", metavar="RUN_OR_MODEL",
    help="Measured too, or the folder of its results; every MODEL is compared with it.",
)  # fmt: skip
@click.option("--stage", metavar="NAME", help="Of runs: the stage whose weights are measured.")
@server_options("A server of chat completions, measured as well.")
@click.option(
    "--served", metavar="DIR", type=click.Path(path_type=Path),
    help="The directory that it serves: prompts are counted, budgets follow from its context.",
)  # fmt: skip
@sampling_options(
    samples_are="what the benchmark says, else 4",
    max_tokens_are="what the context leaves behind its prompt",
    temperature=0.6,
)
@click.option(
    "--top-p", metavar="P", type=Real(0, 1, min_open=True), default=1.0, show_default=True,
    help="Sample from the likeliest tokens that have this share together; 1 is from all.",
)  # fmt: skip
@click.option(
    "--budget", type=Word(BUDGETS),
    help="How long a response may get.  [fixed-response with --max-tokens, else native-context]",
)  # fmt: skip
@click.option(
    "--profile", type=Word(PROFILES),
    help="How questions are put.  [by the chat template, where there is one; else as they are]",
)  # fmt: skip
@click.option(
    "--shots", metavar="FILE", type=click.Path(path_type=Path),
    help="Worked problems that base-few-shot shows first.",
)  # fmt: skip
@click.option(
    "--expect", metavar="FILE", type=click.Path(path_type=Path),
    help="The results.json of an earlier evaluation: the prompt must have the ids it had there.",
)  # fmt: skip
@click.option("--system", metavar="TEXT", help="A system turn before the question.")
@click.option(
    "--instruction", metavar="TEXT",
    help="Stands behind each question.  [none where a run is measured, else to box the answer]",
)  # fmt: skip
@click.option("--stop", "stops", metavar="TEXT", multiple=True, help="Of base profiles: ends one.")
@click.option("--thinking", is_flag=True, help="Of base-few-shot: the answer begins in <think>.")
@click.option(
    "--grading", type=Word(GRADINGS),
    help="Judge by the four published protocols; this one says what is called correct.",
)  # fmt: skip
@click.option(
    "--exact", metavar="VERIFIER",
    help="Of --grading: the grader of whoever published the benchmark.  [what that says]",
)  # fmt: skip
@click.option("--natural-end", is_flag=True, help="Answers count only where the response ended.")
@click.option(
    "--training", metavar="FILE", multiple=True, type=click.Path(path_type=Path, exists=True),
    help="Texts to look for the problems in, beside those of a run: .jsonl, .jsonl.zst.",
)  # fmt: skip
@click.option("--allow-protocol-mismatch", is_flag=True, help="Compare all the same, and say so.")
@click.option(
    "--confidence", type=Real(0.5, 1, min_open=True, max_open=True), default=0.95,
    show_default=True, help="Of the intervals.",
)  # fmt: skip
@click.option(
    "--slots", metavar="N", type=click.IntRange(1, 4096),
    help="Responses sampled together here: memory and speed, and nothing else.  [what fits]",
)  # fmt: skip
@click.option(
    "-o", "--out", metavar="DIR", type=click.Path(path_type=Path),
    help="[evals/, with the benchmark's name and a hash of the terms]",
)  # fmt: skip
@click.option(
    "--export", "exports", type=Word(EXPORTS), multiple=True,
    help="Write the responses as that tool does as well, into a folder of its name in --out.",
)  # fmt: skip
@click.option(
    "--import", "imports", metavar="FILE", type=click.Path(path_type=Path),
    help="Instead: read samples of lm-eval or details of lighteval; --out says where they go.",
)  # fmt: skip
@click.option(
    "--metric", metavar="NAME[,FILTER]", help="Of --import and --audit: what says who is right.",
)  # fmt: skip
@click.option(
    "--audit", metavar="FILE", type=click.Path(path_type=Path),
    help="Instead: hold the responses of any file to the rules of budgets and endings.",
)  # fmt: skip
@click.option(
    "--eos", metavar="ID", type=int, multiple=True,
    help="Of --audit: ids that end a response.  [those of MODEL, or of the run FILE lies in]",
)  # fmt: skip
@click.option(
    "--context", metavar="N", type=click.IntRange(min=1),
    help="Of --audit: what a prompt and its response have together.  [that of MODEL]",
)  # fmt: skip
@click.option(
    "--correct-eos", metavar="ID", type=int, multiple=True,
    help="Of --audit: cut at these ids, grade again, and keep both results in --out.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def eval_(
    models: tuple[str, ...],
    benchmark: str | None,
    suite: str | None,
    data: Path | None,
    listing: bool,
    against: str | None,
    stage: str | None,
    endpoint: str | None,
    model_name: str | None,
    served: Path | None,
    key_env: str | None,
    concurrency: int,
    timeout: float,
    samples: int | None,
    temperature: float,
    top_p: float,
    seed: int,
    max_tokens: int | None,
    budget: str | None,
    profile: str | None,
    shots: Path | None,
    expect: Path | None,
    system: str | None,
    instruction: str | None,
    stops: tuple[str, ...],
    thinking: bool,
    verifier: str | None,
    grading: str | None,
    exact: str | None,
    natural_end: bool,
    training: tuple[Path, ...],
    allow_protocol_mismatch: bool,
    confidence: float,
    slots: int | None,
    out: Path | None,
    exports: tuple[str, ...],
    imports: Path | None,
    metric: str | None,
    audit: Path | None,
    eos: tuple[int, ...],
    context: int | None,
    correct_eos: tuple[int, ...],
    as_json: bool,
) -> None:
    """Measure models on the problems of a benchmark.

    MODEL is a run (RUN:STAGE for one of its stages) or a model's directory. Every response is
    written down as it comes: the same command goes on where it was stopped, and ends with the same
    bytes. Of a set that is not complete no accuracy is told.
    """
    if listing:
        _list(as_json)
        return
    if audit is not None:
        from limite.evaluate.audit_told import tell_audit

        tell_audit(
            audit,
            as_json=as_json,
            models=models,
            stage=stage,
            eos_ids=eos,
            context=context,
            budget=max_tokens,
            correct_eos=correct_eos,
            verifier=verifier,
            natural_end=natural_end,
            out=out,
            metric=metric,
        )
        return
    if imports is not None:
        _import(imports, metric, out, confidence, as_json)
        return
    wrong = Gathered()
    for name, value, owner in (
        ("--metric", metric, "--import FILE or --audit FILE"),
        ("--eos", eos, "--audit FILE"),
        ("--context", context, "--audit FILE"),
        ("--correct-eos", correct_eos, "--audit FILE"),
        ("--model-name", endpoint is None and model_name, "--endpoint"),
        ("--served", endpoint is None and served, "--endpoint"),
        ("--key-env", endpoint is None and key_env, "--endpoint"),
        ("--data", suite is None and data, "--suite math-extended"),
    ):
        if value:
            wrong.add(f"{name}: belongs to {owner}")
    if not models and endpoint is None:
        wrong.add("say what to measure: limite eval MODEL --benchmark FILE_OR_NAME")
    if endpoint is not None and model_name is None:
        wrong.add("--model-name: an endpoint is asked for a model by its name")
    if benchmark is not None and suite is not None:
        wrong.add("--suite: has benchmarks of its own; give --benchmark or --suite")
    if benchmark is None and suite is None:
        wrong.add("--benchmark: say which problems, FILE or a name; --list tells the names")
    from limite.evaluate.command import evaluate
    from limite.evaluate.models import Terms
    from limite.evaluate.served import MEASURING, PUBLISHED, served_model
    from limite.evaluate.wanted import Wanted

    terms = Terms(
        samples=samples,
        temperature=temperature,
        top_p=None if top_p == 1 else top_p,
        seed=seed,
        max_tokens=max_tokens,
        named_budget=budget,
        slots=slots,
    )
    published = suite is not None and suite.partition("/")[0] == "math-extended"
    if published:
        from limite.evaluate.suites.run import published_terms

        with wrong.mistake():
            terms = published_terms(profile, terms, _given())
        if grading is None and verifier is None:
            grading = "reference" if exact is None else "exact"
    with wrong.mistake():
        terms.check()

    def more() -> list[Model]:
        if endpoint is None or model_name is None:
            return []
        return [
            served_model(
                endpoint,
                model_name,
                key_env=key_env,
                terms=terms,
                served=served,
                concurrency=concurrency,
                timeout_s=timeout,
                tell=_note,
                apart=not published,
                patience=PUBLISHED if published else MEASURING,
            )
        ]

    wanted = Wanted(
        models=models,
        against=against,
        stage=stage,
        benchmark=benchmark or "",
        terms=terms,
        profile=profile or ("chat-zero-shot" if published else None),
        instruction=instruction,
        system=system,
        thinking=thinking,
        shots=shots,
        expect=expect,
        stops=stops,
        verifier=verifier,
        grading=grading,
        exact=exact,
        natural_end=natural_end,
        training=training,
        confidence=confidence,
        out=out,
        exports=exports,
        allow_mismatch=allow_protocol_mismatch,
    )
    if suite is not None:
        from limite.evaluate.suites.run import run_suite

        wrong.refuse()
        found = run_suite(suite, data, wanted, more, _note, _Progress(), served)
    else:
        found = evaluate(wanted, more, _note, _Progress(), wrong=wrong)
    text = found.pop("text")
    if as_json:
        show_json(found)
        return
    click.echo(text)
    click.echo(f"{found['out']} holds report.html, this table, and every response")


def _given() -> frozenset[str]:
    """The options that somebody has typed."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is not default
    )


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)


class _Progress:
    """Says on a terminal how far it is, over one line; elsewhere at most every ten seconds."""

    def __init__(self) -> None:
        self.last_s = 0.0

    def __call__(self, text: str) -> None:
        import time

        now_s = time.monotonic()
        counting = text.endswith(" responses")
        if counting and now_s - self.last_s < (0.2 if sys.stderr.isatty() else 10.0):
            return
        if counting:
            self.last_s = now_s
        click.echo(f"\r{text}" if counting and sys.stderr.isatty() else text, err=True)


def _import(
    path: Path, metric: str | None, out: Path | None, confidence: float, as_json: bool
) -> None:
    from limite.evaluate.exchange.files import read, write_imported

    if out is None:
        raise LimiteError("--import: --out DIR says where results and responses go")
    found = read(path, metric)
    results = write_imported(found, out, confidence)
    if as_json:
        show_json(results)
        return
    for note in found.notes:
        _note(note)
    click.echo(f"{found.layout} {found.task}, {found.model}: metric {found.terms['metric']}")
    if results["complete"]:
        click.echo(f"{results['problems']:,} problems x {results['samples']}: {results['text']}")
    else:
        click.echo(
            f"{results['completed_problems']:,} of {found.expected:,} problems are there; a part "
            "has no score"
        )
    click.echo(f"{out} holds results.json and every response, for limite compare and --audit")


def _list(as_json: bool) -> None:
    from limite.evaluate.problem_sets import installed

    known = installed()
    if as_json:
        show_json({each["name"]: each for each in known})
        return
    show_table(
        ("NAME", "PROBLEMS", "WHAT", "SHA256"),
        [
            (each["name"], str(each["problems"] or "-"), each["what"], each["sha256"] or "-")
            for each in known
        ],
        cut=False,
    )
