"""``limite golden`` on a file of objectives: what is wrong is found, and told by name."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from click.testing import CliRunner

from limite.core.cli.golden import golden
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.hookspecs import Registration
from limite.core.registry import Registry
from limite.core.types import Loss, TokenBatch
from limite.plugins.golden import KINDS, Report, is_vectors, read_vectors, run_vectors

PUBLISHED = Path(__file__).parents[2] / "golden" / "objectives.json"
GOLDEN = json.loads(PUBLISHED.read_text())
ONE = {
    kind: next(case for case in GOLDEN["cases"] if case["kind"] == kind)
    for kind in {case["kind"] for case in GOLDEN["cases"]}
}


def vectors(*cases: dict[str, Any]) -> dict[str, Any]:
    return {**GOLDEN, "cases": list(copy.deepcopy(cases))}


def changed(case: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    other = copy.deepcopy(case)
    change(other)
    return other


def run(*cases: dict[str, Any], registry: Registry | None = None) -> Report:
    return run_vectors(vectors(*cases), registry or load_registry())


def put(path: Path, about: dict[str, Any]) -> Path:
    path.write_text(json.dumps(about), encoding="utf-8")
    return path


def with_objective(name: str, target: type[Any]) -> Registry:
    """What is installed, and an objective of the distribution ``limite-pull``."""
    registry = Registry()
    for entry in load_registry().entries():
        plain = Registration(kind=entry.kind, name=entry.name, target=entry.target)
        registry.add([plain], distribution=entry.distribution)
    mine = [Registration(kind="objective", name=name, target=target)]
    registry.add(mine, distribution="limite-pull", version="1")
    return registry


def reasons(report: Report) -> str:
    return "\n".join(why for outcome in report.failed for why in outcome.failures)


def nudged(value: Any) -> Any:
    """The same numbers, the first of them off by a thousandth of itself, or of 1."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return [nudged(value[0]), *value[1:]]
    return "other" if isinstance(value, str) else value + 1e-3 * max(1.0, abs(value))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind, case in sorted(ONE.items())
        if kind not in ("first_finisher_share", "must_raise")
        for name, value in case["expected"].items()
        if value is not None and name != "metrics"
    ],
)
def test_every_expectation_is_held_to(kind: str, name: str) -> None:
    """One number off by a thousandth fails the case, and the failure names it."""

    def change(case: dict[str, Any]) -> None:
        case["expected"][name] = nudged(case["expected"][name])

    report = run(changed(ONE[kind], change))
    assert {outcome.dtype for outcome in report.failed} == {
        outcome.dtype for outcome in report.outcomes
    }
    assert all(outcome.failures[0].startswith(name) for outcome in report.failed)


@pytest.mark.parametrize("name", sorted(ONE["policy"]["expected"]["metrics"]))
def test_every_metric_is_held_to(name: str) -> None:
    def change(case: dict[str, Any]) -> None:
        case["expected"]["metrics"][name] += 1e-3

    assert f"metrics.{name}: expected" in reasons(run(changed(ONE["policy"], change)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c["params"].update(eps_hihg=0.3), "no setting 'eps_hihg'; did you mean 'eps_hi"),
        (lambda c: c["params"].update(preset="grop"), "unknown preset 'grop'; did you mean 'grpo'"),
        (lambda c: c["params"].update(objective="gpso"), "unknown objective 'gpso'; did you mean"),
        (lambda c: c["params"].pop("preset"), "must name an objective"),
        (lambda c: c["params"].update(loss="hinge"), "unknown loss 'hinge'"),
        (lambda c: c["expected"].update(grad_lgp=[]), "nothing reads expected.grad_lgp; did you"),
        (lambda c: c["inputs"].update(entropy=c["inputs"]["logp"]), "reads no column 'entropy'"),
        (lambda c: c["inputs"].pop("logp"), "lacks; it has"),
        (lambda c: c["inputs"].pop("mask"), "needs inputs.mask"),
        (lambda c: c["inputs"].update(mask="all"), "'all' is no number"),
        (lambda c: c["inputs"].update(mask=[[1], [1, 1]]), "lists of equal lengths"),
        (lambda c: c["expected"]["metrics"].update(ratio=1.0), "reports no 'ratio/ratio'"),
        (lambda c: c["expected"].update(loss=[0.1, 0.2]), "expected numbers of shape [2], got []"),
        (lambda c: c["expected"].update(loss="NaN"), "loss: expected nan, got"),
        (lambda c: c["expected"].update(loss=None), "loss: expected undefined, got"),
        (lambda c: c["expected"].clear(), "it expects nothing"),
    ],
)
def test_a_case_that_says_something_wrong_is_told(
    change: Callable[[dict[str, Any]], Any], told: str
) -> None:
    assert told in reasons(run(changed(ONE["policy"], change)))


