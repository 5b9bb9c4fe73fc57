"""Programs that give answers: looked at, run in the sandbox, and their values read as answers."""

from __future__ import annotations

import ast
import builtins
import hashlib
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.types import Answer
from limite.problems.answers import canonical
from limite.problems.sandbox.backends import Setup
from limite.problems.sandbox.limits import MIB, Limits
from limite.problems.sandbox.pool import Pool
from limite.problems.sandbox.result import Result

ENTRY = "solve"
LIMITS = Limits(cpu_s=5.0, wall_s=10.0, memory_bytes=1024 * MIB, output_bytes=4096)
LONGEST = 20_000
DIGITS = 2_000
"""The most characters of an answer."""

_FORBIDDEN = frozenset(
    (
        *("asyncio", "ctypes", "datetime", "glob", "http", "importlib", "inspect", "io", "mmap"),
        *("multiprocessing", "os", "pathlib", "pickle", "random", "requests", "secrets", "shutil"),
        *("signal", "socket", "subprocess", "tempfile", "threading", "time", "urllib", "uuid"),
    )
)
"""Modules of clocks, chance, files, networks and processes, which no answer depends on."""

_CALLS = frozenset(["open", "input", "eval", "exec", "compile", "__import__", "breakpoint"])
_MAKES = frozenset(
    (
        *("int", "str", "bool", "float", "complex", "Fraction", "Decimal"),
        *("list", "tuple", "set", "frozenset", "sorted", "dict"),
    )
)
"""Calls that only write down a value."""


class Faulty(Exception):
    """A program that gives no answer. ``reason`` is one word for counts; the text says more."""

    def __init__(self, reason: str, shown: str) -> None:
        super().__init__(shown)
        self.reason = reason


@attrs.frozen(kw_only=True)
class Ran:
    """What a program gave: its value in canonical form, and what held it."""

    value: str
    layers: tuple[str, ...]


_PARSING = threading.Lock()


def parsed(source: str) -> ast.Module:
    """The tree of a program. One at a time: of threads that parse together Python loses count."""
    with _PARSING:
        return ast.parse(source)


def look_at(source: str) -> None:
    """Raises Faulty of a program that need not be run. The sandbox holds programs, not this."""
    if len(source) > LONGEST:
        raise Faulty("program-too-long", f"{len(source):,} characters, of at most {LONGEST:,}")
    try:
        tree = parsed(source)
        nodes = list(ast.walk(tree))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise Faulty("program-syntax", f"{type(error).__name__}: {error}"[:200]) from None
    entries = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY
    ]
    if not entries:
        raise Faulty("program-no-entry", f"it defines no {ENTRY}()")
    for node in nodes:
        if bad := _forbidden(node):
            raise Faulty("program-forbidden", bad)
    if not any(map(_computes, nodes)):
        raise Faulty("program-computes-nothing", "it writes down a value and computes none")


