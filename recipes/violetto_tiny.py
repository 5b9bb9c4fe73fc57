"""Every stage of the larger programme at a size for two cores: from text to critic, measured.

Pretraining, parallel continuations and their average, distillation, preferences, three times
reinforcement with supervision between, a critic: each goes on from what the one before has left.
A run has one architecture, so the teacher is a model of the same size that was shown worked
solutions for longer.
"""

from attrs import evolve

from limite import (
    DPO,
    DPPO,
    RL,
    SFT,
    AdamW,
    CharacterTokenizer,
    CriticSettings,
    Distill,
    DPPOCritic,
    Eval,
    FitCritic,
    GeneralisedAdvantage,
    HealthLimits,
    MadeTexts,
    Mix,
    ModelSpec,
    Muon,
    OwnSolutions,
    PassRate,
    Preference,
    Pretrain,
    Recipe,
    Soup,
    StrongWeak,
    Taught,
    TopKDistill,
    WarmupStableDecay,
)

ALPHABET = "0123456789+-*/()=,;.?# \nabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
TOKENS = 80
"""The longest response, in tokens."""

# Nine families and a file of stories. Two are most of it: so small a model learns few things well.
# Problems as hard as these leave room above every stage, and something to tell apart for a critic.
problems = Mix(
    {
        "sum-chain": 4,
        "modular-expression": 4,
        "linear-equation": 0.5,
        "linear-system": 0.5,
        "gcd": 0.5,
        "product": 0.5,
        "quotient": 0.5,
        "progression": 0.5,
        "mean": 0.5,
        "limite:stories.jsonl": 0.3,
    },
    difficulty=(0.0, 0.4),
    levels=4,
)
# Many ways of writing: reinforcement needs something to choose between.
every_style = {"direct": 0.4, "coarse": 0.35, "fine": 0.25, "words": 1.0}
taught = {"direct": 0.3, "coarse": 0.35, "fine": 0.35, "words": 1.0}

base = Pretrain(
    made=MadeTexts(problems=problems, styles=every_style, documents=8000),
    steps=900,
    batch_tokens=1536,
    microbatch_tokens=1536,
    shuffle_documents=8000,
    optimizer=Muon(lr=0.02, other_lr_ratio=1.0),
    lr_schedule=WarmupStableDecay(warmup_steps=20, decay_share=0.1),
)


def onward(seed: int, factor: float) -> Pretrain:
    """The base, for a while longer: another order of texts, another rate, down to nothing."""
    return evolve(
        base,
        start="base",
        seed=seed,
        steps=100,
        optimizer=Muon(lr=0.02 * factor, other_lr_ratio=1.0),
        lr_schedule=WarmupStableDecay(warmup_steps=0, decay_share=1.0),
    )


rl1 = RL(
    problems=problems,
    steps=16,
    groups=100,
    rollouts=8,
    off_policy_updates=19,
    max_tokens=TOKENS,
    objective=DPPO(),
    optimizer=AdamW(lr=5e-4, betas=(0.9, 0.95)),
    lr_schedule=WarmupStableDecay(warmup_steps=3, decay_share=0.3),
    curriculum=PassRate(),
    health=HealthLimits(every=4),
)


def worked(steps: int, rate: float, styles: dict[str, float], start: str | None = None) -> SFT:
    """Solutions worked out step by step."""
    return SFT(
        start=start,
        problems=problems,
        styles=styles,
        documents=8000,
        steps=steps,
        batch=32,
        optimizer=Muon(lr=rate, other_lr_ratio=1.0),
        lr_schedule=WarmupStableDecay(warmup_steps=20, decay_share=0.4),
    )


# Four times as many problems to an update: with few of them that have right and wrong answers,
# fewer tell more of chance than of the problems.
rl2 = evolve(rl1, steps=30, groups=200, off_policy_updates=9)


