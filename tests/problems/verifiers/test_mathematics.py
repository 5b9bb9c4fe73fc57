"""The verifier keeps its laws and reads what a recipe allows it to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from limite.core.errors import LimiteError
from limite.core.types import Answer
from limite.plugins.conformance import laws_for
from limite.problems import verify, verify_all
from limite.problems.verifiers.mathematics import Mathematics

LAWS = laws_for("verifier", Mathematics())


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_laws(law: Callable[[], None]) -> None:
    law()


def test_fallbacks_are_read_only_where_they_are_named() -> None:
    seven = Answer(type="integer", value="7")
    for text in ("so\n#### 7", "Answer: 7", "The final answer is 7."):
        assert Mathematics()(seven, text).outcome == "unreadable"
        assert Mathematics(fallbacks=("hash", "answer"))(seven, text).correct
    with pytest.raises(ValueError, match="fallbacks"):
        Mathematics(fallbacks=("last-number",))


def test_plain_data_is_an_answer_too() -> None:
    assert verify({"type": "integer", "value": "7"}, "\\boxed{7}").correct
    assert verify(
        {"type": "integer", "value": "7", "params": {"unit": "cm"}}, "7 cm", extract=False
    ).correct
    for given in (None, 7, [], "7"):
        with pytest.raises(LimiteError, match="a record's answer object, not"):
            verify(given, "7")
    with pytest.raises(LimiteError, match="an answer has"):
        verify({"type": "integer", "value": "7", 1: 2, "more": 3}, "7")
    with pytest.raises(LimiteError, match="an answer has"):
        verify({"type": "integer"}, "7")
    with pytest.raises(LimiteError, match="did you mean 'hash'"):
        verify({"type": "integer", "value": "7"}, "7", fallbacks=("hsh",))
    assert verify_all([]) == []


@pytest.mark.parametrize("type_name", ["integer", "rational", "modular", "choice", "no-such-type"])
def test_a_malformed_gold_pays_nothing(type_name: str) -> None:
    verdict = verify({"type": type_name, "value": "?"}, "\\boxed{?}")
    assert verdict.outcome == "unreadable"
    assert "gold" in verdict.reason
