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


def problems_of(files: Sequence[str]) -> st.SearchStrategy[list[Arm]]:
    """Single problems: each stands in one of the files, or in all of them; a few are measured."""
    places = st.sampled_from([*((file,) for file in files), tuple(files)])
    rates = st.sampled_from([None, 0.0, 0.25, 1.0])
    each = st.tuples(places, rates, st.sampled_from([0.25, 1.0]))
    # The first one is in every file and measured: a curriculum may refuse to be without.
    return st.lists(each, max_size=11).map(
        lambda drawn: [
            Arm(
                name=f"{where[0]}#{i}",
                weight=weight,
                difficulty=(0.0, 1.0),
                files=where,
                pass_rate=rate,
            )
            for i, (where, rate, weight) in enumerate([(tuple(files), 0.5, 1.0), *drawn])
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
    of_problems = getattr(curriculum, "of_problems", False)
    named = tuple(getattr(curriculum, "names_files", ()))
    kinds = problems_of([*named, "problems.jsonl"]) if of_problems else ARMS

    @given(kinds, SEEDS, STEPS)
    def draws_what_is_asked(arms: list[Arm], seed: int, steps: list[Step]) -> None:
        drawn = play(curriculum.build(arms, seed), steps)
        assert [len(each) for each in drawn] == [count for count, _ in steps]
        assert all(0 <= arm < len(arms) for each in drawn for arm in each)

    @given(kinds, SEEDS, STEPS)
    def the_same_seed_draws_the_same(arms: list[Arm], seed: int, steps: list[Step]) -> None:
        first = play(curriculum.build(arms, seed), steps)
        assert play(curriculum.build(arms, seed), steps) == first

    @given(kinds, SEEDS, STEPS, st.integers(0, 6))
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

    @given(kinds, SEEDS, STEPS)
    def saving_changes_nothing(arms: list[Arm], seed: int, steps: list[Step]) -> None:
        expected = play(curriculum.build(arms, seed), steps)
        run = curriculum.build(arms, seed)
        drawn = []
        for number, step in enumerate(steps):
            run.state()
            drawn += play(run, [step], first=number)
            run.state()
        assert drawn == expected

    @given(kinds, SEEDS, STEPS, st.integers(1, 3))
    def no_problem_comes_twice(arms: list[Arm], seed: int, steps: list[Step], asks: int) -> None:
        run = curriculum.build(arms, seed)
        for number, (count, outcomes) in enumerate(steps):
            drawn: list[int] = []
            for _ in range(asks):
                drawn += run.next(number, count)
                assert len(set(drawn)) == len(drawn) or len(drawn) > len(arms)
            for arm in drawn:
                run.observe(arm, outcomes)

    return {
        **({"no_problem_comes_twice": no_problem_comes_twice} if of_problems else {}),
        "draws_what_is_asked": draws_what_is_asked,
        "the_same_seed_draws_the_same": the_same_seed_draws_the_same,
        "restored_equals_never_stopped": restored_equals_never_stopped,
        "saving_changes_nothing": saving_changes_nothing,
    }