def solved(seed: int, rate: float, start: str) -> SFT:
    """Right answers that the model has found itself."""
    return SFT(
        start=start,
        seed=seed,
        own=OwnSolutions(rollouts=("rl1", "rl2"), documents=3000),
        steps=40,
        batch=32,
        optimizer=Muon(lr=rate, other_lr_ratio=1.0),
        lr_schedule=WarmupStableDecay(warmup_steps=4, decay_share=0.5),
    )


def held_out(stage: str, against: str | None = None) -> Eval:
    """Accuracy on problems that no stage trains on, and what changed since another stage."""
    return Eval(
        start=stage,
        problems=problems,
        count=600,
        samples=4,
        max_tokens=TOKENS,
        against=None if against is None else f"after-{against}",
    )


recipe = Recipe(
    name="violetto-tiny",
    seed=1,
    tokenizer=CharacterTokenizer(alphabet=ALPHABET),
    model=ModelSpec(
        width=64, layers=4, heads=2, kv_heads=1, head_width=32, mlp_width=176, context=200
    ),
    stages={
        "base": base,
        "after-base": held_out("base"),
        "slow": onward(11, 0.5),
        "after-slow": held_out("slow", "base"),
        "same": onward(12, 1.0),
        "after-same": held_out("same", "base"),
        "fast": onward(13, 2.0),
        "after-fast": held_out("fast", "base"),
        "base-soup": Soup(of=("slow", "same", "fast")),
        "after-base-soup": held_out("base-soup", "base"),
        "teacher": worked(1400, 0.02, taught),
        "after-teacher": held_out("teacher", "base-soup"),
        "kd": Distill(
            start="base-soup",
            teacher="teacher",
            taught=Taught(problems=problems, count=5000, max_tokens=TOKENS),
            objective=TopKDistill(),
            listed_tokens=8,
            steps=1200,
            batch=32,
            optimizer=Muon(lr=0.02, other_lr_ratio=1.0),
            lr_schedule=WarmupStableDecay(warmup_steps=20, decay_share=0.4),
        ),
        "after-kd": held_out("kd", "base-soup"),
        "dpo": Preference(
            sampled=StrongWeak(
                strong="teacher", weak="base", problems=problems, count=800, max_tokens=TOKENS
            ),
            objective=DPO(),
            steps=30,
            batch=16,
            optimizer=AdamW(lr=1e-4),
        ),
        "after-dpo": held_out("dpo", "kd"),
        "rl1": rl1,
        "after-rl1": held_out("rl1", "dpo"),
        "rl2": rl2,
        "after-rl2": held_out("rl2", "rl1"),
        "sft-a": solved(21, 0.003, "rl2"),
        "after-sft-a": held_out("sft-a", "rl2"),
        "sft-b": solved(22, 0.003, "rl2"),
        "after-sft-b": held_out("sft-b", "rl2"),
        "sft-c": solved(23, 0.003, "rl2"),
        "after-sft-c": held_out("sft-c", "rl2"),
        "soup": Soup(of=("sft-a", "sft-b", "sft-c")),
        "after-soup": held_out("soup", "rl2"),
        "sft2": worked(400, 0.01, {"coarse": 0.3, "fine": 0.7, "words": 1.0}, start="soup"),
        "after-sft2": held_out("sft2", "soup"),
        # Of all problems: most of what can be foreseen of a response is how hard its problem is.
        "critic": FitCritic(
            start="sft2",
            rollouts="rl2",
            mixed_only=False,
            held_out=0.05,
            steps=320,
            batch=128,
            eval_every=40,
            patience=2,
            optimizer=AdamW(lr=1e-3),
        ),
        "rl3": evolve(
            rl2,
            start="sft2",
            off_policy_updates=7,
            objective=DPPOCritic(),
            advantage=GeneralisedAdvantage(lam="half-life", whiten=True),
            critic=CriticSettings(start="critic", mode="online", optimizer=AdamW(lr=5e-4)),
        ),
        "after-rl3": held_out("rl3", "sft2"),
        "gain": held_out("rl3", "dpo"),
    },
)
