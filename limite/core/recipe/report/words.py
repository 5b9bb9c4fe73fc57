"""Numbers and text as a person reads them, and as HTML can carry them."""

from __future__ import annotations

import html
import math
import re
from typing import Any

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def as_number(value: Any) -> float | None:
    """A number from JSON, where what is not finite is written as a string; else None."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and value.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return float(value)
    return None


def finite(value: Any) -> float | None:
    """A finite number from JSON, or None."""
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, a real minus sign, no padding."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        text = f"{int(value):,}"
    elif abs(value) < 1e-3 or abs(value) >= 1e6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        text = f"{mantissa}e{int(exponent)}"
    elif abs(value) >= 10 ** (digits - 1):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−")


def p_value(value: float | None) -> str:
    """A p-value in three digits; of one below 0.001 only that is said."""
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3g}"


def count(value: float | None) -> str:
    """A whole number with thousands set apart."""
    return "–" if value is None or not math.isfinite(value) else f"{round(value):,}"


def percent(share: float | None) -> str:
    """A share as a percentage with one decimal."""
    return "–" if share is None or not math.isfinite(share) else f"{100 * share:.1f}%"


def points(difference: float | None, *, sign: bool = True) -> str:
    """A difference of shares in percentage points, signed."""
    if difference is None or not math.isfinite(difference):
        return "–"
    text = f"{100 * difference:+.1f}" if sign else f"{100 * difference:.1f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "−")


def percent_interval(interval: tuple[float, float] | None) -> str:
    """``[33.1%, 41.5%]``."""
    return "–" if interval is None else f"[{percent(interval[0])}, {percent(interval[1])}]"


def points_interval(interval: tuple[float, float] | None) -> str:
    """``[+16.1, +24.3]`` percentage points."""
    return "–" if interval is None else f"[{points(interval[0])}, {points(interval[1])}]"


def duration(seconds: float | None) -> str:
    """``48.2 s``, ``3 min 04 s``, ``2 h 07 min``."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return "–"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60:02d} min"


def plural(amount: int, singular: str, several: str | None = None) -> str:
    """``1 step``, ``2 steps``."""
    return f"{amount:,} {singular if amount == 1 else several or singular + 's'}"


def visible(text: Any) -> str:
    """Text with what a browser would swallow or obey (control, direction) spelled out."""

    def spell(match: re.Match[str]) -> str:
        code = ord(match.group())
        return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"

    return _UNPRINTABLE.sub(spell, str(text).replace("\r\n", "\n"))


def escape(text: Any) -> str:
    """Any text as HTML text or a quoted attribute."""
    return html.escape(visible(text), quote=True)


def shorten(text: str, limit: int) -> tuple[str, int]:
    """At most ``limit`` characters, and how many were left out."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)
