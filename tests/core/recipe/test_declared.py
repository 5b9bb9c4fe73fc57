"""Changes of a run that goes on: refused with what differs, recorded where they are declared."""

from __future__ import annotations

import json
import re
import shutil

import attrs
import pytest

from limite.core.checkpoint.manifest import read_manifest
from limite.core.checkpoint.read import read_checkpoint
from limite.core.errors import LimiteError
from limite.core.receipts import read_receipt, write_receipt
from limite.core.recipe import rundir
from limite.core.recipe.context import RunStopped
from limite.core.recipe.declared import Declaration
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.rundir import RunDirectory, hashes_of
from limite.core.recipe.runners import rl, rollouts, sft
from limite.core.recipe.verify import verify_run

CARRIES = "stages.rl.rollout_schedule={type='fill-buffer',discard=false}"
PENALTY = "stages.rl.overlong={buffer_tokens=4,factor=0.25}"
HARDER = "stages.rl.problems.difficulty=[0.0,0.3]"


def quiet(_line):
    """Says nothing."""


def halt_rl(patch, step):
    """Ends the run before the batch that follows ``step``."""
    one_batch = rl.one_batch

    def stop(context, stage, rollouts, learner):
        if learner.session.clocks.step == step:
            raise RunStopped("for the test", context.run.path)
        return one_batch(context, stage, rollouts, learner)

    patch.setattr(rl, "one_batch", stop)


@pytest.fixture(scope="module")
def in_rl(tiny, tmp_path_factory):
    """A run that was stopped after the second batch of four, with responses carried over."""
    out = tmp_path_factory.mktemp("rl")
    with pytest.MonkeyPatch.context() as patch:
        halt_rl(patch, 2)
        with pytest.raises(RunStopped):
            start(
                tiny,
                out=out,
                name="run",
                only=["sft", "rl"],
                overrides=[
                    CARRIES,
                    "stages.rl.max_policy_lag=4",
                    "stages.sft.steps=30",
                    "stages.rl.checkpoint_every=1",
                ],
                echo=quiet,
            )
    return out / "run"


@pytest.fixture
def stopped(in_rl, tmp_path):
    return shutil.copytree(in_rl, tmp_path / "run")


