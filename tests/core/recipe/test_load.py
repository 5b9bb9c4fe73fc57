"""Recipes from TOML and from Python: one value, and every mistake at once with its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent

import attrs
import pytest
import tomli_w

from limite import DPPO, RL, SFT, AdamW, Eval, GroupAdvantage, Mix, ModelSpec, Muon, Recipe
from limite.core.config import structure
from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.recipe.load import load_recipe

Write = Callable[[str, str], Path]

TOML = """\
name = "small"
seed = 3
loggers = ["jsonl"]

[model]
width = 32
heads = 2
context = 64
attention = "global"

[stages.sft]
type = "sft"
problems = { sources = { gcd = 1, sum-chain = 2 }, difficulty = [0, 0.5] }
optimizer = { type = "muon", lr = 0.02 }

[stages.rl]
type = "rl"
problems.sources.gcd = 1
rollouts = 4
objective = { type = "dppo", delta = 0.2 }
optimizer.type = "adamw"
optimizer.lr = 1e-4

[stages.last]
type = "eval"
problems.sources.gcd = 1.0
count = 50
"""

PYTHON = """\
from __future__ import annotations

import limite
from limite import DPPO, RL, SFT, AdamW, Mix, ModelSpec, Muon

recipe = limite.Recipe(
    name="small",
    seed=3,
    loggers=("jsonl",),
    model=ModelSpec(width=32, heads=2, context=64, attention="global"),
    stages={
        "sft": SFT(
            problems=Mix({"gcd": 1, "sum-chain": 2}, difficulty=(0, 0.5)),
            optimizer=Muon(lr=0.02),
        ),
        "rl": RL(
            problems=Mix({"gcd": 1}),
            rollouts=4,
            objective=DPPO(delta=0.2),
            optimizer=AdamW(lr=1e-4),
        ),
        "last": limite.Eval(problems=Mix({"gcd": 1}), count=50),
    },
)
"""

VALUE = Recipe(
    name="small",
    seed=3,
    loggers=("jsonl",),
    model=ModelSpec(width=32, heads=2, context=64, attention="global"),
    stages={
        "sft": SFT(
            problems=Mix({"gcd": 1.0, "sum-chain": 2.0}, difficulty=(0.0, 0.5)),
            optimizer=Muon(lr=0.02),
        ),
        "rl": RL(
            problems=Mix({"gcd": 1.0}),
            rollouts=4,
            objective=DPPO(delta=0.2),
            advantage=GroupAdvantage(
                **{k: v for k, v in DPPO.paired_advantage.items() if k != "type"}
            ),
            optimizer=AdamW(lr=1e-4),
        ),
        "last": Eval(problems=Mix({"gcd": 1.0}), count=50),
    },
)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """``write(name, text)`` makes a file in an empty working folder; gives its relative path."""
    monkeypatch.chdir(tmp_path)

    def put(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return put


def told(path: str | Path, *overrides: str) -> list[str]:
    with pytest.raises(LimiteError) as caught:
        load_recipe(path, overrides)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(("name", "text"), [("a.toml", TOML), ("a.py", PYTHON)])
def test_both_languages_give_the_same_value(name: str, text: str, write: Write) -> None:
    loaded = load_recipe(write(name, text))
    registry = load_registry()
    assert loaded.recipe == structure(VALUE, Recipe, registry)
    assert loaded.source_text == text
    assert loaded.path == Path(name)
    assert loaded.kind == ("python" if name.endswith(".py") else "toml")
    assert structure(loaded.data, Recipe, registry) == loaded.recipe
    assert loaded.data["stages"]["rl"]["advantage"]["type"] == "group"


def test_the_resolved_recipe_is_a_recipe(write: Write) -> None:
    loaded = load_recipe(write("a.py", PYTHON), ["stages.rl.steps=7"])
    again = load_recipe(write("resolved.toml", tomli_w.dumps(loaded.data)))
    assert again.recipe == loaded.recipe
    assert again.data == loaded.data
    assert list(again.recipe.stages) == list(loaded.recipe.stages)


@pytest.mark.parametrize(("name", "text"), [("a.toml", TOML), ("a.py", PYTHON)])
def test_set_works_on_both(name: str, text: str, write: Write) -> None:
    sets = ["stages.rl.optimizer.lr=2e-5", "stages.rl.objective=grpo", "model.layers=2", "name=b"]
    recipe = load_recipe(write(name, text), sets).recipe
    rl = recipe.stages["rl"]
    assert isinstance(rl, RL)
    assert rl.optimizer == AdamW(lr=2e-5)
    assert type(rl.objective).__name__ == "GRPO"
    assert rl.advantage == GroupAdvantage(scale="std")
    assert attrs.evolve(recipe.model, layers=4) == load_recipe(Path(name)).recipe.model
    assert recipe.name == "b"


def test_a_preset_can_be_refined(write: Write) -> None:
    path = write("a.toml", 'name = "a"\n[stages.e]\ntype = "eval"\nproblems.sources.gcd = 1\n')
    model = load_recipe(path, ["model.width=32", "model.attention.window=8"]).recipe.model
    assert isinstance(model, ModelSpec)
    assert (model.width, model.layers, model.attention.window) == (32, 4, 8)
    assert told(path, "model=limit-tiny") == [
        "--set model=limit-tiny: model: unknown model 'limit-tiny'; did you mean 'limite-tiny'?"
    ]


SIX_TOML = """\
name = "six"
seed = 7.5

