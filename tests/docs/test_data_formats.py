"""The lines that the guide shows of files of texts are read as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from limite.core.train.data.pairs import pair_of
from limite.core.train.data.traces import Trace, TraceReader

STAGES = Path(__file__).parents[2] / "docs" / "stages"


def lines_of(page: str) -> list[dict[str, Any]]:
    shown = (STAGES / page).read_text(encoding="utf-8")
    (text,) = re.findall(r"^```json\n(.*?)^```", shown, re.MULTILINE | re.DOTALL)
    return [json.loads(line) for line in text.splitlines()]


def test_both_ways_of_writing_a_pair_are_one_pair() -> None:
    plain, turns = map(pair_of, lines_of("preference.md"))
    assert plain.prompt.asked == turns.prompt.asked == ("37*4=?",)
    assert (plain.chosen, plain.rejected) == (turns.chosen, turns.rejected) == ("148", "1448")


def test_both_ways_of_writing_a_trace_are_read() -> None:
    read: list[Trace] = [TraceReader(listed_tokens=2)(line) for line in lines_of("distill.md")]
    assert [each.completion for each in read] == ["4", (7, 2)]
    assert all(each.lists is not None and len(each.lists) == 2 for each in read)