def _forbidden(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        named = [node.module or ""]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"it calls {node.func.id}()" if node.func.id in _CALLS else ""
    else:
        return ""
    bad = [name for name in named if name.partition(".")[0] in _FORBIDDEN]
    return f"it imports {bad[0]}" if bad else ""


def _computes(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = node.func
        name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
        return name not in _MAKES and name != ENTRY
    return isinstance(
        node,
        ast.BinOp | ast.AugAssign | ast.For | ast.While | ast.comprehension | ast.Compare,
    )


def same_as(source: str) -> str:
    """A hash that programs share which differ in names, comments and layout alone."""
    try:
        plain = _plainly(parsed(source))
    except (RecursionError, ValueError, MemoryError):  # nested too deeply, a number too long
        plain = source
    return hashlib.sha256(plain.encode()).hexdigest()[:32]


def _plainly(tree: ast.Module) -> str:
    names: dict[str, str] = {}
    known = frozenset(dir(builtins))

    def plain(name: str) -> str:
        return name if name in known else names.setdefault(name, f"v{len(names)}")

    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = plain(node.id)
        elif isinstance(node, ast.arg):
            node.arg, node.annotation = plain(node.arg), None
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.name = plain(node.name)
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # A text that stands alone is a docstring or a remark.
            node.body = [each for each in body if not _remark(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _remark(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class Runner:
    """Runs programs, with two hash seeds where it matters. Safe to use from several threads."""

    def __init__(
        self,
        *,
        limits: Limits = LIMITS,
        packages: tuple[str, ...] = (),
        allow_weak: bool = False,
        size: int | None = None,
    ) -> None:
        self.limits = limits
        self._pools = [
            Pool(
                size=size,
                setup=Setup(hash_seed=seed, packages=packages),
                allow_weak=allow_weak,
            )
            for seed in (0, 1)
        ]

    def __call__(self, source: str, answer_type: str, params: Any, *, twice: bool = False) -> Ran:
        """The value of a program; a Faulty where it has none, or another one the second time."""
        found = [
            self._value(pool.run(source, ENTRY, (), self.limits), answer_type, params)
            for pool in (self._pools if twice else self._pools[:1])
        ]
        if found[-1].value != found[0].value:
            raise Faulty(
                "program-not-deterministic",
                f"{found[0].value[:80]} and {found[-1].value[:80]} with two hash seeds",
            )
        return found[0]

    def _value(self, result: Result, answer_type: str, params: Any) -> Ran:
        if result.status != "ok":
            reason = _REASONS.get(result.status, f"program-{result.status.replace('_', '-')}")
            told = ": ".join(each for each in (result.error_type, result.error) if each)
            raise Faulty(reason, told or result.status)
        try:
            text = shown(result.value, answer_type)
            if len(text) > DIGITS:
                raise Faulty("program-bad-value", f"an answer of {len(text):,} characters")
            answer = canonical(Answer(type=answer_type, value=text, params=params))
        except (LimiteError, ValueError) as error:
            raise Faulty("program-bad-value", str(error)[:200]) from None
        return Ran(value=answer.value, layers=result.layers)

    def start(self) -> None:
        """Finds the sandbox now; a NoSandbox where there is none."""
        _ = self._pools[0].backend

    def close(self) -> None:
        for pool in self._pools:
            pool.close()


_REASONS = {
    "timeout_cpu": "program-timeout",
    "timeout_wall": "program-timeout",
    "output_limit": "program-output",
}


def shown(value: Any, answer_type: str) -> str:
    """A program's value as an answer's text; a ValueError where it is none of the type.

    A boolean is no number, and a float is exact nowhere but where a tolerance is declared.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        if answer_type != "boolean":
            raise ValueError("a bool, which is no number")
        return "true" if value else "false"
    if answer_type == "boolean":
        raise ValueError(f"expected a bool, got {type(value).__name__}")
    if isinstance(value, int):
        if value.bit_length() > 4 * DIGITS:
            raise ValueError("a number of too many digits")
        return str(value)
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * DIGITS:
            raise ValueError("a number of too many digits")
        return str(value)
    if isinstance(value, float):
        if answer_type != "real":
            raise ValueError("a float, which is not exact; expected an int or a Fraction")
        return format(value, ".17g")
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > DIGITS:
            raise ValueError("a number of too many digits")
        return format(value, "f")
    if isinstance(value, (set, frozenset)):
        if answer_type != "set":
            raise ValueError("a set")
        return "{" + ",".join(shown(each, "element") for each in sorted(value, key=repr)) + "}"
    if isinstance(value, (list, tuple)):
        ends = {"set": "{}", "tuple": "()", "matrix": "[]", "row": "[]", "element": "()"}.get(
            answer_type
        )
        if ends is None:
            raise ValueError(f"a {type(value).__name__}")
        inner = "row" if answer_type == "matrix" else "element"
        return ends[0] + ",".join(shown(each, inner) for each in value) + ends[1]
    raise ValueError(f"a {type(value).__name__}, which is no answer")
