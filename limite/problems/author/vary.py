"""One problem that was written and kept becomes a family: other numbers, and answers that agree.

The writer gives a pattern, others who see its text alone give programs for it, and all of them are
run for the same numbers. Where one choice of numbers is not agreed on, none of the family is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

import limite
from limite.core.seeds import Seeds
from limite.core.types import Answer, Problem
from limite.problems.answers import canonical
from limite.problems.author import parse
from limite.problems.author.filters import Rejected
from limite.problems.author.pattern import Pattern, Values, bound, pattern_of
from limite.problems.author.program import Faulty, Runner, look_at, same_as
from limite.problems.author.prompts import Template
from limite.problems.author.quorum import Quorum, Solver, Terms, asked, equal
from limite.problems.author.server import Waiting

CRASHES = 0.5
"""Of the numbers that are tried, the most that the program may give nothing for."""

Ask = Callable[..., str]
"""Puts a prompt: its kind, the model, the prompt, and what its seed is drawn from."""

Drawn = tuple[Values, str, Answer]
"""Numbers, the text with them, and what the writer's program gives."""


@attrs.frozen(kw_only=True)
class Family:
    """What came of it: the problems, and what was left out by reason."""

    pattern: Pattern
    problems: Sequence[Problem]
    left_out: Mapping[str, int]


