"""``limite-gen make``: the same bytes whoever makes them, and an honest account of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.jsonl import read_jsonl
from limite.problems import files
from limite.problems.gen import candidate, fill, make
from limite.problems.gen.candidate import Maker
from limite.problems.gen.families import Share
from limite.problems.gen.places import spread
from limite.problems.procedural.sum_chain import SumChain

ROOT = Path(__file__).parents[3]
MIX = """
difficulty = [0.0, 0.1]
[families]
sum-chain = 2
gcd = { weight = 1, difficulty = [0.5, 1.0], divisor = [30, 80] }
"""


@pytest.fixture
def mix(tmp_path: Path) -> Path:
    place = tmp_path / "mix.toml"
    place.write_text(MIX)
    return place


def manifest_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{path}.manifest.json").read_text())
    return found


def test_a_file_holds_what_was_asked_for(gen: Callable, mix: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl.zst"
    ended = gen("make", "--mix", mix, "--count", 600, "--seed", 7, "-o", out)
    assert ended.code == 0
    problems = files.read_problems(out, distinct=True)
    names = Counter(each.source["generator"] for each in problems)
    assert names == {"sum-chain": 400, "gcd": 200}
    assert all(each.difficulty["level"] >= 50 for each in problems if "gcd" in each.problem)
    counts = manifest_of(out)["counts"]
    assert counts["written"] == counts["asked"] == 600
    assert counts["made"] == 600 + counts["duplicates"]
    assert counts["duplicates"] > 0
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob("*.refused.jsonl"))


def test_levels_are_hundredths_of_difficulty(gen: Callable, tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    assert gen("make", "gcd", "--count", 30, "--level", "7:58", "-o", one).code == 0
    assert gen("make", "gcd", "--count", 30, "--difficulty", "0.07:0.58", "-o", other).code == 0
    assert one.read_bytes() == other.read_bytes()
    assert gen("make", "gcd", "--count", 3, "--level", "100", "-o", one, "--force").code == 0
    assert all(each.difficulty["level"] == 100 for each in files.iterate(one))


def test_any_line_can_be_made_again_from_its_source(gen: Callable, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    gen("make", "linear-system", "--count", 20, "--difficulty", "0.2:0.4", "-o", out)
    line = out.read_bytes().splitlines(keepends=True)[13]
    source = json.loads(line)["source"]
    settings = dict(source["params"])
    low, high = settings.pop("difficulty")
    share = Share(name=source["generator"], difficulty=(low, high), settings=settings)
    assert Maker(share, source["seed"], "mathematics")(source["index"])[1] == line


def test_workers_and_hash_seeds_change_nothing(gen: Callable, mix: Path, tmp_path: Path) -> None:
    made = []
    for workers in ("1", "3"):
        out = tmp_path / workers / "p.jsonl.zst"
        out.parent.mkdir()
        call = ["make", "--mix", str(mix), "--count", "900", "-o", str(out), "--workers", workers]
        code = f"from limite.problems.gen.main import main\nmain({call!r})"
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": workers, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
        )
        made.append((out.read_bytes(), manifest_of(out)))
    assert made[0] == made[1]


class Stop(BaseException):
    """Like Ctrl-C, or a kill, at a chosen moment."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, Stop])
