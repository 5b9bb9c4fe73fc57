"""The benchmark of decoding steps runs, and counts what the formulas say."""

from __future__ import annotations

import json

import pytest

from benchmarks import attention_steps


def test_it_runs_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert attention_steps.main(["--tiny", "--json", "-"]) == 0
    (step,) = json.loads(capsys.readouterr().out)
    heads, kv_heads, width = 10, 2, 128
    own = 2 * 2 * (kv_heads * width) * 1280  # two projections of the layer's own
    assert step["window_mflop"] * 1e6 == pytest.approx(4 * heads * width * 5)
    assert step["simplicial_mflop"] * 1e6 == pytest.approx(own + 4 * heads * width * 5 * 2)
    assert step["window_cache_kib"] * 1024 == 4 * 2 * kv_heads * width * 5
    assert step["simplicial_cache_kib"] * 1024 == 4 * 2 * kv_heads * width * (5 + 2)
    assert min(step["window_ms"], step["simplicial_ms"], step["times"]) > 0
    assert attention_steps.main(["--tiny"]) == 0
    assert "5 x 2" in capsys.readouterr().out
