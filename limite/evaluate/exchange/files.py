"""Which layout a file of another tool has, and what limite makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.jsonl import read_numbered, write_json, write_jsonl
from limite.evaluate.exchange import lighteval, lm_eval
from limite.evaluate.exchange.foreign import Foreign
from limite.evaluate.journal import RESPONSES

Writer = Callable[[Path, Mapping[str, Any], Sequence[Mapping[str, Any]], Mapping[str, str]], None]
WRITERS: Mapping[str, Writer] = {"lm-eval": lm_eval.write, "lighteval": lighteval.write}


def is_foreign(path: Path) -> bool:
    """Whether a file is one that another tool has written, by its layout."""
    if path.suffix == ".parquet":
        return True
    if not path.is_file() or not path.name.endswith((".jsonl", ".jsonl.zst")):
        return False
    return any(lm_eval.is_lm_eval(record) for _, record in islice(read_numbered(path), 1))


def read(path: Path, metric: str | None = None) -> Foreign:
    """The responses of a file, or of the only such file in a folder."""
    if path.is_dir():
        found = sorted([*path.rglob("samples_*.jsonl"), *path.rglob("details_*.parquet")])
        if len(found) != 1:
            named = ", ".join(map(str, found[:6])) or "none"
            raise LimiteError(
                f"{path}: expected one file of samples or details, there are: {named}"
            )
        path = found[0]
    if not path.is_file():
        raise LimiteError(f"{path}: no such file")
    if path.suffix == ".parquet":
        return lighteval.read(path, metric)
    if not is_foreign(path):
        raise LimiteError(
            f"{path}: neither samples of lm-eval (samples_TASK_DATE.jsonl) nor details of "
            "lighteval (details_TASK_DATE.parquet)"
        )
    return lm_eval.read(path, metric)


def write_imported(found: Foreign, out: Path, confidence: float) -> dict[str, Any]:
    """Leaves ``results.json`` and ``responses.jsonl.zst``, as an evaluation does."""
    if out.exists():
        raise LimiteError(f"--out: {out} exists and is never overwritten")
    results = found.results(confidence)
    out.mkdir(parents=True)
    write_jsonl(out / RESPONSES, (record for _, record in found.records()))
    write_json(out / "results.json", results)
    return results
