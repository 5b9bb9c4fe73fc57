"""The settings of an ``Eval`` stage that ``limite eval`` has as options: profiles and suites."""

from __future__ import annotations

import json

import attrs
import pytest

from limite.core.config import structure
from limite.core.discover import load_registry
from limite.core.jsonl import read_json, read_jsonl
from limite.core.model.init import build_decoder
from limite.core.recipe.look import look_over
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.stages import Eval, Mix
from limite.core.recipe.verify.finding import Findings
from limite.core.recipe.verify.results import check_results
from limite.core.tokenizer import CharacterTokenizer
from limite.evaluate.shipped import shipped
from limite.evaluate.stage import run
from limite.evaluate.stage_asked import Terms, judge_of, needs_end
from limite.problems.verifiers.mathematics import Mathematics
from tests.evaluate.test_stage import MODEL, STAGE, context

__all__ = ["context"]

MIX = Mix({"gcd": 1}, difficulty=(0.0, 0.5))
SHOT = {
    "problem": "gcd(4, 6)?",
    "answer": {"type": "integer", "value": "2"},
    "solution": "both are even. #2",
}
FEW = Eval(problems=MIX, count=6, samples=2, max_tokens=8, profile="base-few-shot")
ALPHABET = "".join(map(chr, range(32, 127))) + "\n"


@pytest.fixture
def shots(tmp_path):
    path = tmp_path / "shots.jsonl"
    path.write_text(f"{json.dumps(SHOT)}\n", encoding="utf-8")
    return str(path)


def recipe(**stages):
    given = Recipe(
        name="r",
        model=attrs.evolve(MODEL, context=700, vocabulary=None),
        tokenizer=CharacterTokenizer(alphabet=ALPHABET),
        stages=stages,
    )
    return structure(given, Recipe, load_registry())


def faults(**stages):
    """Every fault of a recipe, by the place of its setting."""
    found = look_over(recipe(**stages), load_registry())
    return {".".join(map(str, each.path[1:])): each.message for each in found.faults}


def measured(context, stage, name="after"):
    made = context(name, stage)
    made.recipe = recipe(after=stage)
    made.stage = made.recipe.stages["after"]
    made.tokenizer, made.model = made.recipe.tokenizer, made.recipe.model
    made.name = "after"
    made.load_policy = lambda: build_decoder(made.recipe.model.filled(made.tokenizer.vocabulary), 1)
    run(made)
    return made


def test_a_base_model_reads_worked_problems_first_and_ends_at_a_text(context, shots):
    stage = attrs.evolve(FEW, shots=shots, stop=tuple("aeiou"), max_tokens=30)
    made = measured(context, stage)
    results = read_json(made.directory / "results.json")
    prompt = made.tokenizer.decode(results["profile"]["example"]["prompt"])
    assert prompt.startswith("Problem: gcd(4, 6)?\nSolution: both are even. #2\n\nProblem: ")
    assert prompt.endswith("\nSolution:")
    assert results["protocol"]["profile"]["kind"] == "base-few-shot"
    stopped = [
        each
        for each in read_jsonl(made.directory / "responses.jsonl.zst")
        if each["finish_reason"] == "stop"
    ]
    assert stopped
    for each in stopped:
        assert not set("aeiou") & set(each["text"])
        assert made.tokenizer.decode(each["completion_ids"])[-1] in "aeiou"


def test_settings_that_say_nothing_leave_the_protocol_as_it_was(context):
    """An instruction of no words is none, and problems are put as training put them."""
    ids = []
    for number, stage in enumerate((STAGE, attrs.evolve(STAGE, instruction="", stop=()))):
        made = context(f"s{number}", stage)
        run(made)
        ids.append(read_json(made.directory / "results.json")["protocol_id"])
    assert ids[0] == ids[1]


def test_a_suite_leaves_the_results_of_each_task(context):
    stage = Eval(suite="limite", samples=1, max_tokens=2, verifier=Mathematics())
    made = measured(context, stage)
    whole = read_json(made.directory / "results.json")
    assert "score" not in whole
    sealed = shipped()
    assert set(whole["tasks"]) == {"limite-easy", "limite-middle", "limite-hard"}
    for task, told in whole["tasks"].items():
        results = read_json(made.directory / task / "results.json")
        assert (told["correct"], told["total"]) == (results["correct"], results["total"])
        assert results["benchmark"]["sha256"] == sealed[task]["sha256"]
        assert results["total"] == sealed[task]["problems"]
    findings = Findings(root=made.directory)
    check_results(made.directory, made.name, made.recipe, True, findings)
    assert findings.counts["responses"] == sum(each["total"] for each in whole["tasks"].values())
    assert not findings.violations


