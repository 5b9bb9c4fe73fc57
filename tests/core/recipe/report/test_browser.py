"""Problem by problem: the table of changes, the responses with their wrong steps, within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core import jsonl
from limite.core.recipe.report import asked, browser, paired, read_run
from limite.core.recipe.report.asked import Side, changes, most_changed, shown_of_one, shown_of_pair

EVIL = '</pre></details><script>alert(1)</script><img src="http://x/y.png">\u202e&lt;'


def side(
    name: str, counts: list[int], path: Path = Path("nowhere.jsonl"), samples: int = 4
) -> Side:
    rows = [{"id": f"p{number}", "correct": count} for number, count in enumerate(counts)]
    return Side(name=name, results={"samples": samples, "per_problem": rows}, responses=path)


def record(number: int, sample: int, right: bool, **changed: Any) -> dict[str, Any]:
    return {
        "problem_id": f"p{number}",
        "problem": f"question {number}",
        "answer": "5",
        "sample_index": sample,
        "correct": right,
        "grader_status": "ok",
        "finish_reason": "eos",
        "generated_tokens": 9,
        "text": f"answer {number}.{sample}",
        **changed,
    }


def written(path: Path, counts: list[int], **changed: Any) -> Side:
    rows = [
        record(number, sample, sample < count, **changed)
        for number, count in enumerate(counts)
        for sample in range(4)
    ]
    jsonl.write_jsonl(path, rows)
    return side(path.name.split(".")[0], counts, path)


many = st.lists(st.integers(0, 4), min_size=1, max_size=250)


@given(many, st.data())
def test_the_table_goes_from_the_largest_loss_to_the_largest_gain(
    before: list[int], data: st.DataObject
) -> None:
    size = len(before)
    after = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    found = changes(side("a", before), side("b", after))
    assert [each.by for each in found] == sorted(
        now - was for was, now in zip(before, after, strict=True)
    )
    listed = most_changed(found)
    assert len(listed) <= 2 * asked.MOST_CHANGED
    rest = [each for each in found if each not in listed]
    for sign in (-1, 1):
        least = min((sign * each.by for each in listed if sign * each.by > 0), default=0)
        assert all(sign * each.by <= least for each in rest)
    shown = shown_of_pair(found)
    assert len(shown) == len(set(shown)) == min(asked.SHOWN, size)
    assert len(shown_of_one(side("a", before))) == min(asked.SHOWN, size)


def test_a_third_of_what_is_shown_is_of_each_kind() -> None:
    found = changes(side("a", [2] * 300), side("b", [1] * 100 + [2] * 100 + [4] * 100))
    shown = shown_of_pair(found)
    kinds = [int(name[1:]) // 100 for name in shown]
    assert [kinds.count(kind) for kind in range(3)] == [12, 12, 12]
    shown = shown_of_one(side("a", [0] * 100 + [2] * 3 + [4] * 100))
    assert len([name for name in shown if 100 <= int(name[1:]) < 103]) == 3


def test_two_models_are_laid_side_by_side(tmp_path: Path) -> None:
    step = {"kind": "equation", "start": 7, "end": 10, "said": "1 + 1 = 3", "right": "2"}
    before = written(tmp_path / "one.jsonl.zst", [4, 2, 0, 3], solution="a worked solution")
    after = written(tmp_path / "two.jsonl.zst", [1, 2, 3, 3], wrong_step=step)
    page = paired.of_pair(before, after)
    assert "1 problem went worse, 1 better, 2 as before and not in this list." in page
    table = page[page.index("<tbody>") : page.index("</tbody>")]
    assert table.index(">−3<") < table.index(">+3<")
    assert 'href="#problem-0"' in table
    assert 'id="problem-0"' in page
    assert "question 0 <small>4/4 → 1/4 right</small>" in page
    assert "a worked solution" in page
    assert "First wrong step: “1 + 1 = 3” does not hold, it is 2." in page
    assert "answer <mark>0.1</mark>" in page
    assert "4 of 4 problems: those that lost or gained most" in page
    assert "Sample 1: <del>one</del> (right) and <ins>two</ins> (wrong)" in page
    assert "Both are the same text." in page
    assert paired.of_pair(before, after) == page


def test_a_right_response_has_no_wrong_step(tmp_path: Path) -> None:
    step = {"kind": "equation", "start": 0, "end": 3, "said": "x", "right": "y"}
    page = paired.of_one([written(tmp_path / "one.jsonl", [4], wrong_step=step)])
    assert "First wrong step" not in page
    assert "<mark>" not in page


@pytest.mark.parametrize("damage", [{"start": -1}, {"end": 10**9}, {"start": "0"}, {"kind": []}])
def test_a_damaged_step_marks_nothing(tmp_path: Path, damage: dict[str, Any]) -> None:
    step = {"kind": "quantity", "start": 0, "end": 3, "said": EVIL, "right": None, **damage}
    page = paired.of_one([written(tmp_path / "one.jsonl", [0], wrong_step=step)])
    assert "<mark>" not in page
    assert "<script" not in page


def test_strangers_text_stays_text(tmp_path: Path) -> None:
    changed = {"text": f"{EVIL}</think>{EVIL}", "answer": EVIL, "solution": EVIL, "problem": EVIL}
    told = {"extracted_answer": EVIL, "finish_reason": EVIL, "grader_reason": EVIL}
    before = written(tmp_path / "one.jsonl", [1, 2], **changed, **told)
    after = Side(name=EVIL, results=before.results, responses=before.responses)
    page = paired.of_pair(before, after)
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_long_responses_and_many_problems_are_cut_and_the_rest_is_counted(tmp_path: Path) -> None:
    text = "<think>" + "a" * 5000 + "</think>" + "b" * 9_000 + "c"
    one = written(tmp_path / "one.jsonl.zst", [3] * 60, text=text)
    page = paired.of_one([one])
    assert "36 of 60 problems: never, sometimes and always solved ones" in page
    assert "1 more response" in page
    assert "more characters" not in page
    assert "… 3,615 characters …" in page
    assert "… 7,601 characters …" in page
    assert len(page) < browser.MOST_CHARACTERS / 4
    assert page.count("<details class=") == 36 * (1 + 3)
    wide = written(tmp_path / "wide.jsonl.zst", [3] * 36, text="&" * 3000, problem="&" * 900)
    page = paired.of_one([wide] * 4)
    assert len(page) < 1.05 * browser.MOST_CHARACTERS
    shown = page.count("<summary>&")
    assert f"{shown} of 36 problems" in page
    assert 0 < shown < 36


def test_a_problem_that_is_not_on_the_page_has_no_link(tmp_path: Path) -> None:
    before = written(tmp_path / "one.jsonl.zst", [4] * 30, text="&" * 3000)
    after = written(tmp_path / "two.jsonl.zst", [2] * 30, text="<" * 3000)
    page = paired.of_pair(before, after, among=20)
    links, there = page.count('href="#problem-'), page.count('id="problem-')
    assert 0 < links == there < 30


def test_responses_that_cannot_be_read_are_told_and_stop_nothing(tmp_path: Path) -> None:
    before = written(tmp_path / "one.jsonl.zst", [4, 0])
    after = written(tmp_path / "two.jsonl.zst", [0, 4])
    whole = after.responses.read_bytes()
    after.responses.write_bytes(whole[: len(whole) // 2])
    assert "the responses of two could not be read to their end." in paired.of_pair(before, after)
    after.responses.unlink()
    page = paired.of_pair(before, after)
    assert "1 problem went worse, 1 better" in page
    assert "the responses of two could not be read to their end." in page
    assert paired.of_one([side("none", [1, 2])]) == ""
    assert paired.of_pair(side("a", []), side("b", [])).count("<details") == 0


def test_the_page_of_a_run_has_its_last_pair_of_evaluations(
    make_run: Callable[..., Path],
) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    assert paired.section(read_run(folder)) == ""  # an older run names no problems one by one
    for stage in ("02-after-sft", "04-after-rl"):
        place = folder / "stages" / stage
        records = list(jsonl.read_jsonl(place / "responses.jsonl.zst"))
        right = Counter(each["problem_id"] for each in records if each["correct"])
        rows = [
            {"id": name, "correct": right[name]}
            for name in sorted({r["problem_id"] for r in records})
        ]
        results = {**jsonl.read_json(place / "results.json"), "per_problem": rows}
        jsonl.write_json(place / "results.json", results)
    page = paired.section(read_run(folder))
    assert "after-rl beside after-sft" in page
    assert "12 of 12 problems" in page
    assert "<mark>" not in page  # an older run names no wrong steps either
    results = {**results, "per_problem": [{"id": 1}, "x", {"id": "p", "correct": True}, None]}
    jsonl.write_json(folder / "stages/04-after-rl/results.json", results)
    assert "after-sft" in paired.section(read_run(folder))
