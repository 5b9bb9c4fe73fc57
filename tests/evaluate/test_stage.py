"""The ``Eval`` stage on a real, tiny, untrained model: what it writes, and what it refuses."""

from __future__ import annotations

import json
from types import SimpleNamespace

import attrs
import pytest

from limite.core.config import structure
from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, read_jsonl
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.recipe.context import RunStopped
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import Eval, Mix
from limite.core.rollout.sampler import Sampler
from limite.core.rollout.stop import StopRequest
from limite.core.rollout.uniforms import row_key
from limite.core.seeds import Seeds
from limite.core.separation import text_hash
from limite.core.tokenizer import CharacterTokenizer
from limite.evaluate.grader import content_hash
from limite.evaluate.stage import problems_of, run
from limite.plugins.benchmarks.limite_sums import LimiteSums
from limite.problems.verifiers.exact import Exact

MIX = Mix({"sum-chain": 1, "gcd": 1}, difficulty=(0.0, 0.5), levels=2)
MODEL = ModelSpec(
    width=16,
    layers=1,
    heads=1,
    kv_heads=1,
    head_width=16,
    mlp_width=16,
    context=64,
    vocabulary=CharacterTokenizer().vocabulary,
)
STAGE = Eval(problems=MIX, count=6, samples=2, max_tokens=8)


@pytest.fixture
def context(tmp_path):
    registry = load_registry()

    def make(name="after", stage=STAGE, seed=1, weights=0, training=()):
        given = Recipe(name="r", seed=seed, model=MODEL, stages={"before": STAGE, name: stage})
        recipe = structure(given, Recipe, registry)
        folder = tmp_path / name
        return SimpleNamespace(
            recipe=recipe,
            name=name,
            stage=recipe.stages[name],
            directory=folder,
            registry=registry,
            tokenizer=recipe.tokenizer,
            model=recipe.model,
            echo=lines.append,
            run=SimpleNamespace(path=tmp_path),
            stop=StopRequest(),
            load_policy=lambda: build_decoder(recipe.model, Seeds(weights)),
            results_of=lambda stage: read_json(tmp_path / stage / "results.json"),
            training_hashes=lambda: set(training),
        )

    lines = []
    make.lines = lines
    return make


def test_it_leaves_results_and_responses(context):
    made = context()
    outcome = run(made)
    results = read_json(made.directory / "results.json")
    assert results["total"] == 12
    assert results["complete"] is True
    assert results["protocol"]["count"] == 6
    assert results["separation"]["shared"] == 0
    assert "against" not in results
    assert sum(row["problems"] for row in results["by_arm"].values()) == 6
    lines = list(read_jsonl(made.directory / "responses.jsonl.zst"))
    assert len(lines) == 12
    assert outcome["tokens"] == sum(line["generated_tokens"] for line in lines)
    assert all(line["generated_tokens"] <= 8 for line in lines)
    assert all(len(line["completion_ids"]) == line["generated_tokens"] for line in lines)
    assert {(line["model"], line["stage"]) for line in lines} == {("r", "after")}
    assert {line["grader_sha256"] for line in lines} == {content_hash(Exact)}
    assert {line["protocol_id"] for line in lines} == {results["protocol_id"]}
    first = lines[0]
    seed = row_key(results["protocol"]["seed"], first["problem_id"], first["sample_index"])
    assert first["seed"] == str(seed)
    assert len({line["seed"] for line in lines}) == 12
    assert context.lines == [f"after: held-out accuracy {results['text']}"]


def test_the_same_weights_give_the_same_bytes(context):
    made = context()
    run(made)
    first = (made.directory / "results.json").read_bytes()
    run(made)
    assert (made.directory / "results.json").read_bytes() == first


def test_two_stages_ask_the_same_problems_and_are_paired(context):
    run(context("before"))
    later = context("after", attrs.evolve(STAGE, against="before"), weights=1)
    run(later)
    results = read_json(later.directory / "results.json")
    before = read_json(later.directory.parent / "before" / "results.json")
    assert results["protocol_id"] == before["protocol_id"]
    assert results["against"]["stage"] == "before"
    assert results["against"]["difference"] == results["score"] - before["score"]
    assert context.lines[-1].startswith("after against before: ")
    assert json.dumps(results["against"])