def test_a_refusal_must_be_one_of_the_component() -> None:
    case = ONE["must_raise"]
    assert not run(case).failed
    sound = changed(case, lambda c: c["inputs"].update(logp=[[-0.5, -0.1], [-0.2, -0.3]]))
    assert "raises: expected True, got False" in reasons(run(sound))
    # A case that is itself wrong is not one that was refused.
    wrong = changed(case, lambda c: c["params"].update(eps_mid=1.0))
    assert "no setting 'eps_mid'" in reasons(run(wrong))


def test_unknown_kinds_are_told_and_what_is_known_runs(tmp_path: Path) -> None:
    other = changed(ONE["kl"], lambda c: c.update(kind="policies", id="kl/other"))
    place = put(tmp_path / "v.json", vectors(ONE["kl"], other))
    result = CliRunner().invoke(golden, [str(place)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "not run: kl/other (kind 'policies'; did you mean 'policy'?)" in result.output
    rows = [line.split() for line in result.output.splitlines()]
    assert ["policies", "-", "1", "0", "-", "not", "installed"] in rows
    as_json = CliRunner().invoke(golden, [str(place), "--json"], catch_exceptions=False)
    (told,) = json.loads(as_json.output)["not_installed"]
    assert told["ids"] == ["kl/other"]
    alone = put(tmp_path / "alone.json", vectors(other))
    with pytest.raises(RunFailed, match="no case of the file could be run"):
        CliRunner().invoke(golden, [str(alone)], catch_exceptions=False)


def test_the_published_file_passes_and_its_table_counts_every_case() -> None:
    result = CliRunner().invoke(golden, [str(PUBLISHED), "--json"], catch_exceptions=False)
    told = json.loads(result.output)
    run_ids = {outcome["id"] for outcome in told["outcomes"]}
    left = {each for kind in told["not_installed"] for each in kind["ids"]}
    assert run_ids | left == {case["id"] for case in GOLDEN["cases"]}
    assert left == {"scheduler/first_finisher_long_share"}
    assert all(outcome["passed"] for outcome in told["outcomes"])


def test_failures_are_listed_by_id_and_end_with_1(tmp_path: Path) -> None:
    wrong = changed(ONE["kl"], lambda c: c["expected"]["k1"][0].__setitem__(0, 9.0))
    place = put(tmp_path / "v.json", vectors(wrong, ONE["soup"]))
    runner = CliRunner()
    result = runner.invoke(golden, [str(place)])
    assert isinstance(result.exception, RunFailed)
    assert result.exception.exit_code == 1
    assert str(result.exception) == "1 of 2 cases failed"
    assert "kl/estimators  float64  k1: expected 9 at [0, 0], got -0.709383" in result.output
    assert "kl/estimators  float32  k1:" in result.output


def test_a_malformed_file_is_told_whole(tmp_path: Path) -> None:
    about = vectors(ONE["kl"], ONE["kl"], ONE["soup"])
    del about["cases"][2]["inputs"], about["tolerances"], about["version"]
    about["format"] = "other"
    with pytest.raises(SettingsError) as caught:
        read_vectors(put(tmp_path / "v.json", about))
    for told in ("format", "version", "tolerances.float32.atol", "cases[1].id", "cases[2].inputs"):
        assert told in str(caught.value)
    with pytest.raises(SettingsError, match="expected a list of cases, not empty"):
        read_vectors(put(tmp_path / "none.json", {**about, "cases": []}))
    with pytest.raises(LimiteError, match="there is no such file"):
        read_vectors(tmp_path / "absent.json")
    assert is_vectors({"format": "limite-golden-objectives"})
    assert not is_vectors({"config": {}})


@attrs.frozen(kw_only=True)
class Pull:
    """Squared distance to a column of its own, with a metric of its own."""

    needs = frozenset({"goal"})
    weight: float = 1.0

    def __call__(self, batch: TokenBatch) -> Loss:
        far = batch.logp - batch.column("goal")
        metrics = batch.metrics({"pull/distance_nats": far.abs()})
        return Loss(value=self.weight * batch.mean(far.square()), metrics=metrics)


def test_a_third_party_publishes_vectors_for_its_objective() -> None:
    registry = with_objective("pull", Pull)
    case = {
        "id": "pull/one",
        "kind": "policy",
        "params": {"objective": "limite-pull/pull", "weight": 2.0},
        "inputs": {"logp": [[-1.0, -2.0]], "goal": [[-1.5, "NaN"]], "mask": [[1, 0]]},
        "expected": {
            "loss": 0.5,
            "grad_logp": [[2.0, 0.0]],
            "metrics": {"pull/distance_nats": 0.5, "tokens": 1},
        },
    }
    assert reasons(run(case, registry=registry)) == ""
    wrong = changed(case, lambda c: c["params"].update(weight=1.0))
    assert "loss: expected 0.5, got 0.25" in reasons(run(wrong, registry=registry))
    assert "unknown objective 'limite-pull/pull'" in reasons(run(case))


def test_rewards_go_through_the_advantage_that_belongs_to_an_objective() -> None:
    """Without settings of its own a case takes the method whole."""
    case = copy.deepcopy(ONE["policy"])
    for name in ("baseline", "scale", "std_ddof", "std_eps", "loss", "preset"):
        case["params"].pop(name)
    case["params"]["objective"] = "grpo"
    assert not run(case).failed
    case["params"]["objective"] = "dr-grpo"
    case["params"]["aggregation"] = "constant"
    assert "advantages" in reasons(run(case))
    given = changed(case, lambda c: c["inputs"].pop("rewards"))
    given["params"]["objective"], given["params"]["aggregation"] = "grpo", "seq_mean_token_mean"
    given["inputs"]["advantages"] = given["expected"].pop("advantages")
    for name in ("contrast", "contrast_share"):
        given["expected"].pop(name)
    assert not run(given).failed
    given["params"]["objective"] = "ppo-critic"
    assert not run(given).failed
    case["params"]["objective"] = "ppo-critic"
    assert "give inputs.advantages" in reasons(run(case))


def test_a_wrong_dtype_of_a_loss_is_told() -> None:
    @attrs.frozen(kw_only=True)
    class Narrow(Pull):
        def __call__(self, batch: TokenBatch) -> Loss:
            return Loss(value=batch.mean(batch.logp).to(torch.bfloat16))

    registry = with_objective("narrow", Narrow)
    case = {
        "id": "narrow",
        "kind": "policy",
        "params": {"objective": "narrow"},
        "inputs": {"logp": [[-1.0]], "mask": [[1]]},
        "expected": {"loss": -1.0},
    }
    assert "loss: expected torch.float64, got torch.bfloat16" in reasons(
        run(case, registry=registry)
    )


def test_the_example_publishes_numbers_that_it_meets() -> None:
    example = Path(__file__).parents[3] / "examples" / "limite-softclip"
    code: dict[str, Any] = {"__name__": "limite_softclip"}
    exec((example / "limite_softclip.py").read_text(encoding="utf-8"), code)
    about = read_vectors(example / "golden.json")
    report = run_vectors(about, with_objective("softclip", code["SoftClip"]))
    assert reasons(report) == ""
    assert len(report.outcomes) == 2 * len(about["cases"])


def test_the_guide_names_every_kind() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "plugins.md").read_text(encoding="utf-8")
    told = guide.partition("## Golden numbers")[2].partition("\n## ")[0]
    assert all(f"`{kind}`" in told for kind in KINDS)
