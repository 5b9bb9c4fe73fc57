"""What an RL stage adds to an objective: a reference, lists of tokens, corrections."""

from __future__ import annotations

import json

import attrs
import pytest

from limite.core.checkpoint.read import read_checkpoint
from limite.core.errors import SettingsError
from limite.core.jsonl import read_jsonl
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.runners import rl
from limite.core.recipe.runners.learner import Learner
from limite.core.recipe.runners.rollouts import rewarded, sample_metrics
from limite.core.recipe.stages import RL, Mix
from limite.core.rollout.repetition import RepetitionDetector
from limite.core.types import Answer, Problem, Response, Verdict
from limite.plugins.rewards.accuracy import Accuracy

KL = ["stages.rl.objective=grpo", "stages.rl.objective.beta=0.5"]


def quiet(_line):
    """Says nothing."""


def lines_of(result):
    log = result.path / "stages/03-rl/metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.fixture
def run(finished, tmp_path):
    def again(*sets):
        overrides = [*sets, "stages.rl.checkpoint_every=1", "stages.rl.keep=9"]
        return start(finished.path, out=tmp_path, only=["rl"], overrides=overrides, echo=quiet)

    return again


def weights(result, step):
    found = read_checkpoint(result.path / f"stages/03-rl/checkpoints/step-{step:06d}")
    return found.payloads["model"]


def test_a_penalty_measures_the_distance_to_the_stage_it_names(run):
    sets = [*KL, "stages.rl.off_policy_updates=0"]
    result = run(*sets, "stages.rl.reference=sft")
    lines = lines_of(result)
    # Until a batch has taught something the policy is its reference, but for rounding.
    taught = next(place for place, line in enumerate(lines) if line["contrast/share"] > 0) + 1
    assert taught < len(lines)
    for line in lines[:taught]:
        assert line["kl/k3"] < 1e-10
        assert abs(line["kl/reference_nats"]) < 1e-6
    assert all(line["kl/k3"] > 1e-10 for line in lines[taught:])
    by_word = run(*sets, "stages.rl.reference=start")
    for name, value in weights(result, 4).items():
        assert value.equal(weights(by_word, 4)[name])
    without = run("stages.rl.objective=grpo", "stages.rl.off_policy_updates=0")
    assert "kl/k3" not in lines_of(without)[0]


def test_a_reset_makes_the_policy_its_reference_and_survives_a_stop(
    run, digest, monkeypatch, tmp_path
):
    sets = [*KL, "stages.rl.reference=sft", "stages.rl.reference_reset_every=2"]
    whole = run(*sets)
    assert [line["reference/resets"] for line in lines_of(whole)] == [0, 0, 1, 1]
    saved = whole.path / "stages/03-rl/checkpoints"
    assert "reference" not in read_checkpoint(saved / "step-000002").payloads
    for name, value in read_checkpoint(saved / "step-000003").payloads["reference"].items():
        assert value.equal(weights(whole, 2)[name])

    one_batch = rl.one_batch

    def stop_at_the_last(context, stage, rollouts, learner):
        if learner.session.clocks.step == 3:
            raise KeyboardInterrupt
        return one_batch(context, stage, rollouts, learner)

    monkeypatch.setattr(rl, "one_batch", stop_at_the_last)
    with pytest.raises(RunStopped):
        run(*sets)
    monkeypatch.undo()
    (stopped,) = (path for path in tmp_path.iterdir() if path != whole.path)
    go_on(stopped, echo=quiet)
    assert digest(stopped) == digest(whole.path)


def test_lists_are_recorded_and_read_again(run):
    result = run(
        "stages.rl.objective.divergence=topk-tv",
        "stages.rl.objective.topk=3",
        "stages.rl.objective.delta=0.05",
    )
    for record in read_jsonl(result.path / "stages/03-rl/rollouts/000001.jsonl.zst"):
        ids, nats = record["topk_ids"], record["topk_logprobs"]
        assert len(ids) == len(nats) == len(record["completion_ids"])
        for token, nat, some, theirs in zip(
            record["completion_ids"], record["logprobs"], ids, nats, strict=True
        ):
            assert len(set(some)) == 3
            assert theirs[some.index(token)] == nat
            assert theirs[:2] == sorted(theirs[:2], reverse=True)
    assert all(0 <= line["ratio/masked_fraction"] <= 1 for line in lines_of(result))
    plain = run("stages.rl.objective.delta=0.05")
    assert "topk_ids" not in next(
        iter(read_jsonl(plain.path / "stages/03-rl/rollouts/000001.jsonl.zst"))
    )


