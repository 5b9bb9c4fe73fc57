"""The page that ``limite eval`` leaves: what it tells, that it asks for nothing, the same bytes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from limite.core.jsonl import read_json, read_jsonl
from limite.evaluate.journal import RESPONSES
from limite.evaluate.page import PAGE, render
from tests.evaluate.asked import files_in

COMMON = ("letters", "--benchmark", "p.jsonl", "--samples", 3, "--max-tokens", 5)


@pytest.fixture(autouse=True)
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


class Addresses(HTMLParser):
    """Collects what a page may load or go to, and that tags nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "iframe", "object", "embed", "form", "base")
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            self.ids += [value] if name == "id" else []
            self.found += [value] if name in ("href", "src", "srcset", "data", "action") else []

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open[-1:] == [tag]:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    page = Addresses(text)
    assert len(page.ids) == len(set(page.ids))
    for address in page.found:
        assert address == "data:," or address.removeprefix("#") in page.ids
    assert not re.search(r"url\((?!#)|@import", text)
    assert "default-src &#x27;none&#x27;" in text
    return text


def test_one_model(evaluate, tmp_path):
    ended = evaluate(*COMMON, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    page = checked(tmp_path / "out" / PAGE)
    assert 'id="differences"' not in page
    for words in ("0 / 15", "Scores", "Endings and lengths", "5 of 5 problems", "0+1=?"):
        assert words in page
    assert "0 of 15 right, 0.0%, 95% interval [0.0%, " in page
    scores = page[page.index('id="scores"') : page.index('id="endings"')]
    assert re.findall(r"\d\.\d\d+%", scores) == []
    assert "report.html" in ended.out


def test_two_models_and_an_earlier_folder(evaluate, tmp_path):
    models = ("runs/letters:sft", *COMMON)
    assert evaluate(*models, "--out", tmp_path / "first").code == 0
    assert "5 of 5 problems" in checked(tmp_path / "first" / PAGE)
    [earlier] = (tmp_path / "first").glob("letters-more*")
    for out in ("a", "b"):
        ended = evaluate(
            "runs/letters:sft", *COMMON[1:], "--against", earlier, "--out", tmp_path / out
        )
        assert ended.code == 0, ended.err
    page = checked(tmp_path / "a" / PAGE)
    assert "letters/sft@1 beside letters/more@1" in page
    assert "letters/sft@1 against letters/more@1: " in page
    assert "Sample 0: <del>letters/more@1</del>" in page
    assert page == (tmp_path / "b" / PAGE).read_text(encoding="utf-8")
    before = files_in(tmp_path / "a")
    assert (
        evaluate(
            "runs/letters:sft", *COMMON[1:], "--against", earlier, "--out", tmp_path / "a"
        ).code
        == 0
    )
    assert files_in(tmp_path / "a") == before
    # Only the results of the earlier evaluation are left: the figures are told all the same.
    (earlier / RESPONSES).unlink()
    assert (
        evaluate(
            "runs/letters:sft", *COMMON[1:], "--against", earlier, "--out", tmp_path / "a"
        ).code
        == 0
    )
    assert "could not be read to their end" in checked(tmp_path / "a" / PAGE)


def test_a_wrong_step_and_a_worked_solution_reach_the_page(evaluate, tmp_path):
    """A response that goes wrong is put where one was sampled: what is measured again shows it."""
    problem = {
        "problem": "1+1=?",
        "answer": {"type": "integer", "value": "2"},
        "solution": "1 + 1 = 2 is the sum & answer",
    }
    (tmp_path / "p.jsonl").write_text(f"{json.dumps(problem)}\n", encoding="utf-8")
    asked = ("letters", "--benchmark", tmp_path / "p.jsonl", "--samples", 1, "--max-tokens", 5)
    assert evaluate(*asked, "--out", tmp_path / "out").code == 0
    [folder] = [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    [record] = read_jsonl(folder / RESPONSES)
    assert record["solution"] == problem["solution"]
    assert record["wrong_step"] is None
    record["text"] = "</pre>1+1=3#3"
    (folder / RESPONSES).unlink()
    (folder / "journal.jsonl").write_text(f"{json.dumps(record)}\n", encoding="utf-8")
    assert evaluate(*asked, "--out", tmp_path / "out").code == 0
    [record] = read_jsonl(folder / RESPONSES)
    step = record["wrong_step"]
    assert (step["kind"], step["said"], step["right"]) == ("equation", "1+1 = 3", "2")
    page = checked(tmp_path / "out" / PAGE)
    assert "First wrong step: “1+1 = 3” does not hold, it is 2." in page
    assert "&lt;/pre&gt;<mark>1+1=3</mark>#3" in page
    assert "1 + 1 = 2 is the sum &amp; answer" in page


def test_a_claim_is_made_only_where_the_comparison_makes_it(evaluate, tmp_path):
    assert evaluate(*COMMON, "--against", "runs/letters:sft", "--out", tmp_path / "out").code == 0
    summary = read_json(tmp_path / "out" / "summary.json")
    folders = sorted(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    by_name = {read_json(path / "results.json")["model"]: path / RESPONSES for path in folders}
    models = [(each, by_name[each["model"]]) for each in summary["models"]]
    [found] = summary["comparisons"]
    for wording, claim in (("improved", True), ("no observed difference", False)):
        page = render(models, [({**found, "wording": wording}, 1, 0)], "")
        assert ('class="headline improved"' in page) is claim
    several = [{**found, "p_value_holm": 0.25}] * 6
    page = render(models, [(each, 1, 0) for each in several], "PROTOCOL MISMATCH: <x> & y")
    assert "PROTOCOL MISMATCH: &lt;x&gt; &amp; y" in page
    assert "p, Holm" in page
    assert "2 further comparisons left out." in page
    assert "and 5 further comparisons" in page
    unreliable = [({**each, "unreliable": True}, path) for each, path in models]
    assert "unreliable, the grader failed or was late" in render(unreliable, [], "")


@pytest.mark.parametrize("stopped", ["measured.grade", "measured.write", "write_json", "render"])
def test_a_stop_after_sampling_leaves_nothing_half_done(evaluate, tmp_path, monkeypatch, stopped):
    """Ctrl-C while answers are graded or the page is drawn: the same command ends as if it had
    not been, and samples nothing."""
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert evaluate(*COMMON, "--out", whole).code == 0

    def interrupt(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"limite.evaluate.command.{stopped}", interrupt)
        ended = evaluate(*COMMON, "--out", out)
    assert ended.code == 130
    assert not (out / PAGE).exists()
    with monkeypatch.context() as patched:
        patched.setattr("limite.evaluate.models.LocalModel.sample", None)
        ended = evaluate(*COMMON, "--out", out)
    assert ended.code == 0, ended.err
    ours, theirs = files_in(out), files_in(whole)
    assert ours.keys() == theirs.keys()
    assert all(ours[name] == theirs[name] for name in ours if not name.startswith("summary"))
