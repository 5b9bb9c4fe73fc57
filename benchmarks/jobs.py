"""Jobs of reinforcement learning that limite and its peers are given: the same model and rows.

Plain data, which any interpreter can read: nothing of limite is imported here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist

MEDIAN_TOKENS, LONGEST_TOKENS = 16, 256

ALPHABET = "0123456789+-*/()=,;.?#| \nabcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
"""61 characters: with padding, beginning and end of sequence a vocabulary of 64."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"

WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "more", "less",
    "sum", "left", "right", "up", "down", "in", "out", "over", "under", "from", "to", "with", "all",
    "none",
)  # fmt: skip
"""Each a token of SmolLM2, at the beginning of a text and after a space."""

SMALL = {
    "width": 192, "layers": 4, "heads": 6, "kv_heads": 2, "head_width": 32, "mlp_width": 512,
    "vocabulary": 64, "context": 1024,
}  # fmt: skip
TINY = {
    "width": 64, "layers": 2, "heads": 2, "kv_heads": 1, "head_width": 32, "mlp_width": 176,
    "vocabulary": 64, "context": 128,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one step samples and learns from: ``groups`` prompts with ``rollouts`` responses each.

    Every response has ``tokens`` tokens, or as many as ``lengths`` says of its row. ``updates`` are
    made of each batch. ``flat`` tells, of the steps of a round in which some groups are without
    contrast, how many are.
    """

    name: str
    about: str
    spec: Mapping[str, int] = field(default_factory=dict)
    groups: int = 8
    rollouts: int = 8
    prompt_tokens: int = 6
    tokens: int = 32
    lengths: tuple[int, ...] = ()
    updates: int = 1
    flat: tuple[int, ...] = ()
    rounds: int = 7
    pretrained: bool = False

    @property
    def rows(self) -> int:
        return self.groups * self.rollouts

    @property
    def most_tokens(self) -> int:
        """Of a response."""
        return max(self.lengths) if self.lengths else self.tokens

    @property
    def trained_tokens(self) -> int:
        """Of all responses of a step."""
        return sum(self.lengths) if self.lengths else self.rows * self.tokens


def heavy_tailed(count: int, longest: int = LONGEST_TOKENS) -> tuple[int, ...]:
    """Lengths at even quantiles of a log-normal distribution, in a drawn order."""
    normal = NormalDist()
    last = normal.inv_cdf((count - 0.5) / count)
    growth = (longest / MEDIAN_TOKENS) ** (1 / last)
    lengths = [
        max(1, round(MEDIAN_TOKENS * growth ** normal.inv_cdf((number + 0.5) / count)))
        for number in range(count)
    ]
    random.Random(1).shuffle(lengths)
    return tuple(lengths)


JOBS = {
    job.name: job
    for job in (
        Job(
            name="a",
            about="8 prompts of 6 tokens, 8 responses of exactly 32 each; 1.6 million parameters",
            spec=SMALL,
            flat=(5, 6),
        ),
        Job(
            name="b",
            about="4 prompts of 6 tokens, 4 responses of exactly 32 each; 96 thousand parameters",
            spec=TINY,
            groups=4,
            rollouts=4,
            flat=(3,),
            rounds=15,
        ),
        Job(
            name="c",
            about="as a, but lengths are heavy-tailed: median 16, the longest 256",
            spec=SMALL,
            lengths=heavy_tailed(64),
            rounds=5,
        ),
        Job(
            name="d",
            about="as a, but prompts of 512 tokens",
            spec=SMALL,
            prompt_tokens=512,
            rounds=3,
        ),
        Job(
            name="e",
            about="20 prompts of 6 tokens, 8 responses of 32 each, 20 updates of a batch: 19 of "
            "them off policy",
            spec=SMALL,
            groups=20,
            updates=20,
            rounds=5,
        ),
        Job(
            name="f",
            about="SmolLM2-135M: 2 prompts of 6 tokens, 8 responses of 32 each",
            groups=2,
            rounds=3,
            pretrained=True,
        ),
    )
}


def tiny(job: Job) -> Job:
    """The same in sizes that take no time."""
    lengths = heavy_tailed(8, 20) if job.lengths else ()
    return Job(
        name=job.name,
        about=job.about,
        spec=TINY,
        groups=2,
        rollouts=4,
        prompt_tokens=min(job.prompt_tokens, 24),
        tokens=6,
        lengths=lengths,
        updates=min(job.updates, 2),
        flat=(1,) if job.flat else (),
        rounds=1,
    )


def question(job: Job, stream: random.Random, tokens: int) -> str:
    """A drawn text of so many tokens: letters, or words where the tokenizer is SmolLM2's."""
    if job.pretrained:
        return " ".join(stream.choice(WORDS) for _ in range(tokens))
    return "".join(stream.choice(LETTERS) for _ in range(tokens))


def prompts_of(job: Job, step: int) -> list[str]:
    """Questions of a step, all different, each of as many tokens as a prompt has."""
    stream = random.Random(f"{job.name} {step}")
    return [question(job, stream, job.prompt_tokens) for _ in range(job.groups)]


def reward(job: Job, row: int, flat: int) -> float:
    """What the response in a row earns: half of a group 1, nothing in the first ``flat`` groups."""
    group, index = divmod(row, job.rollouts)
    return 0.0 if group < flat else float(index % 2)
