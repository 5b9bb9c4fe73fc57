"""Teaches a small Limite model arithmetic, then raises it by reinforcement learning; minutes."""

from limite import (
    DPPO,
    RL,
    SFT,
    AdamW,
    Eval,
    HealthLimits,
    Mix,
    ModelSpec,
    Muon,
    PassRate,
    Recipe,
    WarmupStableDecay,
)

problems = Mix(
    {"sum-chain": 1, "modular-expression": 1},
    difficulty=(0.0, 0.3),
    levels=3,
)

recipe = Recipe(
    name="quickstart",
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
        "after-sft": Eval(problems=problems, count=400, samples=4, max_tokens=48),
        "rl": RL(
            problems=problems,
            steps=34,
            groups=128,
            rollouts=8,
            off_policy_updates=15,
            max_tokens=48,
            objective=DPPO(),
            optimizer=AdamW(lr=7e-4, betas=(0.9, 0.95)),
            lr_schedule=WarmupStableDecay(warmup_steps=3, decay_share=0.3),
            curriculum=PassRate(),
            health=HealthLimits(every=5),
        ),
        "after-rl": Eval(
            problems=problems, count=400, samples=4, max_tokens=48, against="after-sft"
        ),
    },
)
