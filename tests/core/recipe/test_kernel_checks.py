"""What runs each operation of a recipe's model: told, refused early, recorded, held to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from limite.core import discover
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.kernels import dispatch, ops, tiles
from limite.core.model.attention import AttentionMixer
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.recipe.check import check_file
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.kernel_checks import NO_MODEL, kernel_survey
from limite.core.recipe.load import load_recipe
from limite.core.registry import Registry

ATTENTION = ("attention", "attention_decode")
TOLD = (
    "indexed_logprob: cpu (tensors on cpu); attention, attention_decode: cpu (tensors on cpu; not "
    "native: kernels in C take heads of a multiple of 16 channels, not 8); rms_norm, add_rms_norm, "
    "qk_norm_rope, swiglu, head_mix: native (compiled for this processor)"
)
CHOSEN = {
    "rms_norm": "native", "add_rms_norm": "native", "swiglu": "native", "qk_norm_rope": "native",
    "head_mix": "native", "indexed_logprob": "cpu", "attention": "cpu", "attention_decode": "cpu",
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(dispatch.VARIABLE, raising=False)


def mistakes(recipe: Path, *overrides: str) -> list[str]:
    with pytest.raises(SettingsError) as told:
        check_file(recipe, overrides, load_registry())
    return [str(mistake) for mistake in told.value.mistakes]


def test_the_plan_tells_what_runs_and_why(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, plan = check_file(tiny, (), load_registry())
    assert plan.kernels_told == TOLD
    assert {op: each.implementation for op, each in plan.kernels.items()} == CHOSEN
    assert plan.plain()["kernels"]["swiglu"] == {
        "implementation": "native",
        "reason": "compiled for this processor",
    }
    assert plan.plain()["kernels"]["indexed_logprob"] == {
        "implementation": "cpu",
        "reason": "tensors on cpu",
    }
    monkeypatch.setenv(dispatch.VARIABLE, "swiglu=reference")
    _, plan = check_file(tiny, (), load_registry())
    assert plan.kernels["swiglu"].implementation == "reference"
    assert plan.kernels_told.startswith("swiglu: reference (LIMITE_KERNELS=swiglu=reference); ind")


def test_an_attention_says_which_operations_it_calls(tiny: Path) -> None:
    class Other(AttentionMixer):
        operations: ClassVar[tuple[str, ...]] = ("simplicial_attention",)

    recipe = load_recipe(tiny).recipe
    assert isinstance(recipe.model, ModelSpec)
    decoder = build_decoder(recipe.model.filled(recipe.tokenizer.vocabulary), device="meta")
    assert set(kernel_survey(recipe, decoder).choices) == {*NO_MODEL, *ATTENTION}
    decoder.add_module("other", Other())
    assert "simplicial_attention" in kernel_survey(recipe, decoder).choices


@pytest.mark.parametrize("family", ["limite", "llama"])
def test_the_model_calls_the_operations_that_are_told(
    family: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: set[str] = set()
    select = ops.select

    def noted(op: str, *arguments: Any) -> Callable[..., Any]:
        called.add(op)
        return select(op, *arguments)

    monkeypatch.setattr(ops, "select", noted)
    sets = ["stages.sft.steps=1", f"model.type={family}"]
    start(tiny, out=tmp_path, only=["sft", "before"], overrides=sets, echo=lambda _line: None)
    _, plan = check_file(tiny, sets, load_registry())
    assert called == set(plan.kernels)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("refrence", ["LIMITE_KERNELS=refrence: no such backend 'refrence'; did you mean"]),
        (
            "triton",
            [
                "LIMITE_KERNELS=triton: 'triton' cannot run rms_norm, add_rms_norm, qk_norm_rope, "
                "swiglu, head_mix, indexed_logprob, attention, attention_decode: compiled kernels "
                "need tensors on a GPU, these are on cpu"
            ],
        ),
        (
            "attention=mine,swiglu=yours",
            [
                "LIMITE_KERNELS=attention=mine,swiglu=yours: unknown kernel 'yours'",
                "LIMITE_KERNELS=attention=mine,swiglu=yours: unknown kernel 'mine'",
            ],
        ),
    ],
)
def test_what_cannot_be_is_told_with_all_other_mistakes(
    asked: str, told: list[str], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(dispatch.VARIABLE, asked)
    wrong = ["stages.sft.steps=0", "model.widht=3", "stages.rl.groups=0"]
    found = mistakes(tiny, *wrong)
    assert len(found) == len(wrong) + len(told)
    for line in told:
        assert any(each.startswith(line) for each in found), found
    assert len(mistakes(tiny)) == len(told)


def test_a_run_refuses_before_it_leaves_anything(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(dispatch.VARIABLE, "triton")
    with pytest.raises(SettingsError, match="compiled kernels need tensors on a GPU"):
        start(tiny, out=tmp_path / "runs", echo=lambda _line: None)
    assert not (tmp_path / "runs").exists()


def test_a_run_records_what_it_ran_with(finished: RunResult) -> None:
    receipt = json.loads((finished.path / "receipt.json").read_text())
    assert receipt["kernels"] == CHOSEN
    assert receipt["tiles_sha256"] == tiles.table_hash()
    first = (finished.path / "log.txt").read_text().splitlines()[0]
    assert first.endswith(f" kernels: {TOLD}")


def test_a_run_goes_on_only_with_what_it_began_with(
    finished: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(finished.path, copy)
    monkeypatch.setenv(dispatch.VARIABLE, "swiglu=reference")
    with pytest.raises(LimiteError, match=r"kernels\.swiglu: \"native\" -> \"reference\"") as told:
        go_on(copy)
    assert "attention" not in str(told.value)
    monkeypatch.setenv(dispatch.VARIABLE, "triton")
    with pytest.raises(LimiteError, match="'triton' cannot run rms_norm, "):
        go_on(copy)
    # Named or not, it is the same code.
    named = ",".join(f"{op}={name}" for op, name in CHOSEN.items())
    monkeypatch.setenv(dispatch.VARIABLE, named)
    go_on(copy, echo=lambda _line: None)
    assert (copy / "log.txt").read_text().count(f"native (LIMITE_KERNELS={named})") == 1
    monkeypatch.delenv(dispatch.VARIABLE)
    tile = tiles.Tile({"BLOCK": 16})
    with (
        tiles.use(rms_norm_forward=tile),
        pytest.raises(LimiteError, match='tiles_sha256: "'),
    ):
        go_on(copy)


PLUGIN = """
    from typing import ClassVar

    import attrs
    from limite import hookimpl
    from limite.core.kernels.cpu.swiglu import swiglu

    @attrs.frozen(kw_only=True)
    class Same:
        '''The one for the CPU by another name.'''

        op: ClassVar[str] = "swiglu"

        def __call__(self, gate, up):
            return swiglu(gate, up)

    @hookimpl
    def limite_register(registry):
        registry.kernel("same", Same)
