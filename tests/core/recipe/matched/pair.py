"""A matched pair of thousands of numbers each, at two seeds, for tests."""

from attrs import evolve

from limite import (
    RL,
    SFT,
    AdamW,
    Eval,
    Matched,
    Mix,
    ModelSpec,
    Muon,
    Recipe,
    Simplicial,
    Uniform,
)

problems = Mix({"linear-equation": 1}, difficulty=(0.0, 0.0))

ordinary = Recipe(
    name="pair",
    loggers=("jsonl",),
    model=ModelSpec(
        width=16, layers=2, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=64
    ),
    stages={
        "sft": SFT(
            problems=problems, documents=40, steps=30, batch=16, checkpoint_every=10,
            optimizer=Muon(lr=0.04),
        ),
        "rl": RL(
            problems=problems, steps=2, groups=6, rollouts=4, max_tokens=5, checkpoint_every=1,
            curriculum=Uniform(), optimizer=AdamW(lr=1e-3),
        ),
        "after": Eval(problems=problems, seed=7, count=6, samples=2, max_tokens=5),
    },
)  # fmt: skip
simplicial = evolve(
    ordinary,
    model=evolve(ordinary.model, attention=Simplicial(layers=(1,), window1=8, window2=4)),
)
recipe = Matched(
    name="pair", seeds=(1, 2), variants={"ordinary": ordinary, "simplicial": simplicial}
)
