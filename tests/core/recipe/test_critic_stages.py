"""Critics in a run: fitted offline, then frozen or learning beside a policy."""

from __future__ import annotations

import json

import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.errors import LimiteError, SettingsError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.model.critic import Critic
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.runners import fit_critic, rl
from limite.core.recipe.runners.critic import StageCritic

MIX = "problems = { sources = { linear-equation = 1 }, difficulty = [0.0, 0.0] }"
CHAIN = f"""
[stages.fit]
type = "fit-critic"
steps = 12
batch = 32
eval_every = 3
patience = 3
checkpoint_every = 5
keep = 99
optimizer = {{ type = "adamw", lr = 3e-3 }}

[stages.more]
type = "rl"
{MIX}
steps = 3
groups = 8
rollouts = 4
off_policy_updates = 1
max_tokens = 6
checkpoint_every = 1
keep = 9
objective = "ppo-critic"
optimizer = {{ type = "adamw", lr = 1e-3 }}

[stages.more.critic]
start = "fit"
optimizer = {{ type = "adamw", lr = 1e-3 }}
"""


def quiet(_line):
    """Says nothing."""


@pytest.fixture(scope="module")
def chain(tiny, tmp_path_factory):
    """The tiny recipe, a critic fitted to its rollouts, and more reinforcement with that."""
    path = tmp_path_factory.mktemp("recipe") / "chain.toml"
    text = tiny.read_text().replace("steps = 4\ngroups = 8", "steps = 6\ngroups = 16")
    path.write_text(text + CHAIN)
    return path


@pytest.fixture(scope="module")
def whole(chain, tmp_path_factory):
    return start(chain, out=tmp_path_factory.mktemp("whole"), echo=quiet)


@pytest.fixture
def again(whole, tmp_path):
    def run(*sets, only=("more",)):
        return start(whole.path, out=tmp_path, only=only, overrides=sets, echo=quiet)

    return run


