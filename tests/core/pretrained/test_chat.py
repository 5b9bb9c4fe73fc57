from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.exceptions import TemplateError
from transformers.utils import chat_template_utils

from limite.core.errors import LimiteError
from limite.core.pretrained.chat import choose_template, render_chat
from tests.core.pretrained.chat_templates import CONVERSATIONS, TEMPLATES, TOOLS

TODAY = datetime(2026, 1, 31, 12, 30)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
ASK = [{"role": "user", "content": "What is 1+1?"}]


class FrozenClock:
    """A ``datetime`` for which it is always the same moment."""

    @staticmethod
    def now() -> datetime:
        return TODAY


def theirs(template: str, messages: list[dict[str, Any]], **names: Any) -> str | None:
    """What transformers renders; None where the template refuses the messages."""
    normalized = chat_template_utils._normalize_chat_messages(messages)
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            [normalized], chat_template=template, **names
        )
    except (TemplateError, TypeError):
        return None
    return str(rendered[0])


@pytest.mark.parametrize("name", TEMPLATES)
@given(
    messages=CONVERSATIONS,
    tools=TOOLS,
    opened=st.booleans(),
    options=st.sampled_from([{}, {"enable_thinking": False}, {"date_string": "1 May"}]),
)
def test_templates_are_rendered_as_transformers_renders_them(
    name: str,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]] | None,
    opened: bool,
    options: dict[str, Any],
) -> None:
    template = TEMPLATES[name]
    before = json.dumps([messages, tools])

    def ours() -> str:
        return render_chat(
            template,
            messages,
            special_tokens=TOKENS,
            add_generation_prompt=opened,
            tools=tools,
            today=TODAY,
            options=options,
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat_template_utils, "datetime", FrozenClock)
        expected = theirs(
            template, messages, tools=tools, add_generation_prompt=opened, **{**TOKENS, **options}
        )
    if expected is None:
        with pytest.raises(LimiteError, match="refuses these messages"):
            ours()
        return
    assert ours() == expected
    assert json.dumps([messages, tools]) == before


def test_a_template_is_told_the_date_it_is_given_and_no_other() -> None:
    template = "{{ strftime_now('%d %B %Y') }}"
    assert render_chat(template, ASK, today=TODAY) == TODAY.strftime("%d %B %Y")
    with pytest.raises(LimiteError, match="asks for today's date; give it one"):
        render_chat(template, ASK)


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.popen('true') }}",
        "{{ namespace.__init__.__globals__['os'] }}",
        "{{ dict.__call__.__globals__ }}",
        "{{ raise_exception.__globals__.json }}",
        "{{ '{0.__class__.__mro__}'.format(messages) }}",
        "{{ (messages|attr('__class__')).mro() }}",
        "{{ messages.append(1) }}",
        "{{ namespace(__class__=1) }}",
        "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
        "{{ self._TemplateReference__context.environment.globals }}",
    ],
)
def test_a_template_cannot_reach_python(template: str) -> None:
    with pytest.raises(LimiteError, match="sandbox"):
        render_chat(template, ASK)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10 ** 10 }}",
        "{{ [1] * 10 ** 10 }}",
        "{{ 3 ** (10 ** 10) }}",
        "{{ 'a'|center(10000000000) }}",
        "{{ 'a'.ljust(10 ** 10) }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ '%*d' % (10 ** 10, 1) }}",
        "{{ '{:10000000000}'.format(1) }}",
        "{{ '{:{w}}'.format(1, w=10 ** 10) }}",
        "{{ 'x'|format() ~ '%10000000000d'|format(1) }}",
        "{{ (1).to_bytes(10 ** 10, 'big') }}",
        "{{ ('a' * 100000).replace('a', 'a' * 100000) }}",
        "{{ ('a' * 100000)|replace('a', 'a' * 100000) }}",
        "{{ ('a' * 100000).join(['a'] * 100000) }}",
        "{{ (['a' * 100000] * 100000)|join }}",
        "{{ range(100000)|map('center', 100000)|join }}",
        "{{ ('\\t' * 100000).expandtabs(100000) }}",
        "{{ ('a\\n' * 100000)|indent(100000) }}",
        "{{ messages|tojson(indent=10000000000) }}",
        "{{ ([[0] * 100000] * 100000)|sum(start=[]) }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro m(n) %}{% for i in range(9) %}{{ m(n - 1) if n }}{% endfor %}{% endmacro %}"
        "{{ m(90) }}",
        "{% set ns = namespace(x='aa') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}"
        "{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='aa') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}"
        "{% endfor %}",
        "{% set ns = namespace(x='aa') %}{% for i in range(60) %}"
        "{% set t %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = t %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% endfor %}{{ ns.x|string }}",
        "{% set ns = namespace(x=3) %}{% for i in range(60) %}{% set ns.x = ns.x * ns.x %}"
        "{% endfor %}",
        "{{ '{:{w}}'.format(1, w='10000000000') }}",
        "{{ '{:{w[0]}}'.format(1, w=[10 ** 10]) }}",
        "{{ 1.5|round(50000000, 'ceil') }}",
        "{% set s = 'a' * 20000000 %}{% set t = 'a' * 20000000 %}"
        "{% for i in range(99999) %}{% if s == t %}{% endif %}{% endfor %}",
        "{% set s = 'a' * 20000000 %}"
        "{% for i in range(99999) %}{% if 'b' in s %}{% endif %}{% endfor %}",
        "{% set s = 'a' * 20000000 %}"
        "{% for i in range(99999) %}{% if 'b' is in s %}{% endif %}{% endfor %}",
        "{% set s = 'a' * 20000000 %}{% for i in range(99999) %}{% set t = s[1:] %}{% endfor %}",
        "{% for i in range(99999) %}" + "x" * 10_000 + "{% endfor %}",
    ],
)
def test_a_template_that_makes_too_much_is_stopped_before_it_does(template: str) -> None:
    with pytest.raises(LimiteError, match=r"makes more than|too deeply"):
        render_chat(template, ASK)


