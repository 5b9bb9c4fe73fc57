"""The tasks of the Limite publisher's suite ``math-extended``, and how their data sets are read.

The data are other people's, and do not come with limite: a folder holds what was downloaded. The
task ``olympiadbench`` is left out: the words of its prompts are not part of what was published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import Mistake
from limite.core.jsonl import NotJSON, read_numbered
from limite.core.kinds import Verifier
from limite.core.types import Answer, Problem
from limite.evaluate.problem_rows import SUFFIXES, is_data_set, raw_rows, sha256_of
from limite.evaluate.problem_sets import ProblemSet, checked

MATH = "\nPlease reason step by step, and put your final answer within \\boxed{}."
AIME = (
    "Solve the following math problem. Explain your reasoning and put the final answer in "
    "\\boxed{}.\n\n"
)
NO_OLYMPIAD = "its prompts are built by words that the contract does not give"


@attrs.frozen(kw_only=True)
class Task:
    """One task: where its data are published, how often each problem is asked, and how."""

    data_set: str
    revision: str
    samples: int
    before: str = ""
    behind: str = ""
    count: int | None = None
    question: tuple[str, ...] = ("problem", "question")
    gold: str = "answer"
    hashed: bool = False
    licence: str = ""

    def asked(self, problem: Problem) -> str:
        """The user's message."""
        return f"{self.before}{problem.problem}{self.behind}"


TASKS: Mapping[str, Task] = {
    "aime24": Task(
        data_set="HuggingFaceH4/aime_2024", samples=32, before=AIME, count=30,
        revision="2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
    ),
    "aime25": Task(
        data_set="opencompass/AIME2025", samples=32, before=AIME, count=30,
        revision="a6ad95f611d72cf628a80b58bd0432ef6638f958",
    ),
    "aime26": Task(
        data_set="MathArena/aime_2026", samples=32, before=AIME, count=30,
        revision="10b4e45b7a503075d4da8a0d57916a4f06ce6bd2", licence="CC-BY-NC-SA-4.0",
    ),
    "hmmt25": Task(
        data_set="MathArena/hmmt_feb_2025", samples=32, before=AIME, count=30,
        revision="6fdc4277120810ff75aa22d2d5489b91f7a262a1", licence="CC-BY-NC-SA-4.0",
    ),
    "hmmt26": Task(
        data_set="MathArena/hmmt_feb_2026", samples=32, before=AIME,
        revision="02fba4f74d8e68e73e66a02d540fd979c05c274c", licence="CC-BY-NC-SA-4.0",
    ),
    "apex-shortlist": Task(
        data_set="MathArena/apex-shortlist", samples=32, before=AIME, count=47,
        revision="f3efdf224ef665f129ddaae37699f6098c65781b",
    ),
    "math500": Task(
        data_set="HuggingFaceH4/MATH-500", samples=4, behind=MATH, count=500,
        revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
    ),
    "beyondaime": Task(
        data_set="ByteDance-Seed/BeyondAIME", samples=32, behind=MATH,
        revision="c705198ae1043810b1e1693bd879250b51a7a523",
    ),
    "gsm8k": Task(
        data_set="openai/gsm8k", samples=1, behind=MATH, revision="", hashed=True,
    ),
}  # fmt: skip


def place_in(folder: Path, name: str) -> Path | None:
    """The file or the saved data set of a task; None where there is neither."""
    if is_data_set(folder / name):
        return folder / name
    return next((path for end in SUFFIXES if (path := folder / f"{name}{end}").is_file()), None)


def problems_of(name: str, path: Path, verifier: Verifier) -> ProblemSet:
    """The problems of a task as its publisher's data set holds them; all mistakes at once.

    A set of fewer rows than were published is another revision, and says so.
    """
    task = TASKS[name]
    problems = checked(str(path), _read(task, path), verifier)
    revision = task.revision or "unpinned"
    if task.count is not None and len(problems) != task.count:
        revision = f"{revision}@first{len(problems)}"
    return ProblemSet(
        name=name,
        sha256=sha256_of(path),
        problems=problems,
        licence=task.licence,
        questions={each.id: task.asked(each) for each in problems},
        samples=task.samples,
        source=f"{task.data_set}@{revision}",
    )


def _read(task: Task, path: Path) -> Iterator[tuple[int, Problem | Mistake]]:
    lines = path.is_file() and path.suffix != ".parquet"
    rows = read_numbered(path) if lines else enumerate(raw_rows(path), start=1)
    for number, row in rows:
        try:
            yield number, _problem(task, row)
        except ValueError as error:
            yield number, Mistake(str(error), file=str(path), line=number)


def _problem(task: Task, row: Any) -> Problem:
    if isinstance(row, NotJSON) or not isinstance(row, Mapping):
        raise ValueError("expected an object of JSON")
    text = next((row[name] for name in task.question if isinstance(row.get(name), str)), "")
    gold = row.get(task.gold)
    if isinstance(gold, bool) or not isinstance(gold, (str, int)):
        raise ValueError(f"{task.gold!r}: expected the answer as text or a whole number")
    value = str(gold).strip()
    if task.hashed:
        _, marked, value = (part.strip() for part in value.rpartition("####"))
        value = value.replace(",", "") if marked else ""
    if not text.strip() or not value:
        what = " or ".join(map(repr, task.question)) if not text.strip() else repr(task.gold)
        raise ValueError(f"{what}: holds nothing to ask, or no answer")
    return Problem(problem=text, answer=Answer(type="string", value=value))
