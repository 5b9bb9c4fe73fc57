"""What tests of ``limite eval`` ask, and of what."""

from __future__ import annotations

from pathlib import Path

RUN = """
name = "letters"
loggers = ["jsonl"]
[model]
type = "llama"
width = 16
layers = 1
heads = 2
kv_heads = 1
head_width = 8
mlp_width = 24
context = 64
[stages.sft]
type = "sft"
problems.sources.sum-chain = 1
documents = 4
steps = 1
batch = 2
[stages.more]
type = "sft"
problems.sources.sum-chain = 1
documents = 4
steps = 1
batch = 2
[stages.eval]
type = "eval"
problems.sources.sum-chain = 1
count = 2
samples = 1
max_tokens = 4
"""


def problem(number: int, **changed: object) -> dict[str, object]:
    answer = {"type": "integer", "value": str(number + 1)}
    return {"problem": f"{number}+1=?", "answer": answer, **changed}


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