def test_a_stopped_file_is_completed_to_the_same_bytes(
    gen: Callable, mix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    whole, out = tmp_path / "whole.jsonl.zst", tmp_path / "p.jsonl.zst"
    asked = ("make", "--mix", mix, "--count", 500, "--seed", 3, "-o")
    assert gen(*asked, whole).code == 0

    def stopping(at: int) -> Callable[..., Any]:
        def filled(*arguments: Any) -> Any:
            for number, made in enumerate(fill.fill(*arguments)):
                if number == at:
                    raise error
                yield made

        return filled

    monkeypatch.setattr("limite.problems.gen.output.BUFFER_BYTES", 10_000)
    for at in (180, 330):
        monkeypatch.setattr(make, "fill", stopping(at))
        if error is Stop:
            with pytest.raises(Stop):
                gen(*asked, out)
        else:
            ended = gen(*asked, out)
            assert ended.code == 130
            assert f"stopped after {at} problems; the same command goes on" in ended.err
        assert manifest_of(out)["state"] == "unfinished"
        assert not out.exists()
        part = Path(f"{out}.part")
        part.write_bytes(part.read_bytes() + b'{"answer":')  # as a kill leaves it
    monkeypatch.setattr(make, "fill", fill.fill)
    ended = gen(*asked, out)
    assert ended.code == 0
    assert "going on after" in ended.out
    assert out.read_bytes() == whole.read_bytes()
    assert manifest_of(out) == manifest_of(whole)
    assert "is there already" in gen(*asked, out).out
    assert out.read_bytes() == whole.read_bytes()


def test_a_killed_worker_is_told_and_loses_nothing(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "p.jsonl"
    gen("make", "gcd", "--count", 3000, "-o", whole)

    def killing(*arguments: Any) -> Any:
        for number, made in enumerate(fill.fill(*arguments)):
            if number == 5:
                for process in multiprocessing.active_children():
                    process.kill()
            yield made

    monkeypatch.setattr(make, "fill", killing)
    ended = gen("make", "gcd", "--count", 3000, "-o", out, "--workers", 2)
    assert ended.code == 1
    assert "a worker process was killed" in ended.err
    monkeypatch.setattr(make, "fill", fill.fill)
    assert gen("make", "gcd", "--count", 3000, "-o", out).code == 0
    assert out.read_bytes() == whole.read_bytes()


def test_other_arguments_on_an_existing_output_are_refused(gen: Callable, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    assert gen("make", "gcd", "--count", 9, "-o", out).code == 0
    before = out.read_bytes()
    ended = gen("make", "gcd", "--count", 9, "--seed", 2, "-o", out)
    assert ended.code == 2
    assert "asked for with other arguments; --force begins again:\n  seed: 1 -> 2" in ended.err
    ended = gen("make", "gcd", "--count", 9, "--difficulty", "0.5", "-o", out)
    assert "  families.gcd.difficulty[0]: 0.0 -> 0.5" in ended.err
    ended = gen("make", "gcd:2,sum-chain", "--count", 9, "-o", out)
    assert "  families.gcd.weight: 1.0 -> 2.0\n  families.sum-chain: (absent) -> " in ended.err
    assert out.read_bytes() == before
    out.write_bytes(before[:-20])
    assert "was changed since it was made" in gen("make", "gcd", "--count", 9, "-o", out).err
    assert gen("make", "gcd", "--count", 9, "-o", out, "--force").code == 0
    assert out.read_bytes() == before
    Path(f"{out}.manifest.json").unlink()
    assert "no manifest says how" in gen("make", "gcd", "--count", 9, "-o", out).err
    assert not list(tmp_path.glob("*.part"))


def test_a_part_that_is_not_what_was_asked_for_is_refused(gen: Callable, tmp_path: Path) -> None:
    out, other = tmp_path / "p.jsonl", tmp_path / "q.jsonl"
    gen("make", "gcd", "--count", 9, "-o", out)
    gen("make", "gcd", "--count", 9, "--seed", 2, "-o", other)
    Path(f"{out}.part").write_bytes(other.read_bytes())
    out.unlink()
    manifest = manifest_of(out)
    Path(f"{out}.manifest.json").write_text(json.dumps({**manifest, "state": "unfinished"}))
    ended = gen("make", "gcd", "--count", 9, "-o", out)
    assert ended.code == 2
    assert "p.jsonl.part:1: was not made by this request; --force begins again" in ended.err


@pytest.mark.parametrize("workers", [1, 2])
def test_shards_merge_to_the_very_file(
    gen: Callable, mix: Path, tmp_path: Path, workers: int
) -> None:
    whole = tmp_path / "whole.jsonl.zst"
    asked = ("make", "--mix", mix, "--count", 700)
    gen(*asked, "-o", whole)
    shards = [tmp_path / f"{number}.jsonl.zst" for number in (1, 2, 3)]
    for number, shard in enumerate(shards, start=1):
        ended = gen(*asked, "--shard", f"{number}/3", "-o", shard)
        assert ended.code == 0, ended.err
    out = tmp_path / "p.jsonl.zst"
    ended = gen("merge", *reversed(shards), "--workers", workers, "-o", out)
    assert ended.code == 0, ended.err
    assert out.read_bytes() == whole.read_bytes()
    assert manifest_of(out) == manifest_of(whole)
    ended = gen("merge", *shards[:2], "-o", tmp_path / "q.jsonl")
    assert "shards 1, 2 of 3 were given" in ended.err
    ended = gen("merge", shards[0], whole, "-o", tmp_path / "q.jsonl")
    assert "shards of a request are merged with one another" in ended.err


def test_a_small_space_is_exhausted_honestly(gen: Callable, tmp_path: Path) -> None:
    mix, out = tmp_path / "mix.toml", tmp_path / "p.jsonl"
    mix.write_text(
        "[families]\ngcd = 1\nsum-chain = {difficulty = 0, terms = [2, 2], largest = [3, 3]}\n"
    )
    ended = gen("make", "--mix", mix, "--count", 200, "-o", out)
    assert ended.code == 1
    # 2 and 3: four sums, and the differences that are not negative.
    assert "sum-chain at difficulty 0 to 0: space exhausted after 7 distinct problems" in ended.err
    assert f"{out} holds the 107 there are" in ended.err
    assert len(files.read_problems(out, distinct=True)) == 107
    assert manifest_of(out)["state"] == "short"
    assert manifest_of(out)["counts"]["unfilled"] == 93


def test_an_exhausted_space_is_searched_once(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix, whole, out = (tmp_path / name for name in ("mix.toml", "whole.jsonl", "p.jsonl"))
    mix.write_text(
        "[families]\ngcd = 1\nsum-chain = {difficulty = 0, terms = [2, 2], largest = [3, 3]}\n"
    )
    asked = ("make", "--mix", mix, "--count", 60, "-o")
    first = gen(*asked, whole)
    assert first.code == 1
    drawn = Counter[str]()
    draw = SumChain.sample

    def sample(self, rng, difficulty):
        drawn["sum-chain"] += 1
        return draw(self, rng, difficulty)

    monkeypatch.setattr(SumChain, "sample", sample)
    again = gen(*asked, whole)
    assert again.code == 1
    assert again.err == first.err
    assert "space exhausted after 7 distinct problems" in again.err
    assert not drawn

    def stopping(*arguments: Any) -> Any:
        for number, made in enumerate(fill.fill(*arguments)):
            if number == 30:
                raise KeyboardInterrupt
            yield made

    monkeypatch.setattr(make, "fill", stopping)
    assert gen(*asked, out).code == 130
    assert drawn["sum-chain"] > fill.PATIENCE
    assert list(manifest_of(out)["exhausted"]) == ["sum-chain"]
    drawn.clear()
    monkeypatch.setattr(make, "fill", fill.fill)
    assert gen(*asked, out).code == 1
    assert drawn["sum-chain"] < 300
    assert out.read_bytes() == whole.read_bytes()
    assert manifest_of(out) == manifest_of(whole)


def test_what_is_not_agreed_on_is_counted_and_kept_aside(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = SumChain.check
    monkeypatch.setattr(
        SumChain, "check", lambda self, each: "7" not in each.problem and right(self, each)
    )
    judged = candidate.Judge.objection

    def objection(self: Any, problem: Any) -> str:
        if "8" in problem.problem:
            raise ZeroDivisionError
        return "its own answer: wrong" if "9" in problem.problem else judged(self, problem)

    monkeypatch.setattr(candidate.Judge, "objection", objection)
    out = tmp_path / "p.jsonl"
    ended = gen("make", "sum-chain", "--count", 50, "-o", out)
    assert ended.code == 0
    assert "warning: see" in ended.err
    kept = (each.problem for each in files.iterate(out))
    assert not any(set("789") & set(text) for text in kept)
    aside = list(read_jsonl(f"{out}.refused.jsonl"))
    counts = manifest_of(out)["counts"]
    assert counts["refused"] == dict(Counter(each["refused_by"] for each in aside))
    assert set(counts["refused"]) == {"check", "error", "verifier"}
    assert counts["made"] == 50 + counts["duplicates"] + len(aside)
    assert all(each["reason"] for each in aside)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gdc"], "unknown generator 'gdc'; did you mean 'gcd'?"),
        (["gcd", "--difficulty", "0.5:1.2"], "expected a or a:b with 0 <= a <= b <= 1"),
        (["gcd", "--difficulty", "hard"], "expected a or a:b with 0 <= a <= b <= 1"),
        (["gcd", "--level", "20:101"], "expected a or a:b, whole numbers with 0 <= a <= b <= 100"),
        (["gcd", "--level", "0.5"], "expected a or a:b, whole numbers with 0 <= a <= b <= 100"),
        (["gcd", "--level", "5", "--difficulty", "0.05"], "--level say the same; give one"),
        (["gcd", "--area", "algebra"], "families and --area were given, and one of them is meant"),
        (["gcd,"], "'gcd,': the name of a family is missing after the last comma"),
        ([",gcd"], "',gcd': the name of a family is missing before the first comma"),
        (["gcd,,lcm"], "'gcd,,lcm': the name of a family is missing after 'gcd'"),
        ([" "], "the name of a family is missing here"),
        (["gcd:"], "'gcd:': a weight is missing behind the colon"),
        ([":2"], "':2': a name is missing before the colon"),
        (["--area", "algebra,"], "'algebra,': an area is missing after the last comma"),
        (["gcd:x"], "the weight 'x' is not a number"),
        (["gcd:0"], "gcd: a weight is above 0, got 0"),
        (["gcd,gcd"], "gcd is named 2 times"),
        (["gcd", "--shard", "0/2"], "expected i/n with 1 <= i <= n"),
        ([], "say what to make"),
        (["gcd", "--count", "0"], "0 is not in the range"),
        (["gcd", "-o", "p.json"], "ends in .jsonl or .jsonl.zst"),
        (["gcd", "-o", "no/where.jsonl"], "no: no such folder"),
        (["gcd", "--cuont", "3"], "--count"),
    ],
)
def test_mistakes_are_told(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = gen("make", "--count", "5", "-o", "p.jsonl", *arguments)
    assert ended.code == 2
    assert message in ended.err
    assert not list(tmp_path.iterdir())


def test_all_mistakes_of_a_mix_are_told(gen: Callable, tmp_path: Path) -> None:
    mix = tmp_path / "mix.toml"
    mix.write_text(
        'difculty = 1\n[families]\ngdc = 1\ngcd = {weight = "x"}\nsum-chain = {term = [2, 3]}\n'
        "linear-system = {difficulty = [1, 0]}\nlinear-equation = {solution = [5, 1]}\n"
    )
    ended = gen("make", "--mix", mix, "--count", 5, "-o", tmp_path / "p.jsonl")
    assert ended.code == 2
    for message in (
        "difculty: unknown key; did you mean 'difficulty'?",
        "families.gdc: unknown generator 'gdc'; did you mean 'gcd'?",
        "families.gcd: expected a weight, got 'x'",
        "did you mean 'terms'?",
        "families.linear-system: difficulty: expected [a, b] within 0 and 1",
        "solution: must rise",
    ):
        assert message in ended.err


def test_progress_and_result_as_json(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limite.problems.gen.progress.EVERY_S", 0.0)
    ended = gen("make", "gcd", "--count", 300, "-o", tmp_path / "p.jsonl", "--json")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [each["event"] for each in events][-2:] == ["progress", "done"]
    assert events[0]["total"] == 300
    assert events[-1]["counts"]["written"] == 300


def test_places_are_spread_by_weight() -> None:
    weights = [3.0, 1.0, 0.5]
    order = list(spread(weights, 900))
    assert Counter(order) == {0: 600, 1: 200, 2: 100}
    assert list(spread(weights, 90)) == order[:90]
    for index, weight in enumerate(weights):
        for end in range(1, 900, 7):
            assert abs(order[:end].count(index) - end * weight / 4.5) < 1.5


def test_candidates_made_together_are_those_made_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = SumChain.sample

    def sample(self, rng, difficulty):
        problem = draw(self, rng, difficulty)
        if problem.problem.startswith("1"):
            raise ValueError("no sum begins with 1")
        return problem

    monkeypatch.setattr(SumChain, "sample", sample)
    maker = Maker(Share(name="sum-chain"), 1, "mathematics")
    alone = [maker(index) for index in range(40)]
    assert maker.make(range(40)) == alone
    assert {refused for _, _, refused in alone} == {"", "error"}
    seen = {bytes.fromhex(name) for name, _, refused in alone[:20] if not refused}
    again = maker.make(range(25), seen)
    assert [line for _, line, refused in again[:20] if not refused] == [b""] * len(seen)
    assert again[20:] == alone[20:25]


def test_lines_are_put_together_as_they_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, odd = (
        SumChain.sample,
        {"a": 'quoted " and \u2028 and \\', "meta": {"b": [1, None], "a": 0.5}},
    )

    def sample(self, rng, difficulty):
        problem = draw(self, rng, difficulty)
        kind = rng.randrange(5)
        if kind == 1:
            problem = attrs.evolve(
                problem, meta=odd, tags=(), solutions={"words": "Umlaut \u00e4#9"}
            )
        if kind == 2:
            problem = attrs.evolve(problem, extra={"program": "print()"}, difficulty={})
        if kind == 3:
            problem = attrs.evolve(problem, meta={"half": "\ud800", "none": float("nan")})
        return problem

    monkeypatch.setattr(SumChain, "sample", sample)
    monkeypatch.setattr(candidate.Judge, "objection", lambda *_: "")
    maker = Maker(Share(name="sum-chain", settings={"largest": [30, 50]}), 3, "mathematics")
    for index in range(60):
        problem = maker.sample(maker.seeds.stream(index))
        record = files.record_of(problem) | {"source": {**maker.source, "index": index}}
        assert maker(index)[1] == files.line_of(record)
