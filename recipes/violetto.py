"""The published programme of a 1B mathematical reasoner, stage by stage: a plan for a cluster.

Numbers that were published stand as they are; what was not is marked "open" and is a proposal. The
texts are yours: `limite check recipes/violetto.py` names each file, and says what is wrong in it.
`limite plan recipes/violetto.py --gpus 48 --gpu h100` tells what every stage takes of a GPU.
"""

from attrs import evolve

from limite import (
    DPO,
    DPPO,
    RL,
    SFT,
    AdamW,
    Cosine,
    CriticSettings,
    Distill,
    DPPOCritic,
    Dynamic,
    Eval,
    FitCritic,
    Mix,
    Muon,
    OwnSolutions,
    Preference,
    Pretrain,
    PretrainedTokenizer,
    Recipe,
    Soup,
    Targeted,
    TopKDistill,
    Unstable,
    WarmupStableDecay,
    Windows,
)

CONTEXT = 131_072
RATE = 0.02  # open: of the matrices; everything else follows AdamW at a part of it

# 300 billion tokens at most, in batches of 524,288.
base = Pretrain(
    sources={  # open: the weights
        "data/rewritten-web.jsonl.zst": 7,
        "data/problems-with-solutions.jsonl.zst": 2,
        "data/synthetic-knowledge.jsonl.zst": 1,
    },
    validation="data/validation.jsonl.zst",
    steps=572_000,
    batch_tokens=524_288,
    microbatch_tokens=CONTEXT,
    shuffle_documents=1_000_000,
    recompute=True,
    eval_every=1000,
    checkpoint_every=1000,
    optimizer=Muon(lr=RATE),
    lr_schedule=WarmupStableDecay(warmup_steps=2000, decay_share=0.1),
)


def onward(seed: int, factor: float) -> Pretrain:
    """A parallel continuation on the best texts, with an order and a rate of its own."""
    return evolve(
        base,
        start="base",
        seed=seed,
        sources={"data/best.jsonl.zst": 1},
        steps=10_000,  # open
        optimizer=Muon(lr=factor * RATE),
        lr_schedule=WarmupStableDecay(warmup_steps=0, decay_share=1.0),
    )


# 704 problems with 8 responses each, in 20 minibatches; no KL, no penalty on length. Dr. GRPO's
# normaliser is the response budget, and groups without contrast are replaced, as in DAPO.
rl1 = RL(
    problems=Mix({"data/rl1.jsonl.zst": 1}),
    steps=12,  # open: at most; it ends before, once unstable
    groups=704,
    rollouts=8,
    off_policy_updates=19,
    max_tokens=63_488,  # of a context of 65,536
    objective=DPPO(delta=0.15),  # open
    optimizer=AdamW(lr=1.5e-5),
    curriculum=Targeted(calibrated=8),
    rollout_schedule=Dynamic(max_rounds=4, at_max_rounds="train-partial"),
    stop_when=Unstable(patience=5),
    microbatch_tokens=65_536,
    recompute=True,
    checkpoint_every=1,
    keep=8,
    save_in_background=True,
)
rl2 = evolve(
    rl1,
    problems=Mix({"data/rl1.jsonl.zst": 1, "data/rl2.jsonl.zst": 1}),
    steps=14,
    off_policy_updates=9,  # minibatches twice as large
)


def solved(seed: int, rate: float, start: str) -> SFT:
    """What the model has solved itself, in windows of the whole context."""
    return SFT(
        start=start,
        seed=seed,
        own=OwnSolutions(rollouts=("rl1", "rl2"), documents=50_000, per_problem=2),
        windows=Windows(tokens=CONTEXT - 1, policy="overlap-final-window", short="include"),
        targets="response",
        steps=1000,  # open
        batch=32,
        microbatch_tokens=CONTEXT,
        recompute=True,
        optimizer=AdamW(lr=rate),
        lr_schedule=Cosine(warmup_steps=50),
    )


def held_out(start: str, against: str | None = None) -> Eval:
    """The same problems after every stage."""
    return Eval(
        start=start,
        problems=Mix({"data/held-out.jsonl.zst": 1}),
        count=128,
        samples=4,
        max_tokens=63_488,
        against=against,
    )


recipe = Recipe(
    name="violetto",
    seed=42,
    model="limite-1b",
    tokenizer=PretrainedTokenizer(path="tokenizer"),
    stages={
        "base": base,
        "base-slow": onward(1, 0.5),
        "base-same": onward(2, 1.0),
        "base-fast": onward(3, 2.0),
        "base-soup": Soup(of=("base-slow", "base-same", "base-fast")),
        "kd": Distill(
            traces="data/teacher-top-32.jsonl.zst",  # 5.5 million, 32 log-probabilities a token
            objective=TopKDistill(tail="bucket"),
            listed_tokens=32,
            steps=21_500,  # once, in batches of 256
            batch=256,
            microbatch_tokens=CONTEXT,
            recompute=True,
            checkpoint_every=500,
            optimizer=AdamW(lr=5e-5),
            lr_schedule=Cosine(warmup_steps=500),
        ),
        "after-kd": held_out("kd"),
        "dpo": Preference(
            pairs="data/pairs.jsonl.zst",  # of a 32B model over a 0.6B one
            objective=DPO(beta=0.1),
            steps=1000,
            batch=64,
            recompute=True,
            optimizer=AdamW(lr=5e-7),
        ),
        "after-dpo": held_out("dpo", "after-kd"),
        "rl1": rl1,
        "after-rl1": held_out("rl1", "after-dpo"),
        "rl2": rl2,
        "after-rl2": held_out("rl2", "after-rl1"),
        "sft1-a": solved(1, 1e-5, "rl2"),
        "sft1-b": solved(2, 1e-5, "rl2"),
        "sft1-c": solved(3, 1e-5, "rl2"),
        "soup": Soup(of=("sft1-a", "sft1-b", "sft1-c")),
        "after-soup": held_out("soup", "after-rl2"),
        "sft2": solved(4, 5e-6, "soup"),
        "after-sft2": held_out("sft2", "after-soup"),
        "critic": FitCritic(
            rollouts="rl2",
            steps=500,
            batch=64,
            microbatch_tokens=65_536,
            recompute=True,
            optimizer=AdamW(lr=1e-5),
        ),
        # The whole context for every response, and a critic that stays as it is.
        "rl3": evolve(
            rl2,
            start="sft2",
            steps=10,
            off_policy_updates=7,
            budget="native-context",
            max_tokens=CONTEXT,
            objective=DPPOCritic(delta=0.15),
            critic=CriticSettings(start="critic", mode="frozen"),
            optimizer=AdamW(lr=1e-5),
            microbatch_tokens=CONTEXT,
        ),
        "after-rl3": held_out("rl3", "after-sft2"),
    },
)
