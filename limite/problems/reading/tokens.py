"""Cuts an answer in LaTeX or plain mathematics into tokens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.numbers import BITS, integer_of

CHARACTERS = 20_000
"""The longest answer that is read."""

Token = tuple[str, Any, bool, str]  # kind, value, whether space stands before it, a number's text

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ", "0123456789+-()n", strict=True))
_SUPERSCRIPT = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_SUBSCRIPT = re.compile(f"[{''.join(_SUBSCRIPTS)}]+")
_SIGNS = str.maketrans(
    {
        "−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "⁄": "/",
        "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "∞": "\\infty ", "∪": "\\cup ",
        "∩": "\\cap ", "∅": "\\emptyset ", "∈": "\\in ", "π": "\\pi ", "√": "\\sqrt ",
        "°": "\\circ@", "±": "\\pm ", "≡": "\\equiv ", "≈": "\\approx ", "⟨": "\\langle ",
        "⟩": "\\rangle ", "∖": "\\setminus ", "θ": "\\theta ", "α": "\\alpha ", "β": "\\beta ",
        "λ": "\\lambda ", "φ": "\\phi ", "ϕ": "\\phi ", "γ": "\\gamma ", "ℝ": "\\reals ",
    }
)  # fmt: skip

_LETTERS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "varepsilon",
    "zeta",
    "eta",
    "theta",
    "vartheta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "rho",
    "sigma",
    "tau",
    "upsilon",
    "phi",
    "varphi",
    "chi",
    "psi",
    "omega",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Xi",
    "Pi",
    "Sigma",
    "Phi",
    "Psi",
    "Omega",
    "ell",
]
_RENAMED = {
    "tfrac": "frac", "dfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom",
    "leq": "le", "leqslant": "le", "geq": "ge", "geqslant": "ge", "neq": "ne", "times": "*",
    "cdot": "*", "div": "/", "lt": "<", "gt": ">", "lbrace": "\\{", "rbrace": "\\}", "to": "to",
    "lbrack": "[", "rbrack": "]", "colon": ":", "mid": "|", "vert": "|", "lvert": "|",
    "rvert": "|", "varnothing": "emptyset", "backslash": "setminus", "land": "and", "lor": "or",
    "wedge": "and", "vee": "or", "operatorname*": "operatorname", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "ast": "*", "degree": "circ@", "iff": "iff",
    "dots": "ldots", "cdots": "ldots", "lang": "langle", "rang": "rangle", "simeq": "approx",
    "approxeq": "approx", "sim": "approx",
}  # fmt: skip
FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "ln",
        "log",
        "exp",
        "sqrt",
        "abs",
        "lg",
        "max",
        "min",
        "gcd",
        "lcm",
        "floor",
        "ceil",
    ]
)
_WORDS = FUNCTIONS | {"pi", "and", "or", "oo", "infinity", "inf", "arcsin", "arccos", "arctan"}
_WORDS |= {"in", "mod", "binom", "cbrt", "theta", "alpha", "beta", "lambda", "phi", "gamma"}
_SKIPPED = frozenset(
    [
        "left",
        "right",
        "big",
        "Big",
        "bigg",
        "Bigg",
        "bigl",
        "bigr",
        "Bigl",
        "Bigr",
        "displaystyle",
        "textstyle",
        "limits",
        "quad",
        "qquad",
        "mathstrut",
        "hfill",
    ]
)
_STYLES = frozenset(["mathrm", "mathbf", "mathit", "mathsf", "boldsymbol", "operatorname", "bm"])
_TEXTS = frozenset(["text", "textbf", "textit", "textrm", "mbox", "emph"])

_DIGITS = r"[0-9]+"
_PROTECTED = r"[0-9]{1,3}(?:(?:\{,\}|\\,|,\\!)[0-9]{3})+(?![0-9])"
_GROUPED = r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9]|,[0-9])"
_REPEATED = r"\\overline\s*\{(?P<over>[0-9]+)\}|\\bar\s*(?:\{(?P<bar>[0-9]+)\}|(?P<one>[0-9]))"
_SPACE = re.compile(r"(?:\s|\\[,;:! \n]|~)+")
_COMMAND = re.compile(r"\\(?:([A-Za-z]+\*?)|(.))", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_ENVIRONMENT = re.compile(r"\s*\{\s*([A-Za-z]+)\s*\}(?:(?<=array\})\s*\{[lcr|\s]*\})?")
_PARTS = re.compile(r"[^{}]{0,200}\}")


def _number(grouped: bool, scientific: bool) -> re.Pattern[str]:
    whole = f"{_PROTECTED}|{_GROUPED}|{_DIGITS}" if grouped else f"{_PROTECTED}|{_DIGITS}"
    power = r"(?:[eE](?P<power>[-+]?[0-9]+)(?![A-Za-z0-9.]))?" if scientific else "(?P<power>$^)?"
    point = rf"(?:\.(?!\.)(?P<part>[0-9]*)(?:{_REPEATED}|(?P<dots>\.\.\.|\\l?dots|\\cdots))?)?"
    return re.compile(
        rf"(?:(?P<whole>{whole}){point}|\.(?P<bare>[0-9]+)(?P<late>\.\.\.|\\l?dots)?){power}"
    )


_NUMBERS = {(a, b): _number(a, b) for a in (False, True) for b in (False, True)}


@attrs.frozen(kw_only=True)
class Notation:
    """How a type of answer writes things.

    ``grouped``: commas group digits in threes instead of separating. ``scientific``: ``1e5`` is a
    number. ``names``: the letters and words that stand for variables. ``intervals``: square
    brackets end intervals and ``U`` joins them.
    """

    grouped: bool = False
    scientific: bool = False
    names: Collection[str] = ()
    intervals: bool = False


def normalised(text: str) -> str:
    """The text with compatible characters made plain, superscripts and fractions written out."""
    if len(text) > CHARACTERS:
        raise TooLarge(f"an answer of more than {CHARACTERS} characters")
    if text.isascii():
        return text
    text = _SUPERSCRIPT.sub(
        lambda match: "^{" + "".join(_SUPERSCRIPTS[each] for each in match[0]) + "}", text
    )
    text = _SUBSCRIPT.sub(
        lambda match: "_{" + "".join(_SUBSCRIPTS[each] for each in match[0]) + "}", text
    )
    text = "".join(_fraction(each) if "¼" <= each <= "⅞" else each for each in text)
    return unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)


def _fraction(character: str) -> str:
    try:
        value = Fraction(unicodedata.numeric(character)).limit_denominator(10)
    except ValueError:
        return character
    if not unicodedata.decomposition(character).startswith("<fraction>"):
        return character
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


def tokens_of(text: str, notation: Notation) -> list[Token]:
    """The tokens of a normalised text; raises Unreadable at what is no mathematics."""
    number = _NUMBERS[bool(notation.grouped), bool(notation.scientific)]
    found: list[Token] = []
    place, spaced = 0, False
    while place < len(text):
        space = _SPACE.match(text, place)
        here = text[place]
        match = number.match(text, place) if here in "0123456789." else None
        if space is not None and match is None:
            place, spaced = space.end(), True
            continue
        if match is not None:
            digits = match[0]
            plain = len(digits) <= 4_000 and digits.isdigit()
            value = Fraction(int(digits)) if plain else _value(match)
            found.append(("num", value, spaced, digits))
            place = match.end()
        elif here == "\\":
            place = _command(text, place, spaced, found, notation)
        elif here.isascii() and here.isalpha():
            word = _WORD.match(text, place)
            assert word is not None
            place = _word(text, word, spaced, found, notation)
        elif here in "+-*/^_=<>()[]{}|,;:!%&'?.":
            sign = next(
                (each for each in ("<=", ">=", "!=", "**", "==") if text.startswith(each, place)),
                here,
            )
            place += len(sign)
            found.append(
                ("op", {"<=": "le", ">=": "ge", "!=": "ne", "**": "^", "==": "="}.get(sign, sign),
                 spaced, "")
            )  # fmt: skip
        else:
            raise Unreadable(f"the character {here!r} means nothing here")
        spaced = False
    return found


def _value(match: re.Match[str]) -> Fraction:
    whole = re.sub(r"[^0-9]", "", match["whole"] or "0")
    part = match["part"] or match["bare"] or ""
    power = int(match["power"]) if match["power"] and len(match["power"]) < 8 else 0
    if (match["power"] and len(match["power"]) >= 8) or abs(power) > BITS // 4:
        raise TooLarge("a number with too large an exponent")
    repeated = match["over"] or match["bar"] or match["one"] or ""
    if match["dots"] or match["late"]:
        repeated = _period(part)
    value = Fraction(integer_of(whole + part or "0"), 10 ** len(part))
    if repeated:
        value += Fraction(integer_of(repeated), (10 ** len(repeated) - 1) * 10 ** len(part))
    if power:
        value = value * 10**power if power > 0 else value / 10**-power
    return value


def _period(digits: str) -> str:
    """What repeats at the end of digits that go on with dots: at least twice, in three digits."""
    for length in range(1, len(digits) // 2 + 1):
        block = digits[-length:]
        times = 1
        while digits.endswith(block * (times + 1)):
            times += 1
        if times >= 2 and times * length >= 3:
            return block
    raise Unreadable("dots after digits that do not repeat")


def _command(text: str, place: int, spaced: bool, found: list[Token], notation: Notation) -> int:
    """Reads a LaTeX command at ``place``; returns where it ends."""
    match = _COMMAND.match(text, place)
    if match is None:
        raise Unreadable("a backslash at the end")
    end = match.end()
    if match[2] is not None:
        if match[2] in "{}|%$&\\":
            sign = {"{": "\\{", "}": "\\}", "|": "|", "\\": "\\\\"}.get(match[2], match[2])
            found.append(("op", sign, spaced, ""))
            return end
        raise Unreadable(f"the command \\{match[2]} means nothing here")
    name = match[1]
    if name == "circ" and text.startswith("@", end):
        found.append(("op", "°", spaced, ""))
        return end + 1
    if name in ("begin", "end"):
        environment = _ENVIRONMENT.match(text, end)
        if environment is None:
            raise Unreadable(f"\\{name} without the name of an environment")
        found.append(("cmd", name, spaced, environment[1]))
        return environment.end()
    name = _RENAMED.get(name, name)
    if name in _SKIPPED:
        if name in ("left", "right") and text.startswith(".", end):
            raise Unreadable("a bracket with one side missing")
        return end
    if name in _STYLES or name in _TEXTS:
        return _styled(text, end, spaced, found, notation, name)
    if name == "circ@":
        found.append(("op", "°", spaced, ""))
    elif name in ("*", "/", "<", ">", "\\{", "\\}", "[", "]", ":", "|", "le", "ge", "ne"):
        found.append(("op", name, spaced, ""))
    elif name in ("and", "or"):
        found.append(("word", name, spaced, ""))
    elif name in _LETTERS:
        found.append(("name", name, spaced, ""))
    else:
        found.append(("cmd", name, spaced, ""))
    return end


def _styled(
    text: str, end: int, spaced: bool, found: list[Token], notation: Notation, style: str
) -> int:
    opening = re.compile(r"\s*\{").match(text, end)
    closing = None if opening is None else _PARTS.match(text, opening.end())
    if opening is None or closing is None:
        raise Unreadable(f"the command \\{style} without its braces")
    inside = text[opening.end() : closing.end() - 1]
    found.extend(
        (kind, value, spaced or before, raw)
        for kind, value, before, raw in tokens_of(inside, notation)
    )
    return closing.end()


def _word(
    text: str, match: re.Match[str], spaced: bool, found: list[Token], notation: Notation
) -> int:
    """A word that means something, or letters side by side that are a product."""
    word, end = match[0], match.end()
    if word in notation.names:
        found.append(("name", word, spaced, ""))
        return end
    if word in _WORDS:
        plain = _RENAMED.get(word, word)
        if plain in ("and", "or", "in", "mod"):
            found.append(("word", plain, spaced, ""))
        elif plain in FUNCTIONS or plain in ("binom", "cbrt"):
            found.append(("cmd", plain, spaced, ""))
        elif plain == "pi":
            found.append(("cmd", "pi", spaced, ""))
        elif plain in ("oo", "infinity", "inf"):
            found.append(("cmd", "infty", spaced, ""))
        else:
            found.append(("name", plain, spaced, ""))
        return end
    rest = word
    pieces: list[str] = []
    while rest:
        known = next(
            (rest[:size] for size in range(min(len(rest), 8), 1, -1) if rest[:size] in _WORDS),
            rest[0],
        )
        pieces.append(known)
        rest = rest[len(known) :]
    if len(word) > 1 and not all(
        piece in notation.names or piece in ("e", "i", "pi") or piece in FUNCTIONS
        for piece in pieces
    ):
        raise Unreadable(f"the word {word[:40]!r} means nothing here")
    for index, piece in enumerate(pieces):
        kind = "cmd" if piece in FUNCTIONS or piece == "pi" else "name"
        found.append((kind, piece, spaced and not index, ""))
    return end
