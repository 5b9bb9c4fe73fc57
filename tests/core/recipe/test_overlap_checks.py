"""Problems that a stage trains on and a later one asks are told before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.jsonl import write_jsonl
from limite.core.recipe.check import check_file
from limite.core.recipe.engine import RunResult
from limite.core.recipe.load import load_recipe
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import evaluation_seeds
from limite.core.separation import is_held_out

MIX = "{ sources = { linear-equation = 1 }, difficulty = [0.0, 0.0] }"
HEAD = f"""
name = "overlap"
loggers = ["jsonl"]
model = {{ width = 16, layers = 2, heads = 2, kv_heads = 1, head_width = 8, mlp_width = 24, context = 64 }}

[stages.sft]
type = "sft"
problems = {MIX}
documents = 40
steps = 1

"""  # noqa: E501
EVAL = f"""
[stages.after]
type = "eval"
problems = {MIX}
count = 8
samples = 1
max_tokens = 6
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The problems that the evaluation asks."""
    place = tmp_path_factory.mktemp("asked") / "recipe.toml"
    place.write_text(HEAD + EVAL)
    recipe = load_recipe(place).recipe
    seeds = evaluation_seeds(recipe, "after")
    problems = held_out_problems(recipe.stages["after"], load_registry(), seeds)
    return [each.problem for each in problems]


def told(tmp_path: Path, stages: str, *sets: str) -> list[str]:
    place = tmp_path / "recipe.toml"
    place.write_text(HEAD + stages)
    try:
        check_file(place, sets, load_registry())
    except SettingsError as refused:
        return [f"{each.path}: {each.message}" for each in refused.mistakes]
    return []


def pairs(tmp_path: Path, prompts: list[Any]) -> str:
    write_jsonl(
        tmp_path / "pairs.jsonl",
        [{"prompt": prompt, "chosen": "#1", "rejected": "#2"} for prompt in prompts],
    )
    return f"""
[stages.dpo]
type = "preference"
pairs = "{tmp_path}/pairs.jsonl"
held_out = 0.0
"""


def test_pairs(tmp_path: Path, asked: list[str]) -> None:
    others = [f"{number}+1=?" for number in range(12)]
    stage = pairs(tmp_path, [*others, asked[2], f" {asked[5]} ?"])
    examples = ", ".join(map(repr, sorted([asked[2], asked[5]])))
    assert told(tmp_path, stage + EVAL) == [
        f"stages.dpo.pairs: {tmp_path}/pairs.jsonl trains on 2 problems that 'after' asks, such as "
        f"{examples}; leave them out of it, or that score would not mean ability"
    ]
    # An evaluation before it asks what nobody has trained on yet.
    assert told(tmp_path, EVAL + stage) == []
    assert told(tmp_path, pairs(tmp_path, others) + EVAL) == []


def test_what_is_kept_from_training_is_no_overlap(tmp_path: Path, asked: list[str]) -> None:
    stage = pairs(tmp_path, [*(f"{number}+1=?" for number in range(12)), *asked])
    found = told(tmp_path, stage + EVAL)
    assert "trains on 8 problems" in found[0]
    some = told(tmp_path, stage + EVAL, "stages.dpo.held_out=0.5")
    assert "trains on 8 problems" not in some[0]


def test_a_line_past_those_that_are_counted_is_seen(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limite.core.recipe.data_checks.COUNTED", 3)
    stage = pairs(tmp_path, [*(f"{number}+1=?" for number in range(12)), asked[0]])
    (message,) = told(tmp_path, stage + EVAL)
    assert "trains on 1 problem that 'after' asks" in message


def test_texts_of_a_teacher_and_its_prompts(tmp_path: Path, asked: list[str]) -> None:
    write_jsonl(
        tmp_path / "texts.jsonl",
        [{"prompt": prompt, "completion": "#1"} for prompt in ["1+1=?", "1+2=?", asked[0]]],
    )
    stage = f"""
[stages.distill]
type = "distill"
traces = "{tmp_path}/texts.jsonl"
objective = "sft"
held_out = 0.0
"""
    (message,) = told(tmp_path, stage + EVAL)
    assert message.startswith(
        f"stages.distill.traces: {tmp_path}/texts.jsonl trains on 1 problem that 'after' asks, "
        f"such as {asked[0]!r}"
    )


def test_rollout_files_of_a_critic(tmp_path: Path, asked: list[str], finished: RunResult) -> None:
    place = tmp_path / "rollouts"
    place.mkdir()
    write_jsonl(place / "000001.jsonl.zst", [{"problem": {"problem": asked[1]}}])
    stage = f"""