"""


def test_the_receipt_names_the_distribution_of_a_plugins_kernel(
    tiny: Path, tmp_path: Path, install: Any, digest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = [point for point in discover.entry_points(group="limite") if point.name == "builtin"]
    registry: Registry = discover.build_registry([*mine, *install("limite-same", PLUGIN)])
    monkeypatch.setattr(discover, "load_registry", lambda: registry)
    monkeypatch.setattr("limite.core.recipe.engine.load_registry", lambda: registry)
    monkeypatch.setenv(dispatch.VARIABLE, "swiglu=same")
    sets = ["stages.sft.steps=1"]
    run = start(tiny, out=tmp_path, only=["sft"], overrides=sets, echo=lambda _line: None)
    receipt = json.loads((run.path / "receipt.json").read_text())
    assert receipt["kernels"]["swiglu"] == "same"
    assert receipt["plugins"]["limite-same"] == "1.5"
    monkeypatch.setenv(dispatch.VARIABLE, "swiglu=cpu")
    plain = start(tiny, out=tmp_path, only=["sft"], overrides=sets, echo=lambda _line: None)
    assert digest(plain.path) == digest(run.path)
    assert "limite-same" not in json.loads((plain.path / "receipt.json").read_text())["plugins"]


def test_a_model_without_kernels_of_its_own_is_still_told(tiny: Path) -> None:
    half = attrs.evolve(load_recipe(tiny).recipe)
    assert set(kernel_survey(half, None).choices) == set(NO_MODEL)
