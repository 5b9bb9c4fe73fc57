"""``limite-gen doctor``: what the sandbox is made of here, and whether it holds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import attrs
import click

from limite.core.cli.table import show_json, show_table
from limite.core.errors import RunFailed
from limite.problems.sandbox.backends import ADEQUATE, BACKENDS, Setup, candidates
from limite.problems.sandbox.escapes.trial import ATTEMPTS, Outcome, trial
from limite.problems.sandbox.pool import WEAK, Pool, WeakSandbox
from limite.problems.sandbox.probe import Found, probe

GROUPS = tuple(dict.fromkeys(each.group for each in ATTEMPTS))
_WIDTH = 60


@click.command()
@click.option(
    "--backend", type=click.Choice(BACKENDS), metavar="NAME",
    help=f"The sandbox to try: {', '.join(BACKENDS)}; else the strongest that can be had.",
)  # fmt: skip
@click.option(
    "--allow-weak-sandbox", is_flag=True,
    help="Try one of resource limits alone where there is no other. It holds nobody.",
)  # fmt: skip
@click.option(
    "--on", metavar="GROUP", multiple=True, type=click.Choice(GROUPS),
    help=f"Attempts on this alone: {', '.join(GROUPS)}; may be given several times.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(
    backend: str | None, allow_weak_sandbox: bool, on: tuple[str, ...], as_json: bool
) -> None:
    """Tell what the sandbox is made of here, and try to get out of it.

    Programs of strangers run behind the strongest sandbox that can be had: namespaces, then
    bubblewrap, then Landlock with a filter of system calls. Shows which are there, with which
    layers, and why others are not; then makes attempts on files, secrets, processes, the network,
    the kernel, resources and results, on canaries of its own. Ends with 1 if one succeeds, or if
    there is no sandbox.
    """
    weak = allow_weak_sandbox
    found = probe()
    there = {each.backend for each in found if each.available}
    tried = [backend] if backend else [*candidates(weak=weak)]
    chosen = next((each for each in tried if each in there), None)
    some = [each for each in ATTEMPTS if not on or each.group in on]
    outcomes: list[Outcome] = []
    if not as_json:
        _show(found)
    if chosen is not None:
        setup = Setup(own_user=False)  # the canaries are nobody's, and so are the programs
        pool = Pool(backend=chosen, size=1, allow_weak=weak, setup=setup)
        with pool, warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakSandbox)  # said once, below
            outcomes = [*trial(pool, some)]
        if chosen not in ADEQUATE:
            click.echo(f"warning: {WEAK}", err=True)
    escaped = [each for each in outcomes if each.escaped]
    if as_json:
        show_json(
            {
                "backend": chosen,
                "backends": [attrs.asdict(each) for each in found],
                "attempts": [_plain(each) for each in outcomes],
                "tried": len(outcomes),
                "escaped": len(escaped),
            }
        )
    elif chosen is not None:
        _show_outcomes(outcomes)
        click.echo(f"\n{chosen}: {len(outcomes)} attempts, {len(escaped)} escaped")
    if chosen is None:
        reasons = [f"{each.backend}: {each.reason}" for each in found if each.backend in tried]
        raise RunFailed(f"there is no sandbox: {'; '.join(reasons)}")
    if escaped:
        raise RunFailed(
            f"{len(escaped)} of {len(some)} attempts got out of the sandbox {chosen!r}: "
            + ", ".join(each.attempt.name for each in escaped)
        )


def _show(found: Sequence[Found]) -> None:
    for each in found:
        if not each.available:
            click.echo(f"{each.backend}: not to be had: {each.reason}")
            continue
        click.echo(f"{each.backend}: {', '.join(each.layers)}")
        for layer, reason in each.missing.items():
            click.echo(f"  without {layer}: {reason}")
        for note in each.notes:
            click.echo(f"  note: {note}")
    click.echo("")


def _show_outcomes(outcomes: Sequence[Outcome]) -> None:
    rows = []
    for each in outcomes:
        how = " ".join(each.how.split())
        how = how if len(how) <= _WIDTH else f"{how[: _WIDTH - 3]}..."
        verdict = "ESCAPED" if each.escaped else "held"
        rows.append([each.attempt.group, each.attempt.name, verdict, how])
    show_table(["on", "attempt", "", "how"], rows)


def _plain(outcome: Outcome) -> dict[str, object]:
    return {
        "group": outcome.attempt.group,
        "name": outcome.attempt.name,
        "escaped": outcome.escaped,
        "how": outcome.how,
        "status": outcome.result.status,
        "cpu_s": round(outcome.result.cpu_s, 4),
    }
