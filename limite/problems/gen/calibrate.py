"""``limite-gen calibrate``: how often a model solves each problem of a file, measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import click

from limite.core.cli.table import show_table
from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import dumps, loads
from limite.core.kinds import Verifier
from limite.core.rollout.grading import verdicts_on
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.asking import sampling_options, server_options
from limite.problems.gen.endpoint import Endpoint, key_in
from limite.problems.gen.endpoint_policy import EndpointPolicy
from limite.problems.gen.local_policy import LocalPolicy
from limite.problems.gen.output import Output, beside, file_hash
from limite.problems.gen.policies import INSTRUCTION, Policy, Reply
from limite.problems.gen.progress import progress
from limite.problems.gen.rates import Rates
from limite.problems.gen.weak import sandbox, weak_sandbox_option
from limite.problems.verifiers.named import verifier_named


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--model", metavar="RUN_OR_DIR", type=click.Path(path_type=Path),
    help="What a run has trained, or a model's directory.",
)  # fmt: skip
@click.option("--stage", metavar="NAME", help="Of a run: the stage whose weights are asked.")
@server_options("A server that speaks chat completions instead.")
@sampling_options(samples=8, max_tokens=1024, temperature=1.0)
@click.option(
    "--instruction", metavar="TEXT",
    help=f"Stands behind each question.  [of an endpoint or a directory: {INSTRUCTION}]",
)  # fmt: skip
@weak_sandbox_option
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True)
@click.option("--force", is_flag=True, help="Replace a file that was made otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print progress and result as JSON lines.")
def calibrate(
    file: Path,
    model: Path | None,
    stage: str | None,
    endpoint: str | None,
    model_name: str | None,
    key_env: str | None,
    concurrency: int,
    timeout: float,
    samples: int,
    max_tokens: int,
    temperature: float,
    seed: int,
    verifier: str | None,
    instruction: str | None,
    allow_weak_sandbox: bool,
    out: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Measure how often a model solves each problem of a file.

    Each problem is answered K times and judged; FILE's records are written to OUT with pass_rate,
    samples and policy under 'difficulty'. The same command again goes on where it was stopped. Of
    a model that is sampled here it gives the same bytes; what an endpoint replied is kept in
    OUT.replies.jsonl and not asked for twice.
    """
    if (model is None) == (endpoint is None):
        raise LimiteError("say who answers: --model RUN_OR_DIR, or --endpoint URL")
    if temperature == 0 and samples > 1:
        raise LimiteError(f"--samples {samples}: at temperature 0 they would all be the same one")
    terms: dict[str, Any] = {"seed": seed, "temperature": temperature, "max_tokens": max_tokens}
    policy: LocalPolicy | EndpointPolicy
    if model is not None:
        _refuse(endpoint=model_name, key_env=key_env)
        local = LocalPolicy(model, option="--model", stage=stage, instruction=instruction, **terms)
        for note in local.notes:
            _note(note)
        judge = _judge(verifier or local.verifier or "mathematics")
        policy = local
    else:
        assert endpoint is not None
        if stage is not None:
            raise LimiteError("--stage: an endpoint has no stages")
        if model_name is None:
            raise LimiteError("--model-name: an endpoint is asked for a model by its name")
        judge = _judge(verifier or "mathematics")
        policy = EndpointPolicy(
            Endpoint(endpoint, model_name, key_in(key_env), timeout_s=timeout, tell=_note),
            kept=beside(files.suffixed(out), "replies.jsonl"),
            instruction=INSTRUCTION if instruction is None else instruction,
            concurrency=concurrency,
            **terms,
        )
    try:
        with sandbox(allow_weak=allow_weak_sandbox):
            write(file, policy, judge, out, samples=samples, force=force, as_json=as_json)
    finally:
        policy.close()


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)


def _refuse(*, endpoint: str | None, key_env: str | None) -> None:
    for option, given in (("--model-name", endpoint), ("--key-env", key_env)):
        if given is not None:
            raise LimiteError(f"{option}: belongs to --endpoint")


def _judge(verifier: Verifier | str) -> Verifier:
    if isinstance(verifier, str):
        return verifier_named(verifier)
    return verifier


def write(
    file: Path,
    policy: Policy,
    judge: Verifier,
    out: Path,
    *,
    samples: int,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Measures every problem of a file, or those that an earlier run has left, and tells how."""
    problems = files.read_problems(file)
    request = {
        "file_sha256": file_hash(file),
        "samples": samples,
        "verifier": repr(judge),
        **policy.record,
    }
    output = Output(out, request, force=force)
    rates = Rates(samples=samples)
    if output.complete:
        output.abandon()
        for record in files.iterate(out):
            rates.add(record)
        _tell(out, rates, as_json)
        return
    try:
        with progress(
            len(problems),
            as_json=as_json,
            already=output.resumed,
            look_every=1,
            left_out="not answered",
        ) as show:
            for line in _lines(problems, policy, judge, output, samples):
                output.add(line)
                rates.add(files.problem_of(loads(line)))
                show(output.count, lambda: rates.unanswered)
    except KeyboardInterrupt:
        output.flush()
        output.abandon()
        raise KeyboardInterrupt(
            f"stopped after {output.count:,} problems; the same command goes on from them"
        ) from None
    except BaseException:
        output.flush()
        output.abandon()
        raise
    output.finish("short" if rates.unanswered else "complete", rates.plain())
    _tell(out, rates, as_json)


def _lines(
    problems: list[Problem], policy: Policy, judge: Verifier, output: Output, samples: int
) -> Iterator[bytes]:
    """The line of every problem, those that an earlier run wrote as they are."""
    yield from output.known()
    step = max(1, policy.at_once // samples)
    for start in range(output.resumed, len(problems), step):
        chunk = problems[start : start + step]
        for problem, replies in zip(chunk, policy.answer(chunk, samples), strict=True):
            measured, failures = _measured(problem, replies, judge, policy.name)
            line = files.line_of(files.record_of(measured))
            if failures:
                output.refuse(files.line_of({"id": problem.id, "failures": dict(failures)}))
            yield line
        output.flush()


def _measured(
    problem: Problem, replies: list[Reply], judge: Verifier, name: str
) -> tuple[Problem, Mapping[str, int]]:
    """The problem with its pass rate over the replies that came, and why others did not."""
    texts = [reply.text for reply in replies if reply.text is not None]
    failures = Counter(reply.failure for reply in replies if reply.text is None)
    kept = {
        key: value
        for key, value in problem.difficulty.items()
        if key not in ("pass_rate", "samples", "policy")
    }
    if texts:
        verdicts = verdicts_on(judge, [(problem.answer, text) for text in texts])
        right = sum(verdict.correct for verdict in verdicts)
        kept |= {"pass_rate": right / len(texts), "samples": len(texts), "policy": name}
    return attrs.evolve(problem, difficulty=kept), failures


def _tell(out: Path, rates: Rates, as_json: bool) -> None:
    if as_json:
        click.echo(dumps({"event": "done", "file": str(out), **rates.plain()}))
    else:
        click.echo(f"{out}: {rates.text}\n")
        for title, rows in rates.tables().items():
            show_table((title, "PROBLEMS", "PASS RATE", "95% INTERVAL"), rows, cut=False)
            click.echo("")
    if rates.unanswered:
        raise RunFailed(
            f"{rates.unanswered:,} problems were not answered; {beside(out, 'refused.jsonl')} says "
            "why, and the same command with --force asks again for what is missing"
        )
