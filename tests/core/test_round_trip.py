"""Every registered component and every stage: what is written reads back to an equal value."""

from __future__ import annotations

import functools
import tomllib
import types
import typing
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import tomli_w
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from limite.core.config import structure, unstructure
from limite.core.config_fields import field_types, raw_default
from limite.core.config_types import component_kind
from limite.core.discover import load_registry
from limite.core.health.limits import HealthLimits
from limite.core.kinds import KINDS
from limite.core.model.spec import ModelSpec
from limite.core.recipe import models
from limite.core.recipe.stages import STAGE_KINDS, Mix, Stage
from limite.core.validators import Option
from limite.problems.procedural.areas import families

# A setting may be allowed and still be warned of.
pytestmark = pytest.mark.filterwarnings("ignore:ratio_cap:UserWarning")

OF_AREAS = {name for name, _ in families()}
"""Families that share their settings' types: a few of each say as much as many."""

COMPONENTS = [(kind, name) for kind in KINDS for name in load_registry().names(kind)]
NUMBERS = st.floats(0, 1) | st.sampled_from([1e-8, 0.05, 0.95, 1.0, 2.0, 17.0]) | st.floats(0, 1e3)


def validators_of(field: attrs.Attribute[Any]) -> Iterator[Any]:
    """The validator of a field, and those inside ``and_`` and ``optional``."""
    waiting = [field.validator]
    while waiting:
        validator = waiting.pop()
        if validator is None:
            continue
        yield validator
        inner = getattr(validator, "_validators", getattr(validator, "validator", ()))
        waiting += inner if isinstance(inner, tuple) else [inner]


def of_type(expected: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    kind = component_kind(expected)
    if kind is not None:
        names = st.sampled_from(list(load_registry().names(kind)))
        return names.flatmap(lambda name: of_class(load_registry().get(kind, name).load()))
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (types.UnionType, typing.Union):
        return st.one_of([of_type(each) for each in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(of_type(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of_type, arguments))
    if origin is dict:
        return st.dictionaries(st.text(min_size=1, max_size=3), of_type(arguments[1]), max_size=3)
    simple = {
        bool: st.booleans(),
        int: st.integers(0, 40) | st.integers(0, 5000),
        float: NUMBERS,
        str: st.text(max_size=3),
        type(None): st.none(),
    }
    return simple[expected] if expected in simple else of_class(expected)


def of_field(cls: type, field: attrs.Attribute[Any]) -> st.SearchStrategy[Any]:
    choices = [each for each in validators_of(field) if isinstance(each, Option)]
    if choices:
        return st.sampled_from(choices[0].choices)
    strategy = of_type(field_types(cls)[field.name])
    default = raw_default(field, None) if not _takes_self(field) else attrs.NOTHING
    if default is not attrs.NOTHING and component_kind(field_types(cls)[field.name]) is None:
        strategy = st.just(default) | strategy

    def allowed(value: Any) -> bool:
        try:
            if field.validator is not None:
                field.validator(None, field, value)
        except (ValueError, TypeError):
            return False
        return True

    return strategy.filter(allowed)


def _takes_self(field: attrs.Attribute[Any]) -> bool:
    return bool(getattr(field.default, "takes_self", False))


@functools.cache
def strategies_of(cls: type) -> dict[str, st.SearchStrategy[Any]]:
    return {str(f.alias): of_field(cls, f) for f in attrs.fields(cls) if f.init}


@st.composite
def of_class(draw: st.DrawFn, cls: Any) -> Any:
    """Settings of a class: what must be given and a few others, in a combination it takes."""
    strategies = strategies_of(cls)
    fields = {str(f.alias): f for f in attrs.fields(cls) if f.init}
    required = [alias for alias, field in fields.items() if field.default is attrs.NOTHING]
    optional = [alias for alias in fields if alias not in required]
    chosen = draw(st.lists(st.sampled_from(optional), max_size=4, unique=True)) if optional else []
    try:
        return cls(**{alias: draw(strategies[alias]) for alias in [*required, *chosen]})
    except ValueError:
        assume(False)


def assert_reads_back(value: Any, cls: Any) -> None:
    registry = load_registry()
    data = unstructure(value, registry)
    assert structure(data, cls, registry) == value
    written = tomllib.loads(tomli_w.dumps({"value": data}))["value"]
    assert structure(written, cls, registry) == value


@pytest.mark.parametrize(("kind", "name"), COMPONENTS)
def test_every_component(kind: str, name: str) -> None:
    cls = load_registry().get(kind, name).load()
    few = settings(max_examples=5) if name in OF_AREAS else settings()

    @settings(few, suppress_health_check=list(HealthCheck))
    @given(value=of_class(cls))
    def check(value: Any) -> None:
        assert_reads_back(structure(value, type(value), load_registry()), KINDS[kind])

    check()
    assert_reads_back(cls(), KINDS[kind])


@pytest.mark.parametrize(
    ("cls", "base"), [(Mix, Mix), (HealthLimits, HealthLimits), (ModelSpec, models.Model)]
)
def test_every_settings_class(cls: type, base: type) -> None:
    @settings(suppress_health_check=list(HealthCheck))
    @given(value=of_class(cls))
    def check(value: Any) -> None:
        assert_reads_back(structure(value, type(value), load_registry()), base)

    check()


@pytest.mark.parametrize("cls", STAGE_KINDS.values())
def test_every_stage(cls: type) -> None:
    @settings(suppress_health_check=list(HealthCheck))
    @given(value=of_class(cls))
    def check(value: Any) -> None:
        assert_reads_back(structure(value, type(value), load_registry()), Stage)

    check()