[stages.critic]
type = "fit-critic"
rollout_files = ["{finished.path}/stages/03-rl/rollouts", "{place}"]
"""
    (message,) = told(tmp_path, stage + EVAL)
    assert message.startswith(
        f"stages.critic.rollout_files[1]: {place} trains on 1 problem that 'after' asks"
    )
    assert told(tmp_path, stage) == []
    write_jsonl(place / "000001.jsonl.zst", [{"answer": 1}])
    (message,) = told(tmp_path, stage + EVAL)
    assert "000001.jsonl.zst: not a record of responses: KeyError: 'problem'" in message


def test_what_chooses_a_soup_is_neither_trained_on_nor_asked_again(
    tmp_path: Path, asked: list[str]
) -> None:
    write_jsonl(
        tmp_path / "problems.jsonl",
        [
            {"problem": text, "answer": {"type": "integer", "value": "1"}}
            for text in ["1+0=?", asked[3]]
        ],
    )
    soup = f"""
[stages.soup]
type = "soup"
of = ["sft", "dpo"]
greedy = {{ benchmark = "{tmp_path}/problems.jsonl", max_tokens = 6 }}
"""
    stage = pairs(tmp_path, [*(f"{number}+1=?" for number in range(12)), "1+0=?"])
    trained, chosen = told(tmp_path, stage + soup + EVAL)
    assert trained.startswith(
        f"stages.dpo.pairs: {tmp_path}/pairs.jsonl trains on 1 problem that 'soup' asks"
    )
    assert chosen.startswith(
        f"stages.soup.greedy.benchmark: {tmp_path}/problems.jsonl chooses models by 1 problem that "
        f"'after' asks, such as {asked[3]!r}"
    )


def test_what_generators_draw_never_overlaps(tmp_path: Path) -> None:
    reinforcement = f"""
[stages.rl]
type = "rl"
problems = {MIX}
steps = 1
max_tokens = 6
"""
    assert told(tmp_path, reinforcement + EVAL) == []


def test_a_recipe_with_other_mistakes_is_told_of_those(tmp_path: Path, asked: list[str]) -> None:
    stage = pairs(tmp_path, [*(f"{number}+1=?" for number in range(12)), asked[0]])
    found = told(tmp_path, stage + EVAL, "stages.after.problems.sources={ no-such = 1 }")
    assert len(found) == 1
    assert "unknown generator 'no-such'" in found[0]
    found = told(tmp_path, stage + EVAL, "stages.after.count=x")
    assert found
    assert not any("trains on" in line for line in found)


def reinforcement(tmp_path: Path, *texts: str, curriculum: str = '"pass-rate"') -> str:
    """A stage that draws from a file of these problems, whose answer is 1, and of some others."""
    others = [f"{number}+1=?" for number in range(40)]
    for name, found in (("problems", [*others, *texts]), ("others", others)):
        write_jsonl(
            tmp_path / f"{name}.jsonl",
            [{"problem": text, "answer": {"type": "integer", "value": "1"}} for text in found],
        )
    sources = f'{{ "{tmp_path}/problems.jsonl" = 1, "{tmp_path}/others.jsonl" = 1 }}'
    return f"""
[stages.rl]
type = "rl"
problems = {{ sources = {sources} }}
curriculum = {curriculum}
groups = 4
max_tokens = 6
"""


LONG = "A baker has 17 trays with 12 rolls and sells 150 of them before noon. How many are left"
REWORDED = (
    "The baker has 17 trays with 12 rolls and sells 150 of them before noon. How many are left"
)


def asking(tmp_path: Path, *texts: str) -> str:
    """A soup that asks all of these problems, whose answer is 1."""
    write_jsonl(
        tmp_path / "asked.jsonl",
        [{"problem": text, "answer": {"type": "integer", "value": "1"}} for text in texts],
    )
    return f"""
