"""A recipe that reads text with the tokenizer of a model people already have."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite.core.config import structure, unstructure
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.check import check_file
from limite.core.recipe.recipe import Recipe
from tests.core.pretrained.words import CHATML, write_words

TINY = Path(__file__).parents[1] / "recipe" / "tiny.toml"


def written(tmp_path: Path, settings: str, context: int) -> Path:
    """The tiny recipe with a pretrained tokenizer, and a model of ``context`` tokens."""
    write_words(tmp_path / "words", template=CHATML)
    text = TINY.read_text(encoding="utf-8").replace("context = 64", f"context = {context}")
    tokenizer = f'[tokenizer]\ntype = "pretrained"\npath = "{tmp_path / "words"}"\n{settings}\n'
    (tmp_path / "r.toml").write_text(text.replace("[model]", f"{tokenizer}\n[model]"))
    return tmp_path / "r.toml"


def test_a_settings_file_names_it_and_the_recipe_is_sound(tmp_path: Path) -> None:
    registry = load_registry()
    path = written(tmp_path, "options = { enable_thinking = false }", 96)
    recipe = check_file(path, [], registry)[0].recipe
    assert recipe.tokenizer == PretrainedTokenizer(
        path=str(tmp_path / "words"), options={"enable_thinking": False}
    )
    assert structure(unstructure(recipe, registry), Recipe, registry) == recipe


def test_prompts_of_the_template_count_against_the_context(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="prompt"):
        check_file(written(tmp_path, "", 24), [], load_registry())


def test_a_directory_without_a_tokenizer_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "", 96)
    (tmp_path / "words" / "tokenizer.json").unlink()
    with pytest.raises(LimiteError, match=r"words: holds no tokenizer\.json"):
        check_file(path, [], load_registry())