def test_a_correction_of_nothing_changes_nothing_and_an_empty_one_everything(run):
    plain = run()
    whole = run("stages.rl.correction.mode=mask", "stages.rl.correction.lower=0.9")
    moved = weights(plain, 4)
    for name, value in weights(whole, 4).items():
        # Sampler and learner agree to 1e-4 nats, and so do weights.
        assert value.allclose(moved[name], atol=2e-4), name
    (line, *_) = lines_of(whole)
    assert line["correction/raw_mean"] == pytest.approx(1.0, abs=1e-3)
    none = run(
        "stages.rl.correction.mode=mask",
        "stages.rl.correction.lower=1.5",
        "stages.rl.correction.normalise=true",
    )
    assert lines_of(none)[-1]["optim/updates"] == 0
    begun = read_checkpoint(none.path / "stages/01-sft/checkpoints/step-000060").payloads["model"]
    assert all(value.equal(begun[name]) for name, value in weights(none, 4).items())


OVERLONG = ["stages.rl.overlong.buffer_tokens=4", "stages.rl.overlong.factor=0.5"]


def test_a_penalty_on_length_is_part_of_the_reward_and_of_nothing_else(run):
    records = {}
    for name, sets in (("plain", []), ("shaped", OVERLONG)):
        result = run(*sets, "stages.rl.steps=1")
        (line,) = lines_of(result)
        stored = list(read_jsonl(result.path / "stages/03-rl/rollouts/000001.jsonl.zst"))
        records[name] = line, stored
    (plain, before), (shaped, after) = records["plain"], records["shaped"]
    for one, other in zip(before, after, strict=True):
        over = max(0, len(one["completion_ids"]) - 2)
        assert other["penalty"] == -0.5 * over / 4
        assert other["reward"] == one["reward"] + other["penalty"]
        assert other["correct"] == one["correct"]
        assert "penalty" not in one
    penalties = [each["penalty"] for each in after]
    assert shaped["reward/penalty"] == pytest.approx(sum(penalties) / len(penalties))
    assert shaped["reward/mean"] < plain["reward/mean"]
    assert "reward/penalty" not in plain
    for name in ("accuracy/sampled", "contrast/share", "contrast/all_wrong_share"):
        assert shaped[name] == plain[name]


