"""What of a benchmark turns up in the data that a run has trained on, and in files that are named.

A finding is told, with the score on what was found and on the rest; nothing is left out for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.jsonl import read_jsonl
from limite.core.recipe.context import StageContext
from limite.core.recipe.load import load_recipe
from limite.core.recipe.run_plugins import naming_plugins
from limite.core.recipe.rundir import RECIPE, ROLLOUTS
from limite.core.recipe.runners.sft import problems_of
from limite.core.recipe.stages import SFT
from limite.core.recipe.trained import Trained
from limite.core.rollout.stop import StopRequest
from limite.core.types import Problem
from limite.problems.gen.overlap import COMMON
from limite.problems.overlap import COPIES, overlap

NOTHING = "no training source is listed, so nothing is said of overlap"
LINES = (".jsonl", ".jsonl.zst")


@attrs.define(kw_only=True)
class Source:
    """One source of training texts: how it is called, and how many texts it gave."""

    name: str
    texts: Iterator[str]
    count: int = 0

    def read(self) -> Iterator[str]:
        for text in self.texts:
            self.count += 1
            yield text


def overlap_of(
    problems: Sequence[Problem], found: Trained | None, files: Sequence[Path]
) -> dict[str, Any]:
    """Counts ``checked``, ``exact`` and ``near`` over all sources, which are named with theirs.

    ``unread`` are sources that hold no texts which can be compared.
    """
    unread: list[str] = []
    sources = [Source(name=str(path), texts=_of_file(path)) for path in files]
    if found is not None:
        sources += _of_run(found, unread)
    texts = (text for source in sources for text in source.read())
    compared = overlap([each.problem for each in problems], texts, common=COMMON)
    copies = [match for match in compared.matches if match.kind in COPIES]
    listed = [{"name": each.name, "texts": each.count} for each in sources]
    if unread:
        text = f"{compared.text}; not compared: {', '.join(unread)}"
    else:
        text = compared.text if sources else NOTHING
    return {
        "checked": compared.checked if sources else 0,
        "exact": len(compared.exact),
        "near": len(compared.near),
        "reworded": len(compared.of("reworded")),
        "template": len(compared.of("template")),
        "sources": listed,
        "unread": unread,
        "problems": [problems[match.row - 1].id for match in copies],
        "text": text,
    }


def _of_run(found: Trained, unread: list[str]) -> Iterator[Source]:
    """Everything that the stages up to the one that is measured have learned from."""
    with naming_plugins(found.run):
        loaded = load_recipe(found.run.path / RECIPE)
        registry = load_registry()
    for name, stage in loaded.recipe.stages.items():
        if stage.trains or stage.gives_critic:
            folder = found.run.stage(name)
            label = f"{found.run.path.name}/{name}"
            if isinstance(stage, SFT):
                stop = StopRequest()
                context = StageContext.of(
                    found.run, loaded.recipe, registry, name, stop, lambda _line: None, False
                )
                own = (each.problem for each in problems_of(context, stage))
                yield Source(name=f"{label}: its problems", texts=own)
            if (folder / ROLLOUTS).is_dir():
                yield Source(name=f"{label}: {ROLLOUTS}", texts=_of_rollouts(folder / ROLLOUTS))
            for path in _files_of(stage):
                if path.name.endswith(LINES) and path.is_file():
                    yield Source(name=f"{label}: {path}", texts=_of_file(path))
                else:
                    unread.append(f"{label}: {path}")
        if name == found.stage:
            return


def _files_of(stage: Any) -> list[Path]:
    """Files of texts that a stage names, whatever it calls them."""
    named: list[str] = []
    for field in ("traces", "pairs"):
        value = getattr(stage, field, None)
        named += [value] if isinstance(value, str) else []
    named += getattr(stage, "rollout_files", ())
    if not isinstance(stage, SFT):  # whose problems are compared one by one
        named += getattr(getattr(stage, "problems", None), "files", ())
    sources = getattr(stage, "sources", None)
    if isinstance(sources, dict):
        named += sources
    return list(map(Path, dict.fromkeys(named)))


def _of_rollouts(folder: Path) -> Iterator[str]:
    seen: set[str] = set()
    for path in sorted(folder.glob("*.jsonl.zst")):
        for record in read_jsonl(path):
            text = record["problem"]["problem"]
            if text not in seen:  # a problem has many responses
                seen.add(text)
                yield text


def _of_file(path: Path) -> Iterator[str]:
    """Every text of every record, however it is laid out."""
    for record in read_jsonl(path):
        yield from _texts(record)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
