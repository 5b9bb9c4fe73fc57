from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.rollout.budget import (
    check_response,
    completion_budget,
    is_finished,
    reasoning_is_closed,
)
from limite.core.types import FINISH_REASONS, FinishReason, Response

EOS = frozenset({2, 9})


def response(
    tokens: tuple[int, ...], reason: FinishReason, budget: int = 4, text: str = ""
) -> Response:
    return Response(
        problem_id="p",
        sample_index=0,
        prompt_ids=(1, 5, 6),
        completion_ids=tokens,
        logprobs=(-0.5,) * len(tokens),
        finish_reason=reason,
        completion_budget=budget,
        policy_version=0,
        text=text,
    )


@given(
    st.lists(st.sampled_from([2, 3, 4, 9]), max_size=6).map(tuple),
    st.sampled_from(FINISH_REASONS),
    st.integers(1, 5),
)
def test_a_record_passes_exactly_when_it_ends_by_the_rules(
    tokens: tuple[int, ...], reason: FinishReason, budget: int
) -> None:
    ends = bool(tokens) and tokens[-1] in EOS
    sound = len(tokens) <= budget and not any(token in EOS for token in tokens[:-1])
    if ends:
        sound = sound and reason == "eos"
    elif len(tokens) == budget:
        sound = sound and reason == "length"
    else:
        sound = sound and reason in ("repetition", "stop")
    record = response(tokens, reason, budget)
    if sound:
        check_response(record, eos_ids=EOS, context=3 + budget)
    else:
        with pytest.raises(LimiteError, match="response 0 to problem p is refused"):
            check_response(record, eos_ids=EOS, context=3 + budget)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"logprobs": (-0.5,)}, "2 tokens but 1 log-probabilities"),
        ({"logprobs": (-0.5, float("nan"))}, "not finite"),
        ({"logprobs": (-0.5, -float("inf"))}, "not finite"),
        ({"logprobs": (-0.5, 0.25)}, r"a log-probability is 0\.25, above 0"),
        ({"finish_reason": "done"}, "finish reason 'done' is none of eos, length"),
        ({"completion_budget": 0}, "budget is 0"),
        ({"prompt_ids": ()}, "prompt is empty"),
        ({"completion_budget": 18}, "exceed the context of 20"),
    ],
)
def test_other_breaches_are_named(changes: dict[str, object], message: str) -> None:
    record = attrs.evolve(response((3, 2), "eos"), **changes)
    with pytest.raises(LimiteError, match=message):
        check_response(record, eos_ids=EOS, context=20)


def test_an_eos_at_the_last_budgeted_position_is_an_eos() -> None:
    check_response(response((3, 3, 3, 9), "eos"), eos_ids=EOS)
    with pytest.raises(LimiteError):
        check_response(response((3, 3, 3, 9), "length"), eos_ids=EOS)


def test_an_empty_set_of_end_tokens_is_refused() -> None:
    with pytest.raises(LimiteError, match="could never end"):
        check_response(response((3,), "stop"), eos_ids=())


def test_fixed_response_gives_every_prompt_the_same() -> None:
    budget = completion_budget("fixed-response", prompt_tokens=5, max_tokens=7, context=12)
    assert budget == 7


@given(st.integers(1, 99))
def test_native_context_gives_what_the_prompt_leaves(prompt: int) -> None:
    assert (
        completion_budget("native-context", prompt_tokens=prompt, max_tokens=100, context=100)
        == 100 - prompt
    )


@pytest.mark.parametrize(
    ("mode", "settings", "message"),
    [
        ("fixed-response", {"prompt_tokens": 0}, "at least 1 and fewer than 12"),
        ("fixed-response", {"prompt_tokens": 12}, "at least 1 and fewer than 12"),
        ("fixed-response", {"prompt_tokens": 6}, "do not fit the context of 12"),
        ("fixed-response", {"max_tokens": 0}, "max_tokens must be at least 1"),
        ("native-context", {}, "must be the context, 12, got 7"),
        ("native-context", {"max_tokens": 12, "length_penalty": 0.1}, "penalties must be 0"),
        ("native-context", {"max_tokens": 12, "unfinished_penalty": 0.1}, "penalties must be 0"),
        ("other", {}, "unknown budget 'other'"),
    ],
)
def test_impossible_budgets_are_refused(
    mode: str, settings: dict[str, float], message: str
) -> None:
    usual: dict[str, float] = {"prompt_tokens": 5, "max_tokens": 7, "context": 12}
    with pytest.raises(LimiteError, match=message):
        completion_budget(mode, **(usual | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("", True),
        ("a</think>b", True),
        ("<think>a</think>b", True),
        ("<think>a", False),
        ("</think><think>a", False),
        ("</think></think><think>a</think>", True),
        ("<think>a</think><think>b", False),
        ("<think><think>a</think>", False),
        ("<think><think>a</think></think>", True),
    ],
)
def test_reasoning_is_closed_by_later_tags_only(text: str, closed: bool) -> None:
    assert reasoning_is_closed(text) is closed
    assert is_finished(response((2,), "eos", text=text)) is closed
    assert not is_finished(response((3,), "length", budget=1, text=text))