def bytes_of(run):
    return {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


def asked_for(run, *sets):
    """What a refusal says is to be declared; it has changed nothing."""
    before = bytes_of(run)
    with pytest.raises(LimiteError) as refused:
        go_on(run, overrides=sets, echo=quiet)
    assert bytes_of(run) == before
    return str(refused.value), re.findall(r"--declare (\S+)", str(refused.value))


def test_other_penalties_are_refused_and_go_on_when_declared(stopped, tmp_path, digest):
    text, (token,) = asked_for(stopped, PENALTY)
    assert "recipe.stages.rl.overlong: " in text
    assert re.fullmatch(r"protocol=rl@2/[0-9a-f]{8}", token)
    recipe_before = read_receipt(stopped / "receipt.json")["recipe_sha256"]
    said = []
    copy = shutil.copytree(stopped, tmp_path / "copy")
    kept = {}
    restore = rollouts.Rollouts.restore

    def look(self, state):
        fresh = self.state()
        restore(self, state)
        now = self.state()
        kept["curriculum"] = now["curriculum"] == state["curriculum"] != fresh["curriculum"]
        before = state["rollout_schedule"]
        kept["schedule"] = now["rollout_schedule"] == fresh["rollout_schedule"] != before

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollouts.Rollouts, "restore", look)
        go_on(stopped, overrides=[PENALTY], declared=[token], echo=said.append)
    assert kept == {"curriculum": True, "schedule": True}
    assert any(line.startswith("declared: protocol changed after rl@2: ") for line in said)
    receipt = read_receipt(stopped / "receipt.json")
    (change,) = receipt["changes"]
    assert (change["stage"], change["step"]) == ("rl", 2)
    assert change["kinds"]["protocol"]["contract"] == token[-8:]
    assert change["recipe_sha256"] == recipe_before != receipt["recipe_sha256"]
    folder = stopped / "stages/03-rl/checkpoints"
    assert read_manifest(folder / "step-000004").contract["recipe_sha256"] != recipe_before
    assert verify_run(stopped).violations == []
    # The reward is another from the third batch on, and nothing of an older one is learned from.
    log = (stopped / "stages/03-rl/metrics.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in log]
    assert [("reward/penalty" in line) for line in lines] == [False, False, True, True]
    assert lines[1]["schedule/lag_updates"] > 0
    assert lines[2]["schedule/lag_updates"] == 0
    assert lines[2]["optim/updates"] > lines[1]["optim/updates"]
    # Killed at once after the change was noted, and again after a batch, it ends the same.
    with pytest.MonkeyPatch.context() as patch:
        halt_rl(patch, 2)
        with pytest.raises(RunStopped):
            go_on(copy, overrides=[PENALTY], declared=[token], echo=quiet)
    with pytest.MonkeyPatch.context() as patch:
        halt_rl(patch, 3)
        with pytest.raises(RunStopped):
            go_on(copy, echo=quiet)
    go_on(copy, echo=quiet)
    assert digest(copy) == digest(stopped)


def test_what_is_declared_must_be_what_is_there(stopped):
    _, (token,) = asked_for(stopped, PENALTY)
    other = f"protocol=rl@1/{token[-8:]}"
    with pytest.raises(LimiteError, match=f"--declare {re.escape(token)}\nit is not {other}"):
        go_on(stopped, overrides=[PENALTY], declared=[other], echo=quiet)
    with pytest.raises(LimiteError, match="nothing of that kind differs; the run is at rl@2"):
        go_on(stopped, declared=[token], echo=quiet)
    _, tokens = asked_for(stopped, PENALTY, HARDER)
    assert [each.partition("=")[0] for each in tokens] == ["protocol", "data"]
    with pytest.raises(LimiteError, match="declare it:\n  --declare data=") as refused:
        go_on(stopped, overrides=[PENALTY, HARDER], declared=[token], echo=quiet)
    assert "protocol" not in str(refused.value).partition("declare it")[2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("protocl=rl@2/12345678", "data, turns, versions, ranks; did you mean 'protocol'"),
        ("protocol", "expected protocol=STAGE@STEP/CONTRACT"),
        ("data=rl@2/123", "expected data=STAGE@STEP/CONTRACT"),
    ],
)
def test_a_declaration_that_is_none_is_told(text, told):
    with pytest.raises(LimiteError, match=re.escape(told).replace("\\'", "'")):
        Declaration.read(text)


def test_all_else_cannot_be_declared(stopped):
    never = ["stages.rl.groups=9", "stages.sft.documents=61", "seed=6"]
    text, tokens = asked_for(stopped, PENALTY, *never)
    assert "cannot go on as it was" in text
    assert "recipe.stages.rl.groups: 8 -> 9" in text
    assert "recipe.stages.sft.documents: 60 -> 61" in text  # of a stage that is finished
    assert "recipe.seed: 5 -> 6" in text
    assert tokens == []
    assert (
        "no declaration lets a run go on with another value of seed, stages.sft.documents, "
        "stages.rl.groups; leave that as it was, or train anew with it, in another folder:\n"
        f"  limite run {stopped}/recipe.toml --set ..."
    ) in text
    text, _ = asked_for(stopped, "stages.rl.groups=9")
    assert f"in another folder:\n  limite run {stopped} --only rl --set ..." in text


def test_a_change_with_mistakes_is_told_like_any_recipe(stopped):
    text, _ = asked_for(stopped, "stages.rl.max_tokens=0", "stages.rl.budgt=1")
    assert "did you mean 'budget'" in text
    assert "stages.rl.max_tokens" in text


def made_with(run, **plugins):
    """Makes a run, and every checkpoint of it, one of other versions of plugins."""
    receipt = read_receipt(run / "receipt.json")
    receipt["plugins"] |= plugins
    write_receipt(run / "receipt.json", receipt)
    for place in run.glob("stages/*/checkpoints/*"):
        terms = read_manifest(place).contract
        plugs = {**terms["software"]["plugins"], **plugins}
        foreign(place, software={**terms["software"], "plugins": plugs})
    sealed_again(run / "stages/01-sft")


