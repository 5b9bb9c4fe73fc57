"""What ``limite-gen author`` is asked for, and what of it cannot be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.problems.author.topics import Topic
from limite.problems.author.weigh import calibrated, evaluated, weighed

_OWN = ("model", "messages", "seed", "response_format", "stream", "n")


@attrs.frozen(kw_only=True)
class Settings:
    """The options of the command, under their names."""

    topics: Path
    out: Path | None
    endpoint: str | None
    model: str | None
    local: Path | None
    offline: bool
    key: str = attrs.field(repr=False)
    solver_models: Sequence[str]
    count: int
    most_asked: int | None
    solvers: int
    min_agree: int
    reading_share: float
    against: Sequence[Path]
    benchmarks: Sequence[Path]
    per_template: int
    vary: int
    aim: str | None
    policy: Path | None
    policy_endpoint: str | None
    policy_model: str | None
    policy_key: str = attrs.field(repr=False)
    policy_samples: int
    policy_max_tokens: int
    steps: Sequence[str]
    from_calibration: Path | None
    from_eval: Path | None
    prompts: Path | None
    packages: Sequence[str]
    program_seconds: float
    program_memory: int
    allow_weak_sandbox: bool
    concurrency: int
    timeout: float
    retries: int
    max_tokens: int
    temperature: float
    extra: str | None
    no_schema: bool
    seed: int
    max_requests: int | None
    max_tokens_total: int | None
    max_cost: float | None
    max_time: float | None
    price_in: float | None
    price_out: float | None
    dry_run: bool
    force: bool
    as_json: bool

    @property
    def most(self) -> int:
        """So many problems are asked for at most."""
        return 10 * self.count if self.most_asked is None else self.most_asked

    @property
    def window(self) -> tuple[float, float]:
        """The pass rates that are aimed at; all of them if nothing was said."""
        if self.aim is None:
            return 0.0, 1.0
        try:
            low, high = (float(end) for end in self.aim.split(":"))
        except ValueError:
            low, high = 1.0, 0.0
        if not 0 <= low <= high <= 1:
            raise LimiteError(f"--aim {self.aim}: expected two pass rates from 0 to 1, as 0.2:0.8")
        return low, high

    @property
    def measures(self) -> bool:
        """Whether a model is asked how hard problems are."""
        return self.policy is not None or self.policy_model is not None

    def terms(self) -> dict[str, Any]:
        """What each request says beside model, prompt and seed."""
        extra: Any = {}
        if self.extra is not None:
            try:
                extra = json.loads(self.extra)
            except ValueError as error:
                raise LimiteError(f"--extra: not JSON: {error}") from None
            if not isinstance(extra, dict):
                raise LimiteError('--extra: expected an object, such as {"top_p": 0.95}')
            if taken := [name for name in _OWN if name in extra]:
                raise LimiteError(f"--extra: {taken[0]!r} is said by limite itself")
        return {"max_tokens": self.max_tokens, "temperature": self.temperature, **extra}


def refuse(given: Settings) -> None:
    """Raises LimiteError of options that do not go together."""
    if given.offline:
        if given.model is None:
            raise LimiteError("--model: say for which model the requests are")
    elif (given.endpoint is None) == (given.local is None):
        raise LimiteError("say who writes: --endpoint URL with --model NAME, or --local RUN_OR_DIR")
    if given.endpoint is not None and given.model is None:
        raise LimiteError("--model: an endpoint is asked for a model by its name")
    if given.local is not None:
        for option, value in (
            ("--model", given.model),
            ("--solver-model", given.solver_models),
            ("--key-env", given.key),
            ("--extra", given.extra),
        ):
            if value:
                raise LimiteError(f"{option}: belongs to --endpoint")
    _refuse_policy(given)
    if given.min_agree > given.solvers:
        raise LimiteError(
            f"--min-agree {given.min_agree}: of {given.solvers} solvers no more can agree; "
            "--solvers asks for others"
        )
    if given.max_cost is not None and (given.price_in is None or given.price_out is None):
        raise LimiteError("--max-cost: needs --price-in and --price-out; cost is unknown else")
    if given.from_calibration is not None and given.from_eval is not None:
        raise LimiteError("--from-eval: topics are weighed by one file, and --from-calibration is")


def _refuse_policy(given: Settings) -> None:
    _ = given.window
    if given.policy is not None and given.policy_model is not None:
        raise LimiteError("--policy-model: one model is measured, and --policy names it")
    if given.policy_model is not None and not (
        given.policy_endpoint or given.endpoint or given.offline
    ):
        raise LimiteError("--policy-model: needs --policy-endpoint; there is no --endpoint")
    if given.policy_model is None:
        for option, value in (
            ("--policy-endpoint", given.policy_endpoint),
            ("--policy-key-env", given.policy_key),
        ):
            if value:
                raise LimiteError(f"{option}: needs --policy-model, the model's name there")
    if given.aim is not None and not given.measures:
        raise LimiteError(
            "--aim: a pass rate is a model's: --policy RUN_OR_DIR, or --policy-model NAME of a "
            "server"
        )


def wanted(given: Settings, topics: Sequence[Topic]) -> Sequence[Topic]:
    """The topics, weighed by what was measured, each with as many variants as are wanted."""
    if given.vary:
        topics = [
            topic if topic.vary is not None else attrs.evolve(topic, vary=given.vary)
            for topic in topics
        ]
    if given.from_calibration is not None:
        return weighed(topics, calibrated(given.from_calibration), given.from_calibration)
    if given.from_eval is not None:
        return weighed(topics, evaluated(given.from_eval), given.from_eval)
    return topics
