"""One problem from the request to its verdict: written, filtered, run, solved by others, read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

import limite
from limite.core.errors import LimiteError
from limite.core.kinds import AuthorStep
from limite.core.seeds import Seeds
from limite.core.types import Answer, Problem
from limite.problems import files
from limite.problems.answers import canonical
from limite.problems.author import parse
from limite.problems.author.aim import Aim
from limite.problems.author.duplicates import Benchmarks, Known
from limite.problems.author.filters import Rejected, out_of_range, refused
from limite.problems.author.language import NAMES
from limite.problems.author.program import Faulty, Ran, Runner, look_at, same_as
from limite.problems.author.prompts import Template
from limite.problems.author.quorum import Quorum, Solver, Terms, asked, equal
from limite.problems.author.server import NoReply, Waiting, Writer
from limite.problems.author.topics import Topic
from limite.problems.author.vary import Varying

SHOWN = 5
"""So many problems of a topic are named as not to be repeated."""


@attrs.define
class Pipeline:
    """Decides what becomes of one problem asked for. Safe to use from several threads.

    ``known`` is only read here, so that what is decided does not depend on what else is under way.
    """

    terms: Terms
    writer: Writer
    templates: Mapping[str, Template]
    runner: Runner
    known: Known
    benchmarks: Benchmarks
    steps: Sequence[tuple[str, AuthorStep]] = ()
    """Steps of plugins, by name, in their order."""
    aim: Aim | None = None

    @property
    def silent(self) -> bool:
        """Whether one of those who are asked may be gone."""
        return self.writer.silent or (self.aim is not None and self.aim.reader.silent)

    def prompt(
        self, slot: int, topic: Topic, avoid: Sequence[str], rates: Sequence[float] = ()
    ) -> str:
        """What the writer is asked for."""
        examples = "".join(f"\nAn example of such a problem:\n{each}\n" for each in topic.examples)
        hint = self.aim.hint(rates) if self.aim else ""
        named = "".join(f"\n- {each}" for each in avoid[-SHOWN:])
        return self.templates["ask"].filled(
            {
                "topic": topic.name,
                "description": topic.description,
                "difficulty": topic.difficulty + hint,
                "language": NAMES[topic.language],
                "answer_types": ", ".join(topic.answer_types),
                "variant": str(slot + 1),
                "examples": examples,
                "avoid": f"\nDo not repeat these problems:{named}\n" if named else "",
            }
        )

    def decide(
        self, slot: int, topic: Topic, avoid: Sequence[str], rates: Sequence[float] = ()
    ) -> dict[str, Any]:
        """What became of it, as the journal holds it: accepted, rejected or failed.

        ``avoid`` and ``rates`` are texts and pass rates of the topic's earlier problems.
        One that failed may say what it is ``instead`` where the server goes on replying. Raises
        Stopped where nothing more may be asked for.
        """
        seen: dict[str, Any] = {"topic": topic.name}
        try:
            problem = self._made(slot, topic, self.prompt(slot, topic, avoid, rates), seen)
        except Rejected as error:
            return {**seen, "outcome": "rejected", "reason": error.reason, "shown": str(error)}
        except NoReply as error:
            return {**seen, "outcome": "failed", "reason": str(error)}
        found = {**seen, "outcome": "accepted", "record": files.record_of(problem)}
        return self._varied(slot, topic, problem, found) if topic.vary else found

    def _varied(
        self, slot: int, topic: Topic, problem: Problem, found: dict[str, Any]
    ) -> dict[str, Any]:
        """The same with a family of problems; where none is to be had the problem stays alone."""

        def look(text: str, answer: Answer) -> None:
            language = problem.meta["language"]
            self._look(text, answer, language, capped=False)
            if out_of_range(answer.value, topic.range):
                raise Rejected("out-of-range", answer.value[:80])

        varying = Varying(
            terms=self.terms,
            templates=self.templates,
            runner=self.runner,
            ask=self._ask,
            look=look,
        )
        try:
            family = varying(slot, problem, topic.vary or 0)
            left_out = Counter(family.left_out)
            variants = []
            for each in family.problems:
                try:
                    variants.append(files.record_of(self._aimed(each, {})))
                except Rejected as error:
                    left_out[error.reason] += 1
            if not variants:
                told = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
                raise Rejected("vary-no-numbers", told)
        except Rejected as error:
            return {**found, "unvaried": {"reason": error.reason, "shown": str(error)}}
        except NoReply as error:
            reason = {"reason": "vary-no-reply", "shown": str(error)}
            alone = {**found, "unvaried": reason}
            failed = {"topic": topic.name, "outcome": "failed", "reason": str(error)}
            return {**failed, "instead": alone}
        whole = attrs.evolve(
            problem,
            meta={**problem.meta, "family": problem.id},
            extra={**problem.extra, "pattern": family.pattern.plain},
        )
        return {
            **found,
            "record": files.record_of(whole),
            "variants": variants,
            "left_out": dict(sorted(left_out.items())),
        }

    def _ask(self, kind: str, model: str, prompt: str, *names: int | str) -> str:
        seed = Seeds(self.terms.seed).integer("author", kind, *names) >> 33
        reply = self.writer.reply(kind, model, prompt, seed)
        if reply.cut:
            raise Rejected("reply-cut", reply.cut)
        return reply.text

    def _made(self, slot: int, topic: Topic, prompt: str, seen: dict[str, Any]) -> Problem:
        text = self._ask("ask", self.terms.model, prompt, slot)
        try:
            found = parse.written(text)
        except parse.Misread as error:
            seen["reply"] = text[:2_000]
            raise Rejected("unreadable-reply", str(error)) from None
        seen |= {"problem": found.problem, "answer": found.answer, "program": found.program}
        answer = self._stated(found, topic)
        self._look(found.problem, answer, topic.language)
        if out_of_range(answer.value, topic.range):
            raise Rejected("out-of-range", answer.value[:80])
        ran = self._run(found.program, answer)
        if not equal(answer, ran.value):
            raise Rejected("program-disagrees", f"stated {answer.value[:80]}, got {ran.value[:80]}")
        problem = self._stepped(slot, self._problem(slot, topic, found, answer), seen)
        quorum = self._solved(slot, problem.problem, answer)
        seen["votes"] = quorum.text
        if not quorum.reached:
            raise Rejected("solvers-disagree", quorum.text)
        self._read(slot, problem.problem)
        problem = attrs.evolve(
            problem,
            extra={
                **problem.extra,
                "verification": {
                    "method": "programs-agree",
                    "programs": len(quorum.solvers),
                    "agree": quorum.agree,
                    "solver_models": sorted(set(self.terms.solver_models)),
                    "sandbox": list(ran.layers),
                    "checked_by": limite.__version__,
                },
            },
        )
        return self._aimed(problem, seen)

    def _aimed(self, problem: Problem, seen: dict[str, Any]) -> Problem:
        """The problem with its pass rate, where that is measured and is as it should be."""
        if self.aim is None:
            return problem
        problem, right = self.aim.measured(problem)
        seen["pass_rate"] = problem.difficulty["pass_rate"]
        self.aim.refuse(problem, right)
        return problem

    def _look(self, text: str, answer: Answer, language: str, *, capped: bool = True) -> None:
        """Refuses a text that is no problem, or no new one; ``capped``, one of too many."""
        fault = refused(text, answer.value, answer_type=answer.type, language=language)
        if fault := fault or self.known.find(text, capped=capped):
            raise Rejected(*fault)
        if place := self.benchmarks.find(text):
            raise Rejected("benchmark", place)

    def _stepped(self, slot: int, problem: Problem, seen: dict[str, Any]) -> Problem:
        """The problem as the steps of plugins leave it; another text is looked at anew."""
        for number, (name, step) in enumerate(self.steps):

            def ask(prompt: str, name: str = name, number: int = number) -> str:
                return self._ask(f"step-{name}", self.terms.model, prompt, slot, number)

            found = step(problem, ask)
            if isinstance(found, str):
                raise Rejected(f"step-{name}", found[:500])
            if not isinstance(found, Problem) or found.answer != problem.answer:
                raise LimiteError(f"author step {name!r}: gives the problem on with its answer")
            if found.problem != problem.problem:
                language = found.meta.get("language", problem.meta["language"])
                if language not in NAMES:
                    raise LimiteError(f"author step {name!r}: no language {language!r}")
                self._look(found.problem, found.answer, language)
                seen["stepped"] = found.problem
            problem = found
        return problem

    def _stated(self, found: parse.Written, topic: Topic) -> Answer:
        """The answer that the writer states, in canonical form."""
        if found.answer_type not in topic.answer_types:
            raise Rejected("answer-type", found.answer_type[:80])
        params = topic.params.get(found.answer_type, {})
        try:
            return canonical(
                Answer(type=found.answer_type, value=found.answer[:10_000], params=params)
            )
        except LimiteError as error:
            raise Rejected("answer-unreadable", str(error)[:300]) from None

    def _run(self, program: str, answer: Answer) -> Ran:
        try:
            look_at(program)
            return self.runner(program, answer.type, answer.params, twice=True)
        except Faulty as error:
            raise Rejected(error.reason, str(error)) from None

    def _solved(self, slot: int, problem: str, answer: Answer) -> Quorum:
        """Asks for solvers, none of whom sees more than the problem's text."""
        terms = self.terms

        def same(one: str, other: str) -> bool:
            return equal(attrs.evolve(answer, value=one), other)

        quorum, waiting = Quorum(answer.value, terms.min_agree, same), []
        for number, (method, model) in enumerate(asked(terms.solvers, terms.solver_models)):
            prompt = self.templates["solve"].filled(
                {"problem": problem, "method": method, "answer_type": answer.type}
            )
            try:
                quorum.add(self._solver(prompt, model, answer, slot, number))
            except Waiting as error:
                waiting.append(error)
            if not quorum.can_still(terms.solvers - number - 1 + len(waiting)):
                break  # the rest would be paid for nothing
        if waiting and quorum.can_still(len(waiting)):
            raise waiting[0]
        return quorum

    def _solver(self, prompt: str, model: str, answer: Answer, slot: int, number: int) -> Solver:
        mark = ""
        try:
            program = parse.program_of(self._ask("solve", model, prompt, slot, number))
            look_at(program)
            mark = same_as(program)
            ran = self.runner(program, answer.type, answer.params)
        except parse.Misread:
            return Solver(reason="unreadable-reply")
        except (Faulty, Rejected) as error:
            return Solver(reason=error.reason, same_as=mark)
        return Solver(value=ran.value, same_as=mark)

    def _read(self, slot: int, problem: str) -> None:
        """Has the text read by somebody who looks for what it does not say."""
        terms = self.terms
        if Seeds(terms.seed).stream("author", "reading", slot).random() >= terms.reading_share:
            return
        prompt = self.templates["read"].filled({"problem": problem})
        try:
            reading = parse.reading_of(self._ask("read", terms.solver_models[-1], prompt, slot))
        except parse.Misread as error:
            raise Rejected("reading-unreadable", str(error)) from None
        if reading.answers != "one":
            raise Rejected(f"{reading.answers}-answers", f"{reading.answers} right answers")
        if reading.assumptions:
            raise Rejected("unstated-assumptions", "; ".join(reading.assumptions)[:500])

    def _problem(
        self,
        slot: int,
        topic: Topic,
        found: parse.Written,
        answer: Answer,
    ) -> Problem:
        return Problem(
            problem=found.problem,
            answer=answer,
            source={
                "kind": "llm",
                "model": self.terms.model,
                "endpoint": self.writer.host,
                "prompt": self.templates["ask"].mark,
                "seed": self.terms.seed,
                "index": slot,
            },
            tags=(topic.name, *topic.tags),
            meta={"asked_difficulty": topic.difficulty, "language": topic.language},
            extra={"program": found.program},
        )