def test_a_stop_is_heard_between_two_responses(context, monkeypatch):
    made = context()
    taken = []

    class Interrupted(Sampler):
        def generate(self, requests, policy_version):
            for found in super().generate(requests, policy_version):
                taken.append(found)
                if len(taken) == 3:
                    made.stop.request()
                yield found

    monkeypatch.setattr("limite.evaluate.stage.Sampler", Interrupted)
    with pytest.raises(RunStopped, match="it will be measured again") as told:
        run(made)
    assert str(told.value).endswith(f"limite resume {made.run.path}")
    assert "'after'" in str(told.value)
    assert len(taken) == 3
    assert not made.directory.exists()


def test_a_stop_after_the_last_response_loses_nothing(context, monkeypatch):
    made = context()

    class Late(Sampler):
        def generate(self, requests, policy_version):
            for done, found in enumerate(super().generate(requests, policy_version), start=1):
                if done == len(requests):
                    made.stop.request()
                yield found

    monkeypatch.setattr("limite.evaluate.stage.Sampler", Late)
    run(made)
    assert read_json(made.directory / "results.json")["complete"] is True


def test_another_seed_asks_other_problems(context):
    own = attrs.evolve(STAGE, seed=5)
    texts = [
        [problem.problem for problem in problems_of(made)]
        for made in (
            context(seed=1),
            context(seed=2),
            context(stage=own),
            context("b", own, seed=2),
        )
    ]
    assert texts[0] != texts[1]
    assert texts[2] == texts[3] != texts[0]


def test_other_terms_are_refused_before_anything_is_sampled(context):
    run(context("before"))
    later = context("after", attrs.evolve(STAGE, against="before", max_tokens=9))
    later.load_policy = lambda: pytest.fail("a policy was loaded")
    with pytest.raises(LimiteError, match=r"max_tokens \(8 -> 9\)"):
        run(later)
    assert not (later.directory / "results.json").exists()


def test_problems_that_were_trained_on_are_refused(context):
    problem = problems_of(context())[0].problem
    made = context(training=[text_hash(problem)])
    with pytest.raises(LimiteError, match="also trained on") as told:
        run(made)
    assert problem in str(told.value)


def test_a_mixture_with_too_few_held_out_problems_says_so(context):
    few = attrs.evolve(STAGE, problems=Mix({"gcd": 1}, difficulty=(0.0, 0.0)), count=400)
    with pytest.raises(LimiteError, match="distinct problems"):
        run(context(stage=few))


def test_a_protocol_grades_within_a_named_budget(context):
    """An untrained model answers nothing rightly; all four protocols say so, of a whole context."""
    stage = attrs.evolve(
        STAGE, grading="lenient", budget="native-context", max_tokens=MODEL.context, top_p=0.5
    )
    made = context(stage=stage)
    run(made)
    results = read_json(made.directory / "results.json")
    assert results["grading"]["protocols"].keys() == {
        "reference", "exact", "lenient", "permissive",
    }  # fmt: skip
    assert results["protocol"]["verifier"]["type"] == "grading-lenient"
    assert (results["protocol"]["budget"], results["protocol"]["top_p"]) == ("native-context", 0.5)
    assert results["protocol"]["natural_end"] is False
    for record in read_jsonl(made.directory / "responses.jsonl.zst"):
        assert record["completion_budget"] == MODEL.context - record["prompt_tokens"]
        assert record["grading"]["exact"] is None
    exact = context(name="exactly", stage=attrs.evolve(STAGE, grading="exact"))
    run(exact)
    results = read_json(exact.directory / "results.json")
    assert results["protocol"]["verifier"]["exact"] == "exact"
    assert results["grading"]["protocols"]["exact"]["total"] == 12


def test_a_shipped_benchmark_is_asked_by_its_name(context):
    sums = Mix({"limite:limite-sums.jsonl": 1})
    made = context(stage=attrs.evolve(STAGE, problems=sums, count=88))
    found = {problem.id for problem in problems_of(made)}
    assert found == {each.id for each in LimiteSums().problems()}
