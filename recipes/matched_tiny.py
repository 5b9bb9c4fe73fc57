"""Ordinary and 2-simplicial attention, matched: the same data, seeds and budgets, three seeds each.

Every variant learns from the same texts in the same order, is reinforced on the same problems in
the same steps, and is asked the same held-out problems; weights that both have begin alike. What
cannot be the same is told at the end: parameters, arithmetic, kernels, time, lengths of responses.
The terms are those of larger comparisons: fresh Adam without decay, ratios clipped at 0.2, a mean
over tokens, no KL penalty, 16 groups of 4 a step, learned from before the next ones are sampled.
"""

from attrs import evolve

from limite import (
    DAPO,
    RL,
    SFT,
    AdamW,
    Eval,
    Global,
    GroupAdvantage,
    Matched,
    Mix,
    ModelSpec,
    Muon,
    Recipe,
    Simplicial,
    Uniform,
    WarmupStableDecay,
)

problems = Mix({"sum-chain": 1, "modular-expression": 1}, difficulty=(0.0, 0.3), levels=3)


def held_out(stage: str, against: str | None = None) -> Eval:
    """One seed for all: training seeds must not change what is asked."""
    return Eval(
        start=stage, problems=problems, seed=42, count=400, samples=4, max_tokens=48,
        against=against,
    )  # fmt: skip


ordinary = Recipe(
    name="matched-tiny",
    model=ModelSpec(
        width=64, layers=4, heads=2, kv_heads=1, head_width=32, mlp_width=176, context=128,
        attention=Global(rotary=True),
    ),
    stages={
        # Several styles of worked solution: reinforcement needs something to choose between.
        "sft": SFT(
            problems=problems,
            styles={"direct": 0.3, "coarse": 0.35, "fine": 0.35},
            documents=8000,
            steps=700,
            batch=32,
            optimizer=Muon(lr=0.02, other_lr_ratio=1.0),
            lr_schedule=WarmupStableDecay(warmup_steps=20, decay_share=0.4),
        ),
        "after-sft": held_out("sft"),
        "rl": RL(
            problems=problems,
            steps=100,
            groups=16,
            rollouts=4,
            max_tokens=48,
            objective=DAPO(eps_high=0.2),
            advantage=GroupAdvantage(scale="std"),
            curriculum=Uniform(),
            optimizer=AdamW(lr=5e-4, betas=(0.9, 0.95)),
            lr_schedule=WarmupStableDecay(warmup_steps=5, decay_share=0.3),
        ),
        "after-rl": held_out("rl", "after-sft"),
    },
)  # fmt: skip

# Every fourth layer, as its authors have it: here the last. It sees what the ordinary one sees, all
# tokens before with their positions, and beside each of them one of the last 8.
simplicial = evolve(
    ordinary,
    model=evolve(
        ordinary.model,
        attention=Simplicial(
            every=4, window1=128, window2=8, rotary=True, other=Global(rotary=True)
        ),
    ),
)

recipe = Matched(
    name="matched-tiny",
    seeds=(1, 2, 3),
    variants={"ordinary": ordinary, "simplicial": simplicial},
)
