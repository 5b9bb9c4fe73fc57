"""One bit that flips anywhere in a checkpoint is noticed, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limite.core.checkpoint.manifest import read_manifest, verify
from limite.core.checkpoint.read import newest_checkpoint, read_checkpoint
from limite.core.checkpoint.write import write_checkpoint
from limite.core.errors import LimiteError

Save = Callable[..., Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints whose contract holds numbers that JSON can write in several ways."""
    place = tmp_path_factory.mktemp("flips")
    for step in (1, 2):
        write_checkpoint(
            place,
            step,
            {"model": {"w": torch.arange(9.0) * step}, "optimizer": {"m": torch.full((4,), step)}},
            {"clocks": {"step": step, "time_s": 1e-5}},
            {"lr": 1e-05, "name": "caf\u00e9", "half": "\ud800", "scale": 1e22},
            2,
        )
    return place


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_is_noticed(folder: Path, data: st.DataObject) -> None:
    newest = folder / "step-000002"
    place = data.draw(st.sampled_from(sorted(newest.iterdir())), label="file")
    good = place.read_bytes()
    bit = data.draw(st.integers(0, 8 * len(good) - 1), label="bit")
    bad = bytearray(good)
    bad[bit // 8] ^= 1 << bit % 8
    place.write_bytes(bad)
    try:
        for look in (verify, read_checkpoint):
            with pytest.raises(LimiteError, match="step-000002"):
                look(newest)
        said: list[str] = []
        found = newest_checkpoint(folder, echo=said.append)
        assert found is not None
        assert (found.step, len(said)) == (1, 1)
    finally:
        place.write_bytes(good)


def test_no_letter_of_a_manifest_changes_its_case(folder: Path) -> None:
    """1E-05 is 1e-05, and both have the same hash once they are read."""
    newest = folder / "step-000002"
    place = newest / "manifest.json"
    good = place.read_bytes()
    assert b"1e-05" in good
    assert b"\\ud800" in good
    missed = []
    for at, byte in enumerate(good):
        if chr(byte).isalpha():
            place.write_bytes(good[:at] + bytes([byte ^ 0x20]) + good[at + 1 :])
            try:
                read_manifest(newest)
                missed.append(good[at - 9 : at + 9])
            except LimiteError:
                pass
    place.write_bytes(good)
    assert missed == []
    read_manifest(newest)
