"""``limite-gen show``: one family, with problems of it."""

from __future__ import annotations

import inspect
from typing import Any

import attrs
import click

from limite.core.cli.table import show_json
from limite.problems.files import record_of
from limite.problems.gen import space
from limite.problems.gen.families import LOOKS, class_of, family, samples
from limite.problems.gen.list import look


@click.command()
@click.argument("name", metavar="FAMILY")
@click.option(
    "--space", "anew", is_flag=True,
    help="Count anew how many different problems there are; for built-in families that is known.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, anew: bool, as_json: bool) -> None:
    """Show one family: its dial, its settings, and an easy, a middling and a hard problem."""
    cls = class_of(name)
    page = look(name, cls)
    page["doc"] = inspect.cleandoc(cls.__doc__ or "")
    component = family(name)
    if anew:
        page["space"] = space.plain(space.spaces(name, component))
    page["settings"] = {field.name: _setting(component, field) for field in attrs.fields(cls)}
    problems = samples(name, component, 1)
    page["examples"] = [
        {"at": difficulty, **record_of(problem)}
        for difficulty, problem in zip(LOOKS, problems, strict=True)
    ]
    if as_json:
        show_json(page)
        return
    click.echo(f"{name}: {', '.join(page['tags'])}; answers are {', '.join(page['answer_types'])}")
    click.echo(f"\n{page['doc']}\n")
    for setting, about in page["settings"].items():
        click.echo(f"  {setting} = {about['default']}{'  ' * bool(about['help'])}{about['help']}")
    told = space.text(space.of_plain(page["space"]))
    click.echo(f"\ndifferent problems at difficulty 0, 0.5 and 1: {told}")
    for example, problem in zip(page["examples"], problems, strict=True):
        click.echo(f"\nat difficulty {example['at']:g}")
        click.echo(f"  {problem.problem}")
        click.echo(f"  answer: {problem.answer.value}")
        for style, text in problem.solutions.items():
            click.echo(f"  {style}: {text}")


def _setting(component: Any, field: attrs.Attribute[Any]) -> dict[str, Any]:
    default = getattr(component, field.name)
    value = list(default) if isinstance(default, tuple) else default
    return {"default": value, "help": field.metadata.get("help", "")}
