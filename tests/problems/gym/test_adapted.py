"""Adapted data sets, over a stand-in of their package whose answers are often wrong."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import attrs
import pytest

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.types import Answer
from limite.plugins.conformance.generator import generator_laws
from limite.problems import files, gym
from limite.problems.gen.families import families_in, family
from limite.problems.gen.main import main as gen
from limite.problems.gym import exact
from limite.problems.gym.adapter import KEPT, LONGEST
from limite.problems.gym.algebra import GymIntermediateIntegration
from limite.problems.gym.arithmetic import GymBasicArithmetic, GymGcd
from limite.problems.gym.logic import GymSyllogism

STAND_IN = Path(__file__).parent / "stand_in"
STANDING = ("gym-basic-arithmetic", "gym-gcd", "gym-intermediate-integration", "gym-syllogism")


def forget() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == gym.PACKAGE]:
        del sys.modules[name]
    load_registry.cache_clear()


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package, as the stand-in."""
    forget()
    monkeypatch.syspath_prepend(str(STAND_IN))
    yield
    forget()


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No such package, whatever is installed."""
    forget()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setitem(sys.modules, f"{gym.PACKAGE}.factory", None)
    yield
    monkeypatch.undo()
    forget()


def call(*arguments: str) -> object:
    """The exit code of ``limite-gen`` with these arguments."""
    with pytest.raises(SystemExit) as ended:
        gen(list(arguments))
    return ended.value.code


def problems(name: str, count: int = 60) -> list:
    one, rng = family(name), random.Random(name)
    return [one.sample(rng, step / count) for step in range(count)]


@pytest.mark.usefixtures("peer")
def test_all_are_listed_where_the_package_is() -> None:
    assert families_in(["reasoning-gym"]) == sorted(gym.FAMILIES)
    for name in gym.FAMILIES:
        one = family(name)
        assert name == one.name == "gym-" + one.dataset.replace("_", "-")
        assert one.tag.startswith("reasoning-gym/")
        assert all(field.metadata["help"] for field in attrs.fields(type(one)))


@pytest.mark.usefixtures("absent")
def test_without_the_package_none_is_listed_and_the_extra_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not [name for name in load_registry().names("generator") if name.startswith(gym.PREFIX)]
    for command in (["make", "gym-gcd", "--count", "1", "-o", "p.jsonl"], ["show", "gym-gcd"]):
        assert call(*command) == 2
        assert "pip install 'limite[reasoning-gym]'" in capsys.readouterr().err, command
    with pytest.raises(LimiteError, match="unknown generator 'gym-gdc'"):
        family("gym-gdc")
    with pytest.raises(LimiteError, match=r"limite\[reasoning-gym\]"):
        GymGcd().sample(random.Random(0), 0.5)


@pytest.mark.usefixtures("peer")
@pytest.mark.parametrize("name", STANDING)
def test_laws_hold(name: str) -> None:
    for law, run in generator_laws(family(name)).items():
        if law != "the_text_is_finished":  # their texts are as they are: 1 + -3
            run()


@pytest.mark.usefixtures("peer")
def test_wrong_answers_are_passed_over() -> None:
    for problem in problems("gym-gcd"):
        assert int(problem.answer.value) % 6 == 0
    for problem in problems("gym-basic-arithmetic"):
        above, below = problem.problem.split()[1], problem.problem.split()[3]
        assert Fraction(int(above), int(below)) - 3 == int(problem.answer.value)
    asked = {problem.problem.splitlines()[5].split()[0] for problem in problems("gym-syllogism")}
    assert asked == {"All"}, "what hangs on empty terms, or is false, was passed on"
    for problem in problems("gym-intermediate-integration", 20):
        assert problem.answer.value not in ("exp(x)", "e^x")
        assert problem.problem.endswith("\n3. Use `exp(x)` for the exponential function.")


@pytest.mark.usefixtures("peer")
def test_a_record_says_how_its_answer_was_confirmed() -> None:
    by_text, by_scorer = problems("gym-gcd", 1)[0], problems("gym-intermediate-integration", 1)[0]
    assert by_text.extra["verification"] == {"method": "oracle", "checked_by": "limite"}
    assert by_scorer.extra["verification"]["method"] == "checker"
    assert "scorer of reasoning-gym" in by_scorer.extra["verification"]["checked_by"]
    assert set(by_text.meta[KEPT]) == {"dataset", "version", "config", "seed"}


@pytest.mark.usefixtures("peer")
def test_a_scorer_sees_only_the_item_made_again() -> None:
    one = GymIntermediateIntegration()
    problem = one.sample(random.Random(5), 0.5)
    assert one.check(problem)
    kept = dict(problem.meta[KEPT])
    for wrong in (
        attrs.evolve(problem, problem=problem.problem + " "),
        attrs.evolve(problem, answer=attrs.evolve(problem.answer, value="exp(x)+1")),
        attrs.evolve(problem, meta={}),
        attrs.evolve(problem, meta={KEPT: {**kept, "seed": kept["seed"] + 1}}),
        attrs.evolve(problem, meta={KEPT: {**kept, "dataset": "gcd"}}),
        attrs.evolve(problem, meta={KEPT: {**kept, "config": {"no_such": 1}}}),
        attrs.evolve(problem, meta={KEPT: {"dataset": kept["dataset"]}}),
    ):
        assert not one.check(wrong)


@pytest.mark.usefixtures("peer")
def test_files_are_made_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.jsonl"
    asked = "gym-basic-arithmetic,gym-syllogism,gym-intermediate-integration"
    assert call("make", asked, "--count", "30", "-o", str(out)) == 0
    assert len(files.read_problems(out)) == 30
    capsys.readouterr()
    assert call("check", str(out)) == 0
    assert "30 problems, 30 solved again, 0 wrong" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["", "9" * 5000, "(" * 9000, "Calculate 1.", "x" * (LONGEST + 1), "Calculate (1."]
)
@pytest.mark.parametrize("one", [GymBasicArithmetic(), GymGcd(), GymSyllogism()])
def test_check_is_total(one: object, text: str) -> None:
    problem = files.Problem(problem=text, answer=Answer(type="integer", value="2"))
    assert one.check(problem) is False


def test_arithmetic_is_exact() -> None:
    assert exact.value("7 / 2 - -( 1 + 2 ) * 0.1") == Fraction(38, 10)
    assert exact.value("9007199254740993.1 - 0.1") == 9007199254740993
    product = exact.polynomial("(x - 1)*(x**2 + x + 1)", "x")
    assert product == {3: 1, 0: -1}
    assert exact.polynomial("4*(x + 1) - 2*x**2/2", "x") == {2: -1, 1: 4, 0: 4}


@pytest.mark.parametrize(
    "text",
    ["1 // 2", "y", "f(1)", "1e9", "9**101", "((9**99)**99)**99", "x**x", "2**0.5", "True", "1j"],
)
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"read here|too large"):
        exact.polynomial(text, "x")
