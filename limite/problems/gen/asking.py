"""The options of commands that have a model answer problems: who is asked, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from limite.problems.gen.say import Real

Command = TypeVar("Command", bound=Callable[..., Any])


def server_options(about: str) -> Callable[[Command], Command]:
    """``--endpoint`` and what belongs to it; ``about`` says what it is asked for."""
    return _together(
        click.option("--endpoint", metavar="URL", help=about),
        click.option(
            "--model-name", metavar="NAME", help="The model that the endpoint is asked for."
        ),
        click.option("--key-env", metavar="VAR", help="The environment variable holding its key."),
        click.option(
            "--concurrency",
            metavar="N",
            type=click.IntRange(1, 256),
            default=8,
            show_default=True,
            help="Requests to the endpoint under way at once.",
        ),
        click.option(
            "--timeout",
            metavar="S",
            type=Real(0.1, 86_400),
            default=300.0,
            show_default=True,
            help="Seconds that the endpoint has for a reply.",
        ),
    )


def sampling_options(
    *,
    temperature: float,
    samples: int | None = None,
    samples_are: str = "",
    max_tokens: int | None = None,
    max_tokens_are: str = "",
) -> Callable[[Command], Command]:
    """How many responses to each problem, and how they are drawn.

    A default that is None is found later; how, is told in words.
    """
    return _together(
        click.option(
            "--samples",
            metavar="K",
            type=click.IntRange(1, 10_000),
            default=samples,
            show_default=samples is not None,
            help=f"Responses to each problem.{samples_are and f'  [{samples_are}]'}",
        ),
        click.option(
            "--max-tokens",
            metavar="N",
            type=click.IntRange(min=1),
            default=max_tokens,
            show_default=max_tokens is not None,
            help=f"The most of a response.{max_tokens_are and f'  [{max_tokens_are}]'}",
        ),
        click.option("--temperature", type=Real(0, 100), default=temperature, show_default=True),
        click.option("--seed", metavar="S", type=int, default=1, show_default=True),
        click.option("--verifier", metavar="NAME", help="[that of the run, else mathematics]"),
    )


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order they are told."""

    def give(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return give
