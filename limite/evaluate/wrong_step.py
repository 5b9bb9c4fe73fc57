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

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
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
# Patterns that whole texts are searched for begin with their first mark, which is what makes the
# search fast; what must stand before that is looked at afterwards.
_EQUALS = re.compile(r"=(?![=<>])\s*&?\s*")
_NO_EQUALS = frozenset("=<>!:+-*/\\^_~≈≠≤≥&")
# Where a side ends: marks of a sentence, of a formula, of a line, and what joins two statements.
_BORDER = re.compile(
    r"[\n$;#=<>≤≥≈≠≡→⇒⟹?&\\.,:SsPpCc](?:(?<=[\n$;#=<>≤≥≈≠≡→⇒⟹?&])|(?<=[.,])(?=\s|$)|"
    r"(?<=:)(?<![\s0-9)}]:)(?=\s|$)|(?<=\\)(?:[\[\]()\\]|(?:quad|qquad|implies|Rightarrow|to|"
    r"ldots|dots|cdots|approx|equiv|pmod|bmod|mod|leq?|geq?|neq?|text|mathrm|begin|end|tag|boxed)"
    r"(?![a-z]))|(?:(?<=[Ss])tep|(?<=[Pp])art|(?<=[Cc])ase)\s+[0-9]+:)"
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
_FULL_STOP = re.compile(r"[\n;.!](?:(?<=[\n;])|(?=\s))")
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
    """Two sides as they are written, and where they stand in ``text``."""

    start: int
    end: int
    left: str
    right: str
    text: str
    signs: tuple[int, int]

    @property
    def sentence(self) -> str:
        """What it stands in, and a little of what follows: there it may be denied."""
        return _sentence(self.text, *self.signs)


@attrs.frozen
class Known:
    """What names of a problem are by its worked solutions: those to which they give one value.

    Names that the problem itself gives a value, or does not mention, are left out.
    """

    values: Mapping[str, Fraction]

    @classmethod
    def of(cls, problem: Problem) -> Known:
        found: dict[str, set[Fraction]] = {}
        for text in problem.solutions.values():
            for name, value, _ in _assigned(equations_of(text)):
                found.setdefault(name, set()).add(value)
        given = {name for name, _, _ in _assigned(equations_of(problem.problem))} if found else ()
        return cls(
            {
                name: min(values)
                for name, values in found.items()
                if len(values) == 1 and name not in given and _names(problem.problem, name)
            }
        )


def wrong_step(
    problem: Problem,
    text: str,
    verdict: Verdict,
    *,
    closed: bool = True,
    known: Known | None = None,
) -> WrongStep | None:
    """The first known wrong step of a response that was not found right; None without one.

    ``closed`` says whether its thinking is, which a template may have opened before the text.
    ``known`` is ``Known.of(problem)``, for whoever asks of many responses to a problem.
    """
    known = Known.of(problem) if known is None else known
    looked_at = text[:CHARACTERS]
    ended = looked_at.rfind(THINKING[1])
    begins = 0 if ended < 0 else ended + len(THINKING[1])
    thought_open = ended < 0 and (not closed or THINKING[0] in looked_at)
    parts = [(begins, len(looked_at), thought_open)]
    if begins:
        parts.append((0, ended, True))
    for start, end, thinking in parts:
        found = _in_part(known, looked_at[start:end])
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


def _in_part(known: Known, text: str) -> WrongStep | None:
    if not known.values:
        return next(filter(None, map(_false, equations_of(text))), None)
    equations = list(equations_of(text))
    false = next(filter(None, map(_false, equations)), None)
    other = _contradiction(known, equations)
    return min(filter(None, (false, other)), key=lambda step: step.start, default=None)


def equations_of(text: str) -> Iterator[Equation]:
    """Every ``=`` with what stands on its two sides, as far as a formula or sentence goes."""
    for start, end in itertools.islice(_signs(text), EQUATIONS):
        before, after = text[max(0, start - SIDE) : start], text[end : end + SIDE]
        begins = 0
        for border in _BORDER.finditer(before):
            begins = border.end()
        if not begins and start > SIDE:
            continue
        ends = _BORDER.search(after)
        if ends is None and end + SIDE < len(text):
            continue
        if ends is not None and ends[0].startswith("\\text"):
            continue  # a unit or a word decides what the number means
        right = after[: ends.start()] if ends else after
        left = before[begins:].lstrip()
        yield Equation(
            start - len(left),
            end + len(right.rstrip()),
            left.rstrip(),
            right,
            text,
            (start, end + len(right)),
        )


def _signs(text: str) -> Iterator[tuple[int, int]]:
    """Where a sign of equality begins and ends, with the space and the tabulator marks around it.

    One that belongs to another operator (``<=``, ``:=``) is none.
    """
    last = 0
    for match in _EQUALS.finditer(text):
        sign = start = match.start()
        while start > last and text[start - 1].isspace():
            start -= 1
        if start > last and text[start - 1] == "&":
            start -= 1
            while start > last and text[start - 1].isspace():
                start -= 1
        while start <= sign and start and text[start - 1] in _NO_EQUALS:
            start += 1
        if start <= sign:
            last = match.end()
            yield start, last


def _sentence(text: str, start: int, end: int) -> str:
    """From the beginning of the sentence on, and a little beyond its end: what denies it."""
    before = text[max(0, start - NEAR) : start]
    begins = 0
    for full_stop in _FULL_STOP.finditer(before):
        begins = full_stop.end()
    after = text[end : end + NEAR]
    ends = _FULL_STOP.search(after)
    until = len(after)
    if ends is not None:
        until = ends.end() + (0 if ends[0] == ";" else BEYOND)
    return before[begins:] + text[start:end] + after[:until]


def _false(equation: Equation) -> WrongStep | None:
    if not (_DIGIT.search(equation.left) and _DIGIT.search(equation.right)):
        return None  # no two numbers, which most equations are not
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


def _assigned(equations: Iterable[Equation]) -> Iterator[tuple[str, Fraction, Equation]]:
    """The names that equations give a number, where nothing around says that it is only tried."""
    for each in equations:
        left = _side(each.left, leading=True)
        right = None if left is None or not _NAME.fullmatch(left) else _side(each.right)
        value = None if right is None else value_of(right)
        if left is not None and value is not None:
            yield left.replace("{", "").replace("}", ""), value, each


def _names(problem: str, name: str) -> bool:
    return bool(re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", problem))


def _contradiction(known: Known, equations: list[Equation]) -> WrongStep | None:
    """The first value of a name that the worked solution gives another."""
    said: dict[str, set[Fraction]] = {}
    first: dict[str, tuple[Fraction, Equation]] = {}
    for name, value, equation in _assigned(equations):
        said.setdefault(name, set()).add(value)
        first.setdefault(name, (value, equation))
    for name, (value, equation) in first.items():
        right = known.values.get(name)
        if right is None or len(said[name]) != 1 or value == right or "." in equation.right:
            continue
        sentence = equation.sentence
        if not _NOT_MEANT.search(sentence) and not _ELSEWHERE.search(sentence):
            shown = f"{name} = {ratio_text(right)}"
            told = f"{equation.left} = {equation.right.strip()}"
            return WrongStep("quantity", equation.start, equation.end, told, shown)
    return None
