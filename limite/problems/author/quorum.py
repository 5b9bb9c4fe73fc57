"""Whether enough programs agree, none of whose authors saw the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import attrs

from limite.core.types import Answer
from limite.problems import verify


@attrs.frozen(kw_only=True)
class Terms:
    """How many must agree, and who is asked."""

    seed: int
    model: str
    solver_models: Sequence[str]
    solvers: int
    min_agree: int
    reading_share: float = 1.0


def equal(answer: Answer, value: str) -> bool:
    """Whether two canonical values are the same: by the verifier where their texts differ."""
    if answer.value == value:
        return True
    if answer.type in ("integer", "boolean"):  # canonical texts are unique
        return False
    return verify(answer, value, extract=False).correct


@attrs.frozen(kw_only=True)
class Solver:
    """What came of one request for a solver: a value, or why there is none."""

    value: str | None = None
    same_as: str = ""
    reason: str = ""


@attrs.define
class Quorum:
    """The votes of solvers on a stated answer.

    ``equal`` tells whether two values are the same by the verifier. A program that another solver
    has written too is one vote, whoever sent it; one that gave nothing is a vote against.
    """

    stated: str
    needed: int
    equal: Callable[[str, str], bool]
    solvers: list[Solver] = attrs.field(factory=list)
    agree: int = 0
    repeated: int = 0
    _programs: set[str] = attrs.field(factory=set)
    _others: Counter[str] = attrs.field(factory=Counter)

    def add(self, solver: Solver) -> None:
        """Counts one."""
        self.solvers.append(solver)
        if solver.same_as and solver.same_as in self._programs:
            self.repeated += 1
            return
        self._programs.add(solver.same_as)
        if solver.value is None:
            return
        if self.equal(self.stated, solver.value):
            self.agree += 1
            return
        same = next((each for each in self._others if self.equal(each, solver.value)), None)
        self._others[solver.value if same is None else same] += 1

    def can_still(self, left: int) -> bool:
        """Whether so many more solvers could still agree enough."""
        return self.agree + left >= self.needed

    @property
    def reached(self) -> bool:
        """Whether enough agree, and on no other value as many."""
        return self.agree >= self.needed and self.agree > max(self._others.values(), default=0)

    @property
    def text(self) -> str:
        """The counts in a line."""
        others = ", ".join(
            f"{count} say {value[:40]}" for value, count in sorted(self._others.items())
        )
        failed = Counter(solver.reason for solver in self.solvers if solver.value is None)
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(failed.items()))
        same = f"{self.repeated} repeated" if self.repeated else ""
        parts = [f"{self.agree} of {len(self.solvers)} agree", others, told, same]
        return "; ".join(part for part in parts if part)


def asked(count: int, models: Sequence[str]) -> list[tuple[str, str]]:
    """The method and the model of each solver: they differ as far as they can."""
    return [(METHODS[index % len(METHODS)], models[index % len(models)]) for index in range(count)]


METHODS = (
    "any exact method, step by step from the definitions",
    "brute force: enumerate or simulate what the text describes, without a formula",
    "another way than the most obvious one, such as a formula, a recurrence or a complement",
)
"""What solvers are asked for in turn."""
