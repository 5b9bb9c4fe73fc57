"""The report of a run: one page that opens offline, and a picture of it."""

from __future__ import annotations

from pathlib import Path

from limite.core.recipe.report.read import Run, read_run

__all__ = ["REPORT", "read_run", "write_report"]

REPORT = "report.html"


def write_report(run_path: str | Path, out: str | Path | None = None) -> Path:
    """Write ``report.html`` and ``report.png`` into a run folder and return the page's path.

    With ``out`` the page is written there and the picture beside it. The same folder gives the
    same bytes.
    """
    return write_pages(read_run(run_path), out)


def write_pages(run: Run, out: str | Path | None = None) -> Path:
    """Write the page and the picture of a run that was read already."""
    from limite.core import jsonl
    from limite.core.recipe.report import page, picture

    path = run.path / REPORT if out is None else Path(out)
    html = page.render(run).encode("utf-8")
    image = picture.render(run)
    jsonl.write_atomic(path, html)
    jsonl.write_atomic(path.with_suffix(".png"), image)
    return path
