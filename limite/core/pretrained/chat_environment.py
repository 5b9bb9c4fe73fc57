"""The Jinja environment that chat templates are written for, sandboxed and bounded.

Blocks leave no line of their own, ``break`` and ``continue`` work, ``{% generation %}`` marks what
an assistant says and renders as if it were not there, ``tojson`` writes plain JSON, and
``raise_exception`` refuses a conversation. What would make two renderings differ (``lipsum`` and
the filter ``random``) is not there. This module needs Jinja (``limite[hf]``): ``chat`` imports it
when a template is rendered.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, cast

from jinja2 import Template, nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from limite.core.errors import LimiteError
from limite.core.pretrained import chat_limits


class NoDate(LimiteError):
    """A template that asks for today's date, where none was given."""


class _Generation(Extension):
    """``{% generation %}``: its body, as it is."""

    tags = {"generation"}  # noqa: RUF012  Jinja declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        # A call block gives the body a scope of its own: what it sets ends with it.
        call = nodes.Call(nodes.EnvironmentAttribute("said"), [], [], None, None)
        return nodes.CallBlock(call, [], [], body).set_lineno(line)


class _Namespace(Namespace):
    """Jinja's ``namespace()``, without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        # Any name is a fine keyword here, "self" too.
        self, *given = args
        values = dict(*given, **kwargs)
        for name in values:
            _public(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _public(name)
        super().__setitem__(name, value)


class _Dict:
    """What ``dict`` is in a template: it makes dicts and gives no way to the class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


def _public(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace takes no name that begins with an underscore: {name!r}")


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    under_way = chat_limits.rendering.get()
    if under_way is None or under_way.today is None:
        raise NoDate("asks for today's date; give it one, so that it says the same tomorrow")
    return under_way.today.strftime(form)


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, loopcontrols],
            finalize=chat_limits.weighed,
        )
        self.filters["tojson"] = _tojson
        del self.filters["random"]
        self.filters = {
            name: chat_limits.paying_filter(name, function)
            for name, function in self.filters.items()
        }
        tests: dict[str, Any] = self.tests
        self.tests = {name: chat_limits.paying_test(tests[name]) for name in tests}
        del self.globals["lipsum"]
        self.globals |= {
            "raise_exception": _raise,
            "strftime_now": _strftime_now,
            "dict": _Dict(),
            "namespace": _Namespace,
        }
        self.tick, self.weighed, self.read = chat_limits.tick, chat_limits.weighed, chat_limits.read

    @staticmethod
    def said(caller: Any) -> str:
        """What the body of ``{% generation %}`` says."""
        return cast(str, caller())

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        if __obj in (__self.tick, __self.weighed, __self.read):
            return __obj(*args)
        args = chat_limits.pay_for_call(__obj, args, kwargs)
        return chat_limits.pay_for_result(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        chat_limits.pay_for_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        """Jinja's place for changing a parsed template: what repeats or joins is paid for."""
        repeating: Any = (nodes.For, nodes.Macro, nodes.CallBlock)
        for repeated in source.find_all(repeating):
            texts = sum(len(text.data) for text in repeated.find_all(nodes.TemplateData))
            cost = nodes.Const(chat_limits.STEP + texts)
            step = nodes.ExprStmt(_called("tick", cost, repeated.lineno))
            repeated.body.insert(0, step.set_lineno(repeated.lineno, override=False))
        for joined in source.find_all(nodes.Concat):
            joined.nodes = [_paid("weighed", each) for each in joined.nodes]
        for compared in source.find_all(nodes.Compare):
            compared.expr = _paid("read", compared.expr)
            for operand in compared.ops:
                operand.expr = _paid("read", operand.expr)
        for taken in source.find_all(nodes.Getitem):
            if isinstance(taken.arg, nodes.Slice):
                taken.node = _paid("read", taken.node)
        return super()._generate(source, *args, **kwargs)


def _paid(name: str, value: nodes.Expr) -> nodes.Expr:
    return value if isinstance(value, nodes.Const) else _called(name, value, value.lineno)


def _called(name: str, argument: nodes.Expr, line: int) -> nodes.Call:
    call = nodes.Call(nodes.EnvironmentAttribute(name), [argument], [], None, None)
    call.set_lineno(line, override=False)
    return call


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    return _Environment()


@lru_cache(maxsize=16)
def compiled(text: str) -> Template:
    """A chat template, ready to be rendered."""
    return _environment().from_string(text)