def sealed_again(folder):
    """Makes receipts say what the files of a finished stage are now."""
    receipt = read_receipt(folder / "receipt.json")
    write_receipt(folder / "receipt.json", {**receipt, "files": hashes_of(folder)})
    RunDirectory.open(folder.parents[1]).bind_stage(folder.name.partition("-")[2])


def foreign(checkpoint, **terms):
    """Makes a checkpoint one that was written under other terms."""
    manifest = read_manifest(checkpoint)
    made = attrs.evolve(manifest, contract={**manifest.contract, **terms})
    (checkpoint / "manifest.json").write_text(made.text())


def test_another_version_of_a_plugin_is_refused(stopped):
    here = read_receipt(stopped / "receipt.json")["plugins"]["limite"]
    made_with(stopped, limite="0.0.1")
    text, (token,) = asked_for(stopped)
    assert f'\n  plugins.limite: "0.0.1" -> "{here}"\n' in text
    assert token.startswith("versions=rl@2/")


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"software": {}}, "software.plugins: (absent) -> "),
        ({"ranks": {"ranks": 8, "sharded": False}}, "ranks.ranks: 8 -> 1"),
        ({"recipe_sha256": "0" * 64}, f'recipe_sha256: "{"0" * 57}... -> '[:40]),
        ({"stage": "sft"}, 'stage: "sft" -> "rl"'),
    ],
)
def test_a_checkpoint_from_elsewhere_is_refused(stopped, terms, told):
    foreign(stopped / "stages/03-rl/checkpoints/step-000002", **terms)
    text, tokens = asked_for(stopped)
    assert "is not a checkpoint of this stage of this run" in text
    assert told in text
    assert tokens == []
    assert any(
        each.file == "stages/03-rl/checkpoints/step-000002/manifest.json"
        for each in verify_run(stopped).violations
    )


def test_a_checkpoint_of_another_recipe_is_refused_with_its_settings(stopped, tiny, tmp_path):
    sets = ["seed=9", "stages.rl.optimizer.lr=5e-4", "stages.sft.steps=2", "stages.rl.steps=2"]
    other = start(
        tiny, out=tmp_path, name="other", only=["sft", "rl"], overrides=sets, echo=quiet
    ).path
    theirs = other / "stages/03-rl/checkpoints/step-000002"
    mine = stopped / "stages/03-rl/checkpoints"
    shutil.rmtree(mine / "step-000002")
    shutil.copytree(theirs, mine / "step-000002")
    text, tokens = asked_for(stopped)
    assert "\n  settings.rl.optimizer.lr: 0.0005 -> 0.001\n" in text
    assert "\n  settings.seed: 9 -> 5" in text
    assert "sha256" not in text
    assert tokens == []


def test_other_versions_go_on_when_declared(stopped):
    made_with(stopped, **{"limite-softclip": "0.1"})
    text, (token,) = asked_for(stopped)
    assert 'plugins.limite-softclip: "0.1" -> (absent)' in text
    assert token.startswith("versions=rl@2/")
    go_on(stopped, declared=[token], echo=quiet)
    (change,) = read_receipt(stopped / "receipt.json")["changes"]
    assert change["versions"]["plugins"]["limite-softclip"] == "0.1"
    last = read_manifest(stopped / "stages/03-rl/checkpoints/step-000004")
    assert "limite-softclip" not in last.contract["software"]["plugins"]
    assert verify_run(stopped).violations == []


def begun_by(run, ranks, **more):
    """Makes a run, and every checkpoint of it, one that was begun by so many ranks."""
    receipt = read_receipt(run / "receipt.json")
    hardware = {**receipt["hardware"], "ranks": ranks, **more}
    write_receipt(run / "receipt.json", {**receipt, "hardware": hardware})
    for place in run.glob("stages/*/checkpoints/*"):
        foreign(place, ranks={"ranks": ranks, "sharded": more.get("sharded", False)})
    sealed_again(run / "stages/01-sft")


