"""Answers that differ from a right one, for every type of answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from limite.core.errors import LimiteError
from limite.core.types import Answer, Problem
from limite.problems.answers import canonical
from limite.problems.reading.printer import decimal_of
from limite.problems.verifiers.judge import judge


def perturbed(problem: Problem) -> list[str]:
    """Canonical golds of the same type that are wrong; none for a type that is not known here.

    Candidates are near misses: one more, the other sign, an element lost. Those that happen to
    have the right value are left out.
    """
    answer = problem.answer
    others = []
    for text in _CANDIDATES.get(answer.type, _none)(answer):
        try:
            other = canonical(Answer(type=answer.type, value=text, params=answer.params))
        except LimiteError:
            continue  # not every near miss is an answer: 10 is no residue to the modulus 7
        if not judge(answer, other.value, extract=False).correct:
            others.append(other.value)
    return others


def _none(_answer: Answer) -> Sequence[str]:
    return ()


def _integer(answer: Answer) -> Sequence[str]:
    base = answer.params.get("base", 10)
    if base != 10:
        return (f"{answer.value}0", f"1{answer.value}")
    number = int(answer.value)
    return [str(each) for each in (number + 1, number - 1, 10 * number, -number)] + [
        f"1{abs(number)}"
    ]


def _rational(answer: Answer) -> Sequence[str]:
    value = Fraction(answer.value)
    others = [value + 1, -value, value + Fraction(1, 1000)]
    return [str(each) for each in [*others, *([1 / value] if value else [])]]


def _larger(answer: Answer) -> Sequence[str]:
    return (f"({answer.value})+1", f"2*({answer.value})+3")


def _real(answer: Answer) -> Sequence[str]:
    value = Fraction(answer.value)
    others = [2 * value + 1, -value - 1]
    if "decimals" in answer.params:
        others.append(value + Fraction(1, 10 ** answer.params["decimals"]))
    return [decimal_of(each) or str(each) for each in others]


def _set(answer: Answer) -> Sequence[str]:
    inner = answer.value[1:-1]
    return (f"{{{inner},987654321}}" if inner else "{987654321}", "{}", f"{{{inner}/2}}")


def _tuple(answer: Answer) -> Sequence[str]:
    return (f"{answer.value[:-1]}+1)", f"{answer.value[:-1]},0)")


def _matrix(answer: Answer) -> Sequence[str]:
    return (f"{answer.value[:-2]}+1]]", f"2*{answer.value}")


def _modular(answer: Answer) -> Sequence[str]:
    value, modulus = int(answer.value), int(answer.params["modulus"])
    return (str((value + 1) % modulus), str((value - 1) % modulus), str(-value % modulus))


def _boolean(answer: Answer) -> Sequence[str]:
    return ("false" if answer.value == "true" else "true",)


def _choice(answer: Answer) -> Sequence[str]:
    return [label for label in answer.params["options"] if label != answer.value]


def _string(answer: Answer) -> Sequence[str]:
    return (f"{answer.value}x", answer.value[::-1], answer.value[1:] or "y")


def _equation(answer: Answer) -> Sequence[str]:
    left, _, right = answer.value.partition("=")
    return (f"{left}={right}+1", f"{left}+{answer.params['variables'][0]}={right}")


def _interval(answer: Answer) -> Sequence[str]:
    turned = answer.value.translate(str.maketrans("([)]", "[(])"))
    return ("(-oo,oo)", turned, "(987654321,987654322)")


_CANDIDATES: dict[str, Callable[[Answer], Sequence[str]]] = {
    "integer": _integer,
    "rational": _rational,
    "real": _real,
    "complex": _larger,
    "expression": _larger,
    "set": _set,
    "tuple": _tuple,
    "matrix": _matrix,
    "modular": _modular,
    "boolean": _boolean,
    "choice": _choice,
    "string": _string,
    "equation": _equation,
    "interval": _interval,
}
