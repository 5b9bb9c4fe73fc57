"""Chat templates: a conversation as the text a model was trained to read.

Rendered as ``transformers`` renders them, so that the same ids reach the model. A template comes
with a model and is not trusted: it runs in Jinja's sandbox, cannot reach Python, and what it may
make is bounded. It sees plain data alone, and no clock: a template that writes the date gets the
one it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from limite.core.errors import LimiteError, did_you_mean, sentence

LONGEST_TEMPLATE = 1 << 20
"""Characters of the longest template that is compiled."""

_REASONING = ("reasoning_content", "thinking", "reasoning")


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    special_tokens: Mapping[str, str] | None = None,
    add_generation_prompt: bool = False,
    tools: Sequence[Mapping[str, Any]] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    today: datetime | None = None,
    options: Mapping[str, Any] | None = None,
) -> str:
    """The text of ``messages``, each a mapping with a role and what it says.

    ``special_tokens`` (``bos_token``, ...) and ``options`` (``enable_thinking``, ...) are names the
    template may use. ``add_generation_prompt`` opens the assistant's turn. ``today`` is the date a
    template is told that asks for one.
    """
    try:
        from limite.core.pretrained import chat_environment, chat_limits
    except ModuleNotFoundError as error:
        raise needs_extra("a chat template", error) from error
    if not messages:
        raise LimiteError("a chat template needs at least one message")
    if len(template) > LONGEST_TEMPLATE:
        raise LimiteError(
            f"the chat template has {len(template)} characters; at most {LONGEST_TEMPLATE} are read"
        )
    names = {
        **(special_tokens or {}),
        **_plain(options or {}, "options"),
        "messages": [_message(each, place) for place, each in enumerate(messages)],
        "tools": _plain(tools, "tools"),
        "documents": _plain(documents, "documents"),
        "add_generation_prompt": add_generation_prompt,
    }
    under_way = chat_limits.rendering.set(chat_limits.Rendering(today=today))
    try:
        return chat_environment.compiled(template).render(names)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # a template may fail in any way that Python can
        raise LimiteError(f"the chat template {_refusal(error)}") from error
    finally:
        chat_limits.rendering.reset(under_way)


def needs_extra(what: str, error: ModuleNotFoundError) -> LimiteError:
    """The refusal where a package of the extra ``hf`` is not installed."""
    if error.name is not None and error.name.partition(".")[0] == "limite":
        raise error
    return LimiteError(f"{what} needs the package {error.name!r}: pip install 'limite[hf]'")


def choose_template(
    templates: Mapping[str, str], name: str | None = None, tools: bool = False
) -> str | None:
    """One of a model's named templates; None where it has none.

    Without a name it is the one for tools, where tools are given and there is one, or else
    ``default``.
    """
    if name is not None:
        if name not in templates:
            known = f"; there are {', '.join(templates)}" if templates else "; it has none"
            near = did_you_mean(name, templates) or known
            raise LimiteError(f"the model has no chat template {name!r}{near}")
        return templates[name]
    if tools and "tool_use" in templates:
        return templates["tool_use"]
    if templates and "default" not in templates:
        raise LimiteError(
            f"the model has several chat templates and no default; name one of "
            f"{', '.join(templates)}"
        )
    return templates.get("default")


def _message(message: Mapping[str, Any], place: int) -> dict[str, Any]:
    """A message as templates expect it: without empty entries, its reasoning under every name."""
    if not isinstance(message, Mapping):
        raise LimiteError(f"messages[{place}] must be a mapping, got {type(message).__name__}")
    said = {
        key: value
        for key, value in _plain(message, f"messages[{place}]").items()
        if value is not None
    }
    reasoning = next((said[key] for key in _REASONING if key in said), None)
    if reasoning is None:
        return said
    return {"thinking": reasoning, **said, "reasoning_content": reasoning}


def _plain(value: Any, place: str) -> Any:
    """``value`` rebuilt of the plain types of JSON: a template gets no object with methods."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Mapping):
        return {_plain(key, place): _plain(each, f"{place}.{key}") for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, f"{place}[{index}]") for index, each in enumerate(value)]
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise LimiteError(f"{place}: a chat template takes plain data, got {type(value).__name__}")


def _refusal(error: Exception) -> str:
    from jinja2.exceptions import SecurityError, TemplateSyntaxError

    if isinstance(error, LimiteError):
        return str(error)
    if isinstance(error, SecurityError):
        return f"was stopped by the sandbox: {error}"
    if isinstance(error, TemplateSyntaxError):
        return f"cannot be read: line {error.lineno}: {error.message}"
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    from jinja2.exceptions import TemplateError

    said = str(error) if isinstance(error, TemplateError) else sentence(error)
    return f"refuses these messages: {said}"