def test_another_number_of_ranks_is_refused_and_goes_on_when_declared(stopped):
    begun_by(stopped, 2, sharded=True)
    text, (token,) = asked_for(stopped)
    assert "\n  ranks: 2 -> 1\n  sharded: true -> false\n" in text
    assert re.fullmatch(r"ranks=rl@2/[0-9a-f]{8}", token)
    go_on(stopped, declared=[token], echo=quiet)
    receipt = read_receipt(stopped / "receipt.json")
    (change,) = receipt["changes"]
    assert change["exact_distributed_rng_resume"] is False
    assert change["kinds"]["ranks"]["differences"] == ["ranks: 2 -> 1", "sharded: true -> false"]
    assert not receipt["hardware"].keys() & {"ranks", "sharded"}
    assert receipt["resumed"][-1]["differences"] == []
    assert verify_run(stopped).violations == []
    # What is finished can be looked at by any number.
    begun_by(stopped, 2)
    go_on(stopped, echo=quiet)


def test_one_rank_and_one_again_declare_nothing(stopped):
    go_on(stopped, echo=quiet)
    receipt = read_receipt(stopped / "receipt.json")
    assert "changes" not in receipt
    assert "exact_distributed_rng_resume" not in json.dumps(receipt)


def test_a_batch_sampled_ahead_by_other_ranks_is_sampled_again(tiny, tmp_path):
    sets = [
        "stages.rl.rollout_prefetch_schedule=before-update",
        "stages.rl.max_policy_lag=4",
        "stages.sft.steps=30",
        "stages.rl.checkpoint_every=1",
    ]
    with pytest.MonkeyPatch.context() as patch:
        halt_rl(patch, 1)
        with pytest.raises(RunStopped):
            start(tiny, out=tmp_path, name="run", only=["sft", "rl"], overrides=sets, echo=quiet)
    run = tmp_path / "run"
    saved = read_checkpoint(run / "stages/03-rl/checkpoints/step-000001").state["stage"]
    assert saved["pending"]["batch"] is not None
    same = shutil.copytree(run, tmp_path / "same")
    begun_by(run, 2)
    _, (token,) = asked_for(run)
    go_on(run, declared=[token], echo=quiet)
    go_on(same, echo=quiet)
    lags = []
    for each in (same, run):
        log = (each / "stages/03-rl/metrics.jsonl").read_text().splitlines()
        lines = [json.loads(line) for line in log]
        lags.append([line["policy/lag_updates"] > 0 for line in lines])
        assert verify_run(each).violations == []
    assert lags[0][:2] == [False, True]
    assert lags[1][:2] == [False, False]


def test_other_problems_restart_the_curriculum(stopped):
    _, (token,) = asked_for(stopped, HARDER)
    assert token.startswith("data=rl@2/")
    before = read_checkpoint(stopped / "stages/03-rl/checkpoints/step-000002")
    kept = {}
    restore = rollouts.Rollouts.restore

    def look(self, state):
        fresh = self.state()
        restore(self, state)
        kept.update(same=self.state() == fresh, saved=state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollouts.Rollouts, "restore", look)
        go_on(stopped, overrides=[HARDER], declared=[token], echo=quiet)
    assert kept["same"]
    assert kept["saved"]["rollout_schedule"] == before.state["stage"]["rollout_schedule"]
    assert verify_run(stopped).violations == []


