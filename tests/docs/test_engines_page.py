"""The page about engines tells every setting as it is, and its examples are sound."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from limite.core.discover import load_registry
from limite.core.recipe.check import check_file
from limite.plugins.engines.dialects import DIALECTS, ServerCall
from limite.plugins.engines.openai_server import OpenAIServer
from limite.plugins.engines.push import MARK
from tests.docs.test_recipe_fields import section

PAGE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("cls", [OpenAIServer, ServerCall], ids=lambda cls: cls.__name__)
def test_every_setting_is_told_as_it_is(cls: type[Any]) -> None:
    assert section(cls) in PAGE, f"docs/engines.md should say:\n\n{section(cls)}"


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_sound(example: str, tmp_path: Path) -> None:
    place = tmp_path / "remote.toml"
    stage = '[stages.rl]\ntype = "rl"\nproblems = { sources = { sum-chain = 1 } }\n'
    place.write_text(f'name = "remote"\n\n{stage}\n{example}', encoding="utf-8")
    loaded, _plan = check_file(place, (), load_registry())
    engine: Any = loaded.recipe.stages["rl"].engine  # type: ignore[attr-defined]
    assert engine.server in DIALECTS


def test_it_tells_every_server_with_its_calls() -> None:
    assert len(EXAMPLES) == 2
    for name, dialect in DIALECTS.items():
        (row,) = re.findall(rf'^\| `"{name}"` \| `{dialect.path}` \|.*', PAGE, re.MULTILINE)
        for call in dialect.calls:
            assert call.path in row
    assert MARK in PAGE
