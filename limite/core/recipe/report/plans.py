"""Which charts a stage's page shows: columns of its log, and what to look for in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs


@attrs.frozen(kw_only=True)
class Plan:
    """A chart of a stage, before its numbers: columns by the name shown for each."""

    title: str
    note: str
    columns: Mapping[str, str]
    shares: bool | None = False  # None: when every value is between 0 and 1
    stack: bool = False
    bounds: tuple[float | None, float | None] = (None, None)
    around: Sequence[float] = ()  # values the chart always reaches, lest it magnify noise
    limits: Sequence[str] = ()  # names of the stage's health limits to draw


LEARNING_RATE = Plan(
    title="Learning rate",
    note="As applied at each step.",
    columns={"optim/lr": "learning rate"},
    bounds=(0, None),
)

GRADIENT_NORM = Plan(
    title="Gradient norm",
    note="Before clipping.",
    columns={"optim/gradient_norm": "gradient norm"},
    bounds=(0, None),
)

UPDATE_NORM = Plan(
    title="Update norm",
    note="How far an update moved the weights.",
    columns={"optim/update_norm": "update norm"},
    bounds=(0, None),
)

OPTIMIZER = (LEARNING_RATE, GRADIENT_NORM, UPDATE_NORM)

SUPERVISED = (
    Plan(title="Loss", note="Nats per target token.", columns={"loss": "loss"}),
    *OPTIMIZER,
)

PRETRAINED = (
    Plan(
        title="Loss",
        note="Nats per target token, of a batch and of texts that are never trained on.",
        columns={"loss": "trained on", "held_out/loss": "held out"},
    ),
    *OPTIMIZER,
)

FITTED = (
    Plan(
        title="Value loss",
        note="Of the problems it is fitted to, a batch at a time, and of those held out.",
        columns={"loss": "fitted", "held_out/loss": "held out"},
        bounds=(0, None),
    ),
    Plan(
        title="Explained variance",
        note="Of outcomes over tokens: 0 is what the mean reward explains, 1 would be all.",
        columns={
            "value/explained_variance": "fitted",
            "held_out/explained_variance": "held out",
        },
        around=(0.0, 1.0),
    ),
    *OPTIMIZER,
)

REINFORCED = (
    Plan(
        title="Sampled accuracy and reward",
        note="On the training problems the curriculum chose: no estimate of ability.",
        columns={"accuracy/sampled": "accuracy", "reward/mean": "mean reward"},
        shares=None,
    ),
    Plan(
        title="Reward contrast",
        note="Groups whose responses earn different rewards: only they teach. Before filtering.",
        columns={
            "contrast/share": "contrast",
            "contrast/all_correct_share": "all right",
            "contrast/all_wrong_share": "all wrong",
        },
        shares=True,
        stack=True,
    ),
    Plan(
        title="Response length",
        note="Tokens of a response.",
        columns={"length/response_tokens": "mean", "length/p95_tokens": "95th percentile"},
        bounds=(0, None),
    ),
    Plan(
        title="Endings",
        note="Responses that ended by themselves, or were cut at their budget.",
        columns={"ending/eos_share": "ended", "ending/length_share": "cut"},
        shares=True,
        bounds=(-0.02, 1.02),
    ),
    Plan(
        title="Entropy",
        note="Of the next-token distribution, in nats, mean over sampled tokens.",
        columns={"entropy/mean": "entropy"},
        bounds=(0, None),
    ),
    Plan(
        title="Tokens outside the ratio band",
        note="Importance weight beyond 0.8 to 1.2, measured before the first update of a batch.",
        columns={"ratio/clipped_token_fraction": "outside"},
        shares=True,
        bounds=(0, None),
        limits=("clipped_token_fraction",),
    ),
    Plan(
        title="Tokens the objective leaves out",
        note="Masked or clipped as the policy moves away from its samples: mean over all updates "
        "of a batch. No gate limits this.",
        columns={"ratio/masked_fraction": "masked", "ratio/clip_fraction": "clipped"},
        shares=True,
        bounds=(0, None),
    ),
    Plan(
        title="Effective sample fraction",
        note="1 when all tokens weigh the same; a few heavy ones pull it down. Before the first "
        "update of a batch.",
        columns={"ratio/effective_sample_fraction": "fraction"},
        around=(1.0,),
        limits=("effective_sample_fraction",),
    ),
    Plan(
        title="Mean importance weight",
        note="1 when learner and sampler agree. Before the first update of a batch.",
        columns={"ratio/mean_weight": "mean weight"},
        around=(0.9, 1.1),
    ),
    GRADIENT_NORM,
    LEARNING_RATE,
    Plan(
        title="Time of a step",
        note="Seconds.",
        columns={"time/rollout_s": "sampling", "time/learner_s": "learning"},
        stack=True,
    ),
)

PREFERRED = (
    Plan(
        title="Preference loss",
        note="Of a batch of pairs, and of pairs held out. Where the policy is its reference, a "
        "sigmoid loss is 0.69.",
        columns={"loss": "trained on", "held_out/loss": "held out"},
    ),
    Plan(
        title="Share of pairs the right way round",
        note="Pairs whose preferred response gained more on the reference than the other one.",
        columns={"pair/accuracy": "trained on", "held_out/accuracy": "held out"},
        shares=True,
        bounds=(-0.02, 1.02),
    ),
    Plan(
        title="Rewards",
        note="What a response gained on the reference, in nats times beta. Where both fall, only "
        "the margin is learned.",
        columns={
            "pair/chosen_reward": "preferred",
            "pair/rejected_reward": "other",
            "pair/margin": "margin",
        },
        around=(0.0,),
    ),
    *OPTIMIZER,
)

DISTILLED = (
    Plan(
        title="Divergence from the teacher",
        note="Nats per token, over its likeliest tokens and all others.",
        columns={"kd/divergence_nats": "trained on", "held_out/divergence_nats": "held out"},
    ),
    Plan(
        title="Mass of the lists",
        note="The probability that teacher and student give to the tokens of the teacher's lists.",
        columns={"kd/teacher_mass": "teacher", "kd/student_mass": "student"},
        shares=True,
        bounds=(-0.02, 1.02),
    ),
    *SUPERVISED,
)

PLANS: Mapping[str, Sequence[Plan]] = {
    "pretrain": PRETRAINED,
    "rl": REINFORCED,
    "fit-critic": FITTED,
    "preference": PREFERRED,
    "distill": DISTILLED,
}
"""Those of each kind of stage; of any other, ``SUPERVISED``."""
