"""What tests of ``limite eval`` ask, and of what."""

from __future__ import annotations

from pathlib import Path

from tests.tiny_recipe import asked, head, llama, taught

RUN = (
    head("letters", llama())
    + taught("sum-chain")
    + taught("sum-chain", "more")
    + asked("sum-chain")
)


def problem(number: int, **changed: object) -> dict[str, object]:
    answer = {"type": "integer", "value": str(number + 1)}
    return {"problem": f"{number}+1=?", "answer": answer, **changed}


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
