"""Advantages, returns and run lengths, against stored numbers and plain loops."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.scans import RunLengths, discounted_returns, gae, run_lengths

GOLDEN = Path(__file__).parents[2] / "golden" / "objectives.json"
CASES = [case for case in json.loads(GOLDEN.read_text())["cases"] if case["kind"] == "gae"]


def _tensor(nested: Any) -> Tensor:
    return torch.tensor([[float(number) for number in row] for row in nested], dtype=torch.float64)


@pytest.mark.parametrize("name", ["reference", "cpu"])
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_golden(case: dict[str, Any], name: str) -> None:
    inputs, expected = case["inputs"], case["expected"]
    rewards, values, mask = (_tensor(inputs[each]) for each in ("rewards", "values", "mask"))
    lam = torch.tensor(expected["lambda_used"], dtype=torch.float64)
    gamma, goes_on = case["params"]["gamma"], torch.ones_like(mask)
    with ops.use(name):
        found = gae(rewards, values, goes_on, gamma=gamma, lam=lam, active=mask)
        torch.testing.assert_close(found, _tensor(expected["advantages"]), rtol=1e-9, atol=1e-12)
        if mask.bool().all(1).any():
            whole = mask.bool().all(1)
            returns = discounted_returns(rewards[whole], goes_on[whole], gamma=gamma)
            wanted = _tensor(expected["monte_carlo_returns"])[whole]
            torch.testing.assert_close(returns, wanted, rtol=1e-9, atol=1e-12)
            # Without a mask the same rows give the same numbers.
            bare = gae(rewards[whole], values[whole], goes_on[whole], gamma=gamma, lam=lam[whole])
            torch.testing.assert_close(bare, found[whole], rtol=1e-9, atol=1e-12)


numbers = st.sampled_from((0.0, 1.0, -1.0, 0.5, 3.25, -20.0))


@given(st.data())
def test_advantages_follow_the_recursion(data: st.DataObject) -> None:
    rows, tokens = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 9))

    def drawn(of: st.SearchStrategy[float], width: int = tokens) -> Tensor:
        flat = data.draw(st.lists(of, min_size=rows * width, max_size=rows * width))
        return torch.tensor(flat, dtype=torch.float64).view(rows, width)

    rewards, values = drawn(numbers), drawn(numbers, tokens + 1)
    goes_on, active = (drawn(st.sampled_from((0.0, 1.0))) for _ in range(2))
    gamma = data.draw(st.sampled_from((0.0, 0.9, 1.0)))
    lam = drawn(st.sampled_from((0.0, 0.5, 0.99, 1.0)), 1)[:, 0]
    expected = torch.zeros_like(rewards)
    for row in range(rows):
        value, advantage = values[row, tokens].item(), 0.0
        for token in reversed(range(tokens)):
            if not active[row, token]:
                continue
            left = gamma * goes_on[row, token].item()
            own = values[row, token].item()
            delta = rewards[row, token].item() + left * value - own
            advantage = delta + left * lam[row].item() * advantage
            value = own
            expected[row, token] = advantage
    spoilt = values.clone()
    spoilt[:, :tokens][active == 0] = torch.nan
    found = gae(rewards, spoilt, goes_on, gamma=gamma, lam=lam, active=active)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    full = gae(rewards, values, goes_on, gamma=gamma, lam=lam)
    again = gae(rewards, values, goes_on, gamma=gamma, lam=lam, active=torch.ones_like(active))
    torch.testing.assert_close(full, again, rtol=1e-12, atol=1e-12)


def test_a_half_life_over_a_long_row_is_not_lost() -> None:
    length = 65_536
    lam = torch.tensor([0.5]) ** (1 / length)
    rewards = torch.zeros(1, length)
    rewards[0, -1] = 1.0
    found = gae(rewards, torch.zeros(1, length), torch.ones(1, length), gamma=1.0, lam=lam)
    # The influence of the end on the start is a half; 2^-24 in lambda is 0.3% over such a row.
    assert found[0, 0].item() == pytest.approx(0.5, rel=4e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": torch.zeros(2, 5)}, r"values: expected \[2, 3 or 4\], got \[2, 5\]"),
        ({"continues": torch.zeros(2, 4)}, r"continues: expected \[2, 3\].*got \[2, 4\]"),
        ({"active": torch.zeros(3)}, r"active: expected \[2, 3\].*got \[3\]"),
        ({"lam": torch.zeros(3)}, r"lam: expected \[2\].*got \[3\]"),
        ({"lam": torch.zeros(2).half()}, "lam: expected float32 or float64, got torch.float16"),
        ({"rewards": torch.zeros(2, 3).half()}, "rewards: expected float32 or float64"),
        ({"rewards": torch.zeros(3)}, r"rewards: expected \[R, T\], got \[3\]"),
    ],
)
def test_advantages_refuse_what_does_not_fit(change: dict[str, Tensor], words: str) -> None:
    given_: dict[str, Any] = {
        "rewards": torch.zeros(2, 3),
        "values": torch.zeros(2, 3),
        "continues": torch.ones(2, 3),
        "lam": 1.0,
    }
    with pytest.raises(ValueError, match=f"gae: .*{words}"):
        gae(**(given_ | change), gamma=1.0)


def test_advantages_of_nothing() -> None:
    nothing = torch.zeros(2, 0)
    assert gae(nothing, torch.zeros(2, 1), nothing, gamma=1.0, lam=1.0).shape == (2, 0)
    assert gae(nothing, nothing, nothing, gamma=1.0, lam=1.0, active=nothing).shape == (2, 0)


texts = st.lists(st.lists(st.integers(0, 2), min_size=12, max_size=12), min_size=1, max_size=3).map(
    torch.tensor
)


@given(texts, st.integers(1, 6))
def test_run_lengths_count_back(tokens: Tensor, period: int) -> None:
    found = run_lengths(tokens, period)
    for row in range(tokens.shape[0]):
        run = 0
        for token in range(tokens.shape[1]):
            same = token >= period and bool(tokens[row, token] == tokens[row, token - period])
            run = run + 1 if same else 0
            assert found[row, token] == run


@given(texts, st.integers(1, 14), st.data())
def test_online_runs_equal_offline_ones(tokens: Tensor, periods: int, data: st.DataObject) -> None:
    online = RunLengths(tokens.shape[0], periods)
    for token in range(tokens.shape[1]):
        if data.draw(st.booleans()):
            rows = data.draw(st.lists(st.integers(0, tokens.shape[0] - 1), min_size=1, max_size=3))
            tokens = tokens[rows]
            online.select(rows)
        runs = online.update(tokens[:, token])
        for period in range(1, periods + 1):
            offline = run_lengths(tokens[:, : token + 1], period)[:, -1]
            assert torch.equal(runs[:, period - 1], offline.int())


@given(st.integers(1, 4), st.integers(2, 4), st.integers(0, 3))
def test_a_loop_is_seen_with_its_last_token(period: int, repeats: int, before: int) -> None:
    text = [100 + each for each in range(before)] + list(range(period)) * repeats
    online = RunLengths(1, 5)
    for place, token in enumerate(text):
        online.update(torch.tensor([token]))
        assert bool(online.looping(repeats)) == (place == len(text) - 1)


TEXT = torch.zeros(1, 2, dtype=torch.int64)
MISUSES: list[tuple[str, Callable[[], object]]] = [
    ("run_lengths: period: expected a whole number from 1, got 0", lambda: run_lengths(TEXT, 0)),
    ("run_lengths: period: expected a whole number from 1, got", lambda: run_lengths(TEXT, 2.5)),  # type: ignore[arg-type]
    ("run_lengths: tokens: expected [any, any], rows and", lambda: run_lengths(TEXT[0], 1)),
    ("run_lengths: tokens: expected whole numbers, got", lambda: run_lengths(TEXT.float(), 1)),
    ("run_lengths: tokens: expected a tensor, got list", lambda: run_lengths([[1]], 1)),  # type: ignore[arg-type]
    ("RunLengths: rows: expected a whole number from 0, got -1; p", lambda: RunLengths(-1, 0)),
    ("RunLengths: periods: expected a whole number from 1, got True", lambda: RunLengths(2, True)),
    ("RunLengths.update: tokens: expected [2]", lambda: RunLengths(2, 1).update(TEXT.new_zeros(3))),
    ("RunLengths.update: tokens: expected whole", lambda: RunLengths(2, 1).update(torch.zeros(2))),
    ("RunLengths.update: tokens: expected a tensor", lambda: RunLengths(2, 1).update([1, 2])),  # type: ignore[arg-type]
    ("RunLengths.select: rows: expected whole numbers below", lambda: RunLengths(2, 1).select([2])),
    ("RunLengths.select: rows: ", lambda: RunLengths(2, 1).select(torch.tensor([True, False]))),
    ("RunLengths.select: rows: ", lambda: RunLengths(2, 1).select([0.0])),  # type: ignore[list-item]
    ("RunLengths.looping: repeats: expected a whole", lambda: RunLengths(2, 1).looping(1)),
]  # fmt: skip


@pytest.mark.parametrize(("words", "call"), MISUSES)
def test_runs_refuse_what_does_not_fit(words: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        call()


def test_runs_longer_than_any_text() -> None:
    for period in (2, 3, 2**70):
        assert run_lengths(TEXT, period).tolist() == [[0.0, 0.0]]
    assert run_lengths(TEXT[:, :0], 1).shape == (1, 0)
    online = RunLengths(2, 1)
    online.select([])
    assert online.runs.shape == (0, 1)


ROWS = torch.zeros(2, 3)


@pytest.mark.parametrize(
    "bad", [None, "x", [1.0], 1j, math.nan, math.inf, -0.1, 1.5, True, 10**400]
)
def test_discounts_are_shares(bad: Any) -> None:
    words = "expected a number from 0 to 1"
    with pytest.raises(
        ValueError, match=f"^gae: gamma: {words}, got .*; lam: {words}, or a tensor"
    ):
        gae(ROWS, ROWS, ROWS, gamma=bad, lam=bad)
    with pytest.raises(ValueError, match=f"^discounted_returns: gamma: {words}, got "):
        discounted_returns(ROWS, ROWS, gamma=bad)


@pytest.mark.parametrize(
    "bad", [None, "x", [1.0], 1.0, ROWS.numpy(), ROWS.to("meta"), ROWS + 0j, ROWS[0]]
)
def test_returns_and_advantages_name_what_does_not_fit(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"^discounted_returns: .*rewards"):
        discounted_returns(bad, ROWS, gamma=1.0)
    with pytest.raises(ValueError, match=r"^discounted_returns: continues: expected "):
        discounted_returns(ROWS, bad, gamma=1.0)
    for name in ("rewards", "values", "continues", "active"):
        if name == "active" and bad is None:
            continue
        given_ = {"rewards": ROWS, "values": ROWS, "continues": ROWS, name: bad}
        with pytest.raises(ValueError, match=rf"^gae: .*{name}"):
            gae(**given_, gamma=1.0, lam=1.0)