[stages.sft]
type = "sft"
problems = { sources = { gcd = 1 } }
optimizer = { type = "muon", lr = -0.02 }
bach = 16

[stages.rl]
type = "rl"
objective = "dpppo"
  [stages.rl.problems]
  difficulty = [0.5, 0.2]
"""
SIX_PYTHON = """\
from limite import RL, SFT, Mix, Muon, Recipe

recipe = Recipe(
    name="six",
    seed=7.5,
    stages={
        "sft": SFT(
            problems=Mix({"gcd": 1}),
            optimizer=Muon(
                lr=-0.02,
            ),
            bach=16,
        ),
        "rl": RL(
            problems=Mix(
                difficulty=(0.5, 0.2),
            ),
            objective="dpppo",
        ),
    },
)
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [("a.toml", SIX_TOML, (2, 7, 8, 12, 13, 14)), ("a.py", SIX_PYTHON, (5, 10, 12, 18, 15, 16))],
)
def test_six_mistakes_are_six_lines(
    name: str, text: str, lines: Sequence[int], write: Write
) -> None:
    expected = [
        "seed: expected int, got float 7.5",
        "stages.sft.optimizer.lr: must be > 0.0, got -0.02",
        "stages.sft.bach: unknown key; did you mean 'batch'?",
        "stages.rl.objective: unknown objective 'dpppo'; did you mean 'dppo'?",
        "stages.rl.problems.sources: missing",
        "stages.rl.problems.difficulty: must be [low, high] within 0 and 1, got [0.5, 0.2]",
    ]
    placed = sorted(zip(lines, expected, strict=True))
    assert told(write(name, text)) == [f"{name}:{line}: {message}" for line, message in placed]


BASE = 'name = "a"\n[stages.s]\ntype = "rl"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BASE + "problems.sources = {}\n", "stages.s.problems.sources: must name at least one"),
        (
            BASE + "problems.sources.gcd = 0\n",
            "stages.s.problems.sources: needs at least one weight",
        ),
        (BASE + "problems.sources.gcd = 1\nsteps = '5'", "stages.s.steps: expected int, got str"),
        (
            BASE + "problems.sources.gcd = 1\noptimizer = { type = 'adamw', lr = -1 }",
            "stages.s.optimizer.lr: must be > 0.0, got -1.0",
        ),
        (
            "model.heads = 3\nmodel.kv_heads = 2\n" + BASE + "problems.sources.gcd = 1",
            "model.heads: 'heads' (3) must be a multiple of 'kv_heads' (2)",
        ),
        (BASE + "problems.sources.gcd = 1\nrolouts = 2", "stages.s.rolouts: unknown key; did you"),
        ("name = 'a'\nstages = {}\n", "stages: a recipe needs at least one stage"),
        ("name = 'a'\n", "stages: missing"),
        (
            "name = 'a'\n[stages.s]\ntype = 'rf'",
            "stages.s.type: must be one of 'pretrain', 'sft', 'distill', 'rl', ",
        ),
    ],
)
def test_bad_input_names_its_setting(text: str, message: str, write: Write) -> None:
    (line,) = told(write("a.toml", text))
    place, _, said = line.partition(": ")
    assert place.startswith("a.toml")
    assert said.startswith(message)


