"""What every curriculum must obey, as tests to run over any one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from limite.core.kinds import Arm, Curriculum, CurriculumRun

ARMS = st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=1, max_size=5).map(
    lambda weights: [
        Arm(name=f"arm-{i}", weight=weight, difficulty=(0.0, 1.0))
        for i, weight in enumerate(weights)
    ]
)
# One step: how many problems are asked for, and how a response to each may turn out.
STEPS = st.lists(
    st.tuples(st.integers(1, 9), st.lists(st.booleans(), min_size=1, max_size=4)),
    min_size=1,
    max_size=6,
)
SEEDS = st.integers(0, 2**64 - 1)
Step = tuple[int, list[bool]]


def play(run: CurriculumRun, steps: Sequence[Step], first: int = 0) -> list[list[int]]:
    """Draws for each step, with outcomes told in between; what was drawn."""
    drawn = []
    for number, (count, outcomes) in enumerate(steps, start=first):
        arms = list(run.next(number, count))
        drawn.append(arms)
        for place, arm in enumerate(arms):
            # Outcomes differ from arm to arm, so that arms can be told apart.
            run.observe(arm, [outcome and (arm + place) % 3 > 0 for outcome in outcomes])
    return drawn


def curriculum_laws(curriculum: Curriculum) -> dict[str, Callable[[], None]]:
    """Laws by name; each is a test without arguments."""

    @given(ARMS, SEEDS, STEPS)
    def draws_what_is_asked(arms: list[Arm], seed: int, steps: list[Step]) -> None:
        drawn = play(curriculum.build(arms, seed), steps)
        assert [len(each) for each in drawn] == [count for count, _ in steps]
        assert all(0 <= arm < len(arms) for each in drawn for arm in each)

    @given(ARMS, SEEDS, STEPS)
    def the_same_seed_draws_the_same(arms: list[Arm], seed: int, steps: list[Step]) -> None:
        first = play(curriculum.build(arms, seed), steps)
        assert play(curriculum.build(arms, seed), steps) == first

    @given(ARMS, SEEDS, STEPS, st.integers(0, 6))
    def restored_equals_never_stopped(
        arms: list[Arm], seed: int, steps: list[Step], cut: int
    ) -> None:
        cut = min(cut, len(steps))
        whole = curriculum.build(arms, seed)
        expected = play(whole, steps)
        stopped = curriculum.build(arms, seed)
        play(stopped, steps[:cut])
        saved = json.dumps(stopped.state(), sort_keys=True, allow_nan=False)
        resumed = curriculum.build(arms, seed)
        resumed.restore(json.loads(saved))
        assert play(resumed, steps[cut:], first=cut) == expected[cut:]
        assert resumed.state() == whole.state()

    @given(ARMS, SEEDS, STEPS)
    def saving_changes_nothing(arms: list[Arm], seed: int, steps: list[Step]) -> None:
        expected = play(curriculum.build(arms, seed), steps)
        run = curriculum.build(arms, seed)
        drawn = []
        for number, step in enumerate(steps):
            run.state()
            drawn += play(run, [step], first=number)
            run.state()
        assert drawn == expected

    return {
        "draws_what_is_asked": draws_what_is_asked,
        "the_same_seed_draws_the_same": the_same_seed_draws_the_same,
        "restored_equals_never_stopped": restored_equals_never_stopped,
        "saving_changes_nothing": saving_changes_nothing,
    }
