"""What settings classes say of their own fields, and what their authors must know."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from attrs.validators import ge

from limite.core.config import structure, unstructure
from limite.core.config_faults import dotted
from limite.core.errors import LimiteError, SettingsError
from limite.core.registry import Registry


def told(data: Any, cls: type) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        structure(data, cls, Registry())
    return [str(mistake) for mistake in caught.value.mistakes]


def test_contradictions_point_at_their_fields() -> None:
    @attrs.frozen(kw_only=True)
    class Heads:
        heads: int = attrs.field(default=2, validator=ge(1))
        kv_heads: int = 1
        width: int = 1

        def __attrs_post_init__(self) -> None:
            wrong = []
            if self.heads % self.kv_heads:
                wrong.append("'heads' must be a multiple of 'kv_heads'")
            if self.width < self.heads:
                wrong.append("'width' must be at least 'heads'")
            if self.width > 100:
                wrong.append("too large for anyone")
            if wrong:
                raise ValueError("\n".join(wrong))

    both = ["heads: must be a multiple of 'kv_heads'", "width: must be at least 'heads'"]
    assert told({"heads": 3, "kv_heads": 2}, Heads) == both
    told_beside = told({"heads": 3, "kv_heads": 2, "hades": 1}, Heads)
    assert told_beside == ["hades: unknown key; did you mean 'heads'?", *both]
    assert told({"heads": 3, "kv_heads": "x", "width": 9}, Heads) == [
        "kv_heads: expected int, got str 'x'"
    ]
    assert told({"width": 101}, Heads) == ["too large for anyone"]


def test_none_that_cannot_be_written_is_refused() -> None:
    @attrs.frozen(kw_only=True)
    class Odd:
        steps: int | None = 3

    with pytest.raises(LimiteError, match=r"Odd\.steps is None"):
        unstructure(Odd(steps=None), Registry())


def test_a_field_type_hidden_from_run_time_is_explained() -> None:
    odd = attrs.make_class("Odd", {"x": attrs.field(default=1, type="Nowhere")})
    with pytest.raises(LimiteError, match="at run time, not under TYPE_CHECKING"):
        structure({"x": 1}, odd, Registry())


def test_dotted() -> None:
    path = ("stages", "rl 1", "a.b", 0, "lr")
    assert dotted(path) == 'stages."rl 1"."a.b"[0].lr'
