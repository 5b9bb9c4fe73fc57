"""What ``limite eval --audit`` prints: each violation with its record, and what went unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from limite.core.cli.table import show_json
from limite.core.errors import RunFailed

TOLD = 20


def tell_audit(path: Path, *, as_json: bool, **options: Any) -> None:
    """Audits a file and tells what was found.

    A RunFailed where a rule was broken, or responses are not there: a part has no score.
    """
    from limite.evaluate.audit_command import audited

    found = audited(path, **options)
    if as_json:
        show_json(found)
    else:
        endings = ", ".join(f"{count:,} {name}" for name, count in found["endings"].items())
        click.echo(f"{path}: {found['responses']:,} responses ({endings}): {_verdict(found)}")
        for what in found["unseen"]:
            click.echo(f"not looked at: {what}")
        if "correction" in found:
            _tell_correction(found["correction"])
    wrong = found["violations"]
    lines = [f"{path}:{each['line']}: {each['record']}: {each['message']}" for each in wrong[:TOLD]]
    if len(wrong) > TOLD:
        lines.append(f"and {len(wrong) - TOLD:,} more")
    if found["missing"]:
        lines.append(f"{path}: not there: {found['missing']}")
    if lines:
        raise RunFailed("\n".join(lines))


def _verdict(found: dict[str, Any]) -> str:
    wrong = len(found["violations"])
    if wrong:
        return f"{wrong:,} violation{'s' if wrong > 1 else ''}"
    if found["missing"]:
        return "a part of a set"
    if found["native"]:
        return "clean, with budgets of the native context"
    return "clean in all that was looked at" if found["unseen"] else "clean"


def _tell_correction(found: dict[str, Any]) -> None:
    ends = ", ".join(map(str, found["eos_ids"]))
    click.echo(f"corrected to end at {ends}: {found['cut']:,} responses are cut")
    if found["complete"]:
        click.echo(
            f"as recorded {found['recorded']['text']}, corrected {found['corrected']['text']}"
        )
    else:
        click.echo(
            f"no accuracy: {found['recorded_samples']:,} of {found['expected_samples']:,} "
            "responses are there"
        )
    click.echo(f"{found['out']} holds the responses with both results")
