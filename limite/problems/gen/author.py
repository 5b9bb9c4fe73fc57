"""``limite-gen author``: problems that a language model writes, and that programs agree on."""

from __future__ import annotations

import os
from pathlib import Path

import click

from limite.core.errors import LimiteError
from limite.problems.gen.say import Real


@click.command()
@click.argument("topics", required=False, type=click.Path(path_type=Path))
@click.option("--endpoint", metavar="URL", help="A server that speaks chat completions.")
@click.option("--model", metavar="NAME", help="The model that the endpoint is asked for.")
@click.option(
    "--local", metavar="RUN_OR_DIR", type=click.Path(path_type=Path),
    help="What a run has trained, or a model's directory, in place of an endpoint.",
)  # fmt: skip
@click.option("--key-env", metavar="VAR", help="The environment variable that holds the key.")
@click.option(
    "--solver-model", "solver_models", metavar="NAME", multiple=True,
    help="Who solves, in turn; may be repeated.  [the model that writes]",
)  # fmt: skip
@click.option(
    "--count", metavar="N", type=click.IntRange(1), default=100, show_default=True,
    help="Problems that are wanted.",
)  # fmt: skip
@click.option("--most-asked", metavar="N", type=click.IntRange(1), help="[ten times the count]")
@click.option(
    "--solvers", metavar="K", type=click.IntRange(1, 64), default=3, show_default=True,
    help="Programs by others, who see the problem's text alone.",
)  # fmt: skip
@click.option(
    "--min-agree", metavar="N", type=click.IntRange(1), default=2, show_default=True,
    help="Of these, so many must give the stated answer, and fewer any other.",
)  # fmt: skip
@click.option(
    "--reading-share", metavar="P", type=Real(0, 1), default=1.0, show_default=True,
    help="Of the problems, those that are read once more for what they leave unsaid.",
)  # fmt: skip
@click.option("--against", metavar="FILE", multiple=True, type=click.Path(path_type=Path),
              help="Problems that are there already; may be repeated.")  # fmt: skip
@click.option("--benchmark", "benchmarks", metavar="FILE", multiple=True,
              type=click.Path(path_type=Path),
              help="Problems that must not be made; may be repeated.")  # fmt: skip
@click.option(
    "--per-template", metavar="N", type=click.IntRange(1), default=3, show_default=True,
    help="At most so many that differ in numbers alone.",
)  # fmt: skip
@click.option(
    "--vary", metavar="N", type=click.IntRange(0, 1_000), default=0, show_default=True,
    help="Problems with other numbers that are made of each; the count is without them.",
)  # fmt: skip
@click.option("--aim", metavar="LOW:HIGH",
              help="Keep and ask for problems with such a pass rate, as 0.2:0.8.")  # fmt: skip
@click.option("--policy", metavar="RUN_OR_DIR", type=click.Path(path_type=Path),
              help="Whose pass rate: what a run has trained, or a model's directory.")  # fmt: skip
@click.option("--policy-model", metavar="NAME", help="Or a model of a server.")
@click.option("--policy-endpoint", metavar="URL", help="[the endpoint that writes]")
@click.option("--policy-key-env", metavar="VAR", help="[the key of the endpoint that writes]")
@click.option("--policy-samples", metavar="K", type=click.IntRange(1, 10_000), default=8,
              show_default=True, help="Attempts at each problem.")  # fmt: skip
@click.option("--policy-max-tokens", metavar="N", type=click.IntRange(1), default=1024,
              show_default=True, help="The most of an attempt.")  # fmt: skip
@click.option("--step", "steps", metavar="NAME", multiple=True,
              help="A plugin's author_step, before solvers; may be repeated.")  # fmt: skip
@click.option("--from-calibration", metavar="FILE", type=click.Path(path_type=Path),
              help="Weigh topics by the failures that limite-gen calibrate measured.")  # fmt: skip
@click.option("--from-eval", metavar="FILE", type=click.Path(path_type=Path),
              help="Weigh topics by those in the results.json of an eval stage.")  # fmt: skip
@click.option("--prompts", metavar="DIR", type=click.Path(path_type=Path),
              help="A folder with templates of your own, such as ask.txt.")  # fmt: skip
