"""Benchmarks from files: what is read, what is refused, and the same results every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from limite.core.errors import SettingsError
from limite.core.model.init import build_decoder
from limite.core.model.presets import preset
from limite.core.tokenizer import CharacterTokenizer
from limite.evaluate.benchmark import Benchmark, read_problems
from limite.problems.verifiers.exact import Exact


def problem(number: int, **changed) -> dict:
    answer = {"type": "integer", "value": str(number + 1), "params": {}}
    return {"problem": f"{number}+1=?", "answer": answer, "tags": ["sum"], **changed}


def written(path: Path, *records) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def test_a_measurement_is_repeatable_and_asks_all(tmp_path):
    file = written(tmp_path / "p.jsonl", *map(problem, range(6)))
    tokenizer = CharacterTokenizer()
    spec = preset("limite-tiny").filled(tokenizer.vocabulary)
    decoder = build_decoder(spec, 1).eval()
    for terms in ({"max_tokens": 6}, {"max_tokens": 6, "samples": 2}):
        first, graded = Benchmark.read(file, **terms).measure(decoder, tokenizer)
        again, _ = Benchmark.read(file, **terms).measure(decoder, tokenizer)
        assert first == again
        assert first["total"] == len(graded) == 6 * terms.get("samples", 1)
        assert [one.problem.problem for one in graded][:: terms.get("samples", 1)] == [
            f"{number}+1=?" for number in range(6)
        ]


def test_without_samples_the_likeliest_token_is_taken(tmp_path):
    file = written(tmp_path / "p.jsonl", *map(problem, range(3)))
    tokenizer = CharacterTokenizer()
    decoder = build_decoder(preset("limite-tiny").filled(tokenizer.vocabulary), 2).eval()
    found = [
        [tuple(one.response.completion_ids) for one in graded]
        for seed in (1, 2)
        for _, graded in [Benchmark.read(file, max_tokens=5, seed=seed).measure(decoder, tokenizer)]
    ]
    assert found[0] == found[1]


def test_every_mistake_of_a_file_is_told(tmp_path):
    file = written(
        tmp_path / "p.jsonl",
        problem(1),
        ["no object"],
        {"problem": " ", "answer": {}},
        problem(2, answer="3"),
        problem(3, answer={"type": "integer", "value": 4}),
        problem(1, tags=[]),
        problem(4, answer={"type": "matrix", "value": "[[1]]"}),
        problem(5, source="me"),
    )
    with pytest.raises(SettingsError) as caught:
        read_problems(file, Exact())
    assert [str(each).removeprefix(f"{file}:") for each in caught.value.mistakes] == [
        "2: expected a problem as a JSON object, got list",
        "3: 'problem': expected the question as text",
        '4: \'answer\': expected an object like {"type": "integer", "value": "42"}',
        "5: 'answer': expected texts as 'type' and 'value', and an object as 'params' if any",
        "6: the problem of line 1 again",
        "7: answer: cannot be judged: answers of type 'matrix' are not compared exactly",
        "8: 'source': expected an object",
    ]
    with pytest.raises(SettingsError, match="got none"):
        read_problems(written(tmp_path / "none.jsonl"), Exact())
