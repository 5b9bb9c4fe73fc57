"""``limite graft``: other attention in some layers of a model that exists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from limite.core import config
from limite.core.cli.table import show_json, show_table
from limite.core.config_faults import Fault, Faults, dotted
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.kinds import Attention
from limite.core.overrides import Override, apply_overrides, culprit, parse_override

if TYPE_CHECKING:
    from limite.core.pretrained.graft import Graft


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--to", required=True, metavar="OUT", type=click.Path(path_type=Path), help="The new directory."
)
@click.option("--attention", required=True, metavar="NAME", help="Such as simplicial.")
@click.option("--layers", required=True, metavar="N,N,...", help="The layers that get it, from 0.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="SETTING=VALUE",
    help="A setting of the attention; may be repeated.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Of new values that are random."
)
@click.option("--dtype", metavar="DTYPE", help="What weights are rounded to; else as they are.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def graft(
    directory: Path,
    to: Path,
    attention: str,
    layers: str,
    sets: tuple[str, ...],
    seed: int,
    dtype: str | None,
    as_json: bool,
) -> None:
    """Put other attention into some layers of the model in DIR.

    The model in OUT computes what the one in DIR does until it is trained: it has the same weights
    beside new ones, which are listed, and the logits it had. DIR is left as it is.
    """
    # Imported late: it needs torch.
    from limite.core.pretrained.dtype_names import stored_dtype
    from limite.core.pretrained.graft import graft_directory

    numbers = layer_numbers(layers)
    component = component_of(attention, sets)
    done = graft_directory(
        directory,
        to,
        component,
        numbers,
        keep=[str(parse_override(each).path[0]) for each in sets],
        seed=seed,
        dtype=None if dtype is None else stored_dtype(dtype),
    )
    page = page_of(done, to)
    if as_json:
        show_json(page)
        return
    show_table(("WHAT", "IS"), rows_of(page), cut=False)
    click.echo("")
    show_table(
        ("NEW PARAMETER", "SHAPE"),
        [(name, " x ".join(map(str, shape))) for name, shape in page["new"].items()],
    )
    click.echo(f"\nwrote {to}")


def layer_numbers(text: str) -> list[int]:
    """The numbers in ``3,7``."""
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if not (word.isascii() and word.isdigit() and len(word) < 6)]
    if wrong:
        told = ", ".join(map(repr, wrong))
        raise LimiteError(f"--layers {text}: expected numbers such as 3,7, got {told}")
    return [int(word) for word in words]


UNDER = "attention"


@attrs.frozen(kw_only=True)
class Asked:
    """Where ``--set`` puts its settings."""

    attention: Attention


def component_of(name: str, sets: Sequence[str]) -> Attention:
    """The attention of that name with its settings; a SettingsError lists every mistake."""
    registry = load_registry()
    overrides = [attrs.evolve(each, path=(UNDER, *each.path)) for each in map(parse_override, sets)]
    data: Any = {UNDER: {"type": name}}
    data, refused = apply_overrides(data, overrides, Asked, registry)
    wrong = [
        Mistake(fault.message, dotted(fault.path[1:]), override.place)
        for override, fault in refused
    ]
    try:
        component = config.read(data, Asked, registry).attention
    except Faults as found:
        wrong += [_mistake(fault, overrides) for fault in found.faults]
    if wrong:
        raise SettingsError(dict.fromkeys(wrong))
    return component


def _mistake(fault: Fault, overrides: Sequence[Override]) -> Mistake:
    path = fault.path[1:]
    if path in ((), ("type",)):
        return Mistake(fault.message, file="--attention")
    by = culprit(fault.path, overrides, message=fault.message)
    return Mistake(fault.message, dotted(path), None if by is None else by.place)


def page_of(done: Graft, path: Path) -> dict[str, Any]:
    """What there is to tell, as plain data."""
    return {
        "path": str(path),
        "layers": list(done.layers),
        "parameters": done.parameters,
        "new_parameters": done.new_parameters,
        "new": {name: list(shape) for name, shape in done.new.items()},
        "dropped": list(done.dropped),
        "dtype": str(done.decoder.dtype).removeprefix("torch."),
        "attention": config.unstructure(done.decoder.spec.attention, load_registry()),
        "largest_logit_difference": done.difference,
    }


def rows_of(page: dict[str, Any]) -> list[tuple[str, str]]:
    """What was grafted, as a table has it."""
    share = 100 * page["new_parameters"] / page["parameters"]
    return [
        ("layers", ", ".join(map(str, page["layers"]))),
        ("parameters", f"{page['parameters']:,} in {page['dtype']}"),
        ("of them new", f"{page['new_parameters']:,} ({share:.2g}%)"),
        ("no longer there", ", ".join(page["dropped"]) or "none"),
        ("largest difference of a logit", f"{page['largest_logit_difference']:.2g}"),
    ]
