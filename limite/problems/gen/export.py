"""``limite-gen export``: a file of problems as other programs read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from limite.core.errors import LimiteError
from limite.core.jsonl import dumps, write_jsonl
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.parquet import write_parquet
from limite.problems.gen.say import new_file, report

Row = dict[str, Any]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", required=True,
    type=click.Choice(["verl", "trl", "openai-chat", "parquet"]),
)  # fmt: skip
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True,
    help="Ends in .jsonl, .jsonl.zst or .parquet.",
)  # fmt: skip
@click.option("--split", metavar="NAME", default="train", show_default=True, help="Of verl.")
@click.option("--style", metavar="STYLE", help="Worked solutions of this style.")
@click.option("--instruction", metavar="TEXT", help="Stands after every question.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def export(
    file: Path,
    form: str,
    out: Path,
    split: str,
    style: str | None,
    instruction: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write a file of problems as other programs read it.

    verl and trl are prompts with a gold answer, to reinforce; openai-chat is questions and worked
    solutions as messages, to imitate; parquet is all that a record says, in columns. Every format
    can be written as .parquet, which needs the extra: pip install 'limite[data]'.
    """
    packed = out.suffix == ".parquet"
    if form == "parquet" and not packed:
        raise LimiteError(f"{out}: a file of --format parquet ends in .parquet")
    new_file(out, force=force, problems=not packed)
    row = Formats(split, style, instruction)
    formats: dict[str, Callable[[int, Problem], Row]] = {
        "verl": row.verl,
        "trl": row.trl,
        "openai-chat": row.chat,
        "parquet": row.columns,
    }
    counts = {"rows": 0}
    rows = _rows(file, formats[form], counts)
    if packed:
        write_parquet(out, rows)
    else:
        write_jsonl(out, rows)
    report(as_json, out, counts)


def _rows(file: Path, row: Callable[[int, Problem], Row], counts: dict[str, int]) -> Iterator[Row]:
    for index, problem in enumerate(files.iterate(file)):
        try:
            yield row(index, problem)
        except LimiteError as error:
            raise LimiteError(f"{file}: problem {index + 1}: {error}") from None
        counts["rows"] += 1


class Formats:
    """One problem as a row of each format."""

    def __init__(self, split: str, style: str | None, instruction: str | None) -> None:
        self.split, self.style, self.instruction = split, style, instruction

    def verl(self, index: int, problem: Problem) -> Row:
        return {
            "data_source": str(problem.source.get("generator", "limite")),
            "prompt": self._prompt(problem),
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": problem.answer.value},
            "extra_info": {
                "split": self.split,
                "index": index,
                "id": problem.id,
                "answer_type": problem.answer.type,
                "answer_params": dumps(problem.answer.params),
            },
        }

    def trl(self, index: int, problem: Problem) -> Row:
        row = {
            "prompt": self._prompt(problem),
            "answer": problem.answer.value,
            "answer_type": problem.answer.type,
            "answer_params": dumps(problem.answer.params),
            "id": problem.id,
        }
        return row | ({"solution": self._solution(problem)} if self.style else {})

    def chat(self, index: int, problem: Problem) -> Row:
        reply = {"role": "assistant", "content": self._solution(problem)}
        return {"messages": [*self._prompt(problem), reply]}

    def columns(self, index: int, problem: Problem) -> Row:
        return {
            "id": problem.id,
            "problem": self._prompt(problem)[0]["content"],
            "answer": problem.answer.value,
            "answer_type": problem.answer.type,
            "answer_params": dumps(problem.answer.params),
            "solutions": dumps(problem.solutions),
            "source": dumps(problem.source),
            "difficulty": dumps(problem.difficulty),
            "tags": list(problem.tags),
            "meta": dumps(problem.meta),
            "extra": dumps(problem.extra),
        }

    def _prompt(self, problem: Problem) -> list[dict[str, str]]:
        text = problem.problem + (f"\n{self.instruction}" if self.instruction else "")
        return [{"role": "user", "content": text}]

    def _solution(self, problem: Problem) -> str:
        """The solution of the style asked for; else the one in words, or the longest."""
        solutions = problem.solutions
        if not solutions:
            raise LimiteError("it has no worked solution")
        if self.style is None:
            return solutions.get(files.WORDS) or max(solutions.values(), key=len)
        if self.style not in solutions:
            raise LimiteError(
                f"it has no solution of style {self.style!r}; there are {', '.join(solutions)}"
            )
        return solutions[self.style]