def test_the_results_of_a_run_are_told_task_by_task(tmp_path):
    """Of a suite those of its tasks, of any other stage its own."""
    made = RunDirectory(path=tmp_path / "r", stage_names=("one", "suite"))
    for place in ("one", "suite", "suite/easy"):
        stage, _, task = place.partition("/")
        folder = made.start_stage(stage) / task
        folder.mkdir(exist_ok=True)
        (folder / "results.json").write_text("{}", encoding="utf-8")
    assert list(made.evaluations("one")) == ["one"]
    assert list(made.evaluations("suite")) == ["suite/easy"]


def test_what_does_not_belong_together_is_told_before_anything_runs(tmp_path, shots):
    aime = tmp_path / "data"
    aime.mkdir()
    (aime / "aime24.jsonl").write_text('{"problem": "1+1?", "answer": 2}\n{"problem": "?"}\n')
    found = faults(
        few=FEW,
        none=attrs.evolve(FEW, shots=str(tmp_path / "none.jsonl")),
        chat=attrs.evolve(FEW, profile="chat-zero-shot", shots=shots, thinking=True),
        plain=attrs.evolve(FEW, profile=None, shots=shots, system="s"),
        empty=Eval(),
        both=Eval(problems=MIX, suite="limite", count=5),
        suite=Eval(suite="limit"),
        data=Eval(suite="math-extended"),
        olympiad=Eval(suite="math-extended/olympiadbench", data=str(aime)),
        often=Eval(suite="math-extended/aime24", data=str(aime), profile="base-few-shot",
                   shots=shots, samples=8),
        long=Eval(suite="limite/limite-easy", max_tokens=600, verifier=Mathematics()),
    )  # fmt: skip
    said = {
        "few.shots": "missing: the profile base-few-shot",
        "none.shots": "no such file",
        "chat.shots": "belongs to the profile base-few-shot",
        "chat.thinking": "belongs to the profile base-few-shot",
        "chat.profile": "no chat template",
        "plain.shots": "belongs to the profile base-few-shot",
        "plain.system": "knows no turns",
        "empty.problems": "or a 'suite'",
        "both.suite": "problems of its own",
        "both.count": "asked whole",
        "suite.suite": "did you mean 'limite'?",
        "data.data": "say where the data of math-extended lie",
        "data.profile": "no chat template",
        "olympiad.profile": "no chat template",
        "olympiad.suite": "olympiadbench cannot be asked",
        "often.samples": "they would all be the same one",
        "long.max_tokens": "do not fit the context of 700 tokens",
    }
    assert set(found) == set(said)
    for place, words in said.items():
        assert words in found[place], place


def test_a_sound_stage_is_planned_by_the_prompts_it_shows(shots):
    loaded = recipe(few=attrs.evolve(FEW, shots=shots), easy=Eval(suite="limite/limite-easy",
                    verifier=Mathematics()))  # fmt: skip
    found = look_over(loaded, load_registry())
    assert not found.faults
    assert min(found.texts["few"].prompts) > len("Problem: gcd(4, 6)?\nSolution: both are even.")
    assert found.texts["easy"].items == shipped()["limite-easy"]["problems"] * 4
    assert found.plan(loaded, load_registry()).stages[0].sampled_tokens == 6 * 2 * FEW.max_tokens


def test_a_published_suite_is_graded_by_reference_unless_a_verifier_is_named():
    for named, headline in ((None, "reference"), ("mathematics", None)):
        given = {} if named is None else {"verifier": named}
        stage = recipe(aime=Eval(suite="math-extended", data=".", **given)).stages["aime"]
        judge = judge_of(stage, load_registry())
        assert getattr(judge, "headline", None) == headline
        assert needs_end(stage, judge) is (headline is None)


def test_a_published_suite_is_asked_on_its_terms_where_the_stage_says_nothing_else():
    chat = Eval(suite="math-extended", data=".")
    assert Terms.of(chat, 32) == Terms(
        samples=32, temperature=0.6, top_p=0.95, budget="reserved-prompt", max_tokens=None
    )
    assert Terms.of(attrs.evolve(chat, samples=2, max_tokens=9), 32) == Terms(
        samples=2, temperature=0.6, top_p=0.95, budget="reserved-prompt", max_tokens=9
    )
    # What stands in a recipe is meant, also where it is what would hold without a suite.
    typed = {"samples": 4, "temperature": 1.0, "top_p": 1.0, "max_tokens": 64}
    assert Terms.of(attrs.evolve(chat, **typed, budget="fixed-response"), 32) == Terms(
        samples=4, temperature=1.0, top_p=None, budget="fixed-response", max_tokens=64
    )
    assert Terms.of(Eval(suite="limite"), None) == Terms(
        samples=4, temperature=1.0, top_p=None, budget="fixed-response", max_tokens=64
    )
    assert Terms.of(attrs.evolve(chat, profile="base-few-shot"), 32) == Terms(
        samples=1, temperature=0.0, top_p=None, budget="fixed-response", max_tokens=8192
    )