@attrs.frozen(kw_only=True)
class Varying:
    """Makes families. ``look`` raises Rejected of a text that is no new problem with its answer."""

    terms: Terms
    templates: Mapping[str, Template]
    runner: Runner
    ask: Ask
    look: Callable[[str, Answer], None]

    def __call__(self, slot: int, problem: Problem, count: int) -> Family:
        """At most ``count`` problems beside the one given; Rejected where there are none."""
        pattern = self._pattern(slot, problem)
        left_out: Counter[str] = Counter()
        found = self._drawn(slot, pattern, problem, count, left_out)
        agreed, layers = self._solved(slot, pattern, problem.answer, found)
        made = [
            self._made(problem, pattern, number, drawn, votes, layers)
            for number, (drawn, votes) in enumerate(zip(found, agreed, strict=True))
        ]
        return Family(pattern=pattern, problems=made, left_out=dict(sorted(left_out.items())))

    def _pattern(self, slot: int, problem: Problem) -> Pattern:
        """What the writer gives, where it is a pattern of this very problem."""
        prompt = self.templates["vary"].filled(
            {
                "problem": problem.problem,
                "answer_type": problem.answer.type,
                "program": str(problem.extra["program"]).strip(),
            }
        )
        text = self.ask("vary", self.terms.model, prompt, slot)
        try:
            pattern = pattern_of(text)
        except parse.Misread as error:
            raise Rejected("vary-unreadable", str(error)) from None
        pattern.check(problem.problem)
        try:
            look_at(pattern.program)
            value, _ = self._run(pattern.bound(pattern.original), problem.answer, twice=True)
        except Faulty as error:
            raise Rejected(f"vary-{error.reason}", str(error)) from None
        if not equal(problem.answer, value):
            raise Rejected(
                "vary-program-disagrees", f"{value[:80]}, and not {problem.answer.value[:80]}"
            )
        return pattern

    def _drawn(
        self, slot: int, pattern: Pattern, problem: Problem, count: int, left_out: Counter[str]
    ) -> list[Drawn]:
        found: list[Drawn] = []
        tried = crashed = 0
        draws = Seeds(self.terms.seed).stream("author", "vary", slot)
        for values in pattern.drawn(draws, count):
            if len(found) == count:
                break
            try:
                if not self._sensible(pattern, values):
                    left_out["not-valid"] += 1
                    continue
                tried += 1
                text = pattern.filled(values)
                value, _ = self._run(pattern.bound(values), problem.answer, twice=True)
                answer = attrs.evolve(problem.answer, value=value)
                self.look(text, answer)
            except Faulty as error:
                crashed += 1
                left_out[error.reason] += 1
                if tried >= 4 and crashed > CRASHES * tried:
                    raise Rejected("vary-crashes", f"{dict(values)}: {error}"[:300]) from None
            except Rejected as error:
                left_out[error.reason] += 1
            else:
                found.append((values, text, answer))
        if not found:
            told = ", ".join(f"{number} {reason}" for reason, number in sorted(left_out.items()))
            raise Rejected("vary-no-numbers", told or "no other numbers are in range")
        if len(found) > 1 and all(equal(problem.answer, each.value) for *_, each in found):
            raise Rejected("vary-constant", f"always {problem.answer.value[:80]}")
        return found

    def _sensible(self, pattern: Pattern, values: Values) -> bool:
        program = pattern.sensible(values)
        if not program:
            return True
        return self.runner(program, "boolean", {}).value == "true"

    def _run(self, program: str, answer: Answer, *, twice: bool = False) -> tuple[str, Any]:
        ran = self.runner(program, answer.type, answer.params, twice=twice)
        return ran.value, ran.layers

    def _solved(
        self, slot: int, pattern: Pattern, original: Answer, found: Sequence[Drawn]
    ) -> tuple[list[Quorum], Sequence[str]]:
        """The votes on each choice of numbers, the original ones first; all must agree."""
        terms = self.terms
        every = [(pattern.original, original), *((values, answer) for values, _, answer in found)]
        quorums = [
            Quorum(answer.value, terms.min_agree, lambda one, other: _same(original, one, other))
            for _, answer in every
        ]
        layers: Sequence[str] = ()
        waiting = []
        for number, (method, model) in enumerate(asked(terms.solvers, terms.solver_models)):
            try:
                solvers, held = self._solver(slot, number, method, model, pattern, every)
            except Waiting as error:
                waiting.append(error)
                continue
            layers = held or layers
            for quorum, solver in zip(quorums, solvers, strict=True):
                quorum.add(solver)
            left = terms.solvers - number - 1 + len(waiting)
            if not all(quorum.can_still(left) for quorum in quorums):
                break
        if waiting and all(quorum.can_still(len(waiting)) for quorum in quorums):
            raise waiting[0]
        for quorum, (values, answer) in zip(quorums, every, strict=True):
            if not quorum.reached:
                told = f"{dict(values)}, {answer.value[:80]}: {quorum.text}"
                raise Rejected("vary-solvers-disagree", told[:500])
        return quorums[1:], layers

    def _solver(
        self,
        slot: int,
        number: int,
        method: str,
        model: str,
        pattern: Pattern,
        every: Sequence[tuple[Values, Answer]],
    ) -> tuple[list[Solver], Sequence[str]]:
        """What one further program gives for each choice; one that takes too long is not run on."""
        answer = every[0][1]
        prompt = self.templates["solve-all"].filled(
            {
                "problem": pattern.problem,
                "method": method,
                "answer_type": answer.type,
                "names": ", ".join(pattern.original),
                "quantities": "\n".join(
                    f"<<{each.name}>> from {each.low} to {each.high}" for each in pattern.quantities
                ),
            }
        )
        mark, layers = "", ()
        solvers: list[Solver] = []
        try:
            program = parse.program_of(self.ask("solve-all", model, prompt, slot, number))
            look_at(program)
            mark = same_as(program)
        except parse.Misread:
            return [Solver(reason="unreadable-reply")] * len(every), ()
        except (Faulty, Rejected) as error:
            return [Solver(reason=error.reason, same_as=mark)] * len(every), ()
        for values, _ in every:
            if solvers and solvers[-1].reason == "program-timeout":
                solvers.append(solvers[-1])
                continue
            try:
                value, layers = self._run(bound(program, values), answer)
            except Faulty as error:
                solvers.append(Solver(reason=error.reason, same_as=mark))
            else:
                solvers.append(Solver(value=value, same_as=mark))
        return solvers, layers

    def _made(
        self,
        problem: Problem,
        pattern: Pattern,
        number: int,
        drawn: Drawn,
        votes: Quorum,
        layers: Sequence[str],
    ) -> Problem:
        values, text, answer = drawn
        return Problem(
            problem=text,
            answer=canonical(answer),
            source={
                **problem.source,
                "prompt": self.templates["vary"].mark,
                "variant": number,
                "values": dict(values),
            },
            tags=problem.tags,
            meta={**problem.meta, "family": problem.id},
            extra={
                "program": pattern.bound(values),
                "verification": {
                    "method": "programs-agree",
                    "programs": len(votes.solvers),
                    "agree": votes.agree,
                    "solver_models": sorted(set(self.terms.solver_models)),
                    "sandbox": list(layers),
                    "checked_by": limite.__version__,
                },
            },
        )


def _same(original: Answer, one: str, other: str) -> bool:
    return equal(attrs.evolve(original, value=one), other)
