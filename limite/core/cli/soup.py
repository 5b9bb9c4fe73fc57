"""``limite soup``: the average of models that grew from one, as a directory of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from limite.core.cli.model_place import found_model
from limite.core.cli.progress import weights_progress
from limite.core.cli.sizes import parse_bytes
from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder
    from limite.core.pretrained.export import Source
    from limite.core.pretrained.soup import Soup
    from limite.core.pretrained.soup_greedy import Tried
    from limite.core.tokenizer import Tokenizer


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--to", required=True, metavar="OUT", type=click.Path(path_type=Path), help="The new directory."
)
@click.option(
    "--weights",
    metavar="W,W,...",
    help="One for each model, together 1. Left out: the same for all.",
)
@click.option(
    "--greedy",
    is_flag=True,
    help="Take models in from the best on, and leave out whatever lowers accuracy.",
)
@click.option(
    "--benchmark",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --greedy: held-out problems, as .jsonl or .jsonl.zst.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 10**6),
    metavar="N",
    help="With --greedy: seeded samples of each problem. Left out: the likeliest tokens, once.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1, 2**24),
    metavar="N",
    help="With --greedy: the most of a response. Left out: 256.",
)
@click.option(
    "--dtype",
    metavar="DTYPE",
    help="How weights are stored: bfloat16, float16 or float32. Left out: as the models' are.",
)
@click.option(
    "--shard-size",
    default="5GB",
    show_default=True,
    metavar="SIZE",
    help="The most that a file of weights holds, like 4GB, 500MB or 4GiB.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def soup(
    models: tuple[str, ...],
    to: Path,
    weights: str | None,
    greedy: bool,
    benchmark: Path | None,
    samples: int | None,
    max_tokens: int | None,
    dtype: str | None,
    shard_size: str,
    as_json: bool,
) -> None:
    """Average models that grew from one, tensor by tensor.

    Each MODEL is a model's directory, or the folder of a run, whose last trained weights are taken.
    All must have one architecture, one tokenizer and the same tensors; what differs is told. Sums
    run in float64 and are rounded once. What was averaged is written to soup.json in OUT; an
    existing OUT is refused.
    """
    _refuse_options(greedy, weights, {"--benchmark": benchmark}, samples, max_tokens)
    shard_bytes = parse_bytes(shard_size, "--shard-size")
    # Imported late: they need torch.
    from limite.core.pretrained.average import checked_weights, uniform
    from limite.core.pretrained.dtype_names import stored_dtype
    from limite.core.pretrained.new_directory import refuse_existing
    from limite.core.pretrained.soup import Soup
    from limite.core.recipe.tasting import benchmark as benchmark_class
    from limite.core.recipe.tasting import greedy_record

    kind = None if dtype is None else stored_dtype(dtype)
    refuse_existing(to)
    given = None if weights is None else _numbers(weights)
    shares = (
        uniform(len(models)) if given is None else checked_weights(given, len(models), "--weights")
    )
    problems = None
    if benchmark is not None:
        terms = {"samples": samples, "max_tokens": max_tokens or 256}
        problems = benchmark_class().read(benchmark, **terms)
    opened = [_opened(name) for name in models]
    made = Soup.of([(name, source) for name, (source, _) in zip(models, opened, strict=True)])
    record: dict[str, Any] = {"method": "uniform" if given is None else "weighted"}
    tried = None
    if problems is not None:
        tried, results = _greedy(made, opened[0][1], problems, kind, quiet=as_json)
        shares = tried.weights(len(models))
        record = greedy_record(tried.record(models), results)
    elif given is not None and shares != tuple(given):
        record["weights_given"] = given
    with weights_progress(quiet=as_json) as progress:
        done = made.write(
            to, shares, dtype=kind, shard_bytes=shard_bytes, record=record, progress=progress
        )
    if as_json:
        show_json({**attrs.asdict(done), "soup": made.receipt(shares) | record})
        return
    rows = [(name, f"{share:.6g}") for name, share in zip(models, shares, strict=True)]
    show_table(("MODEL", "WEIGHT"), rows, cut=False)
    if "weights_given" in record:
        click.echo("note: the weights given do not quite sum to 1 and were divided by their sum")
    for note in done.notes:
        click.echo(f"note: {note}")
    click.echo(f"wrote {to}: {done.parameters:,} parameters in {done.dtype}")


def _refuse_options(
    greedy: bool,
    weights: str | None,
    needed: dict[str, Path | None],
    samples: int | None,
    max_tokens: int | None,
) -> None:
    if greedy and weights is not None:
        raise LimiteError("--weights: a greedy soup finds its own; leave out one of the two")
    if greedy and needed["--benchmark"] is None:
        raise LimiteError("--greedy: needs --benchmark FILE, the problems that models are tried on")
    options = {**needed, "--samples": samples, "--max-tokens": max_tokens}
    for option, value in options.items():
        if not greedy and value is not None:
            raise LimiteError(f"{option}: belongs to --greedy, which was not asked for")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise LimiteError(f"--weights: expected numbers like 0.5,0.3,0.2, got {text!r}") from error


def _opened(name: str) -> tuple[Source, Tokenizer]:
    """A model's weights, and how it is asked."""
    from limite.core.pretrained.export import directory_source
    from limite.core.pretrained.tokenizer import PretrainedTokenizer
    from limite.core.recipe.export import run_source
    from limite.core.recipe.trained import trained

    path, is_run = found_model(Path(name))
    if not is_run:
        return directory_source(path), PretrainedTokenizer(path=str(path))
    found = trained(path)
    return run_source(found), found.recipe.tokenizer


def _greedy(
    made: Soup, tokenizer: Tokenizer, problems: Any, dtype: str | None, *, quiet: bool
) -> tuple[Tried, dict[str, Any]]:
    """Measures averages on the benchmark, as they would be stored, and shows each."""
    from limite.core.device import choose_device
    from limite.core.pretrained.soup_greedy import Trial, greedy, shown
    from limite.core.recipe.tasting import measuring

    names = [model.name for model in made.models]
    terms: dict[str, Any] = {}

    def make(shares: tuple[float, ...]) -> Decoder:
        return made.decoder(shares, stored=dtype, device=choose_device())

    def tell(trial: Trial) -> None:
        if not quiet:
            click.echo(f"{' + '.join(names[each] for each in trial.models)}: {shown(trial.score)}")

    measure = measuring(make, len(names), problems, tokenizer, terms)
    tried = greedy(names, measure, tell)
    if not quiet:
        click.echo("")
        rows = [
            (
                f"+ {names[trial.models[-1]]}" if len(trial.models) > 1 else names[trial.models[0]],
                f"{trial.score.correct:,}/{trial.score.total:,}",
                f"{100 * float(trial.score.accuracy):.1f}%",
                "[{:.1f}, {:.1f}]".format(*(100 * end for end in trial.score.interval)),
                "kept" if trial.kept else "left out",
            )
            for trial in tried.steps
        ]
        show_table(("AVERAGE OF", "RIGHT", "ACCURACY", "INTERVAL", ""), rows, cut=False)
        click.echo("(the same problems chose the models: measure the soup on others)")
        click.echo("")
    return tried, terms
