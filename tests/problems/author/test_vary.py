"""Families with other numbers: patterns good and bad, and what is made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.jsonl import read_json, read_jsonl
from limite.core.seeds import Seeds
from limite.problems import files
from limite.problems.author.filters import Rejected
from limite.problems.author.parse import Misread
from limite.problems.author.pattern import Pattern, Quantity, bound, pattern_of
from tests.problems.author.replay import PATTERNS, ReplayServer, made, total

TEXT = re.compile(r"below (\d+) that are divisible by (\d+) or by (\d+) ")


def truth(text: str) -> int:
    return total(*(int(each) for each in TEXT.search(text).groups()))


def test_of_each_kind_of_pattern_families_are_made_or_refused_for_the_right_reason(
    author: Callable, tmp_path: Path
) -> None:
    kinds = sorted(PATTERNS)
    with ReplayServer(["plain"]) as server:
        server.patterns = kinds
        ended = author(server, "--count", len(kinds), "--vary", 2, "--program-seconds", 0.15)
    assert ended.code == 0, ended.err
    unvaried = {
        kinds[line["slot"]]: line["reason"]
        for line in read_jsonl(tmp_path / "p.jsonl.refused.jsonl")
        if line["outcome"] == "unvaried"
    }
    assert unvaried == {kind: reason for kind, reason in PATTERNS.items() if reason}
    found = [*files.iterate(tmp_path / "p.jsonl")]
    originals = [problem for problem in found if "variant" not in problem.source]
    variants = [problem for problem in found if "variant" in problem.source]
    assert len(originals) == len(kinds)
    assert all(int(each.answer.value) == truth(each.problem) for each in found)
    assert len({problem.id for problem in found}) == len(found)
    good = [kind for kind, reason in PATTERNS.items() if not reason]
    assert len(variants) == 2 * len(good)
    families = {problem.id: problem for problem in originals}
    for each in variants:
        family = families[each.meta["family"]]
        assert family.source["index"] == each.source["index"]
        pattern = Pattern(
            **{
                **family.extra["pattern"],
                "quantities": [Quantity(**one) for one in family.extra["pattern"]["quantities"]],
            }
        )
        assert pattern.filled(each.source["values"]) == each.problem
        names: dict = {}
        exec(each.extra["program"], names)  # of this file's own making
        assert names["solve"]() == int(each.answer.value)
        assert each.extra["verification"]["agree"] >= 2
        if kinds[each.source["index"]] == "valid":
            assert each.source["values"]["n"] % 2 == 0
    counts = read_json(tmp_path / "p.jsonl.manifest.json")["counts"]
    assert (counts["variants"], counts["families"]) == (len(variants), len(good))
    assert counts["asked"] == counts["accepted"] == len(kinds)
    assert f"{len(variants)} variants of {len(good)} problems, none of " in ended.out


def test_a_topic_says_how_many_and_the_same_command_makes_the_same_family(
    author: Callable, tmp_path: Path, topics: Path
) -> None:
    topics.write_text("vary = 2\n" + topics.read_text())
    with ReplayServer(["plain"]) as server:
        assert author(server, "--count", 1).code == 0
        first = (tmp_path / "p.jsonl").read_bytes()
        assert first.count(b"\n") == 3
        paid = server.paid.total()
        assert author(server, "--count", 1, "--force").code == 0
        assert (tmp_path / "p.jsonl").read_bytes() == first
        assert server.paid.total() == paid == 1 + 3 + 1 + 1 + 3
        # Solvers of a pattern see neither its program nor an answer.
        asked = [prompt for prompt in server.prompts if "<<n>> from 100 to 20001" in prompt]
        assert len(asked) == 3
        for prompt in asked:
            assert not any(word in prompt for word in ("total", "507", str(made(1).answer)))
        topics.write_text(topics.read_text().replace("vary = 2", "vary = -1"))
        ended = author(server, "--count", 1)
    assert ended.code == 2
    assert "vary: expected a whole number from 0 to 1,000, got -1" in ended.err


QUANTITY = Quantity(name="n", original=12, low=5, high=60)


def pattern(text: str, *quantities: Quantity) -> Pattern:
    return Pattern(problem=text, program="", quantities=quantities or (QUANTITY,))


@pytest.mark.parametrize(
    ("text", "said", "original"),
    [
        ("What is <<n>> plus 12?", "vary-keeps-number", "What is 12 plus 12?"),
        ("What is <<n>> plus 7?", "vary-other-text", "What is 12 plus 8?"),
        ("What is <<n>> plus <<m>>?", "vary-places", "What is 12 plus 8?"),
        ("What is 3<<n>> plus 1?", "vary-places", "What is 312 plus 1?"),
        ("What is <<n>>.5 plus 1?", "vary-places", "What is 12.5 plus 1?"),
        ("What is 1,<<n>> plus 1?", "vary-places", "What is 1,12 plus 1?"),
        ("The <<n>>th prime is sought.", "vary-places", "The 12th prime is sought."),
        (r"Find $\sqrt<<n>>$ now.", "vary-places", r"Find $\sqrt12$ now."),
        ("What is x<<n>> plus 1?", "vary-places", "What is x12 plus 1?"),
        ("What is 12 plus 1?", "vary-places", "What is 12 plus 1?"),
    ],
)
def test_places_in_which_a_number_would_be_another_one_are_refused(
    text: str, said: str, original: str
) -> None:
    with pytest.raises(Rejected) as refused:
        pattern(text).check(original)
    assert refused.value.reason == said


@pytest.mark.parametrize(
    "quantities",
    [
        (),
        (Quantity(name="n", original=12, low=13, high=60),),
        (Quantity(name="n", original=12, low=-1, high=60),),
        (Quantity(name="n", original=12, low=12, high=12),),
        (Quantity(name="n", original=12, low=1, high=10**10),),
        (Quantity(name="for", original=12, low=1, high=100),),
        (QUANTITY, QUANTITY),
    ],
)
def test_quantities_that_are_none_are_refused(quantities: tuple) -> None:
    with pytest.raises(Rejected) as refused:
        Pattern(problem="Is <<n>>?", program="", quantities=quantities).check("Is 12?")
    assert refused.value.reason == "vary-quantities"


def test_a_text_may_differ_in_spaces_and_in_how_a_number_is_grouped() -> None:
    large = Quantity(name="n", original=12_000, low=1, high=20_000)
    pattern("Of <<n>>  coins,\nhow many?", large).check("Of 12,000 coins, how many?")


def test_a_number_of_two_digits_is_raised_as_a_whole() -> None:
    found = pattern("Find the last digit of $2^<<n>>$ and of $x_<<n>>$.")
    assert found.filled({"n": 7}) == "Find the last digit of $2^7$ and of $x_7$."
    assert found.filled({"n": 34}) == "Find the last digit of $2^{34}$ and of $x_{34}$."


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)).map(sorted),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 30),
    st.integers(0, 3),
)
def test_drawn_numbers_are_in_range_new_and_as_different_as_the_original_ones(
    ends: list, count: int, seed: int
) -> None:
    quantities = [
        Quantity(name=f"q{place}", low=low, original=original, high=high)
        for place, (low, original, high) in enumerate(ends)
    ]
    found = [*pattern("", *quantities).drawn(Seeds(seed).stream("test"), count)]
    rows = [tuple(values.values()) for values in found]
    first = tuple(each.original for each in quantities)
    assert len({*rows, first}) == len(rows) + 1
    for row in rows:
        for each, value in zip(quantities, row, strict=True):
            assert each.low <= value <= each.high
            assert value >= min(2, each.original)
        assert len({*row}) == len(row) or len({*first}) < len(first)


def test_a_program_that_calls_itself_still_does_with_its_numbers_given() -> None:
    source = "def solve(n):\n    return 1 if n < 2 else n * solve(n - 1)\n"
    names: dict = {}
    exec(bound(source, {"n": 5}), names)
    assert names["solve"]() == 120


def test_patterns_are_read_with_their_numbers_whole() -> None:
    found = pattern_of(
        r'Here: {"problem": "Find \frac{<<n>>}{7}.", "program": "def solve(n):\n\treturn n",'
        ' "quantities": [{"name": "n", "original": 12, "low": "5", "high": 60}]}'
    )
    assert found.problem == r"Find \frac{<<n>>}{7}."
    assert found.program == "def solve(n):\n\treturn n"
    assert found.quantities == (QUANTITY,)
    for wrong in ("[3]", '[{"name": "n", "original": 1.5, "low": 1, "high": 2}]', '"n"'):
        with pytest.raises(Misread):
            pattern_of(f'{{"problem": "P", "program": "p", "quantities": {wrong}}}')
