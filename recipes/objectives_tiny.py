"""Objectives side by side: one start, the same budgets, three seeds each, ever further off policy.

Ratio clipping and divergence clipping, whole sequences, a critic: eight ways to learn from the same
number of responses, with 1, 7 and 19 updates off policy and at three rates. At the lowest rate all
learn; with 19 updates at the highest all collapse. docs/objectives_tiny.md tells what was measured.
It takes 38 minutes of one processor core; shorten the constants for a part of it.
"""

from attrs import evolve

from limite import (
    CISPO,
    DAPO,
    DPPO,
    GRPO,
    GSPO,
    RL,
    SFT,
    AdamW,
    CriticSettings,
    DPPOCritic,
    DrGRPO,
    Eval,
    FitCritic,
    HealthLimits,
    Mix,
    ModelSpec,
    Muon,
    PassRate,
    Recipe,
    WarmupStableDecay,
)

SEEDS = (1, 2, 3)
OFF_POLICY_UPDATES = (19, 1, 7)
RATES = {"low": 5e-4, "middle": 2e-3, "high": 4e-3}

OBJECTIVES = {
    "grpo": GRPO(),
    "dr-grpo": DrGRPO(),
    "dapo": DAPO(),
    "dppo-tv": DPPO(divergence="binary-tv"),
    "dppo-kl": DPPO(divergence="binary-kl"),
    "gspo": GSPO(),
    "cispo": CISPO(),
    "dppo-critic": DPPOCritic(),
}

problems = Mix({"sum-chain": 1, "modular-expression": 1}, difficulty=(0.0, 0.3), levels=3)


def held_out(stage: str, against: str | None) -> Eval:
    """The same problems for all."""
    return Eval(
        start=stage, problems=problems, count=200, samples=4, max_tokens=48, against=against
    )


rl = RL(
    start="sft",
    problems=problems,
    steps=8,
    groups=40,
    rollouts=8,
    max_tokens=48,
    lr_schedule=WarmupStableDecay(warmup_steps=3, decay_share=0.3),
    curriculum=PassRate(),
    health=HealthLimits(every=4),
)
corners = {
    f"{updates}-{rate}-{seed}": evolve(
        rl,
        seed=seed,
        off_policy_updates=updates,
        optimizer=AdamW(lr=RATES[rate], betas=(0.9, 0.95)),
    )
    for seed in SEEDS
    for updates in OFF_POLICY_UPDATES
    for rate in RATES
}
critic = CriticSettings(start="critic", mode="online", optimizer=AdamW(lr=1e-3))
runs = {
    f"{name}-{corner}": evolve(
        stage, objective=objective, critic=critic if isinstance(objective, DPPOCritic) else None
    )
    for corner, stage in corners.items()
    for name, objective in OBJECTIVES.items()
}
FIRST = next(iter(runs))


def measured(stages: dict[str, RL]) -> dict[str, RL | Eval]:
    """Each with an evaluation after it."""
    found: dict[str, RL | Eval] = {}
    for name, stage in stages.items():
        found[name] = stage
        found[f"after-{name}"] = held_out(name, "after-sft")
    return found


recipe = Recipe(
    name="objectives-tiny",
    seed=1,
    model=ModelSpec(
        width=64, layers=4, heads=2, kv_heads=1, head_width=32, mlp_width=176, context=128
    ),
    stages={
        # Several styles of worked solution: reinforcement needs something to choose between.
        "sft": SFT(
            problems=problems,
            styles={"direct": 0.3, "coarse": 0.35, "fine": 0.35},
            documents=8000,
            steps=1050,
            batch=32,
            optimizer=Muon(lr=0.02, other_lr_ratio=1.0),
            lr_schedule=WarmupStableDecay(warmup_steps=20, decay_share=0.4),
        ),
        "after-sft": held_out("sft", None),
        **measured({FIRST: runs[FIRST]}),
        # Of all problems: most of what can be foreseen of a response is how hard its problem is.
        "critic": FitCritic(
            start="sft",
            rollouts=FIRST,
            mixed_only=False,
            held_out=0.1,
            steps=200,
            batch=128,
            eval_every=40,
            patience=2,
            optimizer=AdamW(lr=1e-3),
        ),
        **measured(runs),
    },
)
