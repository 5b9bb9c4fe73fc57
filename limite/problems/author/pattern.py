"""A pattern of problems: a text with places for numbers, and a program that takes these."""

from __future__ import annotations

import ast
import keyword
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.problems.author.filters import Rejected
from limite.problems.author.parse import Misread, last_object, text_of
from limite.problems.author.program import parsed

MOST = 8
"""The most quantities of a pattern."""

LARGEST = 10**9
_TRIES = 20
_PLAIN = 2
"""Less is drawn only where the original has less: 0 coins are none, and 1 coin is one."""

_PLACE = re.compile(r"<<\s*(\w+)\s*>>")
_NUMBER = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3})")
# What would make a number of a place another one, or none.
_BEFORE = re.compile(r"(?:[^\W_]|\d[.,]|[.\\>])$")
_AFTER = re.compile(r"^(?:\d|<<|[.,]\d|(?:st|nd|rd|th)\b)")

Values = Mapping[str, int]


@attrs.frozen(kw_only=True)
class Quantity:
    """A number of a problem that may be another one."""

    name: str
    original: int
    low: int
    high: int

    @property
    def least(self) -> int:
        """The least that is drawn."""
        return max(self.low, min(_PLAIN, self.original))


@attrs.frozen(kw_only=True)
class Pattern:
    """A problem for many numbers, as its writer gave it; ``check`` says whether it is one."""

    problem: str
    program: str
    quantities: Sequence[Quantity]

    @property
    def plain(self) -> dict[str, Any]:
        """Everything, as a record holds it."""
        return attrs.asdict(self)

    @property
    def original(self) -> Values:
        return {each.name: each.original for each in self.quantities}

    def check(self, text: str) -> None:
        """Raises Rejected where this is no pattern of the problem with that text."""
        self._quantities()
        self._places()
        filled = self.filled(self.original)
        if _squeezed(filled) != _squeezed(text):
            raise Rejected("vary-other-text", filled[:300])
        fixed = {int(each) for each in _NUMBER.findall(_squeezed(_PLACE.sub(" ", self.problem)))}
        for each in self.quantities:
            # One digit may be something else: an exponent, another count.
            if each.original > 9 and each.original in fixed:
                raise Rejected("vary-keeps-number", f"{each.original}, which is {each.name} too")

    def _quantities(self) -> None:
        names = [each.name for each in self.quantities]
        if not 1 <= len(names) <= MOST or len({*names}) < len(names):
            raise Rejected("vary-quantities", f"expected 1 to {MOST} names, each once: {names}")
        for each in self.quantities:
            if not each.name.isidentifier() or keyword.iskeyword(each.name):
                raise Rejected("vary-quantities", f"{each.name[:40]!r} is no name")
            if not 0 <= each.low <= each.original <= each.high <= LARGEST or each.low == each.high:
                raise Rejected(
                    "vary-quantities",
                    f"{each.name}: {each.original} from {each.low} to {each.high}",
                )

    def _places(self) -> None:
        found = {each[1] for each in _PLACE.finditer(self.problem)}
        if wrong := sorted(found ^ self.original.keys()):
            said = "has no place" if wrong[0] in self.original else "is no quantity"
            raise Rejected("vary-places", f"{wrong[0][:40]} {said}")
        for each in _PLACE.finditer(self.problem):
            before, after = self.problem[: each.start()], self.problem[each.end() :]
            if _BEFORE.search(before) or _AFTER.search(after):
                raise Rejected("vary-places", f"{before[-20:]}{each[0]}{after[:20]}")

    def filled(self, values: Values) -> str:
        """The text for these numbers."""

        def number(found: re.Match[str]) -> str:
            digits = str(values[found[1]])
            raised = self.problem[: found.start()].endswith(("^", "_"))
            return f"{{{digits}}}" if raised and len(digits) > 1 else digits

        return _PLACE.sub(number, self.problem)

    def bound(self, values: Values) -> str:
        """The program with these numbers, whose ``solve`` takes no arguments any more."""
        return bound(self.program, values)

    def sensible(self, values: Values) -> str:
        """A program that tells whether these numbers make sense, nothing where all do."""
        if not any(
            isinstance(node, ast.FunctionDef) and node.name == "valid"
            for node in parsed(self.program).body
        ):
            return ""
        return bound(self.program, values, "valid", "bool({})")

    def drawn(self, draws: random.Random, count: int) -> Iterator[Values]:
        """Numbers to try, each choice once, none of them the original one; as many as are tried.

        Numbers that differ in the original differ in all.
        """
        seen = {tuple(self.original.values())}
        apart = len({*self.original.values()}) == len(self.original)
        for _ in range(_TRIES * (count + 1)):
            values = tuple(draws.randint(each.least, each.high) for each in self.quantities)
            if values in seen or (apart and len({*values}) < len(values)):
                continue
            seen.add(values)
            yield dict(zip(self.original, values, strict=True))


def bound(program: str, values: Values, entry: str = "solve", form: str = "{}") -> str:
    """A program whose ``solve`` calls what it was, or another function, with these numbers.

    A ``solve`` that calls itself goes on to do so.
    """
    named = ", ".join(f"{name}={value}" for name, value in values.items())
    call = form.format(f"{'_solve_for' if entry == 'solve' else entry}({named})")
    return (
        f"{program.rstrip()}\n\n\n_solve_for = solve\n\n\ndef solve(*given, **named):\n"
        f"    return _solve_for(*given, **named) if given or named else {call}\n"
    )


def pattern_of(text: str) -> Pattern:
    """The pattern of a reply; a Misread where it has none."""
    found = last_object(text, "quantities")
    listed = found.get("quantities")
    if not isinstance(listed, list):
        raise Misread("quantities is no list")
    return Pattern(
        problem=text_of(found, "problem").strip(),
        program=text_of(last_object(text, "quantities", latex=False), "program"),
        quantities=tuple(_quantity(each) for each in listed),
    )


def _quantity(found: Any) -> Quantity:
    if not isinstance(found, dict):
        raise Misread("a quantity is no object")
    numbers = {}
    for key in ("original", "low", "high"):
        value = text_of(found, key)  # numbers are text by now
        if not re.fullmatch(r"-?[0-9]{1,12}", value):
            raise Misread(f"{key} of a quantity is no whole number")
        numbers[key] = int(value)
    return Quantity(name=text_of(found, "name"), **numbers)


def _squeezed(text: str) -> str:
    """The text without what a writer changes unawares: spaces, and commas in numbers."""
    return _GROUPED.sub("", " ".join(text.split()))
