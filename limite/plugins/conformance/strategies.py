"""Values that tell: what laws draw through Hypothesis, so that failures replay and shrink."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from limite.core.errors import LimiteError, did_you_mean
from limite.core.types import DIFFERENTIABLE, Answer, Group, Problem, Response

# Log-probabilities of tokens next to impossible, unlikely, likely and certain.
NATS = (-0.5, -0.6, -1.0, -0.05, 0.0, -1e-7, -1e-3, -2.5, -19.0, -21.0, -88.0, -200.0, -1000.0)
ADVANTAGES = (1.0, -1.0, 0.0, 0.25, -1e-6, 7.0)
VALUES = (0.0, 1.0, 0.5, -0.3, 1.2, 4.0)
REWARDS = (0.0, 1.0, 0.5, -1.0, 0.3, 0.1 + 0.2, 1.0 + 1e-5, 1e6)
POISON = (float("nan"), float("inf"), float("-inf"), 1e30, -1e30, 7.0, -3.0)

nats = st.sampled_from(NATS)
extreme_nats = st.sampled_from((-200.0, 0.0, -88.0, -1e-7, -1000.0))
rewards = st.sampled_from(REWARDS)
poison = st.sampled_from(POISON)

Check = Callable[..., None]


def drawn(**strategies: st.SearchStrategy[Any]) -> Callable[[Check], Callable[[], None]]:
    """Call a check with drawn values, the same ones each time, as often as the profile says.

    No deadline and no database: a law's verdict depends neither on the machine's load nor on what
    failed before, and nothing is left in the folder it runs in.
    """

    def decorate(check: Check) -> Callable[[], None]:
        quiet = settings(
            deadline=None,
            database=None,
            derandomize=True,
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow],
        )
        law: Callable[[], None] = quiet(given(**strategies)(check))
        return law

    return decorate


@attrs.frozen(kw_only=True, eq=False)
class Tokens:
    """Rows of tokens before ``token_batch``: float64 columns and their mask.

    Columns are ``[B, T]``, ``[B, T, K]`` where they hold a list for each token, or ``[B]``.
    """

    mask: Tensor
    columns: Mapping[str, Tensor]

    def take(self, rows: Sequence[int]) -> Tokens:
        """Some of the rows, in the order given."""
        index = torch.tensor(rows, dtype=torch.long)
        return Tokens(
            mask=self.mask[index],
            columns={name: column[index] for name, column in self.columns.items()},
        )

    def pad(self, left: int, right: int, value: float) -> Tokens:
        """The same tokens between inactive columns that hold ``value``."""

        def widen(column: Tensor, fill: float) -> Tensor:
            sides = (left, right) if column.ndim == 2 else (0, 0, left, right)
            return torch.nn.functional.pad(column, sides, value=fill)

        return Tokens(
            mask=widen(self.mask, False),
            columns={name: widen(column, value) for name, column in self.columns.items()},
        )

    def filled(self, values: Tensor) -> Tokens:
        """The same tokens with ``values`` ``[B, T]`` at inactive positions of every column."""
        return Tokens(
            mask=self.mask,
            columns={
                name: torch.where(_like(self.mask, column), column, _like(values, column))
                for name, column in self.columns.items()
            },
        )

    def once_a_row(self) -> Tokens:
        """The same tokens with a column of one value a row as that value, ``[B]``."""

        def narrow(name: str, column: Tensor) -> Tensor:
            many = name in DIFFERENTIABLE or column.ndim != 2 or not column.shape[1]
            return column if many or bool((column != column[:, :1]).any()) else column[:, 0]

        return Tokens(
            mask=self.mask,
            columns={name: narrow(name, column) for name, column in self.columns.items()},
        )

    def cast(self, dtype: torch.dtype) -> Tokens:
        """The same tokens with all columns in ``dtype``."""
        return Tokens(
            mask=self.mask,
            columns={name: column.to(dtype) for name, column in self.columns.items()},
        )


def _like(values: Tensor, column: Tensor) -> Tensor:
    """``values [B, T]`` beside a column of lists."""
    return values if column.ndim == 2 else values[..., None]


def cells(rows: int, width: int, values: st.SearchStrategy[float]) -> st.SearchStrategy[Tensor]:
    """``[rows, width]`` float64, every value drawn."""
    flat = st.lists(values, min_size=rows * width, max_size=rows * width)
    return flat.map(lambda items: torch.tensor(items, dtype=torch.float64).reshape(rows, width))


def _per_row(rows: int, width: int) -> st.SearchStrategy[Tensor]:
    # One advantage for all tokens of a row: what every objective must take.
    column = cells(rows, 1, st.sampled_from(ADVANTAGES))
    return column.map(lambda values: values.expand(rows, width).clone())


LISTED = 3  # tokens in a drawn list


def _lists(rows: int, width: int) -> st.SearchStrategy[Tensor]:
    """Log-probabilities of some of the tokens of a distribution, and not quite of all."""

    def listed(flat: Tensor) -> Tensor:
        return flat.reshape(rows, width, LISTED + 1).log_softmax(-1)[..., :LISTED]

    return cells(rows, width * (LISTED + 1), nats).map(listed)


Column = Callable[[int, int], st.SearchStrategy[Tensor]]
COLUMNS: Mapping[str, Column] = {
    "logp": lambda rows, width: cells(rows, width, nats),
    "behavior_logp": lambda rows, width: cells(rows, width, nats),
    "reference_logp": lambda rows, width: cells(rows, width, nats),
    "entropy": lambda rows, width: cells(rows, width, st.sampled_from((0.0, 0.5, 3.0))),
    "topk_logp": _lists,
    "behavior_topk_logp": _lists,
    "teacher_topk_logp": _lists,
    "value": lambda rows, width: cells(rows, width, st.sampled_from(VALUES)),
    "old_value": lambda rows, width: cells(rows, width, st.sampled_from(VALUES)),
    "value_target": lambda rows, width: cells(rows, width, st.sampled_from((0.0, 1.0, 0.25))),
    "advantage": _per_row,
}


def known_columns(names: Sequence[str], extra: Mapping[str, Column]) -> Mapping[str, Column]:
    """How to draw each named column; a LimiteError names one that nobody can draw."""
    known = {**COLUMNS, **extra}
    for name in names:
        if name not in known:
            raise LimiteError(
                f"the laws cannot draw the column {name!r}{did_you_mean(name, known)}; "
                "say how with columns={name: lambda rows, width: strategy}"
            )
    return {name: known[name] for name in names}


@st.composite
def tokens(draw: st.DrawFn, columns: Mapping[str, Column], together: int = 1) -> Tokens:
    """Up to four items of up to four tokens, active ones anywhere, some rows without any.

    An item is ``together`` rows, one after the other.
    """
    rows, width = draw(st.integers(1, 4)) * together, draw(st.integers(1, 4))
    mask = draw(cells(rows, width, st.sampled_from((1.0, 0.0, 1.0)))).bool()
    return Tokens(
        mask=mask,
        columns={name: draw(column(rows, width)) for name, column in columns.items()},
    )


def group_of(
    rewards: Sequence[float | None],
    lengths: Sequence[int] | None = None,
    values: Sequence[float] | None = None,
) -> Group:
    """A group of responses with these rewards; correct where the reward is at least 1.

    ``values``, taken in turn, are what a critic says of its states.
    """
    counts = list(lengths or [1] * len(rewards))
    said = None if values is None else itertools.cycle(values)
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    responses = [
        Response(
            problem_id=problem.id,
            sample_index=index,
            prompt_ids=(1,),
            completion_ids=(2,) * length,
            logprobs=(-0.5,) * length,
            finish_reason="eos",
            completion_budget=8,
            policy_version=0,
            text="#2",
        )
        for index, length in enumerate(counts)
    ]
    return Group(
        problem=problem,
        responses=responses,
        rewards=list(rewards),
        correct=[reward is not None and reward >= 1.0 for reward in rewards],
        values=None if said is None else [[next(said) for _ in range(n)] for n in counts],
        values_after=None if said is None else [next(said) for _ in counts],
    )


@st.composite
def groups(
    draw: st.DrawFn,
    values: st.SearchStrategy[float | None] = rewards,
    least: int = 2,
    *,
    critic: bool = False,
) -> Group:
    """A group of two to six responses of one to four tokens, rewards drawn from ``values``.

    With ``critic`` every token has a value.
    """
    drawn_rewards = draw(st.lists(values, min_size=least, max_size=6))
    lengths = draw(st.lists(st.integers(1, 4), min_size=6, max_size=6))
    said = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=9)) if critic else None
    return group_of(drawn_rewards, lengths[: len(drawn_rewards)], said)
