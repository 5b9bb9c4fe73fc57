"""Chat templates in the manners of several families, and conversations to render with them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEMPLATES: dict[str, str] = {
    "chatml": """{% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "begin, fixed system turn": """{{ bos_token }}{% if messages[0].role == 'system' %}
    {{- raise_exception('The system turn is fixed.') }}
{% endif %}
<|im_start|>system
You solve problems.
Put the final answer in \\boxed{}.<|im_end|>
{% for m in messages %}
<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}
{% if add_generation_prompt -%}
<|im_start|>assistant
{% endif %}""",
    "headers, date and tools": """
{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}{{- "<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
    {{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "thinking kept for the last turn": """
{%- set ns = namespace(last=-1, text='') %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.last < 0 and message.role == "user" and message.content is string %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if message.reasoning_content is defined and message.reasoning_content is not none %}
            {%- set reasoning = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1] %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or reasoning) %}
            {{- '<|im_start|>assistant\\n<think>\\n' }}
            {{- reasoning.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content.lstrip('\\n') + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' ~ message.role ~ '\\n' ~ content ~ '<|im_end|>' ~ '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "default system turn": (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\\nYou are helpful.<|im_end|>\\n' }}{% endif %}"
        "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
    ),
    "instructions in turn": """{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Roles must alternate.') }}
{% endif %}
{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}
{%- elif message['role'] == 'assistant' %}{{ message['content'] + eos_token }}{% endif %}
{% endfor %}""",
    "macros, breaks and marks": """
{%- macro turn(role, text='') -%}
<{{ role }}>{{ caller() if caller else text }}</{{ role }}>
{%- endmacro -%}
{%- for message in messages if message.content %}
  {%- if message.role == 'system' %}{% continue %}{% endif %}
  {%- if loop.index > 3 %}{% break %}{% endif %}
  {%- if message.role == 'assistant' %}
  {% generation %}{% set role = 'a' %}{{ turn('a', message.content) }}{% endgeneration %}
  {%- else %}
  {%- call turn(message.role) %}{{ message.content|upper|replace('A', '<b>')|e }}{% endcall %}
  {%- endif %}
{% endfor %}
{{ messages|map(attribute='role')|join(', ') }} {{ role is defined }} {{ 7 * 3 }}{{ 'ab' * 2 }}
{%- filter indent(2) %}
{{ messages | tojson }}
{% endfilter %}
{% set kept %}{{ '%s/%d' % ('x', 3) }}{{ '{:>5}|{}'.format('y', [1, 'z']) }}{% endset %}
{{ kept|length }}{{ kept }}{{ dict(a=1, b=messages[0].content).items()|list }}{{ nothing }}
{{- dict.fromkeys(['k'], 2) }}{{ 'ß'|center(9) }}{{ [3, 1]|sort }}{{ [[1], [2]]|sum(start=[]) }}
{%- for a in [1, [2, [3]]] recursive %}{{ loop(a) if a is iterable else a }}{% endfor %}
""",
}

_TEXT = st.text(max_size=30) | st.sampled_from(
    [
        "Compute 17 * 23. Show your reasoning.",
        "<think>\n17*23\n</think>\n\n391",
        "{{ messages }} {% if %}",
        "  space \n\n",
        "<|im_end|> <b>&amp;</b> ' \" \\",
    ]
)
_MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": _TEXT},
    optional={"reasoning_content": _TEXT | st.none(), "name": _TEXT, "thinking": _TEXT},
)
_TURNS = st.lists(_TEXT, min_size=1, max_size=4).map(
    lambda texts: [
        {"role": "assistant" if place % 2 else "user", "content": text}
        for place, text in enumerate(texts)
    ]
)
CONVERSATIONS: st.SearchStrategy[list[dict[str, Any]]] = _TURNS | st.lists(
    _MESSAGE, min_size=1, max_size=4
)
TOOLS: st.SearchStrategy[list[dict[str, Any]] | None] = st.none() | st.lists(
    st.fixed_dictionaries({"name": _TEXT, "parameters": st.dictionaries(_TEXT, st.integers())}),
    max_size=2,
)
