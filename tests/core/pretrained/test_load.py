"""Checkpoints as a decoder's parameters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from limite.core.errors import LimiteError, SettingsError
from limite.core.model.init import build_decoder
from limite.core.pretrained.directory import file_name, load_checkpoint
from limite.core.pretrained.families.limite import spec_from_config
from limite.core.pretrained.load import load_parameters, mismatches
from limite.core.pretrained.tensor_directory import TensorDirectory, write_tensor_directory

GOLDEN = Path(__file__).parents[2] / "golden"

Store = Callable[[Mapping[str, Tensor]], TensorDirectory]


class Small(nn.Module):
    """A table, a matrix and a scalar."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(4, 3, dtype=torch.bfloat16, device=device))
        self.weight = nn.Parameter(torch.zeros(2, 3, device=device))
        self.scale = nn.Parameter(torch.zeros((), device=device), requires_grad=False)


NAMES = {"table": "model.table", "weight": "model.weight", "scale": "model.scale"}
TIED = {"lm_head.weight": "model.table"}
VALUES = {
    "model.table": torch.arange(12.0).reshape(4, 3) / 7,
    "model.weight": torch.arange(6.0).reshape(2, 3).bfloat16(),
    "model.scale": torch.tensor(0.1),
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """``store(values)`` writes a directory of shards and opens it."""

    def write(values: Mapping[str, Tensor]) -> TensorDirectory:
        write_tensor_directory(tmp_path / "model", values, shard_bytes=30)
        return TensorDirectory.open(tmp_path / "model")

    return write


def test_values_are_rounded_to_the_parameters_or_keep_their_dtypes(store: Store) -> None:
    tensors = store(VALUES)
    model = Small()
    before = dict(model.named_parameters())
    load_parameters(model, tensors, NAMES)
    assert model.table.dtype == torch.bfloat16
    assert torch.equal(model.table, VALUES["model.table"].bfloat16())
    assert torch.equal(model.weight, VALUES["model.weight"].float())
    assert torch.equal(model.scale, VALUES["model.scale"])
    load_parameters(model, tensors, NAMES, dtypes="keep")
    for name, parameter in model.named_parameters():
        assert parameter is before[name]
        assert parameter.dtype == VALUES[NAMES[name]].dtype
        assert torch.equal(parameter, VALUES[NAMES[name]])
        assert parameter.requires_grad == (name != "scale")


def test_on_the_meta_device_nothing_is_read(store: Store) -> None:
    tensors = store(VALUES)
    model = Small("meta")
    for file in tensors.files.values():
        file.path.unlink()
    load_parameters(model, tensors, NAMES)
    assert model.table.dtype == torch.bfloat16
    load_parameters(model, tensors, NAMES, dtypes="keep")
    assert {name: parameter.dtype for name, parameter in model.named_parameters()} == {
        name: VALUES[NAMES[name]].dtype for name in NAMES
    }
    assert model.table.is_meta


def test_all_that_does_not_match_is_told_at_once_and_nothing_is_read(store: Store) -> None:
    wrong = {
        "model.tabel": VALUES["model.table"],
        "model.weight": torch.ones(3, 2),
        "model.scale": torch.tensor(1),
        "lm_head.bias": torch.ones(1),
    }
    tensors = store(wrong)
    model = Small()
    with pytest.raises(SettingsError) as caught:
        load_parameters(model, tensors, NAMES, tied=TIED)
    said = {mistake.path + ": " + mistake.message for mistake in caught.value.mistakes}
    assert said == {
        "model.tabel: this model has no such tensor; did you mean 'model.table'?",
        "lm_head.bias: this model has no such tensor",
        "model.table: missing; did you mean 'model.tabel'?",
        "model.weight: expected shape [2, 3], got [3, 2]",
        "model.scale: expected torch.float32, got torch.int64",
    }
    for mistake in caught.value.mistakes:
        assert mistake.file is not None
        assert mistake.file.startswith(str(tensors.path))
    assert not any(parameter.any() for parameter in model.parameters())


def test_a_long_list_of_mistakes_is_cut(store: Store) -> None:
    tensors = store({f"other.{n}": torch.ones(1) for n in range(40)})
    with pytest.raises(SettingsError, match="and 23 more mistakes") as caught:
        load_parameters(Small(), tensors, NAMES)
    assert len(caught.value.mistakes) == 21


def test_a_tied_copy_must_be_the_same(store: Store) -> None:
    table = VALUES["model.table"]
    model = Small()
    tensors = store(VALUES | {"lm_head.weight": table})
    load_parameters(model, tensors, NAMES, tied=TIED)
    assert torch.equal(model.table, table.bfloat16())
    assert not mismatches(model, tensors, NAMES, tied=TIED)
    with pytest.raises(LimiteError, match=r"lm_head\.weight: this model has no such tensor"):
        load_parameters(model, tensors, NAMES)


@pytest.mark.parametrize("other", ["value", "dtype", "shape"])
def test_a_tied_copy_that_differs_is_refused(store: Store, other: str) -> None:
    copy = VALUES["model.table"].clone()
    copy[3, 2] += 1e-6
    copy = {"value": copy, "dtype": copy.double(), "shape": copy[:3].clone()}[other]
    tensors = store(VALUES | {"lm_head.weight": copy, "spare": copy})
    model = Small()
    told = mismatches(model, tensors, NAMES, tied=TIED)
    assert [mistake.path for mistake in told] == ["spare", "lm_head.weight"]
    with pytest.raises(LimiteError, match=r"lm_head\.weight: differs from model\.table, which"):
        load_parameters(model, tensors, NAMES, tied=TIED)
    assert not model.table.any()


def test_derived_tensors_are_not_read_and_may_be_anything(store: Store) -> None:
    tensors = store(VALUES | {"model.freq": torch.ones(3), "model.frequent": torch.ones(3)})
    model = Small()
    with pytest.raises(SettingsError) as caught:
        load_parameters(model, tensors, NAMES, derived={"model.freq", "elsewhere"})
    assert [mistake.path for mistake in caught.value.mistakes] == ["model.frequent"]
    load_parameters(model, tensors, NAMES, derived={"model.freq", "model.frequent"})
    assert torch.equal(model.weight, VALUES["model.weight"].float())


def test_a_tied_copy_may_stand_for_what_it_is_a_copy_of(store: Store) -> None:
    values = {name: value for name, value in VALUES.items() if name != "model.table"}
    tensors = store(values | {"lm_head.weight": VALUES["model.table"]})
    model = Small()
    load_parameters(model, tensors, NAMES, tied=TIED)
    assert torch.equal(model.table, VALUES["model.table"].bfloat16())


def test_the_published_models_whole_inventory_is_loaded_on_the_meta_device(tmp_path: Path) -> None:
    inventory = json.loads((GOLDEN / "limite_1b_inventory.json").read_text())
    spec = spec_from_config(inventory["config"])
    header, end = {}, 0
    for name, (dtype, shape) in inventory["tensors"].items():
        begin, end = end, end + torch.Size(shape).numel() * {"BF16": 2, "F32": 4}[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)  # a hole: it takes no room on the disk
    tensors = TensorDirectory.open(tmp_path)
    assert tensors.total_bytes == inventory["tensor_bytes"] == 2_070_734_464
    assert len(tensors.names) == 743
    for dtypes in ("keep", "round"):
        decoder = build_decoder(spec, dtype=torch.bfloat16, device="meta")
        load_checkpoint(decoder, tensors, dtypes=dtypes)
        kinds = {torch.bfloat16: "BF16", torch.float32: "F32"}
        assert {
            file_name(name): [kinds[value.dtype], list(value.shape)]
            for name, value in decoder.named_parameters()
        } == inventory["tensors"]
