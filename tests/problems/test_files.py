"""Files of problems: what survives a round trip, what is refused, and what a cut file gives."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.jsonl import DamagedFile, UnfinishedFile, dumps, write_jsonl
from limite.core.types import Answer, Problem
from limite.problems import files

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, plain, max_size=3)
unknown = texts.filter(
    lambda name: name not in {field.name for field in attrs.fields(Problem)} | {"id", "solution"}
)
problems = st.builds(
    Problem,
    problem=texts.filter(str.strip),
    answer=st.builds(Answer, type=texts, value=texts, params=objects),
    solutions=st.dictionaries(texts, texts, max_size=2),
    source=objects,
    difficulty=objects,
    tags=st.lists(texts, max_size=2).map(tuple),
    meta=objects,
    extra=st.dictionaries(unknown.filter(lambda n: n not in ("program", "verification")), plain),
)
SUFFIXES = pytest.mark.parametrize("suffix", files.SUFFIXES)
ONE = {"problem": "1+1=?", "answer": {"type": "integer", "value": "2"}}


@given(problems)
def test_a_record_gives_its_problem_back(problem: Problem) -> None:
    line = files.line_of(files.record_of(problem))
    again = files.problem_of(json.loads(line))
    assert again == problem
    assert files.line_of(files.record_of(again)) == line
    assert line == dumps(files.record_of(problem)).encode() + b"\n"
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


@given(problems)
def test_the_id_is_a_hash_of_question_and_answer_alone(problem: Problem) -> None:
    content = {"problem": problem.problem, "answer": attrs.asdict(problem.answer)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert problem.id == hashlib.sha256(text.encode()).hexdigest()[:32]


def test_known_and_unknown_keys_survive_a_round_trip(tmp_path: Path) -> None:
    record = {
        **ONE,
        "answer": {**ONE["answer"], "params": {"base": 10}},
        "program": "def solve(): return 2",
        "verification": {"method": "programs-agree", "agree": 3},
        "solution": "One and one are two.",
        "solutions": {"fine": "1+1=2#2"},
        "reviewed": {"by": ["somebody"]},
        "tags": ["arithmetic"],
    }
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl.zst"
    write_jsonl(first, [record])
    (problem,) = files.read_problems(first)
    assert problem.solutions == {"words": "One and one are two.", "fine": "1+1=2#2"}
    files.write_problems(second, [problem])
    assert files.record_of(*files.read_problems(second)) == {**record, "id": problem.id}


@SUFFIXES
def test_equal_problems_give_equal_bytes(tmp_path: Path, suffix: str) -> None:
    made = [Problem(problem=f"{n}=?", answer=Answer(type="integer", value=str(n))) for n in (1, 2)]
    places = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for place in places:
        files.write_problems(place, iter(made))
    assert places[0].read_bytes() == places[1].read_bytes()
    assert [each.problem for each in files.iterate(places[0])] == ["1=?", "2=?"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"problem": "  "}, "'problem': expected the question as text"),
        ({"answer": "2"}, "'answer': expected an object like"),
        ({"answer": {"type": "integer", "value": 2}}, "'answer': expected texts as 'type'"),
        (
            {"answer": {**ONE["answer"], "parms": {}}},
            "'answer': unknown key 'parms'; did you mean 'params'?",
        ),
        ({"source": "me"}, "'source': expected an object"),
        ({"difficulty": 3}, "'difficulty': expected an object"),
        ({"verification": []}, "'verification': expected an object"),
        ({"meta": []}, "'meta': expected an object"),
        ({"program": 3}, "'program': expected the source"),
        ({"solution": 3}, "'solution': expected a worked solution as text"),
        ({"solutions": {"fine": 3}}, "'solutions': 'fine': expected a worked solution as text"),
        ({"solutions": {"words": "a"}, "solution": "b"}, "stands under 'solutions' as 'words' too"),
        ({"tags": "sum"}, "'tags': expected a list of texts"),
        ({"tags": [1]}, "'tags': expected a list of texts"),
        ({"id": "0"}, "'id': is '0', and question and answer give"),
        ({"problem": "\ud800"}, "half of a surrogate pair is no text"),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(
    tmp_path: Path, changed: dict, message: str
) -> None:
    place = tmp_path / "p.jsonl"
    place.write_text(json.dumps(ONE) + "\n" + json.dumps({**ONE, **changed}) + "\n")
    with pytest.raises(SettingsError) as caught:
        files.read_problems(place)
    assert str(caught.value).startswith(f"{place}:2: ")
    assert message in str(caught.value)


def test_lines_that_are_no_problems_are_told_and_reading_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    twice = '{"problem": "a", "problem": "b", "answer": {}}'
    place.write_text(f"[1]\n{{\n\n{twice}\n{json.dumps(ONE)}\n")
    found = list(files.read_lines(place))
    assert [number for number, _ in found] == [1, 2, 4, 5]
    assert [isinstance(each, Mistake) for _, each in found] == [True, True, True, False]
    with pytest.raises(SettingsError, match=r"p\.jsonl:4: not JSON: the key 'problem' is there"):
        files.read_problems(place)
    with pytest.raises(SettingsError, match=r"p\.jsonl:1: expected a problem as a JSON object"):
        list(files.iterate(place))


def test_many_mistakes_are_counted(tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    place.write_text("3\n" * 25)
    with pytest.raises(SettingsError, match="15 more lines are wrong"):
        files.read_problems(place)


@SUFFIXES
def test_a_cut_file_says_how_many_lines_were_recovered(tmp_path: Path, suffix: str) -> None:
    place = tmp_path / f"p{suffix}"
    for text in ("a", "b"):
        filler = "".join(hashlib.sha256(f"{text}{n}".encode()).hexdigest() for n in range(20_000))
        one = Problem(problem=text, answer=Answer(type="string", value="x"), meta={"f": filler})
        part = tmp_path / f"part{suffix}"
        files.write_problems(part, [one])
        place.write_bytes((place.read_bytes() if place.exists() else b"") + part.read_bytes())
    assert len(files.read_problems(place)) == 2
    place.write_bytes(place.read_bytes()[:-9])
    with pytest.raises(UnfinishedFile, match=r"1 line recovered") as caught:
        files.read_problems(place)
    assert caught.value.lines == 1


def test_a_damaged_frame_is_found(tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl.zst"
    files.write_problems(place, [files.problem_of(ONE)])
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 4
    place.write_bytes(data)
    with pytest.raises(DamagedFile):
        files.read_problems(place)


def test_names_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LimiteError, match=r"a file of problems ends in \.jsonl or \.jsonl\.zst"):
        files.write_problems(tmp_path / "p.json", [])
    (tmp_path / "none.jsonl").touch()
    with pytest.raises(SettingsError, match="got none"):
        files.read_problems(tmp_path / "none.jsonl")
    with pytest.raises(LimiteError, match=r"no such file; did you mean 'none\.jsonl'"):
        files.read_problems(tmp_path / "nane.jsonl")


def test_repeats_and_refusals_are_told_by_line(tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    write_jsonl(place, [ONE, {**ONE, "tags": ["again"]}, {**ONE, "problem": "2-0=?"}])
    assert len(files.read_problems(place)) == 3
    with pytest.raises(SettingsError, match=r"p\.jsonl:2: the problem of line 1 again$"):
        files.read_problems(place, distinct=True)
    with pytest.raises(SettingsError, match=r"p\.jsonl:3: minus$"):
        files.read_problems(place, refuse=lambda each: "minus" if "-" in each.problem else "")
