"""Where a wrong response first goes wrong, as far as that can be known without guessing.

The first of these that stands in the text, of what follows the thinking or else of the thinking:

- ``equation``: two numbers that are said to be equal, both written out, and are not. Worked out
  exactly; a decimal on the right may be rounded or cut off in its last place.
- ``quantity``: a value for a name of the problem, where the worked solution has another. Only of
  names that the problem gives no value itself, and that solution and response each give one value.

Where there is neither, ``answer``: the stated answer is the first thing known to be wrong. Nothing
is said of sentences that suppose, deny, ask, round or count modulo; of equations with letters; of
reasoning in words. So a wrong step may stand before the one that is found, but what is found is
wrong wherever its sentence means what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import attrs

from limite.core.types import Problem, Verdict
from limite.problems.reading.extract import THINKING
from limite.problems.reading.faults import Unreadable, WrongForm
from limite.problems.reading.numbers import ratio_text
from limite.problems.reading.parser import parse
from limite.problems.reading.tokens import Notation

CHARACTERS = 200_000
"""Of a response, from its beginning, that are looked at."""
EQUATIONS = 2_000
NEAR, BEYOND = 200, 30
"""Characters to each side in which a sentence is looked for, and how far it is read beyond."""
SIDE = 160
"""The longest side of an equation that is worked out."""

_NOTATION = Notation()
_EQUALS = re.compile(r"(?<![=<>!:+\-*/\\^_~≈≠≤≥&])\s*&?\s*=(?![=<>])\s*&?\s*")
# Where a side ends: marks of a sentence, of a formula, of a line, and what joins two statements.
_BORDER = re.compile(
    r"[\n$;#=<>≤≥≈≠≡→⇒⟹?&]|\\[\[\]()]|\\\\|[.,](?=\s|$)|(?<![\s0-9)}]):(?=\s|$)|"
    r"(?:[Ss]tep|[Pp]art|[Cc]ase)\s+[0-9]+:|\\(?:quad|qquad|implies|Rightarrow|to|ldots|"
    r"dots|cdots|approx|equiv|pmod|bmod|mod|leq?|geq?|neq?|text|mathrm|begin|end|tag|boxed)(?![a-z])"
)
_LEADING = re.compile(
    r"(?:(?:so|thus|hence|then|therefore|since|because|that|is|get|gives|have|we|now|first|next|"
    r"finally|compute|computing|calculate|also|this|it|equals|simplify|simplifying)\s+)+",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[-*+•]\s+")
_WORDS_AFTER = re.compile(r"\s+(?P<word>[A-Za-z]{2,})\b.*", re.DOTALL)
_SCALE = re.compile(
    r"mod|hundred|thousand|million|billion|trillion|dozen|percent|per|pi|sqrt|remainder|times|over|"
    r"plus|minus|divided|or|and",
    re.IGNORECASE,
)
# What a sentence may say so that its equations are not meant, or not exactly.
_FULL_STOP = re.compile(r"\n|;|[.!](?=\s)")
_NOT_MEANT = re.compile(
    r"\b(?:if|suppose|supposing|assume|assuming|would|wrong|incorrect|false|not|never|mistake|error|"
    r"instead|guess|maybe|perhaps|try|trying|test|approx\w*|about|roughly|rounded?|nearly|almost|"
    r"base|contradiction|impossible|unless|whether|could|should|wait|hmm|mod|modulo|remainder|"
    r"digit\w*|clock|hours?|minutes?|binary|xor|otherwise|except|but)\b|n't|\\[pb]?mod|\\equiv|"
    r"\\approx|\\neq?|[?≠≈≡%]|\.\.\.|…|\\c?l?dots|_\{?[0-9]|\b[ij]\s*=",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"[+*/^!×·÷]|\\(?:cdot|times|div|[td]?frac|sqrt|binom)|(?<=[0-9)}!])\s*[-−]")
# A number before a fraction is a mixed number to one and a product to another.
_AMBIGUOUS = re.compile(
    r"[0-9]\s*\\[td]?frac|[0-9]\s+[0-9]|/\s*[0-9.]+\s*[(\\a-z]|[%_]|[0-9],[0-9]"
    # A fraction in brackets may be the symbol of Legendre.
    r"|\(\s*\\[td]?frac\{[^{}]*\}\{[^{}]*\}\s*(?:\\right\s*)?\)(?!\s*\^)"
)
_BEGINS = frozenset("0123456789([{|+-−.\\√")
_NAME = re.compile(r"[A-Za-z](?:_(?:[A-Za-z]|\{[A-Za-z]\}))?(?![A-Za-z])")
_DECIMAL = re.compile(r"[-−]?\s*[0-9]*\.([0-9]+)")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"[0-9]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_ELSEWHERE = re.compile(
    r"\b(?:when|at|for|let|set|put|plug\w*|substitut\w*|where|with|take|choose|case|step|after|"
    r"round|becomes|now)\b",
    re.IGNORECASE,
)


@attrs.frozen
class WrongStep:
    """Where it stands in the text, in characters, what is said there, and what is right."""

    kind: str
    start: int
    end: int
    said: str
    right: str
    thinking: bool = False


@attrs.frozen
class Equation:
    """Two sides as they are written, and where they stand."""

    start: int
    end: int
    left: str
    right: str
    sentence: str


def wrong_step(
    problem: Problem, text: str, verdict: Verdict, *, closed: bool = True
) -> WrongStep | None:
    """The first known wrong step of a response that was not found right; None without one.

    ``closed`` says whether its thinking is, which a template may have opened before the text.
    """
    looked_at = text[:CHARACTERS]
    ended = looked_at.rfind(THINKING[1])
    begins = 0 if ended < 0 else ended + len(THINKING[1])
    thought_open = ended < 0 and (not closed or THINKING[0] in looked_at)
    parts = [(begins, len(looked_at), thought_open)]
    if begins:
        parts.append((0, ended, True))
    for start, end, thinking in parts:
        found = _in_part(problem, looked_at[start:end])
        if found is not None:
            return attrs.evolve(
                found, start=found.start + start, end=found.end + start, thinking=thinking
            )
    stated = verdict.extracted
    if verdict.outcome != "wrong" or not stated:
        return None
    at = text.rfind(stated)
    if at < 0:
        return None
    return WrongStep("answer", at, at + len(stated), stated, problem.answer.value)


def _in_part(problem: Problem, text: str) -> WrongStep | None:
    equations = list(equations_of(text))
    false = next(filter(None, map(_false, equations)), None)
    other = _contradiction(problem, equations)
    return min(filter(None, (false, other)), key=lambda step: step.start, default=None)


def equations_of(text: str) -> Iterator[Equation]:
    """Every ``=`` with what stands on its two sides, as far as a formula or sentence goes."""
    for count, match in enumerate(_EQUALS.finditer(text)):
        if count == EQUATIONS:
            return
        before = text[max(0, match.start() - SIDE) : match.start()]
        after = text[match.end() : match.end() + SIDE]
        borders = [each.end() for each in _BORDER.finditer(before)]
        left = before[borders[-1] :] if borders else before
        if not borders and match.start() > SIDE:
            continue
        border = _BORDER.search(after)
        right = after[: border.start()] if border else after
        if border is None and match.end() + SIDE < len(text):
            continue
        if border is not None and border[0].startswith("\\text"):
            continue  # a unit or a word decides what the number means
        sentence = _sentence(text, match.start(), match.end() + len(right))
        bare = left.lstrip()
        yield Equation(
            match.start() - len(bare),
            match.end() + len(right.rstrip()),
            bare.rstrip(),
            right,
            sentence,
        )


def _sentence(text: str, start: int, end: int) -> str:
    """From the beginning of the sentence on, and a little beyond its end: what denies it."""
    before = text[max(0, start - NEAR) : start]
    ends = [each.end() for each in _FULL_STOP.finditer(before)]
    after = text[end : end + NEAR]
    full_stop = _FULL_STOP.search(after)
    until = len(after)
    if full_stop is not None:
        until = full_stop.end() + (0 if full_stop[0] == ";" else BEYOND)
    return before[ends[-1] if ends else 0 :] + text[start:end] + after[:until]


def _false(equation: Equation) -> WrongStep | None:
    left, right = _side(equation.left, leading=True), _side(equation.right)
    if left is None or right is None:
        return None
    if not (_OPERATOR.search(left) or _OPERATOR.search(right)):
        return None
    ours, theirs = value_of(left), value_of(right)
    if ours is None or theirs is None or _agree(ours, theirs, left, right):
        return None
    bullet = _BULLET.match(left)
    if bullet is not None:  # "- 3 + 4 = 7": a dash of a list, or a sign
        rest = value_of(left[bullet.end() :])
        if rest is None or _agree(rest, theirs, left, right):
            return None
    if _NOT_MEANT.search(equation.sentence):
        return None
    start = equation.start + max(0, equation.left.find(left))
    said = f"{left} = {right}"
    return WrongStep("equation", start, equation.end, said, _shown(ours, theirs, left))


def _side(text: str, *, leading: bool = False) -> str | None:
    """A side without the words around it; None where a word belongs to it."""
    text = text.strip()
    if leading:
        match = _LEADING.match(text)
        text = text[match.end() :] if match else text
    else:
        after = _WORDS_AFTER.search(text)
        if after is not None and "\\" not in after[0]:
            if _SCALE.fullmatch(after["word"]):
                return None
            text = text[: after.start()]
    text = text.strip().strip("*").strip()
    if not text or not (text[0] in _BEGINS or _NAME.match(text)):
        return None
    return None if _AMBIGUOUS.search(text) else text


def value_of(text: str) -> Fraction | None:
    """The number that a text writes out in digits; None where it is none, or no rational one."""
    if not _DIGIT.search(text) or _LETTER.search(_COMMAND.sub("", text)):
        return None
    try:
        tree = parse(text, _NOTATION)
    except (Unreadable, WrongForm):
        return None
    return tree[1] if tree[0] == "num" else None


def _agree(ours: Fraction, theirs: Fraction, left: str, right: str) -> bool:
    if ours == theirs:
        return True
    decimal = _DECIMAL.fullmatch(right)
    if decimal is not None:
        return abs(ours - theirs) < Fraction(1, 10 ** len(decimal[1]))
    return ("." in left or "." in right) and abs(ours - theirs) < 1


def _shown(ours: Fraction, theirs: Fraction, left: str) -> str:
    """What is right instead: the value of the left side, unless that is a bare number."""
    return ratio_text(ours if _OPERATOR.search(left) else theirs)


def _assigned(equations: list[Equation]) -> Iterator[tuple[str, Fraction, Equation]]:
    """The names that equations give a number, where nothing around says that it is only tried."""
    for each in equations:
        left = _side(each.left, leading=True)
        right = _side(each.right)
        if left is None or right is None or not _NAME.fullmatch(left):
            continue
        value = value_of(right)
        if value is not None:
            yield left.replace("{", "").replace("}", ""), value, each


def _contradiction(problem: Problem, equations: list[Equation]) -> WrongStep | None:
    """The first value of a name that the worked solution gives another."""
    if not problem.solutions or not equations:
        return None
    known: dict[str, set[Fraction]] = {}
    for text in problem.solutions.values():
        for name, value, _ in _assigned(list(equations_of(text))):
            known.setdefault(name, set()).add(value)
    if not known:
        return None
    given = {name for name, _, _ in _assigned(list(equations_of(problem.problem)))}
    said: dict[str, set[Fraction]] = {}
    first: dict[str, tuple[Fraction, Equation]] = {}
    for name, value, equation in _assigned(equations):
        said.setdefault(name, set()).add(value)
        first.setdefault(name, (value, equation))
    for name, (value, equation) in first.items():
        right = known.get(name, set())
        line = equation.sentence
        if (
            len(right) == 1
            and len(said[name]) == 1
            and value not in right
            and "." not in equation.right
            and name not in given
            and re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", problem.problem)
            and not _NOT_MEANT.search(line)
            and not _ELSEWHERE.search(line)
        ):
            shown = f"{name} = {ratio_text(next(iter(right)))}"
            told = f"{equation.left} = {equation.right.strip()}"
            return WrongStep("quantity", equation.start, equation.end, told, shown)
    return None
