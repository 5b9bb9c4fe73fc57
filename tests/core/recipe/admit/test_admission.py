"""The report, what it comes to, where it is kept, and the command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from limite.core.cli.admit import admit as command
from limite.core.errors import LimiteError, RunFailed
from limite.core.health.gates import GateVerdict
from limite.core.recipe.admit import memory as memory_gate
from limite.core.recipe.admit import run as runs
from limite.core.recipe.admit.canary import Bench, budgets
from limite.core.recipe.admit.report import Gate, Report
from limite.core.recipe.admit.run import admitted, stage_to_admit, write_report
from limite.core.recipe.admit.tolerances import TOLERANCES, verdict
from limite.core.rollout.sampler import capacity_tokens
from limite.core.rollout_kinds import Request
from tests.core.recipe.admit.conftest import TINY, checked

PAGE = Path(__file__).parents[4] / "docs" / "admission.md"
GOOD = GateVerdict(name="some/figure", figure=0.0, high=1.0)
BAD = GateVerdict(name="some/figure", figure=2.0, high=1.0)


def report_of(*gates: Gate) -> Report:
    about = {"recipe": "own", "stage": "rl", "recipe_sha256": "1f3a99", "left_out": []}
    return Report(about=about, gates=gates, circumstances={})


# What a report comes to


@pytest.mark.parametrize(
    ("gate", "outcome"),
    [
        (Gate(name="all", verdicts=[GOOD]), "passed"),
        (Gate(name="one bad", verdicts=[GOOD, BAD]), "missed"),
        (Gate(name="no figure"), "missed"),
        (Gate(name="none", verdicts=[GateVerdict(name="x", figure=None, high=1.0)]), "missed"),
        (Gate(name="error", verdicts=[GOOD], error="it broke"), "missed"),
        (Gate(name="apart", not_applicable="of another kind"), "not applicable"),
    ],
    ids=lambda each: each.name if isinstance(each, Gate) else "",
)
def test_a_gate_passes_where_every_figure_does(gate: Gate, outcome: str) -> None:
    assert gate.outcome == outcome


def test_what_missed_one_gate_stays_experimental() -> None:
    passed, missed = Gate(name="a", verdicts=[GOOD]), Gate(name="b", verdicts=[BAD])
    apart = Gate(name="c", not_applicable="of another kind")
    assert report_of(passed, apart).status == "admitted"
    assert report_of(passed, missed).status == "experimental"
    assert report_of(passed, missed).missed == ["b"]
    assert report_of(apart).status == "experimental", "nothing was held"
    assert report_of().status == "experimental"


def test_what_is_no_number_never_passes_and_is_written() -> None:
    for figure in (float("nan"), float("inf")):
        gate = Gate(name="a", verdicts=[verdict("oracle/loss_relative", figure)])
        assert gate.outcome == "missed"
        json.dumps(gate.plain(), allow_nan=False)


def test_an_error_in_a_gate_is_a_miss_and_the_others_are_held(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_bench: Bench) -> Gate:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(
        runs, "GATES", {"oracle": broken, "first-update": runs.GATES["first-update"]}
    )
    report = admitted(bench, runs.GATES)
    assert [gate.outcome for gate in report.gates] == ["missed", "passed"]
    assert "by nought" in str(report.gates[0].error)
    assert report.missed == ["oracle"]


def test_the_same_again_but_for_circumstances(make_bench: Callable[..., Bench]) -> None:
    def plain(bench: Bench) -> dict[str, Any]:
        found = admitted(bench, ["conditional", "first-update"]).plain()
        assert "hardware" in found.pop("circumstances")
        return found

    bench = make_bench()
    first = plain(bench)
    assert plain(bench) == first
    assert first["seeds"] == {"recipe": 5}
    assert first["shapes"]["context"] == 64
    assert "no evidence of capability" in first["scope"]


# Where it is kept


def test_a_report_is_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    missed = report_of(Gate(name="b", verdicts=[BAD]))
    places = [write_report(missed, None) for _ in range(2)]
    assert [str(place) for place in places] == [
        "admissions/own-rl-1f3a/admission.json",
        "admissions/own-rl-1f3a-2/admission.json",
    ]
    assert json.loads(places[0].read_text())["status"] == "experimental"
    write_report(missed, tmp_path / "here")
    with pytest.raises(LimiteError, match="never overwritten"):
        write_report(missed, tmp_path / "here")


# The page


def test_the_page_has_every_tolerance() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert dict(rows) == {name: each.words for name, each in TOLERANCES.items()}
    for name in runs.GATES:
        assert f"| `{name}` |" in PAGE.read_text(encoding="utf-8")


# Which stage, which budgets


def test_a_stage_that_does_not_sample_and_learn_is_refused() -> None:
    recipe = checked()[0].recipe
    assert stage_to_admit(recipe, None) == "rl"
    with pytest.raises(LimiteError, match=r"'sft' is of type 'sft'.*: rl"):
        stage_to_admit(recipe, "sft")
    with pytest.raises(LimiteError, match="no stage 'rll'; did you mean 'rl'"):
        stage_to_admit(recipe, "rll")


@given(prompt=st.integers(1, 600), most=st.integers(1, 64), context=st.integers(2, 900))
def test_both_budgets_lead_to_one_capacity(prompt: int, most: int, context: int) -> None:
    if prompt >= context:
        prompt = context - 1
    few, many = budgets(prompt, most, context)
    assert 1 <= few <= many <= min(most, context - prompt)

    def capacity(budget: int) -> int:
        request: Any = Request(
            problem=None,  # type: ignore[arg-type]
            sample_index=0,
            prompt_ids=(0,) * prompt,
            budget_tokens=budget,
        )
        return capacity_tokens(request, context)

    assert capacity(few) == capacity(many)
    assert many - few >= (min(most, context - prompt)) // 2 - 2


# The command


def test_no_option_changes_a_tolerance() -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    options.discard("--debug")  # every command has it, once one of them was run
    assert options == {"recipe", "--stage", "--out", "--json"}


def test_a_miss_ends_with_1_and_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Gate(name="oracle", verdicts=[BAD])
    monkeypatch.setattr(
        runs, "GATES", {"conditional": runs.GATES["conditional"], "oracle": lambda _bench: bad}
    )
    out = tmp_path / "out"
    ended = CliRunner().invoke(command, [str(TINY), "--out", str(out)])
    assert isinstance(ended.exception, RunFailed)
    assert ended.exception.exit_code == 1
    assert "stays experimental: missed oracle" in str(ended.exception)
    assert re.search(r"^oracle +figure +2 +<= 1.0 +MISSED$", ended.stdout, re.M)
    found = json.loads((out / "admission.json").read_text())
    assert found["missed"] == ["oracle"]
    again = CliRunner().invoke(command, [str(TINY), "--out", str(out)])
    assert "never overwritten" in str(again.exception)


def test_a_place_that_cannot_be_written_is_told_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bench, "of", lambda *_: pytest.fail("it began"))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LimiteError, match="Not a directory"):
        runs.admit(TINY, checked()[1], out=tmp_path / "file" / "out")


@pytest.mark.nightly
@pytest.mark.parametrize("recipe", ["smoke.toml", "quickstart.py"])
def test_the_first_recipes_are_admitted(recipe: str, tmp_path: Path) -> None:
    """Every gate, with a process of its own for the checkpoint's."""
    place = PAGE.parents[1] / "recipes" / recipe
    ended = CliRunner().invoke(command, [str(place), "--out", str(tmp_path / "out"), "--json"])
    assert ended.exit_code == 0, ended.output
    assert json.loads((tmp_path / "out" / "admission.json").read_text())["status"] == "admitted"


def test_a_model_too_large_to_try_is_told_before_anything_is_built(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_gate, "memory_at_hand", lambda _device: 1 << 16)
    monkeypatch.setattr(Bench, "of", lambda *_: pytest.fail("it was built"))
    report = runs.admit(TINY, checked()[1], out=tmp_path)
    assert report.missed == list(runs.GATES)
    assert report.status == "experimental"
    (memory,) = (gate for gate in report.gates if gate.name == "memory")
    assert "not begun" in memory.recorded["probe"]
