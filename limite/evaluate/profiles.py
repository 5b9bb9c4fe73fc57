"""How a problem becomes a prompt: the rendering profile, which is part of what was measured.

A base model is asked with worked examples before the question, a chat model by its own template.
Scores of different profiles are different measurements, and are never subtracted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, sentence
from limite.core.jsonl import dumps
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.stages.evaluation import PROFILES
from limite.core.separation import text_hash
from limite.core.tokenizer import Tokenizer
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.policies import asked

CHAT, FEW_SHOT, ZERO_SHOT = PROFILES
OPENED = "\n<think>\n"
STOPS = ("\nProblem:", "\n\nProblem:", "**Problem")
"""Where a base model that goes on to a problem of its own has ended its answer."""


class Misplaced(LimiteError):
    """Settings that do not belong together, each by its name with what is wrong with it.

    As text they are options of a command.
    """

    def __init__(self, wrong: Sequence[tuple[str, str]]) -> None:
        super().__init__("\n".join(f"--{name}: {message}" for name, message in wrong))
        self.wrong = wrong


def misplaced(
    kind: str,
    *,
    system: str | None,
    shots: str | Path | None,
    stops: Sequence[str],
    thinking: bool,
) -> Iterator[tuple[str, str]]:
    """What does not belong to a kind of profile or is missing for it, by the name of a setting."""
    if system is not None and kind != CHAT:
        yield "system", f"belongs to the profile {CHAT}; {kind} has no turns"
    if shots is None and kind == FEW_SHOT:
        yield "shots", f"missing: the profile {FEW_SHOT} shows worked problems first, of a file"
    if shots is not None and kind != FEW_SHOT:
        yield "shots", f"belongs to the profile {FEW_SHOT}, not to {kind}"
    if stops and kind == CHAT:
        yield "stop", f"a chat model ends by its own token; leave it out of {CHAT}"
    if not all(stops):
        yield "stop", "holds an empty text, which stands everywhere"
    if thinking and kind != FEW_SHOT:
        yield "thinking", f"belongs to the profile {FEW_SHOT}, not to {kind}"


@attrs.frozen(kw_only=True)
class Profile:
    """Kind, words around the question, worked examples, and the texts at which answers end.

    ``questions`` has what is asked of a problem, by its id, where the benchmark says so itself.
    With ``thinking`` a base model's answer begins within ``<think>``.
    """

    kind: str
    instruction: str = ""
    questions: Mapping[str, str] = attrs.field(factory=dict)
    system: str | None = None
    shots: Sequence[Problem] = ()
    stops: tuple[str, ...] = ()
    thinking: bool = False

    @classmethod
    def of(
        cls,
        kind: str,
        *,
        instruction: str,
        system: str | None,
        shots: Path | None,
        stops: Sequence[str],
        asked: Iterable[Problem],
        questions: Mapping[str, str] | None = None,
        thinking: bool = False,
    ) -> Profile:
        """The profile that was asked for; what does not belong together is refused."""
        wrong = [*misplaced(kind, system=system, shots=shots, stops=stops, thinking=thinking)]
        if wrong:
            raise Misplaced(wrong)
        if kind == FEW_SHOT:
            stops = stops or STOPS
        return cls(
            kind=kind,
            instruction=instruction,
            questions=questions or {},
            system=system,
            shots=() if shots is None else _shots(shots, asked),
            stops=tuple(stops),
            thinking=thinking,
        )

    @property
    def record(self) -> dict[str, Any]:
        """What makes two profiles the same, as plain data, with its own id."""
        plain: dict[str, Any] = {
            "kind": self.kind,
            "instruction": self.instruction,
            "system": self.system,
            "shots": [each.id for each in self.shots],
            "shots_sha256": _sha256(_examples(self.shots)) if self.shots else None,
            "stops": list(self.stops),
        }
        if self.thinking:
            plain["thinking"] = True
        if self.questions:
            plain["questions_sha256"] = _sha256(dumps(dict(self.questions)))
        return {**plain, "id": _sha256(dumps(plain))}

    def text(self, problem: Problem) -> str:
        """What a base model reads on from; a chat model is asked this as a user's turn."""
        question = self._question(problem)
        if self.kind == FEW_SHOT:
            opened = OPENED if self.thinking else ""
            return f"{_examples(self.shots)}Problem: {question}\nSolution:{opened}"
        return question if self.kind == CHAT else f"{question}\n"

    def turns(self, problem: Problem) -> list[dict[str, str]]:
        """The conversation that a chat model is asked."""
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*system, {"role": "user", "content": self.text(problem)}]

    def ids(self, problem: Problem, tokenizer: Tokenizer) -> tuple[int, ...]:
        """The tokens that a model here reads before it answers."""
        if self.kind == FEW_SHOT:
            return (*tokenizer.begin, *tokenizer.encode(self.text(problem)))
        tokenizer = self.tokenizer(tokenizer)
        question = self._question(problem)
        return tokenizer.render_prompt(attrs.evolve(problem, problem=question))

    def _question(self, problem: Problem) -> str:
        said = self.questions.get(problem.id)
        return asked(problem, self.instruction) if said is None else said

    def tokenizer(self, tokenizer: Tokenizer) -> Tokenizer:
        """The tokenizer with the template that the profile asks for, or without one."""
        if not isinstance(tokenizer, PretrainedTokenizer):
            if self.system is not None:
                raise Misplaced([("system", "this model knows no turns; leave it out")])
            if self.kind == CHAT:
                raise _no_template("this model's tokenizer")
            return tokenizer
        if self.kind != CHAT:
            return attrs.evolve(tokenizer, chat=False, system=None)
        if tokenizer.chat_template is None:
            raise _no_template(tokenizer.path)
        return tokenizer if self.system is None else attrs.evolve(tokenizer, system=self.system)

    def template_hash(self, tokenizer: Tokenizer) -> str | None:
        """SHA-256 of the chat template that puts the questions; None where there is none."""
        used = self.tokenizer(tokenizer) if self.kind == CHAT else None
        template = used.chat_template if isinstance(used, PretrainedTokenizer) else None
        return None if template is None else _sha256(template)

    def rendering(self, tokenizer: Tokenizer, ends: Sequence[int]) -> str:
        """SHA-256 of what shapes a prompt and ends a response: template, stops, end tokens.

        The name of the profile is no part of it. End tokens are: with others the same weights give
        other responses.
        """
        template = (
            f"{_examples(self.shots)}Problem: {{}}\nSolution:{OPENED if self.thinking else ''}"
        )
        if self.kind == CHAT:
            used = self.tokenizer(tokenizer)
            template = str(used.chat_template) if isinstance(used, PretrainedTokenizer) else ""
        elif self.kind != FEW_SHOT:
            template = "{}\n"
        plain = {"template": template, "stops": list(self.stops), "ends": list(ends)}
        return _sha256(dumps(plain if self.system is None else {**plain, "system": self.system}))

    def check(self, problem: Problem, tokenizer: Tokenizer) -> tuple[int, ...]:
        """The prompt of a problem, once it was found to be one that such a model can answer.

        The begin token stands there at most once, the assistant's turn is open, and no token that
        ends a response comes last.
        """
        ids = self.ids(problem, tokenizer)
        begin = getattr(tokenizer, "bos_id", None)
        if begin is not None and ids[:2] == (begin, begin):
            raise LimiteError(
                f"profile {self.kind}: the prompt begins with the begin token {begin} twice; the "
                "template writes it and the tokenizer adds it"
            )
        if len(ids) > 1 and ids[-1] in tokenizer.eos_ids:
            raise LimiteError(
                f"profile {self.kind}: the prompt ends with {ids[-1]}, which ends a response"
            )
        if self.kind == CHAT:
            used = self.tokenizer(tokenizer)
            assert isinstance(used, PretrainedTokenizer)
            turns = self.turns(problem)
            if used.render_chat(turns) == used.render_chat(turns, add_generation_prompt=False):
                raise LimiteError(
                    f"{used.path}: its chat template opens no turn for the assistant, so a "
                    f"response would go on with the question; the profile {ZERO_SHOT} asks "
                    "without it"
                )
        return ids


