"""How much one rendering of a chat template may make: a template from elsewhere is not trusted.

Jinja's sandbox keeps a template from reaching Python, yet lets it loop for ever and fill the
memory. Here every step is paid for from one purse: turns of a loop, calls of macros, and the
characters that text grows to. What would cost more than is left is refused before it is made, and
it is the same template and the same messages that are refused on every machine.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import datetime
from functools import wraps
from typing import Any

import attrs

from limite.core.errors import LimiteError

PURSE = 1 << 26
"""Characters that one rendering may make along the way; a step counts as ``STEP`` of them."""

STEP = 64
_PART = 32
_WIDE = re.compile(r"%[^a-zA-Z%]*(\*|\d{5})")
_LONG_NUMBER = re.compile(r"\d{5}|{")
_MOST_BITS = 10_000
_TEXT = (str, bytes, bytearray)
_BUILT_IN = (*_TEXT, int, float, list, tuple, dict, set, frozenset)


class TooMuch(LimiteError):
    """A chat template that makes more than any chat needs."""

    def __init__(self) -> None:
        super().__init__(f"makes more than {PURSE} characters and steps")


@attrs.define
class Rendering:
    """One rendering under way: what it may still spend, and the date it is told."""

    left: int = PURSE
    today: datetime | None = None

    def pay(self, cost: int) -> None:
        if cost > self.left:
            raise TooMuch
        self.left -= cost


rendering: ContextVar[Rendering | None] = ContextVar("rendering", default=None)


def pay(cost: int) -> None:
    """Spends from the purse of the rendering under way.

    Outside of one, while a template is compiled, constants are folded: each may cost a little.
    """
    under_way = rendering.get()
    if under_way is not None:
        under_way.pay(cost)
    elif cost > 1 << 20:
        raise TooMuch


def tick(cost: int) -> str:
    """Pays for one turn of a loop or one call of a macro; leaves no text."""
    pay(cost)
    return ""


def weight(value: Any) -> int:
    """About how many characters ``value`` has when written out, shared parts counted each time.

    A part counts more than its characters, so that lists of lists of lists soon cost too much.
    """
    total = 0
    waiting: list[Iterator[Any]] = [iter((value,))]
    while waiting:
        for each in waiting[-1]:
            total += _PART
            if isinstance(each, _TEXT):
                total += len(each)
            elif isinstance(each, int):
                total += each.bit_length() // 3
            elif isinstance(each, Mapping):
                waiting.append(part for pair in each.items() for part in pair)
                break
            elif isinstance(each, (list, tuple, set, frozenset)):
                waiting.append(iter(each))
                break
        else:
            waiting.pop()
        if total > PURSE:
            raise TooMuch
    return total


def weighed(value: Any) -> Any:
    """``value``, once its text is paid for."""
    pay(len(value) if isinstance(value, str) else weight(value))
    return value


def _settled(value: Any) -> Any:
    """``value``; what can be gone through once only as a list, so that it can be weighed."""
    return list(value) if isinstance(value, Iterator) else value


def _numbers(values: Iterable[Any]) -> int:
    """The sum of the whole numbers among ``values``: how wide a text may be asked for."""
    return sum(abs(each) for each in values if isinstance(each, int))


def _spread(first: Any, others: list[Any]) -> int:
    """The cost where every part of ``first`` may be met by all of the others."""
    return weight(first) * (1 + _numbers(others) + weight([o for o in others if o is not first]))


def _format(first: Any, others: list[Any]) -> int:
    """The cost of filling a text. A width of five digits, or from outside, is no width."""
    text = first.decode("latin-1") if isinstance(first, (bytes, bytearray)) else str(first)
    if _WIDE.search(text) or any(map(_LONG_NUMBER.search, _format_widths(text))):
        raise TooMuch
    return _spread(text, others)


def _format_widths(text: str) -> list[str]:
    try:
        return [each[2] for each in string.Formatter().parse(text) if each[2]]
    except ValueError:  # no text for str.format, which will say so itself
        return []


def _replace(first: Any, others: list[Any]) -> int:
    texts = [each for each in others if isinstance(each, _TEXT)]
    if not isinstance(first, str) or len(texts) < 2 or not isinstance(texts[0], str):
        return _spread(first, others)
    return len(first) + first.count(texts[0]) * len(texts[1])


_SPREADING = frozenset({"join", "indent", "wordwrap", "expandtabs", "tojson", "truncate"})
_SPREADING_TOO = frozenset({"urlize", "translate", "xmlattr", "sum", "string", "pprint"})


def _cost(name: str, first: Any, others: list[Any]) -> int:
    if name in ("format", "format_map"):
        return _format(first, others)
    if name == "replace":
        return _replace(first, others)
    if name == "round":
        return _numbers(others) ** 2
    if name in _SPREADING or name in _SPREADING_TOO:
        return _spread(first, others)
    length = len(first) if isinstance(first, _BUILT_IN) and hasattr(first, "__len__") else 0
    return length + _numbers(others)


def pay_for_call(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Pays for a call out of a template before it is made; gives the arguments to make it with."""
    method = getattr(function, "__wrapped__", function)
    owner = getattr(method, "__self__", None)
    name = getattr(method, "__name__", "")
    cost = STEP
    if isinstance(owner, _BUILT_IN):
        args = tuple(map(_settled, args))
        cost += _cost(name, owner, [*args, *kwargs.values()])
    elif name == "strftime_now":
        cost += _format(args[0] if args else "", [])
    pay(cost)
    return args


def pay_for_result(value: Any) -> Any:
    """``value``, once it is paid for: what a call made."""
    if isinstance(value, (*_TEXT, list, tuple, dict)):
        pay(len(value))
    return value


def pay_for_operator(operator: str, left: Any, right: Any) -> None:
    """Pays for what ``left`` and ``right`` make, before they do."""
    pay(STEP)
    if isinstance(left, int) and isinstance(right, int):
        many = abs(right) if operator == "**" else 1
        if left.bit_length() * many + right.bit_length() > _MOST_BITS:
            raise TooMuch
    elif operator == "%" and isinstance(left, _TEXT):
        pay(_format(left, [right]))
    elif operator == "*":
        pay(_times(left) * _times(right))
    else:
        pay(_length(left) + _length(right))


def _times(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) else _length(value)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, (*_TEXT, list, tuple, dict)) else 1


def read(value: Any) -> Any:
    """``value``, once it is paid for that it is read through: compared, searched or cut."""
    pay(1 + _length(value) // 16)
    return value


def paying_test(function: Callable[..., Any]) -> Callable[..., Any]:
    """A test (``is in``, ``is eq``) that is paid for."""

    @wraps(function)
    def paid(*args: Any, **kwargs: Any) -> Any:
        pay(STEP + sum(_length(each) // 16 for each in args))
        return function(*args, **kwargs)

    return paid


def paying_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that is paid for. It takes what ``function`` takes, the context included."""
    # What Jinja hands a filter first (its context, its environment), if anything.
    handed = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def paid(*args: Any, **kwargs: Any) -> Any:
        own = [_settled(each) for each in args[handed:]]
        pay(STEP + _cost(name, own[0] if own else "", [*own[1:], *kwargs.values()]))
        return pay_for_result(function(*args[:handed], *own, **kwargs))

    return paid
