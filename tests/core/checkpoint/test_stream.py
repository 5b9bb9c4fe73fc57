"""Payloads read tensor by tensor are what was saved, and what was verified."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.checkpoint.write import write_checkpoint
from limite.core.errors import LimiteError


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    weight = torch.arange(12.0).reshape(3, 4)
    model = {
        "embed": weight,
        "head": weight,  # tied
        "scale": torch.tensor(0.5, dtype=torch.bfloat16),
        "none": torch.empty(0, 3),
        "step": torch.tensor(7),
    }
    return write_checkpoint(tmp_path, 3, {"model": model, "other": {"x": weight}}, {}, {}, 1)


def test_every_tensor_comes_once_under_each_of_its_names(saved: Path) -> None:
    whole = read_checkpoint(saved)
    later = read_checkpoint(saved, later=("model",))
    assert set(later.payloads) == {"other"}
    found = list(later.streamed("model"))
    assert sorted(name for name, _ in found) == ["embed", "head", "none", "scale", "step"]
    for name, tensor in found:
        wanted = whole.payloads["model"][name]
        assert tensor.dtype == wanted.dtype
        assert torch.equal(tensor, wanted)


def test_a_broken_payload_is_refused_though_it_is_to_be_streamed(saved: Path) -> None:
    file = saved / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(LimiteError, match="does not match the manifest's hash"):
        read_checkpoint(saved, later=("model",))
    file.write_bytes(bytes(data[:-4]))
    with pytest.raises(LimiteError, match="bytes where the manifest says"):
        read_checkpoint(saved, only=())


def test_a_file_that_changes_after_it_was_verified_is_refused(saved: Path) -> None:
    streamed = read_checkpoint(saved, later=("model",)).streamed("model")
    file = saved / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(LimiteError, match="does not match the manifest's hash"):
        list(streamed)
    file.write_bytes(bytes(data) + b"more")
    with pytest.raises(LimiteError, match="bytes where the manifest says"):
        list(streamed)
    file.write_bytes(bytes(data[:-4]))
    with pytest.raises(LimiteError, match="cut short while it was read"):
        list(streamed)
    file.unlink()
    with pytest.raises(LimiteError, match=r"model\.safetensors"):
        list(streamed)