def test_other_texts_restart_at_their_beginning_and_stay_known(tiny, tmp_path):
    asked = []
    indexes = sft.batch_indexes

    def look(step, batch, documents, seeds):
        asked.append((step, documents))
        if len(asked) == 8:
            raise KeyboardInterrupt
        return indexes(step, batch, documents, seeds)

    sets = ["stages.sft.steps=10", "stages.sft.checkpoint_every=5"]
    run = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sft, "batch_indexes", look)
        with pytest.raises(RunStopped):
            start(tiny, out=tmp_path, name="run", only=["sft"], overrides=sets, echo=quiet)
        change = "stages.sft.problems.difficulty=[0.2,0.4]"
        _, (token,) = asked_for(run, change)
        assert token.startswith("data=sft@5/")
        go_on(run, overrides=[change, "stages.sft.documents=40"], declared=[token], echo=quiet)
    # After the fifth step the new texts begin with their first.
    assert asked[8:] == [(step, 40) for step in range(5)]
    last = read_checkpoint(run / "stages/01-sft/checkpoints/step-000010")
    assert last.state["clocks"]["data_step"] == 5
    found = read_receipt(run / "stages/01-sft/receipt.json")["files"]
    assert "trained-before.jsonl.zst" in found
    assert verify_run(run).violations == []


@pytest.mark.parametrize(("killed_in", "made"), [("write_receipt", False), ("settle", True)])
def test_a_change_cut_short_is_ended_or_taken_back(stopped, monkeypatch, killed_in, made):
    run = RunDirectory.open(stopped)
    receipt = read_receipt(stopped / "receipt.json")
    recipe = run.recipe()
    changed = {**recipe, "name": "other"}

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory if made else rundir, killed_in, killed)
        with pytest.raises(KeyboardInterrupt):
            run.change({**receipt, "recipe": changed}, changed)
    assert run.recipe() == recipe
    run.settle()
    assert run.recipe() == (changed if made else recipe)
    assert list(run.recipe()["stages"]) == list(recipe["stages"])
    assert not (stopped / "recipe.next.toml").exists()
    # Without a change cut short it does nothing.
    before = bytes_of(stopped)
    run.settle()
    assert bytes_of(stopped) == before


def test_what_came_before_a_change_does_not_go_on_under_it(stopped):
    _, (token,) = asked_for(stopped, PENALTY)
    with pytest.MonkeyPatch.context() as patch:
        halt_rl(patch, 2)
        with pytest.raises(RunStopped):
            go_on(stopped, overrides=[PENALTY], declared=[token], echo=quiet)
    (stopped / "stages/03-rl/checkpoints/step-000002/state.json").write_text("{}")
    with pytest.raises(LimiteError, match="from step 1, which is before the change of protocol"):
        go_on(stopped, echo=quiet)


def test_a_checkpoint_by_name_must_be_good_and_the_newest(stopped, digest, tmp_path):
    folder = stopped / "stages/03-rl/checkpoints"
    with pytest.raises(LimiteError, match="step-000002 is newer, and good"):
        go_on(folder / "step-000001", echo=quiet)
    with pytest.raises(LimiteError, match="'sft' is finished; to run it again"):
        go_on(stopped / "stages/01-sft/checkpoints/step-000030", echo=quiet)
    state = folder / "step-000002/state.json"
    good = state.read_bytes()
    state.write_bytes(good.replace(b"0", b"1", 1))
    with pytest.raises(LimiteError, match=r"state\.json: its content does not match"):
        go_on(folder / "step-000002", echo=quiet)
    said = []
    copy = shutil.copytree(stopped, tmp_path / "copy")
    go_on(copy, echo=said.append)
    assert any("skipped a broken checkpoint" in line for line in said)
    assert any(line == "rl: goes on after step 1" for line in said)
    state.write_bytes(good)
    go_on(folder / "step-000002", echo=quiet)
    assert digest(copy) == digest(stopped)


def test_without_any_usable_checkpoint_the_stage_starts_anew_and_says_so(stopped, digest, tmp_path):
    for state in stopped.glob("stages/03-rl/checkpoints/*/state.json"):
        state.unlink()
    said = []
    copy = shutil.copytree(stopped, tmp_path / "copy")
    shutil.rmtree(copy / "stages/03-rl")
    go_on(stopped, echo=said.append)
    assert sum("skipped a broken checkpoint" in line for line in said) == 2
    assert "rl: no usable checkpoint; starts from its beginning" in said
    go_on(copy, echo=quiet)
    assert digest(copy) == digest(stopped)