def default_kind(tokenizer: Tokenizer) -> str:
    """Chat, where the model has a template of its own."""
    chat = isinstance(tokenizer, PretrainedTokenizer) and tokenizer.chat_template is not None
    return CHAT if chat else ZERO_SHOT


def stopped(text: str, stops: Sequence[str]) -> int | None:
    """Where the first of some texts begins in ``text``; None where there is none of them."""
    return min((at for at in map(text.find, stops) if at >= 0), default=None)


def tokens_until(
    stops: Sequence[str], completion: Sequence[int], tokenizer: Tokenizer
) -> int | None:
    """How many tokens a server would have sampled that ends a response at any of ``stops``."""
    if stopped(tokenizer.decode(completion), stops) is None:
        return None
    low, high = 1, len(completion)
    while low < high:
        middle = (low + high) // 2
        if stopped(tokenizer.decode(completion[:middle]), stops) is None:
            low = middle + 1
        else:
            high = middle
    return low


def _shots(path: Path, evaluated: Iterable[Problem]) -> list[Problem]:
    hashes = {text_hash(each.problem) for each in evaluated}

    def refuse(shot: Problem) -> str:
        if not shot.solutions:
            return "has no worked solution to be shown"
        if text_hash(shot.problem) in hashes:
            return "is one of the problems that are asked; its answer would be given away"
        return ""

    try:
        return files.read_problems(path, distinct=True, refuse=refuse)
    except LimiteError as error:
        raise Misplaced([("shots", sentence(error))]) from error


def _examples(shots: Sequence[Problem]) -> str:
    return "".join(f"Problem: {each.problem}\nSolution: {_worked(each)}\n\n" for each in shots)


def _worked(shot: Problem) -> str:
    solutions: Mapping[str, str] = shot.solutions
    return solutions.get(files.WORDS) or max(solutions.values(), key=len)


def _no_template(whose: str) -> Misplaced:
    told = f"{whose} has no chat template; ask by {FEW_SHOT}, with shots, or by {ZERO_SHOT}"
    return Misplaced([("profile", f"{CHAT}: {told}")])


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