def test_a_long_conversation_is_not_too_much() -> None:
    told = [{"role": "user" if i % 2 else "assistant", "content": "é" * 2_000} for i in range(500)]
    for name in ("chatml", "thinking kept for the last turn"):
        assert len(render_chat(TEMPLATES[name], told)) > 1_000_000


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% if %}", "cannot be read: line 1"),
        ("{% endgeneration %}", "cannot be read"),
        ("{{ " + "(" * 50_000, "too deeply"),
        ("{{ 1 / 0 }}", "refuses these messages: ZeroDivisionError"),
        ("{{ raise_exception('One turn only.') }}", "refuses these messages: One turn only.$"),
        ("{% include 'other' %}", "refuses these messages"),
        ("{{ lipsum() }}", "'lipsum' is undefined"),
        ("{{ [1, 2]|random }}", "No filter named 'random'"),
        ("x" * (1 << 20) + "x", "at most 1048576 are read"),
    ],
)
def test_a_template_that_fails_says_how(template: str, message: str) -> None:
    with pytest.raises(LimiteError, match=message):
        render_chat(template, ASK)


def test_messages_are_plain_data() -> None:
    with pytest.raises(LimiteError, match="at least one message"):
        render_chat("x", [])
    with pytest.raises(LimiteError, match=r"messages\[0\].content: .*plain data, got PosixPath"):
        render_chat("x", [{"role": "user", "content": Path("a")}])
    with pytest.raises(LimiteError, match=r"messages\[1\] must be a mapping"):
        render_chat("x", [*ASK, "hello"])  # type: ignore[list-item]


def test_the_right_template_is_chosen() -> None:
    two = {"default": "d", "tool_use": "t"}
    assert choose_template({}) is None
    assert choose_template(two) == "d"
    assert choose_template(two, tools=True) == "t"
    assert choose_template(two, "tool_use") == "t"
    with pytest.raises(LimiteError, match="did you mean 'tool_use'"):
        choose_template(two, "tool-use")
    with pytest.raises(LimiteError, match="several chat templates and no default"):
        choose_template({"a": "", "b": ""})


def test_without_jinja_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.startswith(("jinja2", "limite.core.pretrained.chat_")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("limite.core.pretrained.chat_environment", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(LimiteError, match=r"pip install 'limite\[hf\]'"):
        render_chat("x", ASK)
