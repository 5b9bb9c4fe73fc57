"""The page on evaluation tells every option of ``limite eval`` and every shipped benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite.evaluate.cli import eval_
from limite.evaluate.shipped import shipped

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
OPTIONS = sorted(
    option
    for parameter in eval_.params
    for option in parameter.opts
    if option.startswith("--") and option not in ("--json", "--debug")
)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_told(option: str) -> None:
    assert f"{option} " in PAGE or f"{option}`" in PAGE, option


def test_every_benchmark_is_told_with_its_size() -> None:
    for name, about in shipped().items():
        assert f"| `{name}` | {about['problems']} |" in PAGE
