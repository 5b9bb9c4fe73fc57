"""Objectives side by side: one start, the same budgets, three seeds each, far off policy.

Ratio clipping and divergence clipping, whole sequences, a critic: eight ways to learn from the same
number of responses, with 19 updates off policy at a rate where it shows. For another corner change
the constants in a copy: 1, 7 or 19 updates, rates from 5e-4 up.
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
OFF_POLICY_UPDATES = 19
RATE = 2e-3

OBJECTIVES = {
    "grpo": GRPO(),
    "dr-grpo": DrGRPO(),
    "dapo": DAPO(),
    "dppo-tv": DPPO(divergence="binary-tv"),
    "dppo-kl": DPPO(divergence="binary-kl"),
    "gspo": GSPO(),
    "cispo": CISPO(),
}

problems = Mix({"sum-chain": 1, "modular-expression": 1}, difficulty=(0.0, 0.3), levels=3)


def held_out(stage: str, against: str | None) -> Eval:
    """The same problems for all."""
    return Eval(
        start=stage, problems=problems, count=300, samples=4, max_tokens=48, against=against
    )


rl = RL(
    start="sft",
    problems=problems,
    steps=12,
    groups=60,
    rollouts=8,
    off_policy_updates=OFF_POLICY_UPDATES,
    max_tokens=48,
    optimizer=AdamW(lr=RATE, betas=(0.9, 0.95)),
    lr_schedule=WarmupStableDecay(warmup_steps=3, decay_share=0.3),
    curriculum=PassRate(),
    health=HealthLimits(every=4),
)

runs = {
    f"{name}-{seed}": evolve(rl, seed=seed, objective=objective)
    for name, objective in OBJECTIVES.items()
    for seed in SEEDS
}
with_critic = {
    f"critic-{seed}": evolve(
        rl,
        seed=seed,
        objective=DPPOCritic(),
        critic=CriticSettings(start="critic", mode="online", optimizer=AdamW(lr=1e-3)),
    )
    for seed in SEEDS
}


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
        **measured(runs),
        "critic": FitCritic(
            start="sft", rollouts="grpo-1", steps=100, batch=64, optimizer=AdamW(lr=1e-3)
        ),
        **measured(with_critic),
    },
)