@click.option("--write-prompts", metavar="DIR", type=click.Path(path_type=Path),
              help="Copy the built-in templates there, and do nothing else.")  # fmt: skip
@click.option("--package", "packages", metavar="NAME", multiple=True,
              help="A package that programs may import, such as sympy.")  # fmt: skip
@click.option("--program-seconds", metavar="S", type=Real(0.1, 600), default=5.0,
              show_default=True, help="What a program may compute.")  # fmt: skip
@click.option("--program-memory", metavar="MIB", type=click.IntRange(64, 65_536), default=1024,
              show_default=True, help="The memory that a program may have.")  # fmt: skip
@click.option("--allow-weak-sandbox", is_flag=True, help="Run programs with limits alone.")
@click.option("--concurrency", metavar="N", type=click.IntRange(1, 256), default=8,
              show_default=True, help="Problems under way at once.")  # fmt: skip
@click.option("--timeout", metavar="S", type=Real(0.1, 86_400), default=300.0, show_default=True,
              help="Seconds that the endpoint has for a reply.")  # fmt: skip
@click.option("--retries", metavar="N", type=click.IntRange(0, 100), default=6, show_default=True)
@click.option("--max-tokens", metavar="N", type=click.IntRange(1), default=4096,
              show_default=True, help="The most of a reply.")  # fmt: skip
@click.option("--temperature", type=Real(0, 100), default=1.0, show_default=True)
@click.option("--extra", metavar="JSON", help="More that each request says, as an object.")
@click.option("--no-schema", is_flag=True, help="Ask for no response_format.")
@click.option("--seed", metavar="S", type=int, default=1, show_default=True)
@click.option("--max-requests", metavar="N", type=click.IntRange(0), help="Of this call.")
@click.option("--max-tokens-total", metavar="N", type=click.IntRange(0), help="In and out.")
@click.option("--max-cost", metavar="MONEY", type=Real(0), help="Needs both prices.")
@click.option("--max-time", metavar="S", type=Real(0), help="Seconds.")
@click.option("--price-in", metavar="MONEY", type=Real(0), help="Of a million tokens sent.")
@click.option("--price-out", metavar="MONEY", type=Real(0), help="Of a million tokens received.")
@click.option("--dry-run", is_flag=True, help="Print the first prompt and counts; ask nothing.")
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Begin again; replies that came are not paid twice.")
@click.option("--json", "as_json", is_flag=True, help="Print progress and result as JSON lines.")
def author(
    topics: Path | None, out: Path | None, write_prompts: Path | None, **given: object
) -> None:
    """Have a language model write problems, and keep those that programs agree on.

    TOPICS is a TOML file of subjects. A problem is written to OUT when its own program, run in the
    sandbox, gives its stated answer, and enough programs of others do who saw its text alone. All
    others go to OUT.refused.jsonl with the reason. The same command again goes on where it was
    stopped, and asks for no reply twice.
    """
    from limite.problems.author.prompts import FIELDS, write_templates
    from limite.problems.author.session import author_file
    from limite.problems.author.settings import Settings

    if write_prompts is not None:
        write_templates(write_prompts)
        click.echo(f"{write_prompts}: {', '.join(FIELDS)} as .txt, to be changed as you like")
        return
    if topics is None:
        raise LimiteError("expected a file of topics, such as topics.toml")
    if out is None and not given["dry_run"]:
        raise LimiteError("say where problems go: -o FILE.jsonl")
    key_env = given.pop("key_env")
    given["key"] = _key(key_env) if isinstance(key_env, str) and not given["dry_run"] else ""
    policy_key_env = given.pop("policy_key_env")
    given["policy_key"] = (
        _key(policy_key_env, "--policy-key-env")
        if isinstance(policy_key_env, str) and not given["dry_run"]
        else ""
    )
    settings = Settings(topics=topics, out=out, offline=False, **given)  # type: ignore[arg-type]
    author_file(settings)


def _key(variable: str, option: str = "--key-env") -> str:
    key = os.environ.get(variable, "")
    if not key:
        raise LimiteError(f"{option}: the environment has no {variable}, or it is empty")
    return key
