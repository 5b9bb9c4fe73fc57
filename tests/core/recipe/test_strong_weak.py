"""Pairs of a strong model's responses over a weak one's: recorded, exactly resumed, checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.character_files import character_files
from limite.core.pretrained.save import save_pretrained
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.load import load_recipe
from limite.core.recipe.only import needed_by
from limite.core.recipe.runners import asking, preference
from limite.core.recipe.runners.asking import is_pair
from limite.core.recipe.verify import verify_run
from limite.core.rollout.stop import StopRequest
from limite.core.rollout.store import read_groups
from limite.core.separation import is_held_out
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Group
from limite.plugins.conformance.strategies import group_of

RECIPE = Path(__file__).parent / "sampled.toml"


def quiet(_line: str) -> None:
    """Says nothing."""


def run(out: Path, *sets: str, name: str | None = None, echo: Any = quiet) -> RunResult:
    return start(RECIPE, out=out, overrides=sets, name=name, echo=echo)


@pytest.fixture(scope="module", autouse=True)
def few_at_once() -> Any:
    """Several files of few problems each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "AT_ONCE", 16)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run(tmp_path_factory.mktemp("whole"))


def groups(result: RunResult) -> list[Group]:
    folder = result.path / "stages/03-dpo/sampled"
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"{each:06d}.jsonl.zst" for each in (1, 2, 3)]
    return [group for file in files for group in read_groups(read_jsonl(file))]


def test_both_are_asked_every_problem_and_what_they_say_is_recorded(whole: RunResult) -> None:
    found = groups(whole)
    assert len({group.problem.id for group in found}) == len(found) == 40
    for group in found:
        strong, weak = group.responses
        assert (strong.sample_index, weak.sample_index) == (0, 1)
        assert strong.prompt_ids == weak.prompt_ids
        assert len(strong.logprobs) == len(strong.completion_ids) <= 6
        assert not is_held_out(group.problem.problem)
        assert len(group.verdicts) == 2
    strong = [sum(group.responses[0].logprobs) / 6 for group in found]
    weak = [sum(group.responses[1].logprobs) / 6 for group in found]
    assert sum(strong) > sum(weak)  # it knows what it says
    ended = [g for g in found if all(each.finish_reason == "eos" for each in g.responses)]
    different = [g for g in ended if g.responses[0].completion_ids != g.responses[1].completion_ids]
    receipt = whole.stages["dpo"]
    assert receipt["pairs"] + receipt["held_out_pairs"] == len(different) > 0
    assert receipt["dropped_pairs"] == len(ended) - len(different)
    assert any(name.startswith("sampled/") for name in receipt["files"])


def test_what_both_have_said_is_verified(whole: RunResult, tmp_path: Path) -> None:
    assert verify_run(whole.path).violations == []
    path = shutil.copytree(whole.path, tmp_path / "forged")
    place = path / "stages/03-dpo/sampled/000002.jsonl.zst"
    lines = list(read_jsonl(place))
    unfinished = next(i for i, line in enumerate(lines) if line["finish_reason"] == "length")

    def told(changed: list[dict[str, Any]]) -> str:
        write_jsonl(place, changed)
        return "; ".join(each.message for each in verify_run(path).violations)

    for change, message in (
        ({"correct": True}, "and did not come to its own end (length)"),
        ({"finish_reason": "eos"}, "its finish reason is 'eos' but its last token is"),
        ({"sample_index": 2}, ", not [0, 1]"),
        ({"reward": 0.5}, "graded again it has reward 0.5, not 0.0"),
        ({"text": "#12"}, "its text is '#12', and its tokens say "),
        ({"prompt_ids": [1, 7]}, "its prompt is not that of its problem"),
        ({"completion_ids": [10**6]}, "its response has the token 1000000, with a vocabulary of "),
    ):
        forged = [{**lines[unfinished], **change}]
        assert message in told([*lines[:unfinished], *forged, *lines[unfinished + 1 :]])
    assert "holds 39 problems, not 40" in told(lines[2:])
    first = path / "stages/03-dpo/sampled/000001.jsonl.zst"
    assert "problems more than once" in told(list(read_jsonl(first)))


def test_the_policy_learns_to_prefer_the_strong_one(whole: RunResult) -> None:
    log = whole.path / "stages/03-dpo/metrics.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[-1]["loss"] < lines[0]["loss"]