[stages.soup]
type = "soup"
of = ["sft", "rl"]
greedy = {{ benchmark = "{tmp_path}/asked.jsonl", max_tokens = 6 }}
"""


def told_of_sharing(tmp_path: Path, stages: str) -> list[str]:
    """What is told; that such texts do not fit the small model is of no interest."""
    return [line for line in told(tmp_path, stages) if "mean ability" in line]


def test_problems_of_a_benchmark_in_a_file_that_is_trained_on(tmp_path: Path) -> None:
    (held,) = [text for text in ("5-2=?", "x=4-2, x=?") if not is_held_out(text)][:1]
    stages = reinforcement(tmp_path, held) + asking(tmp_path, held, "9-9=?")
    (message,) = told_of_sharing(tmp_path, stages)
    place = f"{tmp_path}/problems.jsonl"
    assert message == (
        f'stages.rl.problems.sources."{place}": {place} trains on 1 problem that '
        f"'soup' asks, such as {held!r}; leave them out of it, or that score would not mean ability"
    )
    assert told_of_sharing(tmp_path, reinforcement(tmp_path) + asking(tmp_path, held)) == []


def test_problems_that_are_asked_in_other_words(tmp_path: Path) -> None:
    assert not is_held_out(REWORDED)
    stages = reinforcement(tmp_path, REWORDED) + asking(tmp_path, LONG)
    (message,) = told_of_sharing(tmp_path, stages)
    assert "trains on 1 problem that 'soup' asks in other words, such as" in message
    assert f"{REWORDED!r} for {LONG!r}" in message
    # With another number it is another problem, and so it is with another answer.
    other = asking(tmp_path, LONG.replace("150", "151"))
    assert told_of_sharing(tmp_path, reinforcement(tmp_path, REWORDED) + other) == []
    same = asking(tmp_path, LONG)
    place = tmp_path / "asked.jsonl"
    place.write_text(place.read_text().replace('"value":"1"', '"value":"2"'))
    assert '"value":"2"' in place.read_text()
    assert told_of_sharing(tmp_path, reinforcement(tmp_path, REWORDED) + same) == []


def test_a_pool_may_not_name_what_is_asked_though_it_is_left_out(
    tmp_path: Path, asked: list[str]
) -> None:
    """Drawing leaves out held-out problems of a file; a pool that names one is a mistake."""
    assert told(tmp_path, reinforcement(tmp_path, asked[1]) + EVAL) == []
    pool = f'{{ type = "annealed", pool = "{tmp_path}/problems.jsonl" }}'
    (message,) = told(tmp_path, reinforcement(tmp_path, asked[1], curriculum=pool) + EVAL)
    assert message.startswith(
        f"stages.rl.curriculum: {tmp_path}/problems.jsonl names 1 problem that 'after' asks, "
        f"such as {asked[1]!r}"
    )
    assert told(tmp_path, reinforcement(tmp_path, curriculum=pool) + EVAL) == []


def test_worked_solutions_in_other_words(tmp_path: Path) -> None:
    file = f"{tmp_path}/problems.jsonl"
    stage = reinforcement(tmp_path, REWORDED)
    sets = (f'stages.sft.problems.sources={{ "{file}" = 1 }}',)
    own = stage.replace(f'"{file}" = 1, ', "")
    found = told(tmp_path, own + asking(tmp_path, LONG), *sets)
    (message,) = (line for line in found if "mean ability" in line)
    assert message.startswith(f'stages.sft.problems.sources."{file}": {file} trains on 1 problem')
    assert f"{REWORDED!r} for {LONG!r}" in message


def probing(tmp_path: Path, *texts: str) -> str:
    """A rule that asks two of these problems, whose answer is 1, those that are held out."""
    write_jsonl(
        tmp_path / "probe.jsonl",
        [{"problem": text, "answer": {"type": "integer", "value": "1"}} for text in texts],
    )
    mix = f'{{ sources = {{ "{tmp_path}/probe.jsonl" = 1 }} }}'
    return f"stop_when = {{ probe = {{ problems = {mix}, count = 2 }} }}\n"


def test_what_a_probe_asks_is_not_trained_on_in_its_own_stage_or_before(tmp_path: Path) -> None:
    """A probe decides when training ends, as an evaluation decides of a score."""
    numbers = (str(number) for number in range(160, 999))
    text = next(
        number
        for number in numbers
        if is_held_out(LONG.replace("150", number))
        and not is_held_out(REWORDED.replace("150", number))
    )
    asks, repeats = LONG.replace("150", text), REWORDED.replace("150", text)
    held = [f"{number}-1=?" for number in range(60) if is_held_out(f"{number}-1=?")][:1]
    stage = reinforcement(tmp_path, repeats) + probing(tmp_path, asks, *held)
    (message,) = told_of_sharing(tmp_path, stage)
    file = f"{tmp_path}/problems.jsonl"
    assert message.startswith(f'stages.rl.problems.sources."{file}": {file} trains on 1 problem')
    assert "that 'rl.stop_when.probe' asks in other words, such as" in message
    assert f"{repeats!r} for {asks!r}" in message
    before = f'stages.sft.problems.sources={{ "{file}" = 1 }}'
    own = stage.replace(f'"{file}" = 1, ', "")
    found = [line for line in told(tmp_path, own, before) if "mean ability" in line]
    assert [line.split(".")[1] for line in found] == ["sft"]
    # A pool may not name what is asked, though drawing leaves it out.
    pool = f'{{ type = "annealed", pool = "{file}" }}'
    stage = reinforcement(tmp_path, asks, curriculum=pool) + probing(tmp_path, asks, *held)
    (message,) = told_of_sharing(tmp_path, stage)
    assert message.startswith(f"stages.rl.curriculum: {file} names 1 problem that 'rl.stop_when")
    assert told_of_sharing(tmp_path, reinforcement(tmp_path) + probing(tmp_path, asks, *held)) == []