def test_a_mistake_in_a_set_points_at_the_option(write: Write) -> None:
    path = write("a.toml", TOML)
    assert told(
        path,
        "stages.rl.optimizer.lr=-1",
        "stages.rl.optimiser.lr=1",
        "model.kv_heads=3",
        "stages.sft.problems.sources.gcd=-1",
        "nonsense",
    ) == [
        "--set nonsense: expected PATH=VALUE, such as --set stages.rl.optimizer.lr=2e-5",
        "--set model.kv_heads=3: model.heads: 'heads' (2) must be a multiple of 'kv_heads' (3)",
        "--set stages.rl.optimiser.lr=1: stages.rl.optimiser: unknown key; "
        "did you mean 'optimizer'?",
        "--set stages.rl.optimizer.lr=-1: stages.rl.optimizer.lr: must be > 0.0, got -1.0",
        "--set stages.sft.problems.sources.gcd=-1: stages.sft.problems.sources: "
        "the weight of 'gcd' must be finite and at least 0, got -1.0",
    ]


def test_what_is_nested_too_deeply(write: Write) -> None:
    deep = "[" * 5000 + "]" * 5000
    write("deep.toml", f"a = {deep}")
    write(
        "endless.py",
        "from limite import Recipe\na = {}\na['a'] = a\nrecipe = Recipe(name='a', stages=a)",
    )
    write("sound.toml", TOML)
    for name in ("deep.toml", "endless.py"):
        assert told(name) == [f"{name}: tables or arrays are nested too deeply to be read"]
    (line,) = told("sound.toml", f"seed={deep}")
    assert line.endswith("...: arrays are nested too deeply")


def test_names_are_not_endless(write: Write) -> None:
    write("a.toml", TOML)
    (line,) = told("a.toml", "name=" + "a" * 101)
    assert line.endswith(" name: must be at most 100 characters long, got 101")


def test_files_that_are_not_there(write: Write) -> None:
    write("recipes/smoke.toml", TOML)
    assert told("recipes/smok.toml") == [
        "recipes/smok.toml: no such file; did you mean 'smoke.toml'?"
    ]
    assert told("recipes/other.py") == ["recipes/other.py: no such file"]
    write("recipes/ab.toml", TOML)
    assert told("recipes/a.toml") == ["recipes/a.toml: no such file"]
    assert told("smokey") == ["smokey: no such file"]
    assert told("nowhere/a.toml") == ["nowhere/a.toml: there is no folder nowhere"]
    assert told("recipes") == ["recipes: a recipe is a .py or a .toml file"]
    Path("b.toml").write_bytes(b"\xff\xfe")
    assert told("b.toml")[0].startswith("b.toml: not UTF-8 text")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = \n", "a.toml:2: not valid TOML: Invalid value (column 5)"),
        ("a = 1\na = 2\n", "a.toml:2: not valid TOML: Cannot overwrite a value (column 6)"),
        ("a = [1,\n2", "a.toml:2: not valid TOML: Unclosed array"),
        ("a = 1" + "0" * 5000, "a.toml: not valid TOML: Exceeds the limit"),
    ],
)
def test_text_that_is_not_toml(text: str, message: str, write: Write) -> None:
    assert told(write("a.toml", text))[0].startswith(message)


def test_a_warning_is_shown_where_the_recipe_calls_for_it(write: Write) -> None:
    write(
        "a.py",
        "import warnings\n"
        "from limite import RL, Mix, Recipe\n"
        "warnings.warn('mind this')\n"
        "recipe = Recipe(name='a', stages={'rl': RL(problems=Mix({'gcd': 1.0}))})\n",
    )
    with pytest.warns(UserWarning, match="mind this") as caught:
        load_recipe("a.py")
    assert (Path(caught[0].filename).name, caught[0].lineno) == ("a.py", 3)