def test_a_stage_that_was_stopped_asks_nothing_twice(
    whole: RunResult, tmp_path: Path, digest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[StopRequest] = []
    before = StopRequest.__enter__
    asked: list[str] = []
    responses = asking.responses

    def enter(self: StopRequest) -> StopRequest:
        stops.append(self)
        return before(self)

    def look(context: Any, settings: Any, model: Any, problems: Any, *rest: Any) -> Any:
        asked.extend(problem.id for problem in problems)
        if len(asked) == 32:  # both have been asked a first part
            stops[-1].requested = True
        return responses(context, settings, model, problems, *rest)

    monkeypatch.setattr(StopRequest, "__enter__", enter)
    monkeypatch.setattr(asking, "responses", look)
    with pytest.raises(RunStopped, match="what was sampled is kept"):
        run(tmp_path, name="stopped")
    assert len(asked) == 32
    done = go_on(tmp_path / "stopped", echo=quiet)
    assert len(asked) == 80
    assert all(asked.count(each) == 2 for each in asked)
    assert digest(done.path) == digest(whole.path)


def test_problems_that_were_asked_count_as_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []
    update = preference.update

    def look(session: Any, *rest: Any) -> Any:
        seen.append(preference.training_hashes(session.context))
        return update(session, *rest)

    monkeypatch.setattr(preference, "update", look)
    result = run(tmp_path, "stages.dpo.steps=1")
    assert 20 < len(seen[0]) < 40  # all that are not held out
    assert result.results["after"]["separation"]["shared"] == 0


def test_a_model_of_another_architecture_may_be_the_strong_one(tmp_path: Path) -> None:
    spec = LlamaSpec(
        width=16, layers=1, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=32
    )
    tokenizer = CharacterTokenizer()
    teacher = tmp_path / "teacher"
    save_pretrained(build_decoder(spec.filled(tokenizer.vocabulary), 5), teacher)
    for name, content in character_files(tokenizer, 32).items():
        (teacher / name).write_bytes(content)
    sampled = [f"strong={teacher}", "count=48", "max_tokens=16"]
    found = run(tmp_path, *(f"stages.dpo.sampled.{each}" for each in sampled))
    assert len(groups(found)) == 48
    bound = json.loads((found.path / "receipt.json").read_text())["stage_files"]
    assert set(bound) == {str(teacher / "config.json"), str(teacher / "model.safetensors")}


def ended(strong: bool, weak: bool, reason: str = "eos") -> Group:
    found = group_of([float(strong), float(weak)], [2, 3])
    responses = [
        attrs.evolve(each, finish_reason=reason if number else "eos")
        for number, each in enumerate(found.responses)
    ]
    return attrs.evolve(found, responses=responses, correct=[strong, weak])


@pytest.mark.parametrize(
    ("strong", "weak", "kept"),
    [
        (True, False, {"all", "right", "right-over-wrong"}),
        (True, True, {"all", "right"}),
        (False, False, {"all"}),
        (False, True, {"all"}),
    ],
)
def test_which_pairs_are_wanted(strong: bool, weak: bool, kept: set[str]) -> None:
    for wanted in ("all", "right", "right-over-wrong"):
        assert is_pair(ended(strong, weak), wanted) is (wanted in kept)
        assert not is_pair(ended(strong, weak, "length"), wanted)


def test_what_it_takes_is_known_beforehand() -> None:
    recipe = load_recipe(RECIPE).recipe
    assert needed_by(recipe, "dpo") == ["weak", "strong"]
    _, plan = check_file(RECIPE, (), load_registry())
    stage = plan.stages[2]
    assert stage.sampled_tokens == 2 * 40 * 6
    assert stage.trained_tokens > 0


SETS = [
    ("strong=weak", "sampled.weak: must be another model than 'strong', got 'weak' twice"),
    ("strong=stron", "sampled.strong: unknown stage 'stron'; did you mean 'strong'?"),
    ("strong=elsewhere", "unknown stage 'elsewhere'; the path of a model has a slash"),
    ("weak=after", "sampled.weak: the stage 'after' does not come before this one"),
    ("weak=./nowhere", "sampled.weak: there is no directory 'nowhere'"),
    ("pairs=some", "sampled.pairs"),
    ("max_tokens=30", "sampled.max_tokens: a prompt of"),
    ("problems.sources={ no-such = 1 }", "unknown generator 'no-such'"),
    ("count=100000", "sampled.problems: linear-equation at difficulty 0 to 0: only"),
]


@pytest.mark.parametrize(("change", "message"), SETS, ids=[change for change, _ in SETS])
def test_mistakes_are_told_before_anything_runs(change: str, message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_file(RECIPE, [f"stages.dpo.sampled.{change}"], load_registry())
    assert message in str(refused.value)
    assert len(refused.value.mistakes) == 1
