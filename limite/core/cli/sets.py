"""What ``--set`` of a command line says, before any recipe is read."""

from __future__ import annotations

import click

from limite.core.errors import LimiteError


def no_setting_twice(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """What was given, unless it gives one setting two values: the first would go without a word."""
    if len(given) < 2:
        return given
    from limite.core.config_faults import dotted
    from limite.core.overrides import Override, parse_override

    before: dict[tuple[str | int, ...], Override] = {}
    twice = []
    for text in given:
        try:
            override = parse_override(text)
        except LimiteError:  # told with the mistakes of the recipe
            continue
        first = before.setdefault(override.path, override)
        if first.value != override.value:
            path = dotted(override.path)
            twice.append(f"{override.place}: {path}: is set to {first.value!r} as well")
    if twice:
        raise LimiteError("\n".join(twice))
    return given
