"""The benchmark of memory runs, and both ways of an update are the same update."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from benchmarks import memory


@pytest.mark.nightly  # a process for each of them
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells a process how much it has held")
def test_it_measures_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.main(["--tiny", "--json", "-"]) == 0
    page = json.loads(capsys.readouterr().out)
    told = [(each["what"], each["way"]) for each in page["rows"]]
    assert told == [
        ("update", "limite"), ("update", "all logits"), ("load", "limite"), ("load", "all tensors"),
    ]  # fmt: skip
    for each in page["rows"]:
        assert 0 < each["before_mib"] <= each["peak_mib"]
        assert each["way"] in "\n".join(memory.shown([memory.Held(**each)]))


def test_both_ways_make_the_same_update() -> None:
    decoders = [memory.new_decoder(64) for _ in range(2)]
    for way, decoder in zip(("limite", "all logits"), decoders, strict=True):
        memory.update(way, decoder, 1024)()
    ours, theirs = ([each.grad for each in decoder.parameters()] for decoder in decoders)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)
