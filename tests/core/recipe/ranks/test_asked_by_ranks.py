"""Several ranks and a server: rank 0 alone asks it and pushes the weights, whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.jsonl import read_jsonl
from limite.core.tokenizer import CharacterTokenizer
from limite.plugins.conformance.model_server import ModelServer
from tests.core.recipe.ranks.test_ranked_runs import carried_out, order, tensors

REMOTE = Path(__file__).parents[1] / "remote.toml"
PUSH = "/update_weights_from_disk"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(CharacterTokenizer()) as found:
        monkeypatch.setenv("LIMITE_TEST_ENGINE", found.url)
        yield found


def sampled(run: Path) -> list[Any]:
    places = sorted((run / "stages/01-rl/rollouts").iterdir())
    return [line["completion_ids"] for place in places for line in read_jsonl(place)]


@pytest.mark.nightly
def test_a_server_is_asked_by_one_rank_for_all(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(REMOTE.read_text())
    asked = []
    for name, ranks, more in (("one", 1, ()), ("two", 2, ()), ("sharded", 2, ("--shard",))):
        before = len(server.asked)
        done = carried_out({name: order(tmp_path, name, ranks, *more)})
        assert set(done[name]["codes"]) == {0}, done[name]["said"]
        asked.append([path for path, _ in server.asked[before:]])
    assert asked[0].count(PUSH) == 3
    assert sorted(asked[1]) == sorted(asked[2]) == sorted(asked[0])
    wanted = tensors(tmp_path / "one")
    for name in ("two", "sharded"):
        assert sampled(tmp_path / name) == sampled(tmp_path / "one")
        found = tensors(tmp_path / name)
        assert found.keys() == wanted.keys()
        for each, tensor in wanted.items():
            torch.testing.assert_close(found[each], tensor, rtol=0, atol=1e-6, msg=each)