def lines_of(result, stage):
    (log,) = result.path.glob(f"stages/*-{stage}/metrics.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def payloads(result, stage, step):
    (path,) = result.path.glob(f"stages/*-{stage}/checkpoints/step-{step:06d}")
    return read_checkpoint(path).payloads


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_chain_runs_to_its_end(whole):
    fitted = whole.stages["fit"]
    assert fitted["type"] == "fit-critic"
    assert fitted["start"]["stage"] == "rl"
    assert fitted["held_out"]["loss"] <= fitted["held_out"]["constant_loss"]
    measured = [line for line in lines_of(whole, "fit") if "held_out/loss" in line]
    best = min(line["held_out/loss"] for line in measured)
    assert fitted["held_out"]["loss"] == min(best, fitted["held_out"]["constant_loss"])
    for line in lines_of(whole, "fit"):
        assert {"loss", "value/explained_variance", "optim/lr"} <= line.keys()
    for line in lines_of(whole, "more"):
        assert {"value/loss", "value/explained_variance", "value/gradient_norm"} <= line.keys()
    # The policy after the critic's stage is that of the stage before: a critic is no policy.
    assert whole.stages["more"]["start"]["stage"] == "rl"


def test_the_best_critic_is_kept_and_starts_the_next(whole):
    receipt = whole.stages["fit"]
    last = payloads(whole, "fit", receipt["steps"])
    assert "model" not in last
    first = payloads(whole, "fit", 5)
    assert first["latest"].keys() == last["critic"].keys()
    begun = payloads(whole, "more", 1)
    assert "critic-optimizer" in begun
    moved = [
        (begun["critic"][name] - value).abs().max().item() for name, value in last["critic"].items()
    ]
    # Two steps of Adam at 1e-3 from where the fitted critic was left.
    assert 0 < max(moved) < 3e-3


def test_an_online_critic_learns_before_the_policy_and_apart_from_it(again, monkeypatch):
    order = []
    step = rl.Learner.update
    teach = StageCritic.update
    critics = []

    def update(self, rows, totals, *more):
        order.append(("policy", sorted({row.group for row in rows})))
        return step(self, rows, totals, *more)

    def critic_update(self, rows, *, where):
        critics.append(self)
        order.append(("critic", len(rows)))
        return teach(self, rows, where=where)

    seen = []
    made = StageCritic.of.__func__

    def of(cls, context, stage, session, **options):
        found = made(cls, context, stage, session, **options)
        policy = {each.data_ptr() for each in session.decoder.parameters()}
        own = {each.data_ptr() for each in found.values.critic.parameters()}
        seen.append(policy & own)
        return found

    monkeypatch.setattr(rl.Learner, "update", update)
    monkeypatch.setattr(StageCritic, "update", critic_update)
    monkeypatch.setattr(StageCritic, "of", classmethod(of))
    again()
    assert seen == [set()]
    assert [who for who, _ in order] == ["critic", "policy"] * 6
    for (_, taught), (_, groups) in zip(order[::2], order[1::2], strict=True):
        assert taught == 4 * len(groups)  # every response of the same four groups


def test_a_frozen_critic_stays_as_it_was_to_the_bit(
    whole, again, monkeypatch, stopped_and_gone_on, digest
):
    sets = ["stages.more.critic.mode=frozen", "stages.more.objective=dppo-critic"]
    kept = []
    made = StageCritic.of.__func__

    def of(cls, *arguments, **options):
        kept.append(made(cls, *arguments, **options))
        return kept[-1]

    monkeypatch.setattr(StageCritic, "of", classmethod(of))
    result = again(*sets)
    monkeypatch.undo()
    (critic,) = kept
    assert critic.stepper is None
    assert all(each.grad is None for each in critic.values.critic.parameters())
    assert not any(each.requires_grad for each in critic.values.critic.parameters())
    fitted = payloads(whole, "fit", whole.stages["fit"]["steps"])["critic"]
    assert same(dict(critic.values.critic.state_dict()), fitted)
    for step in (1, 3):
        found = payloads(result, "more", step)
        assert same(found["critic"], fitted)
        assert "critic-optimizer" not in found
    assert all("value/lr" not in line for line in lines_of(result, "more"))
    assert all(line["value/loss"] > 0 for line in lines_of(result, "more"))
    assert digest(stopped_and_gone_on(*sets).path) == digest(result.path)


@pytest.fixture
def stopped_and_gone_on(again, monkeypatch, tmp_path):
    """The run that is stopped in the middle of a stage and then goes on to its end."""

    def run(*sets, only="more"):
        before = set(tmp_path.iterdir())
        with monkeypatch.context() as patch:
            if only == "more":
                halt(patch, rl, "one_batch", lambda *given: given[3].session.clocks.step == 2)
            else:
                halt(patch, fit_critic.Fit, "update", lambda fit: fit.session.clocks.step == 7)
            with pytest.raises(RunStopped):
                again(*sets, only=(only,))
        (stopped,) = set(tmp_path.iterdir()) - before
        return go_on(stopped, echo=quiet)

    return run


def halt(patch, where, name, when):
    """Interrupts the run before a step of which ``when`` is true."""
    whole = getattr(where, name)

    def step(*given):
        if when(*given):
            raise KeyboardInterrupt
        return whole(*given)

    patch.setattr(where, name, step)


@pytest.mark.parametrize("stage", ["fit", "more"])
def test_a_stopped_stage_goes_on_bit_for_bit(whole, stopped_and_gone_on, digest, stage):
    def of_stage(result):
        found = digest(result.path)
        return {name: each for name, each in found.items() if f"-{stage}/" in name}

    expected = of_stage(whole)
    assert len(expected) > 4
    assert of_stage(stopped_and_gone_on(only=stage)) == expected


def test_a_critic_may_say_logits_or_bins(again):
    for kind, outputs in (("bce", 1), ("bins", 5)):
        sets = [
            f"stages.{stage}.objective.{field}"
            for stage in ("fit", "more.critic")
            for field in (f"kind={kind}", "bins=5")
        ]
        sets += ["stages.fit.steps=4", "stages.more.steps=1"]
        result = again(*sets, only=("fit", "more"))
        (line,) = lines_of(result, "more")
        assert 0 < line["value/mean"] < 1
        assert len(payloads(result, "more", 1)["critic"]["value_head.bias"]) == outputs


def test_files_stand_in_for_a_stage(whole, again, tmp_path):
    folder = whole.path / "stages/03-rl/rollouts"
    result = again(f"stages.fit.rollout_files=['{folder}']", only=("fit",))
    at = whole.stages["fit"]["steps"]
    assert same(payloads(result, "fit", at)["critic"], payloads(whole, "fit", at)["critic"])
    records = list(read_jsonl(folder / "000001.jsonl.zst"))
    records[0]["completion_ids"][0] = 10**6
    strange = tmp_path / "strange.jsonl.zst"
    write_jsonl(strange, records)
    with pytest.raises(LimiteError, match="recorded with another tokenizer"):
        again(
            f"stages.fit.rollout_files=['{strange}']",
            "stages.fit.mixed_only=false",
            only=("fit",),
        )


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            ["stages.rl.objective=dppo-critic"],
            "stages.rl.critic: must be given for the advantage 'gae', which reads a critic's "
            "values: 'start' names an earlier fit-critic stage",
        ),
        (
            ["stages.more.advantage=group"],
            "stages.more.critic: has no use: the advantage 'group' reads no values",
        ),
        (["stages.more.critic.start=fitt"], "unknown stage 'fitt'; did you mean 'fit'"),
        (["stages.more.critic.start=rl"], "the stage 'rl' leaves no critic"),
        (["stages.more.start=fit"], "the stage 'fit' does not train"),
        (["stages.fit.rollouts=more"], "'more' does not come before this one"),
        (["stages.fit.rollouts=sft"], "the stage 'sft' records no rollouts"),
        (["stages.fit.rollout_files=['nowhere']"], "no rollout file (.jsonl.zst) is at nowhere"),
        (["stages.fit.objective=dppo"], "'dppo' fits no critic: it does not read 'value'"),
        (["stages.fit.objective.clip=0.2"], "'value-regression' reads old_value"),
        (
            ["stages.more.critic.objective.kind=bce"],
            "stages.more.critic.objective: reads what the critic says as a logit, and 'fit' fits "
            "it to say a value",
        ),
        (
            ["stages.more.objective=gspo", "stages.more.advantage=gae"],
            "'gae' gives every token credit of its own, and 'gspo' takes one for all tokens",
        ),
        (["stages.more.objective=value-regression"], "reads value, value_target, which an rl"),
    ],
)
def test_contradictions_are_told_before_anything_runs(chain, tmp_path, sets, message):
    with pytest.raises(SettingsError) as caught:
        start(chain, out=tmp_path, overrides=sets, echo=quiet)
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_without_rollouts_it_says_what_must_come_before(tmp_path):
    recipe = tmp_path / "alone.toml"
    recipe.write_text('name = "alone"\n[stages.fit]\ntype = "fit-critic"\n')
    with pytest.raises(SettingsError, match="no earlier rl stage whose rollouts"):
        start(recipe, out=tmp_path / "runs", echo=quiet)


def test_a_critic_of_bins_has_no_directory(tmp_path):
    from limite.core.model.init import build_decoder
    from limite.core.model.spec import ModelSpec
    from limite.core.pretrained.critic import save_critic

    spec = ModelSpec(width=16, layers=1, heads=2, kv_heads=1, head_width=8, mlp_width=24)
    critic = Critic(build_decoder(spec.filled(20), 1), outputs=5)
    with pytest.raises(LimiteError, match="this one says 5 numbers"):
        save_critic(critic, tmp_path / "critic")
