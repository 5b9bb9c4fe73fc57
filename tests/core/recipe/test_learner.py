"""The learner's update does not depend on how its rows are cut into micro-batches."""

from __future__ import annotations

from types import SimpleNamespace

import attrs
import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.errors import RunFailed
from limite.core.health.limits import HealthLimits
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.recipe.engine import start
from limite.core.recipe.ranks.ranks import OneRank
from limite.core.recipe.runners.learner import Learner, ScoredRow
from limite.core.recipe.runners.rl import rows_of
from limite.core.recipe.stages import RL, Mix
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.correction import Correction
from limite.core.train.replay import Row
from limite.core.types import Answer, Group, Loss, Problem, Response, Totals
from limite.plugins.objectives.dppo import DPPO


def weights(run):
    found = read_checkpoint(run.path / "stages/03-rl/checkpoints/step-000004")
    return found.payloads["model"]


def test_micro_batches_change_nothing_but_rounding(finished, tmp_path):
    def run(*overrides):
        return start(
            finished.path,
            out=tmp_path,
            only=["rl"],
            overrides=["stages.rl.optimizer.eps=1e-3", *overrides],
            echo=lambda _line: None,
        )

    whole = weights(run("stages.rl.microbatch_tokens=100000"))
    small = weights(run("stages.rl.microbatch_tokens=1"))
    before = read_checkpoint(finished.path / "stages/01-sft/checkpoints/step-000060")
    moved = 0.0
    for name, value in whole.items():
        # With eps = 1e-3 Adam's step is nearly linear in gradients this small: rounding stays.
        torch.testing.assert_close(small[name], value, atol=1e-6, rtol=1e-5)
        moved = max(moved, float((value - before.payloads["model"][name]).abs().max()))
    assert moved > 1e-5


def learner_of(objective, noted=None):
    noted = [] if noted is None else noted
    tokenizer = CharacterTokenizer()
    spec = ModelSpec(width=16, layers=1, heads=2, kv_heads=1, head_width=8, mlp_width=24)
    session = SimpleNamespace(
        rounds=lambda cuts, read: map(read, cuts),
        decoder=build_decoder(spec.filled(tokenizer.vocabulary), Seeds(1)),
        clocks=SimpleNamespace(step=3),
        context=SimpleNamespace(
            place=lambda step: f"stage 'rl' after step {step}", ranks=OneRank()
        ),
        note_failure=lambda told: noted.append(told),
    )
    stage = RL(problems=Mix({"gcd": 1.0}), objective=objective)
    return Learner(session=session, stage=stage, objective=objective, response_tokens=8)


def objective_that_reads(*columns):
    """An objective that declares ``columns`` (None: declares nothing) and meets infinity."""

    def objective(_batch):
        raise FloatingPointError("'logp' is not finite at 1 of 2 active tokens")

    if columns != (None,):
        objective.needs = frozenset(columns)
    return objective


@pytest.mark.parametrize(
    ("columns", "skips"),
    [
        (("behavior_logp", "advantage"), True),
        (("advantage",), True),
        (("behavior_logp",), False),
        (("behavior_logp", "advantage", "entropy"), False),
        ((None,), False),
    ],
)
def test_rows_without_signal_are_skipped_only_where_they_add_nothing(columns, skips):
    assert learner_of(objective_that_reads(*columns)).skips_flat == skips


def test_numbers_that_are_not_finite_end_the_run_with_a_sentence():
    noted = []
    learner = learner_of(objective_that_reads("behavior_logp", "advantage"), noted)
    row = ScoredRow(
        row=Row(prompt=(1, 5), completion=(6, 2)),
        behavior_logp=(-1.0, -1.0),
        advantage=(0.5, 0.5),
        group=0,
    )
    totals = Totals(tokens=2, active_rows=1, rows=1, response_tokens=8)
    with pytest.raises(RunFailed, match=r"stage 'rl' after step 3: 'logp' is not finite"):
        learner.update([row], totals)
    assert noted == [
        "stage 'rl' after step 3: 'logp' is not finite at 1 of 2 active tokens; no optimizer step "
        "was taken"
    ]


def test_credit_that_does_not_fit_its_group_is_refused():
    response = Response(
        problem_id="x",
        sample_index=0,
        prompt_ids=(1, 5),
        completion_ids=(6, 7, 2),
        logprobs=(-1.0, -1.0, -1.0),
        finish_reason="eos",
        completion_budget=8,
        policy_version=0,
        text="67",
    )
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    group = Group(problem=problem, responses=[response], rewards=[1.0], correct=[True])
    (row,) = rows_of([group], lambda _group: torch.tensor([[0.5, 0.25, 0.0]]))
    assert row.advantage == [0.5, 0.25, 0.0]
    for wrong in (torch.zeros(1, 2), torch.zeros(2)):
        with pytest.raises(ValueError, match="1 responses of up to 3 tokens"):
            rows_of([group], lambda _group, wrong=wrong: wrong)


def test_a_row_that_does_not_count_leaves_loss_gradient_and_token_counts():
    """It stays in the constant normaliser alone, and adds nothing to any gradient."""
    seen = []

    def objective(batch):
        seen.append(batch.totals)
        return Loss(value=batch.aggregate(batch.logp, "constant"))

    def gradient(rows):
        learner = learner_of(objective)
        learner.session.update = lambda _loss: {}
        learner.learn(rows, Seeds(2))
        grads = [each.grad for each in learner.session.decoder.parameters()]
        return torch.cat([each.flatten() for each in grads if each is not None])

    def row(completion, group, **more):
        return ScoredRow(
            row=Row(prompt=(1, 5), completion=completion),
            behavior_logp=[-1.0] * len(completion),
            advantage=[0.5] * len(completion),
            group=group,
            **more,
        )

    kept = row((6, 2), 0)
    with_cut = gradient([kept, row((7, 8, 9), 0, counts=False)])
    assert seen == [Totals(tokens=2, active_rows=1, rows=2, response_tokens=8)]
    alone = gradient([kept])
    torch.testing.assert_close(with_cut, alone / 2)
    assert not row((7, 8), 0, counts=False).has_signal