def test_responses_cut_at_their_budget_can_be_left_out(run, monkeypatch):
    """What they say is no part of an update; that they were there is."""
    seen = []
    update = Learner.update

    def watched(learner, rows, totals, *more):
        seen.append(totals)
        return update(learner, rows, totals, *more)

    monkeypatch.setattr(Learner, "update", watched)
    result = run("stages.rl.mask_truncated=true", "stages.rl.steps=1", "stages.rl.max_tokens=3")
    stored = list(read_jsonl(result.path / "stages/03-rl/rollouts/000001.jsonl.zst"))
    ended = [each for each in stored if each["finish_reason"] != "length"]
    assert 0 < len(ended) < len(stored)
    assert sum(totals.tokens for totals in seen) == sum(len(e["completion_ids"]) for e in ended)
    assert sum(totals.active_rows for totals in seen) == len(ended)
    assert sum(totals.rows for totals in seen) == len(stored)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (KL, "stages.rl.reference: must name the weights that 'grpo' is pulled towards"),
        (["stages.rl.top_p=0.9"], "stages.rl.top_p: is no setting: responses to learn from are"),
        (["stages.rl.top_k=20"], "stages.rl.top_k: is no setting: responses to learn from are"),
        (["stages.rl.min_p=0.1"], "stages.rl.min_p: is no setting: responses to learn from are"),
        (["stages.rl.temperature=0"], "stages.rl.temperature: "),
        (["stages.rl.objective=dpo"], "stages.rl.objective: 'dpo' compares pairs of responses"),
        (
            ["stages.rl.objective=dr-grpo", 'stages.rl.advantage={ type="group", scale="std" }'],
            "stages.rl.advantage.scale: must be 'none' with 'dr-grpo', of which it is a half, got "
            "'std'",
        ),
        (
            ["stages.rl.objective=ppo-critic", "stages.rl.advantage=group"],
            "stages.rl.advantage: 'ppo-critic' takes credit from a critic, and 'group' gives none",
        ),
        (
            ["stages.rl.objective={ type='grpo', constant_tokens=9 }"],
            "stages.rl.objective.constant_tokens: 'constant_tokens' has no use with aggregation",
        ),
        (
            ["stages.rl.objective.divergence=topk-kl", "stages.rl.objective.topk=1000"],
            "stages.rl.objective.topk: must be at most ",
        ),
        (["stages.rl.reference=sft"], "stages.rl.reference: has no use: 'dppo' reads no reference"),
        ([*KL, "stages.rl.reference=sfr"], "unknown stage 'sfr'; did you mean 'sft'"),
        ([*KL, "stages.rl.reference=before"], "the stage 'before' does not train"),
        (["stages.rl.reference_reset_every=3"], "needs a 'reference' to replace"),
        (
            ["stages.rl.objective=gspo", "stages.rl.correction.level=token"],
            "stages.rl.correction.level: must be 'sequence' or 'sequence-mean' with 'gspo'",
        ),
        (
            ["stages.rl.overlong.buffer_tokens=7"],
            "stages.rl.overlong.buffer_tokens: must be at most max_tokens, 6, the longest response",
        ),
        (
            ["stages.rl.budget=native-context", "stages.rl.max_tokens=64", *OVERLONG],
            "stages.rl.overlong: must be left out with budget 'native-context'",
        ),
        (["stages.rl.overlong.buffer_tokens=0"], "stages.rl.overlong.buffer_tokens"),
    ],
)
def test_contradictions_are_told_before_anything_runs(tiny, tmp_path, sets, message):
    with pytest.raises(SettingsError) as caught:
        start(tiny, out=tmp_path, overrides=sets, echo=quiet)
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_repeats_itself_earns_nothing_and_is_penalised():
    stage = RL(
        problems=Mix({"gcd": 1.0}),
        repetition=RepetitionDetector(min_words=3, window_words=1, threshold=0.5),
        repetition_penalty=0.25,
        reward=Accuracy(),
    )
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))

    def response(text, ending):
        return Response(
            problem_id=problem.id, sample_index=0, prompt_ids=(1,), completion_ids=(5, 2),
            logprobs=(-1.0, -1.0), finish_reason=ending, completion_budget=9, policy_version=0,
            text=text,
        )  # fmt: skip

    responses = [
        response("a b c #2", "eos"),
        response("a a a a a a #2", "eos"),
        response("a a a a a a a", "repetition"),
        response("a b #2", "length"),
    ]
    right = Verdict(outcome="right")
    group = rewarded(stage, problem, responses, [right] * 4)
    assert group.correct == [True, False, False, False]
    assert group.penalties == (0.0, -0.25, -0.25, 0.0)
    assert group.rewards == [1.0, -0.25, -0.25, 0.0]
    assert [verdict.reason for verdict in group.verdicts[1:3]] == ["it repeats itself"] * 2
    assert sample_metrics([group])["ending/repetitive_share"] == 0.5
    plain = rewarded(attrs.evolve(stage, repetition=None, repetition_penalty=0.0), problem,
                     responses, [right] * 4)  # fmt: skip
    assert plain.correct[1]
    assert plain.penalties == ()


def test_the_detector_is_named_in_the_receipt(run):
    result = run("stages.rl.repetition.min_words=100", "stages.rl.steps=1")
    receipt = json.loads((result.path / "stages/03-rl/receipt.json").read_text())
    assert receipt["repetition"] == RepetitionDetector(min_words=100).identity
    with pytest.raises(SettingsError, match="without 'repetition' no response is looked at"):
        run("stages.rl.repetition_penalty=0.25")
