"""``limite plugins``: the components there are, what one takes, and whether it is sound."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import attrs
import click

from limite.core.cli.table import show_json, show_table
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, RunFailed, did_you_mean, sentence
from limite.core.kernels.backends import NATIVE
from limite.core.kernels.dispatch import BUILT_IN as BACKENDS
from limite.core.kernels.dispatch import MODULES
from limite.core.kinds import KINDS
from limite.core.registry import Entry, Registry, normalised
from limite.core.validators import Option

CROWD = 40
"""More components of one kind and distribution than this are one row among those of all kinds."""

FACTS = ("needs", "paired_advantage", "requires_of_advantage", "op")
"""What a component's page says of its class below the settings."""

# Named as a string: core imports nothing that stands above it.
LAWS_FOR = "limite.plugins.conformance:laws_for"


@click.command()
@click.argument("what", metavar="[KIND[/NAME]]", required=False)
@click.option("--laws", metavar="DIST", help="Run the laws on all components of a distribution.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plugins(what: str | None, laws: str | None, as_json: bool) -> None:
    """List components, or show one of them.

    KIND lists one kind whole, KIND/NAME shows the settings of one component. --laws says whether
    the components of a distribution keep the laws of their kinds.
    """
    registry = load_registry()
    if laws is not None:
        if what is not None:
            raise LimiteError("--laws takes a distribution; KIND/NAME cannot be given beside it")
        _run_laws(registry, laws, as_json)
        return
    kind, _, name = (what or "").partition("/")
    kind = kind.replace("-", "_")
    if name:
        _show_entry(registry, registry.get(kind, name), as_json)
    else:
        _refuse_name(registry, kind)
        _show_list(registry, kind or None, as_json)


def _refuse_name(registry: Registry, kind: str) -> None:
    """Refuses the name of a component where a kind is wanted, and says what to type."""
    if not kind or kind in KINDS:
        return
    spoken = kind.replace("_", "-")
    named = [entry for entry in registry.entries() if entry.name in (kind, spoken)]
    if named:
        offers = " or ".join(f"'{entry.kind}/{registry.usable_name(entry)}'" for entry in named)
        raise LimiteError(f"{spoken!r} is not a kind but a component; did you mean {offers}?")


def _row(registry: Registry, entry: Entry) -> dict[str, str | None]:
    return {
        "kind": entry.kind,
        "name": registry.usable_name(entry),
        "qualified_name": entry.qualified_name,
        "distribution": entry.distribution,
        "version": entry.version,
        "summary": entry.summary,
        "status": registry.status(entry),
        "reason": entry.problem,
    }


def _show_list(registry: Registry, kind: str | None, as_json: bool) -> None:
    rows = [_row(registry, entry) for entry in registry.entries(kind)]
    broken = [attrs.asdict(plugin) for plugin in registry.broken]
    if as_json:
        kernels = {
            "operations": list(MODULES),
            "backends": list(BACKENDS),
            "native_operations": [op for op in MODULES if op in NATIVE],
        }
        show_json({"components": rows, "broken": broken, "kernels": kernels})
        return
    if rows:
        show_table(
            ("KIND", "NAME", "DISTRIBUTION", "VERSION", "WHAT IT IS"),
            [
                (
                    *(str(row[key]) for key in ("kind", "name", "distribution", "version")),
                    _remark(row),
                )
                for row in (rows if kind else _without_crowds(rows))
            ],
        )
    if kind in (None, "kernel"):
        everything = [name for name in BACKENDS if name != "native"]
        click.echo(
            f"kernel: limite's own run every operation: {', '.join(everything)}; native runs some"
        )
    if kind == "kernel":
        click.echo(f"operations: {', '.join(MODULES)}")
        click.echo(f"of native: {', '.join(op for op in MODULES if op in NATIVE)}")
    for plugin in broken:
        click.echo(
            f"broken: {plugin['distribution']} {plugin['version']} ({plugin['plugin']}): "
            f"{plugin['reason']}"
        )


def _without_crowds(rows: Sequence[Mapping[str, str | None]]) -> list[Mapping[str, str | None]]:
    """The rows, where one stands for all sound components of a kind that has a great many."""
    sound = Counter((row["kind"], row["distribution"]) for row in rows if row["status"] == "ok")
    told: dict[Any, Mapping[str, str | None]] = {}
    for row in rows:
        crowd = (row["kind"], row["distribution"])
        if row["status"] != "ok" or sound[crowd] <= CROWD:
            told[row["kind"], row["qualified_name"]] = row
        elif crowd not in told:
            summary = f"limite plugins {str(row['kind']).replace('_', '-')} lists them."
            told[crowd] = {**row, "name": f"({sound[crowd]} of them)", "summary": summary}
    return list(told.values())


def _remark(row: Mapping[str, str | None]) -> str:
    if row["status"] == "broken":
        return f"[broken: {row['reason']}]"
    mark = "" if row["status"] == "ok" else f"[{row['status']}] "
    return f"{mark}{row['summary']}"


def _show_entry(registry: Registry, entry: Entry, as_json: bool) -> None:
    component = entry.load()
    page = {
        **_row(registry, entry),
        "target": entry.address,
        "doc": inspect.cleandoc(component.__doc__ or ""),
        "fields": fields_of(component),
        **_class_facts(component),
    }
    if as_json:
        show_json(page)
        return
    click.echo(f"{page['kind']}/{page['name']}  {page['distribution']} {page['version']}")
    click.echo(f"{page['target']}\n\n{page['doc']}\n")
    if page["fields"]:
        show_table(
            ("SETTING", "TYPE", "DEFAULT", "UNIT", "HELP"),
            [
                (*(field[key] for key in ("name", "type", "default", "unit")), _explained(field))
                for field in page["fields"]
            ],
            cut=False,
        )
    else:
        click.echo("no settings")
    facts = [fact for fact in FACTS if fact in page]
    if facts:
        click.echo()
    for fact in facts:
        click.echo(f"{fact}: {_plain(page[fact])}")


def fields_of(component: type[Any]) -> list[dict[str, Any]]:
    """The settings of a component: names, types, defaults, choices and units."""
    try:
        hints = typing.get_type_hints(component)
    except NameError:
        hints = {}  # types imported for checkers alone are shown as they are written
    fields = []
    for field in attrs.fields(component):
        if not field.init:
            continue
        choices = _choices(field, hints.get(field.name))
        written = field.type if isinstance(field.type, str) else _formatted(field.type)
        fields.append(
            {
                "name": field.alias or field.name,
                "type": "str" if choices else written,
                "default": _default(field.default),
                "unit": str(field.metadata.get("unit", "")),
                "help": str(field.metadata.get("help", "")),
                "choices": choices,
            }
        )
    return fields


def _formatted(annotation: Any) -> str:
    return "" if annotation is None else inspect.formatannotation(annotation)


def _choices(field: attrs.Attribute[Any], hint: Any) -> list[str]:
    """The words a field takes, when they are counted."""
    if isinstance(field.validator, Option):
        return list(field.validator.choices)
    words = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    return list(words) if all(isinstance(word, str) for word in words) else []


def _explained(field: Mapping[str, Any]) -> str:
    words = "one of " + ", ".join(field["choices"]) if field["choices"] else ""
    return "; ".join(part for part in (field["help"], words) if part)


def _default(default: Any) -> str:
    if default is attrs.NOTHING:
        return "(required)"
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        if default.takes_self:
            return "(computed)"
        try:
            return repr(default.factory())
        except Exception as error:  # the page shows what is wrong with a plugin
            return f"(fails: {sentence(error)})"
    return repr(default)


def _class_facts(component: type[Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    needs = _needs(component)
    if needs is not None:
        facts["needs"] = sorted(needs)
    for name in ("paired_advantage", "requires_of_advantage"):
        if getattr(component, name, None) is not None:
            facts[name] = dict(getattr(component, name))
    if getattr(component, "op", None) is not None:
        facts["op"] = component.op
    return facts


def _needs(component: type[Any]) -> frozenset[str] | None:
    """The columns an objective reads, with its defaults where that depends on its settings."""
    needs: Any = getattr(component, "needs", None)
    if not isinstance(needs, property):
        return cast("frozenset[str] | None", needs)
    try:
        return cast("frozenset[str]", component().needs)
    except Exception:  # it cannot be made without settings, and the page says which they are
        return None


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return ", ".join(value) if isinstance(value, list) else json.dumps(value, default=str)


def _run_laws(registry: Registry, distribution: str, as_json: bool) -> None:
    wanted = normalised(distribution)
    for plugin in registry.broken:
        if plugin.distribution == wanted:
            raise RunFailed(f"the plugin {wanted} is broken: {plugin.reason}")
    chosen = [entry for entry in registry.entries() if entry.distribution == wanted]
    if not chosen:
        known = {entry.distribution for entry in registry.entries()}
        near = did_you_mean(wanted, known) or f"; there are {', '.join(sorted(known))}"
        raise LimiteError(f"--laws: no components of a distribution {distribution!r}{near}")
    results = []
    with _same_examples_every_time():
        for entry in chosen:
            for law, reason in _judge(entry):
                results.append(
                    {"kind": entry.kind, "name": entry.name, "law": law, "ok": not reason}
                    | ({"reason": reason} if reason else {})
                )
                if not as_json:
                    verdict = f"failed: {reason}" if reason else "ok"
                    click.echo(f"{entry.kind}/{entry.name}  {law}  {verdict}")
    if as_json:
        show_json(results)
    failed = sum(not result["ok"] for result in results)
    if failed:
        raise RunFailed(f"{failed} of {len(results)} laws failed")


@contextlib.contextmanager
def _same_examples_every_time() -> Iterator[None]:
    """Laws draw the same examples at each call, and leave no folder of examples behind."""
    from hypothesis import settings

    before = settings.get_current_profile_name()
    settings.register_profile("limite-laws", derandomize=True, database=None, deadline=None)
    settings.load_profile("limite-laws")
    try:
        yield
    finally:
        settings.load_profile(before)


def _judge(entry: Entry) -> Iterator[tuple[str, str]]:
    """Each law's name with the reason why it failed, or an empty reason, as they are tried."""
    try:
        component = entry.load()()
    except LimiteError as error:
        yield "loads", str(error)
        return
    except Exception as error:  # a default that its own validator refuses, or anything else
        reason = error.args[0] if isinstance(error, (TypeError, ValueError)) and error.args else ""
        yield "has defaults", f"cannot be used by its name alone: {reason or sentence(error)}"
        return
    module, _, attribute = LAWS_FOR.partition(":")
    laws_for = getattr(importlib.import_module(module), attribute)
    laws: Mapping[str, Callable[[], None]]
    try:
        laws = laws_for(entry.kind, component)
    except Exception as error:  # laws may ask a component what it is before they try it
        yield "can be tried", sentence(error)
        return
    for name, law in laws.items():
        reason = ""
        try:
            law()
        except Exception as error:  # whatever a component raises breaks the law
            notes = getattr(error, "__notes__", [])
            reason = "\n    ".join([f"{type(error).__name__}: {error}", *notes])
        yield name, reason