def test_rows_cut_at_their_budget_count_only_where_they_shall():
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    responses = [
        Response(
            problem_id=problem.id,
            sample_index=index,
            prompt_ids=(1, 5),
            completion_ids=(6, 7),
            logprobs=(-1.0, -1.0),
            finish_reason=reason,
            completion_budget=2,
            policy_version=0,
            text="67",
        )
        for index, reason in enumerate(("eos", "length"))
    ]
    group = Group(problem=problem, responses=responses, rewards=[1.0, 0.0], correct=[True, False])

    def credit(group):
        return torch.tensor(group.rewards) - 0.5

    plain = rows_of([group], credit)
    masked = rows_of([group], credit, mask_truncated=True)
    assert [row.counts for row in plain] == [True, True]
    assert [row.counts for row in masked] == [True, False]
    # The group's statistics are those of all its responses.
    assert [row.advantage for row in masked] == [row.advantage for row in plain]


def sampled_rows(rollouts=4, flat=1):
    """Ragged rows of three groups, the first of them without contrast."""
    stream = torch.Generator().manual_seed(8)

    def draw(count):
        return tuple(torch.randint(3, 40, (count,), generator=stream).tolist())

    found = []
    for group in range(3):
        prompt = draw(3 + group)
        for index in range(rollouts):
            completion = draw(2 + (5 * group + 3 * index) % 6)
            logp = (-3.7 + 0.1 * torch.randn(len(completion), generator=stream)).tolist()
            credit = 0.0 if group < flat else (-0.5 if index % 2 else 0.5)
            found.append(
                ScoredRow(
                    row=Row(prompt=prompt, completion=completion),
                    behavior_logp=logp,
                    advantage=[credit] * len(completion),
                    group=group,
                    counts=not (group == 2 and index == 0),
                )
            )
    return found


@pytest.mark.parametrize(("updates", "flat"), [(1, 0), (1, 1), (3, 1), (3, 3)])
@pytest.mark.parametrize("microbatch_tokens", [20, 1000])
def test_a_batch_is_measured_as_it_is_read(updates, flat, microbatch_tokens):
    rows = sampled_rows(flat=flat)
    found = []
    for together in (False, True):
        learner = learner_of(DPPO())
        object.__setattr__(
            learner,
            "stage",
            attrs.evolve(
                learner.stage, off_policy_updates=updates - 1, microbatch_tokens=microbatch_tokens
            ),
        )
        decoder, events, gradients = learner.session.decoder, [], []

        def update(loss, decoder=decoder, events=events, gradients=gradients):
            events.append("update")
            gradients.append([each.grad.clone() for each in decoder.parameters()])
            with torch.no_grad():
                for each in decoder.parameters():
                    each -= 0.1 * each.grad
            decoder.zero_grad()
            return {}

        learner.session.update = update
        if together:
            learner.learn(rows, Seeds(2), events.append)
        else:
            events.append(learner.measure(learner.before_updates(rows)))
            learner.learn(rows, Seeds(2))
        found.append((events, gradients))
    (apart, their_gradients), (together, our_gradients) = found
    assert len(apart) == len(together) == 1 + len(our_gradients)
    assert len(our_gradients) == (0 if flat == 3 else min(updates, 3 - flat))
    # Told before the first update, by all rows: also those that nothing is learned from.
    first, second = apart[0], together[0]
    assert first.tokens == second.tokens == sum(len(row.row.completion) for row in rows)
    assert first.clipped_token_fraction == second.clipped_token_fraction
    for name in ("effective_sample_fraction", "mean_weight", "min_ratio", "max_ratio"):
        # The passes differ by float32 rounding of log-probabilities, a few 1e-7.
        assert getattr(second, name) == pytest.approx(getattr(first, name), rel=5e-6)
    for a, b in zip(their_gradients, our_gradients, strict=True):
        assert all(torch.equal(*pair) for pair in zip(a, b, strict=True))


def test_a_batch_that_breaks_the_objective_is_measured_all_the_same():
    learner, heard = learner_of(objective_that_reads("behavior_logp", "advantage")), []
    with pytest.raises(RunFailed, match="'logp' is not finite"):
        learner.learn(sampled_rows(), Seeds(2), heard.append)
    assert [each.tokens for each in heard] == [
        sum(len(row.row.completion) for row in sampled_rows())
    ]


@pytest.mark.parametrize(
    ("settings", "as_it_reads"),
    [
        ({}, True),
        ({"health": HealthLimits(separate_pass=True)}, False),
        ({"health": HealthLimits(action="skip")}, False),
        ({"health": HealthLimits(action="stop")}, False),
        ({"correction": Correction()}, False),
    ],
    ids=["plain", "separate", "skip", "stop", "correction"],
)
def test_what_decides_about_an_update_is_measured_before_it(settings, as_it_reads):
    learner = learner_of(DPPO())
    object.__setattr__(learner, "stage", attrs.evolve(learner.stage, **settings))
    assert learner.measures_as_it_reads == as_it_reads


def test_ranks_that_share_rows_measure_them_apart():
    learner = learner_of(DPPO())
    learner.session.context.ranks = SimpleNamespace(world_size=2)
    assert not learner.measures_as_it_reads
