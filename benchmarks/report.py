"""A run as a table to read, and as JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import rows
from benchmarks.rows import Check, Document, Row

COLUMNS = (
    "case",
    "shape",
    "dtype",
    "backend",
    "ms",
    "of floor",
    "rate",
    "peak MiB",
    "max error",
    "relative",
    "target ms",
    "peers: ms (ours in their times)",
    "verdict",
)


def show(document: Document) -> None:
    """The whole run on standard output: with rules and colour on a terminal, plain lines if not."""
    for line in heading(document):
        print(line)
    table = [cells(row) for row in document.rows]
    if sys.stdout.isatty():
        _rich(table)
    else:
        _plain(table)
    for line in remarks(document):
        print(line)


def heading(document: Document) -> list[str]:
    device, ceilings = document.device, document.ceilings
    versions = ", ".join(f"{name} {each}" for name, each in document.versions.items() if each)
    lines = [f"{device['name']}: {versions}"]
    if ceilings:
        lines.append(
            f"ceilings: copy {ceilings['copy_tb_s']:.3g} TB/s, "
            f"product {ceilings['product_tflop_s']:.3g} TFLOP/s"
        )
    return lines


def cells(row: Row) -> list[str]:
    if row.failed is not None:
        ours = f"failed: {row.failed}"
    else:
        ours = f"{_ms(row.ms)} ±{_ms(row.spread_ms)}"
    if row.tflop_s is not None and (row.tflop_s > 0.05 or row.tb_s is None):
        rate = f"{row.tflop_s:.3g} TFLOP/s"
    else:
        rate = "" if row.tb_s is None else f"{row.tb_s:.2g} TB/s"
    return [
        row.name,
        row.shape,
        row.dtype,
        (row.backend or "none") + "".join(f" [{tile}]" for tile in sorted(set(row.tiles.values()))),
        ours,
        "" if row.floor_fraction is None else f"{row.floor_fraction:.0%}",
        rate,
        "" if row.peak_mib is None else f"{row.peak_mib:.0f}",
        "" if row.max_error is None else f"{row.max_error:.1e}",
        "" if row.relative_error is None else f"{row.relative_error:.1e}",
        _ms(row.target_ms),
        "; ".join(_peer(name, row) for name in row.peers),
        "; ".join(each.verdict for each in row.verdicts),
    ]


def _peer(name: str, row: Row) -> str:
    figure = row.peers[name]
    if figure.failed is not None:
        return f"{name}: failed"
    ratio = "" if figure.time_ratio is None else f" ({figure.time_ratio:.2f})"
    return f"{name} {_ms(figure.ms)} ±{_ms(figure.spread_ms)}{ratio}"


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def remarks(document: Document) -> list[str]:
    """What the table leaves out: failures and their reasons, misses, checks, what was dropped."""
    lines = []
    for row in document.rows:
        if row.failed is not None:
            lines.append(f"failed: {row.name}: {row.failed}")
        lines += [
            f"peer failed: {row.name}, {name}: {figure.failed}"
            for name, figure in row.peers.items()
            if figure.failed is not None
        ]
    for row in document.rows:
        lines += [
            f"{each.verdict}: {row.name}: {each.what} {each.value:.3g}, at most {each.at_most:.3g}"
            for each in row.verdicts
            if each.verdict != "met"
        ]
    lines += check_lines(document.checks)
    lines += [f"dropped for want of time: {each}" for each in document.dropped]
    lines += document.notes
    seconds = ", ".join(f"{name} {value:.0f}" for name, value in document.stages_s.items())
    lines.append(f"seconds: {seconds}")
    return lines


def check_lines(checks: Sequence[Check]) -> list[str]:
    wrong = [check for check in checks if check.failed or (check.share_of_allowed or 0.0) > 1.0]
    lines = [f"checked: {len(checks)} comparisons with float64, {len(checks) - len(wrong)} right"]
    for check in wrong:
        what = check.failed or f"{check.share_of_allowed:.2g} times the error allowed"
        lines.append(f"wrong: {check.op} {check.shape} {check.dtype} {check.part}: {what}")
    return lines


def _plain(table: Sequence[Sequence[str]]) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(COLUMNS, *table, strict=True)]
    for row in (COLUMNS, *table):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(padded).rstrip())


def _rich(table: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    drawn = Table(header_style="bold")
    for name in COLUMNS:
        drawn.add_column(name)
    for row in table:
        style = "red" if row[4].startswith("failed") or "missed" in row[-1] else None
        drawn.add_row(*map(escape, row), style=style)
    Console().print(drawn)


def as_json(document: Document) -> str:
    return json.dumps(rows.plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write(document: Document, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(document), encoding="utf-8")
