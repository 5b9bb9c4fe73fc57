"""The golden numbers once more, from log-probabilities that the kernel core finds without logits.

A token's log-probability becomes the head of a model of two tokens, it or the other; a student's
logits are the head's as they stand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.discover import load_registry
from limite.core.kernels.ops import indexed_logprob, use
from limite.core.registry import Registry
from limite.plugins.golden import KINDS, Case, models, read_vectors
from limite.plugins.golden.run import DTYPES

GOLDEN = read_vectors(Path(__file__).parents[2] / "golden" / "objectives.json")
NATS = ("logp", "chosen_logp", "rejected_logp")
KINDS_READ = {"policy": 76, "kl": 1, "dpo": 4, "topk_kd": 6}
"""The kinds of case that begin with log-probabilities of a policy, and how many cases each has."""

TOO_SURE = "policy/dppo_binary_kl/certain_tokens"
"""It has a token of probability 1 - 1e-12 and reads the rest: a sum near 1 keeps little of it."""

CASES = [case for case in GOLDEN["cases"] if case["kind"] in KINDS_READ and case["id"] != TOO_SURE]
FEW = [
    case
    for case in CASES
    if case["id"].endswith("split_me") or case["id"] in ("kd/bucket", "dpo/b0.1_ls0")
]


class ThroughTheHead(Case):
    """A case whose log-probabilities are what the head of a model says."""

    heads: dict[str, tuple[Tensor, Tensor]]

    def tensor(self, name: str, dtype: torch.dtype | None = None) -> Tensor:
        given = super().tensor(name, dtype)
        if name not in NATS:
            return given
        hidden = torch.stack([given, torch.log(-torch.expm1(given))], -1)  # [..., 2]
        hidden = hidden.nan_to_num(nan=0.0, neginf=-1e4).reshape(-1, 2).requires_grad_()
        first = torch.zeros(len(hidden), 1, dtype=torch.int64)
        weight = torch.eye(2, dtype=given.dtype)
        logp = indexed_logprob(hidden, weight, first, need_entropy=False)[0].reshape(given.shape)
        logp.retain_grad()
        self.heads[name] = (hidden, logp)
        return logp


def listed(logits: Tensor, ids: Tensor) -> Tensor:
    """The log-probabilities of ``ids [B, T, K]``, whose logits ``[B, T, V]`` a head gives."""
    wide = logits.shape[-1]
    head = torch.eye(wide, dtype=logits.dtype)
    flat = ids.reshape(-1, ids.shape[-1])
    logp = indexed_logprob(logits.reshape(-1, wide), head, flat, need_entropy=False)[0]
    return logp.reshape(ids.shape)


PAIRS = models._pairs


def kept_pairs(*given: Any) -> Tensor:
    """Rows of pairs that keep their gradient, though they are no leaves."""
    pairs = PAIRS(*given)
    if pairs.requires_grad:
        pairs.retain_grad()
    return pairs


def require(case: dict[str, Any], dtype: torch.dtype, registry: Registry) -> None:
    running = ThroughTheHead(
        id=case["id"],
        kind=case["kind"],
        params=case["params"],
        inputs=case["inputs"],
        expected=case["expected"],
        dtype=dtype,
        tolerances=GOLDEN["tolerances"],
    )
    running.heads = {}
    KINDS[running.kind](running, registry)
    outcome = running.outcome()
    assert outcome.failures == ()
    assert outcome.compared >= len(case["expected"])
    assert bool(running.heads) == (running.kind != "topk_kd")
    if running.kind == "policy":
        # What reaches the head: the gradient of a token's logit, less its share of both.
        hidden, logp = running.heads["logp"]
        assert logp.grad is not None
        assert hidden.grad is not None
        slope = logp.grad.reshape(-1, 1)
        there = torch.tensor([[1.0, 0.0]], dtype=dtype) - hidden.detach().softmax(-1)
        torch.testing.assert_close(hidden.grad, slope * there, **GOLDEN["tolerances"][_name(dtype)])


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(autouse=True)
def _students(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "listed_logp", listed)
    monkeypatch.setattr(models, "_pairs", kept_pairs)


def test_all_cases_but_one_go_through_the_head() -> None:
    assert len(CASES) == sum(KINDS_READ.values()) - 1
    (sure,) = (case for case in GOLDEN["cases"] if case["id"] == TOO_SURE)
    assert -1e-12 in sure["inputs"]["logp"][0]
    assert len(FEW) == 6


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_it_is_reproduced_through_the_head(
    case: dict[str, Any], dtype: torch.dtype, registry: Registry
) -> None:
    with use("indexed_logprob=cpu"):
        require(case, dtype, registry)


@pytest.mark.parametrize("case", FEW, ids=[case["id"] for case in FEW])
def test_and_through_the_interpreted_kernel(case: dict[str, Any], registry: Registry) -> None:
    with use("indexed_logprob=interpret"):
        require(case, torch.float32, registry)
