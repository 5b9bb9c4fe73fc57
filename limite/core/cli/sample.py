"""``limite sample``: what a model, or a run, answers to a text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from limite.core.cli.model_place import found_model
from limite.core.cli.table import show_json
from limite.core.errors import LimiteError

if TYPE_CHECKING:
    from limite.core.types import Response


@click.command()
@click.argument("model", metavar="RUN_OR_DIR", type=click.Path(path_type=Path))
@click.argument("prompt", required=False)
@click.option("--stage", metavar="NAME", help="Of a run: the stage whose weights are asked.")
@click.option("--system", metavar="TEXT", help="A system turn before the prompt.")
@click.option("--raw", is_flag=True, help="Go on with the prompt as it stands, without turns.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="The most of a response. Left out: 256, or what the context has room for.",
)
@click.option(
    "--temperature",
    type=float,
    default=1.0,
    show_default=True,
    help="0 takes the likeliest token every time.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 10**6),
    default=1,
    show_default=True,
    metavar="N",
    help="How many responses.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="The same one gives the same text."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sample(
    model: Path,
    prompt: str | None,
    stage: str | None,
    system: str | None,
    raw: bool,
    max_tokens: int | None,
    temperature: float,
    samples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Ask a model, or what a run has trained, and print what it answers.

    RUN_OR_DIR is a model's directory, or the folder of a run, or the name of one under runs/.
    PROMPT is put as a user's turn, by the chat template of the model if it has one; left out, it is
    read from standard input.
    """
    # Imported late: they need torch.
    from limite.core.recipe.sample import Question, ask, speaker_in, speaker_of
    from limite.core.recipe.trained import trained

    path, is_run = found_model(model)
    question = Question(
        text=_standard_input() if prompt is None else prompt, system=system, raw=raw
    )
    origin: dict[str, object] | None = None
    if is_run:
        found = trained(path, stage)
        origin = {"run": str(path), "stage": found.stage, "step": found.step}
        speaker = speaker_of(found)
    elif stage is not None:
        raise LimiteError(f"--stage: {path} is a model's directory, which has no stages")
    else:
        speaker = speaker_in(path)
    done = ask(
        speaker,
        question,
        samples=samples,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
    )
    for note in speaker.notes:
        click.echo(f"note: {note}", err=True)
    if as_json:
        show_json(
            {
                "model": str(path),
                "origin": origin,
                "prompt": question.text,
                "system": system,
                "raw": raw,
                "prompt_tokens": done.prompt_tokens,
                "max_tokens": done.max_tokens,
                "temperature": temperature,
                "seed": seed,
                "responses": [_plain(each) for each in done.responses],
            }
        )
        return
    for number, response in enumerate(done.responses, start=1):
        if samples > 1:
            click.echo(f"{'' if number == 1 else chr(10)}--- {number} of {samples}")
        click.echo(response.text)
    cut = sum(each.finish_reason == "length" for each in done.responses)
    if cut:
        which = "the response was" if samples == 1 else f"{cut} of {samples} responses were"
        click.echo(
            f"note: {which} cut off after {done.max_tokens} tokens; see --max-tokens", err=True
        )


def _plain(response: Response) -> dict[str, Any]:
    return {
        "text": response.text,
        "finish_reason": response.finish_reason,
        "token_ids": list(response.completion_ids),
        "logprobs": list(response.logprobs),
    }


def _standard_input() -> str:
    """The prompt from a pipe, without the newline that ends its last line."""
    if sys.stdin is None or sys.stdin.isatty():
        raise LimiteError("PROMPT: expected a text behind the model, or one on standard input")
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise LimiteError(
            f"PROMPT: expected text in UTF-8 on standard input; byte {error.start + 1} is none"
        ) from error
    return text.removesuffix("\n")
