"""``limite golden`` tells how far a decoder is off, and what a golden file lacks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from limite.core.cli.golden import golden
from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.pretrained.golden import NUMBERS, TOLERANCES, Golden

SOURCE = Path(__file__).parents[2] / "golden"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for ending in ("json", "safetensors"):
        shutil.copyfile(SOURCE / f"limite_tiny.{ending}", tmp_path / f"tiny.{ending}")
    return tmp_path / "tiny.json"


def change_tensors(path: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    beside = path.with_suffix(".safetensors")
    tensors = load_file(beside)
    change(tensors)
    save_file(tensors, beside)


def change_json(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))


def test_the_golden_decoder_passes_in_every_dtype(copy: Path) -> None:
    result = CliRunner().invoke(golden, [str(copy), "--json"], catch_exceptions=False)
    rows = json.loads(result.output)
    assert [row["run"] for row in rows] == ["float32"] * 8 + ["float64"] * 8 + ["bfloat16"]
    assert all(row["passed"] and row["found"] <= row["limit"] for row in rows)
    table = CliRunner().invoke(golden, [str(copy)], catch_exceptions=False).output
    assert table.count(" ok") == len(rows)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("logits", "logits"),
        ("residual_states", "streams after every layer"),
        ("attn_inputs", "attention inputs"),
        ("final_hidden", "final hidden states"),
        ("next_token_logprob", "log-probabilities"),
    ],
)
def test_one_number_that_is_off_is_found(copy: Path, name: str, what: str) -> None:
    def shift(tensors: dict[str, torch.Tensor]) -> None:
        tensors[f"golden.{name}"].view(-1)[7] += 1e-3

    change_tensors(copy, shift)
    found = {(row.run, row.what): row for row in Golden.read(copy).compare()}
    assert not found["float32", what].passed
    assert found["float32", what].found == pytest.approx(1e-3, rel=0.05)
    with pytest.raises(RunFailed, match="of 17 differences are above their tolerance"):
        CliRunner().invoke(golden, [str(copy)], catch_exceptions=False)


def test_another_token_and_a_number_that_is_none_are_found(copy: Path) -> None:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        tensors["golden.greedy_tokens"][1, 3] += 1
        tensors["golden.final_hidden"][0, 0, 0] = float("nan")

    change_tensors(copy, change)
    found = {(row.run, row.what): row for row in Golden.read(copy).compare()}
    assert found["float64", "greedy tokens that differ"].found == 1
    assert not found["float64", "greedy tokens that differ"].passed
    assert not found["float32", "final hidden states"].passed


def test_all_that_is_missing_is_told_at_once(copy: Path) -> None:
    change_json(copy, lambda about: (about.pop("config"), about["tolerances"].clear()))
    change_tensors(copy, lambda tensors: [tensors.pop(f"golden.{name}") for name in NUMBERS])
    with pytest.raises(SettingsError) as caught:
        Golden.read(copy)
    assert {mistake.path for mistake in caught.value.mistakes} == {
        "config",
        *(f"tolerances.{name}" for name in TOLERANCES),
        *(f"golden.{name}" for name in NUMBERS),
    }


def test_what_does_not_fit_together_is_refused(copy: Path) -> None:
    change_json(copy, lambda about: about.update(cached_chunk_schedule=[9, 1]))
    with pytest.raises(SettingsError, match="adds up to 10, not 24"):
        Golden.read(copy)
    change_json(copy, lambda about: about.update(cached_chunk_schedule=[24]))

    def wrong_ids(tensors: dict[str, torch.Tensor]) -> None:
        tensors["golden.input_ids"][0, 0] = 128

    change_tensors(copy, wrong_ids)
    with pytest.raises(LimiteError, match="ids from 0 to 127"):
        Golden.read(copy).compare()
    change_json(copy, lambda about: about["config"].update(num_hidden_layers=9, surprise=1))
    with pytest.raises(SettingsError, match="surprise: unknown field"):
        Golden.read(copy).compare()


def test_files_that_cannot_be_read_are_refused(copy: Path) -> None:
    with pytest.raises(LimiteError, match="there is no such file"):
        Golden.read(copy.with_name("other.json"))
    beside = copy.with_suffix(".safetensors")
    beside.write_bytes(beside.read_bytes()[:-1])
    with pytest.raises(LimiteError, match=r"tiny\.safetensors: .*the file is cut short"):
        Golden.read(copy)
    beside.unlink()
    with pytest.raises(LimiteError, match=r"tiny\.safetensors: no such file"):
        Golden.read(copy)
