"""Python recipes: what may stand in them, and the line each mistake is told at."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import attrs
import pytest

from limite import RL, AdamW, Mix
from limite.core.errors import LimiteError
from limite.core.recipe.load import load_recipe

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
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


def test_functions_loops_evolve_and_modules_beside_it(write: Write) -> None:
    write(
        "lab/common.py",
        """\
        import attrs
        from limite import RL, AdamW, Mix

        def rl(lr, **more):
            return RL(problems=Mix({"gcd": 1}), optimizer=AdamW(lr=lr), **more)

        def slower(stage, factor):
            lr = stage.optimizer.lr / factor
            return attrs.evolve(stage, optimizer=attrs.evolve(stage.optimizer, lr=lr))
        """,
    )
    write("lab/parts/mixes.py", "from limite import Mix\nMIX = Mix({'gcd': 2})\n")
    path = write(
        "lab/a.py",
        '''\
        """A recipe with shape."""
        from __future__ import annotations

        import attrs
        from common import rl, slower
        from limite import Eval, Recipe
        from parts.mixes import MIX


        @attrs.frozen
        class Ladder:
            steps: int

            def stages(self):
                first = rl(1e-3, rollouts=4)
                found = {f"rl{n}": slower(first, 2**n) for n in range(self.steps)}
                return dict(found, last=Eval(problems=MIX))

            def __len__(self):
                return len(super().__repr__()) and self.steps


        ladder = Ladder(steps=3)
        assert len(ladder) == 3 and "ladder" in globals()
        recipe = Recipe(name="a", stages=ladder.stages())
        ''',
    )
    before = set(sys.modules)
    recipe = load_recipe(path).recipe
    assert list(recipe.stages) == ["rl0", "rl1", "rl2", "last"]
    last = recipe.stages["rl2"]
    assert isinstance(last, RL)
    assert last.optimizer == AdamW(lr=1e-3 / 4)
    assert last.rollouts == 4
    assert recipe.stages["last"].problems == Mix({"gcd": 2.0})
    assert not {"common", "parts", "parts.mixes"} & (set(sys.modules) - before)
    assert not list(Path("lab").rglob("*.pyc"))


def test_modules_of_one_recipe_do_not_reach_the_next(write: Write) -> None:
    recipe = "from shared import NAME\nfrom limite import *\nfrom limite import Eval, Mix, Recipe\n"
    recipe += "recipe = Recipe(name=NAME, stages={'e': Eval(problems=Mix({'gcd': 1}))})\n"
    for name in ("one", "two"):
        write(f"{name}/shared.py", f"NAME = {name!r}\n")
        assert load_recipe(write(f"{name}/a.py", recipe)).recipe.name == name
    write("two/shared.py", "NAME = 'three'\n")
    assert load_recipe("two/a.py").recipe.name == "three"


def test_lines_of_keywords_wherever_they_were_written(write: Write) -> None:
    write(
        "common.py",
        """\
        from limite import RL, Mix

        def rl(**more):
            return RL(problems=Mix({"gcd": 1,
                                    "sum-chian": -2}),
                      keeep=3, **more)
        """,
    )
    path = write(
        "a.py",
        """\
        from attrs import evolve
        from common import rl
        from limite import SFT, AdamW, Eval, Mix, Recipe

        adam = AdamW(
            lr=0.0)
        settings = {
            "clip_norm": "x",
        }
        first = rl(
            steps=2.5,
            optimizer=adam,
        )
        recipe = Recipe(
            name="a",
            stages={
                "rl": first,
                "again": evolve(first,
                                temperature=0.0,
                                grups=3),
                "sft":
                    SFT(problems=Mix({"gcd": 1}), **settings),
                "eval": Eval(count=1),
            },
            loggers=["jsonl",
                     "consle"],
        )
        """,
    )
    assert told(path) == [
        "a.py:6: stages.rl.optimizer.lr: must be > 0.0, got 0.0",
        "a.py:11: stages.rl.steps: expected int, got float 2.5",
        "a.py:19: stages.again.temperature: must be > 0.0, got 0.0",
        "a.py:20: stages.again.grups: unknown key; did you mean 'groups'?",
        "a.py:22: stages.sft.clip_norm: expected float, got str 'x'",
        "a.py:23: stages.eval.count: must be >= 2, got 1",
        "a.py:26: loggers[1]: unknown logger 'consle'; did you mean 'console'?",
        "common.py:4: stages.rl.problems.sources: the weight of 'sum-chian' must be finite and "
        "at least 0, got -2.0",
        "common.py:6: stages.rl.keeep: unknown key; did you mean 'keep'?",
    ]


def test_a_partial_call_is_a_call(write: Write) -> None:
    path = write(
        "a.py",
        """\
        from functools import partial
        from limite import RL, Mix, Recipe

        rl = partial(RL, problems=Mix({"gcd": 1}), keep=0)
        recipe = Recipe(name="a", stages={"r": rl(
            grups=3)})
        """,
    )
    assert told(path) == [
        "a.py:5: stages.r.keep: must be >= 1, got 0",
        "a.py:6: stages.r.grups: unknown key; did you mean 'groups'?",
    ]


def test_values_of_the_wrong_sort(write: Write) -> None:
    path = write(
        "a.py",
        """\
        from limite import RL, SFT, AdamW, Eval, HealthLimits, Mix, Recipe, GRPO

        class Mine:
            pass

        recipe = Recipe(
            name="a",
            stages={
                "one": RL(problems=HealthLimits(), objective=AdamW()),
                "two": RL(problems=Mix({"gcd": 1}),
                          objective=GRPO,
                          optimizer=None,
                          reward=Mine(),
                          groups=len),
                "three": AdamW(),
                4: SFT(problems=Mix({"gcd": 1})),
            },
        )
        """,
    )
    lines = told(path)
    assert [line for line in lines if "Mine" not in line] == [
        "a.py:9: stages.one.problems: expected a table (Mix), got HealthLimits",
        "a.py:9: stages.one.objective: expected an objective, got AdamW",
        "a.py:11: stages.two.objective: expected an objective (a name, or a table with 'type'), "
        "got the class GRPO",
        "a.py:12: stages.two.optimizer: expected an optimizer (a name, or a table with 'type'), "
        "got None",
        "a.py:14: stages.two.groups: expected int, got the function len",
        "a.py:15: stages.three: expected a table (Stage), got AdamW",
        "a.py:16: stages.4: keys are strings, got int 4",
    ]
    (mine,) = [line for line in lines if "Mine" in line]
    assert mine.startswith(
        "a.py:13: stages.two.reward: expected a reward (a name, or a table with 'type'), got Mine"
    )


def test_a_component_that_no_plugin_registers(write: Write) -> None:
    path = write(
        "a.py",
        """\
        import attrs
        from limite import RL, Mix, Recipe

        @attrs.frozen(kw_only=True)
        class Mine:
            def __call__(self, batch):
                return batch

        recipe = Recipe(name="a", stages={"r": RL(problems=Mix({"gcd": 1}), objective=Mine())})
        """,
    )
    assert told(path) == [
        "a.py:9: stages.r.objective: Mine is not registered as an objective by any plugin"
    ]


def test_mistakes_of_values_that_are_not_used(write: Write) -> None:
    path = write(
        "a.py",
        """\
        from limite import RL, AdamW, Eval, Mix, Recipe
        AdamW(rate=1, lrr=2)
        RL(steps=3)
        AdamW(0.1)
        Mix({"gcd": 1}, (0, 1))
        recipe = Recipe(name="a", stages={"e": Eval(problems=Mix({"gcd": 1}))})
        """,
    )
    assert told(path) == [
        "a.py:2: AdamW.rate: unknown key",
        "a.py:2: AdamW.lrr: unknown key; did you mean 'lr'?",
        "a.py:3: RL.problems: missing",
        "a.py:4: AdamW: takes nothing by position, got 1; name the others",
        "a.py:5: Mix: takes only 'sources' by position, got 2; name the others",
    ]


def test_an_exception_is_told_with_its_line_and_with_what_was_wrong_before(write: Write) -> None:
    write("helper.py", "def fail():\n    return 1 / 0\n")
    path = write(
        "a.py",
        """\
        from limite import RL, AdamW
        import helper
        AdamW(lrr=1)
        value = RL().problems.levels
        """,
    )
    first, second, third = told(path)
    assert first == "a.py:3: AdamW.lrr: unknown key; did you mean 'lr'?"
    assert second == "a.py:4: RL.problems: missing"
    assert third.startswith("a.py:4: AttributeError: ")
    write("a.py", "import helper\n\nhelper.fail()\n")
    assert told(path) == ["helper.py:2: ZeroDivisionError: division by zero"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nrecipe = Recipe(\n", "a.py:2: SyntaxError: '(' was never closed"),
        ("import attrs\nx = atrs\n", "a.py:2: NameError: name 'atrs' is not defined; did you mean"),
        ("import nothing_here\n", "a.py:1: ModuleNotFoundError: No module named 'nothing_here'"),
        ("from attrs import evolv\n", "a.py:1: ImportError: cannot import name 'evolv' from"),
        ("import sys\nsys.exit(3)\n", "a.py:2: SystemExit: 3"),
        ("import broken\n", "broken.py:2: SyntaxError: "),
        ("from limite.core.errors import LimiteError\nraise LimiteError('no')\n", "a.py:2: no"),
        ("x = 1\n", "a.py: defines no `recipe` (recipe = Recipe(...))"),
        ("recipe = {}\n", "a.py: `recipe` must be a Recipe, got a table"),
        (
            "from limite import Eval, Mix, Recipe\n"
            "mine = Recipe(name='a', stages={'e': Eval(problems=Mix({'gcd': 1}))})\n",
            "a.py: defines no `recipe` (recipe = Recipe(...)); it defines 'mine': call that",
        ),
    ],
)
def test_files_that_make_no_recipe(text: str, message: str, write: Write) -> None:
    write("broken.py", "x = 1\ny = (\n")
    (line,) = told(write("a.py", text))
    assert line.startswith(message)


def test_a_misspelt_import_has_its_nearest_right_word(write: Write) -> None:
    (line,) = told(write("a.py", "from limite import Mix, Sop\n"))
    assert line.startswith("a.py:1: ImportError: cannot import name 'Sop' from 'limite' ")
    assert line.endswith("; did you mean 'Soup'?")


def test_validators_work_again_afterwards(write: Write) -> None:
    told(write("a.py", "from limite import AdamW\nAdamW(lr=-1)\nraise ValueError\n"))
    assert not attrs.validators.get_disabled()
    with pytest.raises(ValueError, match="lr"):
        AdamW(lr=-1.0)


def test_a_settings_class_that_checks_itself_while_it_is_made(write: Write) -> None:
    path = write(
        "a.py",
        """\
        from limite import Eval, Mix, ModelSpec, Recipe
        recipe = Recipe(
            name="a",
            model=ModelSpec(
                heads=3,
                kv_heads=2,
                width="x",
            ),
            stages={"e": Eval(problems=Mix({"gcd": 1}))},
        )
        """,
    )
    assert told(path) == [
        "a.py:5: model.heads: 'heads' (3) must be a multiple of 'kv_heads' (2)",
        "a.py:7: model.width: expected int, got str 'x'",
    ]
