"""Pages of recipes and stages tell every field as it is, and their examples are sound."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.cli.plugins import fields_of
from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.health.limits import HealthLimits
from limite.core.jsonl import write_jsonl
from limite.core.model.llama.scaling import LinearScaling, Llama3Scaling, YarnScaling
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.check import check_file
from limite.core.recipe.load import load_recipe
from limite.core.recipe.matched.check import check_any
from limite.core.recipe.matched.settings import Matched
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import (
    RL,
    SFT,
    STAGE_KINDS,
    CriticSettings,
    Distill,
    Eval,
    FitCritic,
    Greedy,
    MadeTexts,
    Mix,
    OwnSolutions,
    Preference,
    Pretrain,
    Probe,
    Soup,
    Source,
    StrongWeak,
    Taught,
    Unstable,
)
from limite.core.rollout.repetition import RepetitionDetector
from limite.core.rollout.shaping import OverlongPenalty
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.correction import Correction
from limite.core.train.data.windows import Windows
from tests.core.recipe.test_problem_files import measured

DOCS = Path(__file__).parents[2] / "docs"
MODELS = (ModelSpec, LlamaSpec, LinearScaling, Llama3Scaling, YarnScaling)
TOKENIZERS = (CharacterTokenizer, PretrainedTokenizer)
PARTS_OF_RL = (
    HealthLimits,
    Unstable,
    Probe,
    OverlongPenalty,
    RepetitionDetector,
    Correction,
    CriticSettings,
)
SETTINGS: dict[str, tuple[type[Any], ...]] = {
    "recipes.md": (Recipe,),
    "matched.md": (Matched,),
    "stages/pretrain.md": (Pretrain, MadeTexts),
    "stages/sft.md": (SFT, OwnSolutions, Windows),
    "stages/distill.md": (Distill, Taught),
    "stages/preference.md": (Preference, StrongWeak),
    "stages/rl.md": (RL, *PARTS_OF_RL),
    "stages/fit-critic.md": (FitCritic,),
    "stages/soup.md": (Soup, Greedy),
    "stages/eval.md": (Eval,),
    "problems.md": (Mix, Source),
    "models.md": (*MODELS, *TOKENIZERS),
}
PLACES = [(page, cls) for page, classes in SETTINGS.items() for cls in classes]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(cls: type[Any]) -> str:
    """What the page must say of a class: its first line, and a row for every field."""
    kind = getattr(cls, "kind", None)
    type_line = f'\n\nIn TOML `type = "{kind}"`.' if kind else ""
    rows = ["| field | type | default | unit | meaning |", "| --- | --- | --- | --- | --- |"]
    for field in fields_of(cls):
        choices = ", ".join(f"`{choice}`" for choice in field["choices"])
        meaning = "; ".join(filter(None, (field["help"], choices)))
        default = field["default"]
        called = re.fullmatch(r"(\w+)\(.+\)", default, flags=re.DOTALL)  # a settings value, whole
        if default != "(required)":
            default = f"`{called[1]}()`" if called else f"`{default}`"
        name, written = f"`{field['name']}`", f"`{field['type']}`"
        cells = [name, written, default, field["unit"], meaning]
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    summary = str(cls.__doc__).partition("\n")[0].replace("``", "`")
    return f"### {cls.__name__}\n\n{summary}{type_line}\n\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(("name", "cls"), PLACES, ids=[cls.__name__ for _, cls in PLACES])
def test_every_field_is_told_as_it_is(name: str, cls: type[Any]) -> None:
    assert section(cls) in page(name), f"docs/{name} should say:\n\n{section(cls)}"


@pytest.mark.parametrize("name", SETTINGS)
def test_a_page_has_the_fields_of_its_own_settings_and_of_nothing_else(name: str) -> None:
    told = re.findall(r"^### (\w+)$", page(name).partition("\n## Every field\n")[2], re.MULTILINE)
    assert told == [cls.__name__ for cls in SETTINGS[name]]


def test_every_kind_of_stage_has_a_page_of_its_name_which_the_guide_names() -> None:
    pages = {file.stem for file in (DOCS / "stages").glob("*.md")}
    assert pages == set(STAGE_KINDS)
    for kind, cls in STAGE_KINDS.items():
        assert SETTINGS[f"stages/{kind}.md"][0] is cls
        assert f"| `{kind}` | `{cls.__name__}` | " in page("recipes.md")
        assert f"](stages/{kind}.md)" in page("recipes.md")


@pytest.mark.parametrize("cls", [cls for _, cls in PLACES], ids=lambda cls: cls.__name__)
def test_every_number_says_what_it_is(cls: type[Any]) -> None:
    plain = {"layers", "heads", "kv_heads", "mean_weight_low", "mean_weight_high"}
    for field in attrs.fields(cls):
        if field.type in ("int", "float") and field.name not in plain:
            assert field.metadata.get("help") or field.metadata.get("unit"), field.name


def test_both_examples_are_one_recipe(tmp_path: Path) -> None:
    values = []
    for language, name in (("python", "a.py"), ("toml", "a.toml")):
        shown = page("recipes.md")
        (text,) = re.findall(rf"^```{language}\n(.*?)^```", shown, re.MULTILINE | re.DOTALL)
        (tmp_path / name).write_text(text, encoding="utf-8")
        values.append(load_recipe(tmp_path / name).recipe)
    assert values[0] == values[1]


def test_the_example_of_a_comparison_is_matched(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```python\n(.*?)^```", page("matched.md"), re.MULTILINE | re.DOTALL)
    place = tmp_path / "pair.py"
    place.write_text(text, encoding="utf-8")
    found = check_any(place, ["seeds=[1]"], load_registry())
    assert list(found.members) == ["everything-1", "nearby-1"]  # type: ignore[union-attr]
    longer = "variants.nearby.stages.sft.steps=130"
    with pytest.raises(SettingsError, match="120 there, 130 here; variants may differ in 'model' "):
        check_any(place, ["seeds=[1]", longer], load_registry())


def example(name: str, phrase: str) -> str:
    """The one part of a recipe on the page that holds ``phrase``."""
    texts = re.findall(r"^``` toml\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)
    (found,) = [text for text in texts if phrase in text]
    return str(found)


def test_the_example_of_windows_is_sound(tmp_path: Path) -> None:
    place = tmp_path / "windows.toml"
    place.write_text(
        f'name = "windows"\n\n{example("stages/sft.md", "windows = ")}', encoding="utf-8"
    )
    (stage,) = check_file(place, (), load_registry())[1].stages
    assert "the ending of 100.0% of documents is learned" in stage.notes[0]


def test_the_examples_of_pretraining_are_one_sound_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = example("stages/pretrain.md", "validation = ")
    text = f'name = "base"\n\n{first}\n{example("stages/pretrain.md", "[stages.slow]")}'
    (tmp_path / "base.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "solutions").mkdir()
    for name in ("web.jsonl.zst", "solutions/a.jsonl", "held-out.jsonl", "best.jsonl.zst"):
        write_jsonl(tmp_path / name, [{"text": f"of {name}"}, {"ids": [17, 4, 2]}])
    base, *_, average = check_file(Path("base.toml"), (), load_registry())[1].stages
    assert base.trained_tokens == 2000 * 524_288
    assert average.type == "soup"


def test_the_example_of_a_critic_is_sound(tmp_path: Path) -> None:
    text = example("stages/fit-critic.md", "[stages.critic]")
    place = tmp_path / "critic.toml"
    place.write_text(f'name = "critic"\n\n{text}', encoding="utf-8")
    loaded, plan = check_file(place, (), load_registry())
    assert list(loaded.recipe.stages) == ["rl", "critic", "more"]
    rl, critic, more = plan.stages
    assert critic.updates == 200
    assert critic.trained_tokens > 0
    assert more.operations / more.trained_tokens > rl.operations / rl.trained_tokens


def test_the_example_of_a_soup_is_sound(tmp_path: Path) -> None:
    text = example("stages/soup.md", "[stages.soup]")
    base = '[stages.base]\ntype = "sft"\nproblems = { sources = { sum-chain = 1 } }\n'
    place = tmp_path / "soup.toml"
    place.write_text(f'name = "soup"\n\n{base}\n{text}', encoding="utf-8")
    loaded, plan = check_file(place, (), load_registry())
    assert list(loaded.recipe.stages) == ["base", "one", "two", "soup"]
    assert (plan.stages[-1].steps, plan.stages[-1].trained_tokens) == (1, 0)


def test_the_example_of_a_file_of_problems_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = example("problems.md", "./data/measured.jsonl")
    place = tmp_path / "file.toml"
    place.write_text(f'name = "file"\n\n[stages.rl]\ntype = "rl"\n{text}', encoding="utf-8")
    (tmp_path / "data").mkdir()
    measured(tmp_path / "data" / "measured.jsonl")
    monkeypatch.chdir(tmp_path)
    loaded, _plan = check_file(place, (), load_registry())
    mix = loaded.recipe.stages["rl"].problems  # type: ignore[attr-defined]
    assert mix.files == ("./data/measured.jsonl",)
