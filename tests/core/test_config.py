"""Settings read strictly: what is taken, what is refused and how, and the way back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import attrs
import pytest
from attrs.validators import ge, gt, optional
from hypothesis import given
from hypothesis import strategies as st

from limite.core.config import structure, unstructure
from limite.core.config_faults import Place
from limite.core.errors import SettingsError
from limite.core.hookspecs import Registration
from limite.core.kinds import Logger, Objective, Optimizer
from limite.core.registry import Registry


@attrs.frozen(kw_only=True)
class Inner:
    """Settings inside others."""

    low: float = attrs.field(default=0.0, validator=ge(0.0))
    high: float = attrs.field(default=1.0)
    label: str | None = None

    @high.validator
    def _ordered(self, _attribute: Any, value: float) -> None:
        if value < self.low:
            raise ValueError(f"'high' must be at least 'low' ({self.low}), got {value}")


@attrs.frozen(kw_only=True)
class Clip:
    """An objective."""

    delta: float = attrs.field(default=0.2, validator=gt(0.0))
    inner: Inner = attrs.field(factory=Inner)

    def __call__(self, batch: Any) -> Any:
        return batch


@attrs.frozen(kw_only=True)
class Plain:
    """An objective without settings."""

    def __call__(self, batch: Any) -> Any:
        return batch


@attrs.frozen(kw_only=True)
class Adam:
    """An optimizer."""

    lr: float = attrs.field(default=1e-3, validator=gt(0.0))
    betas: tuple[float, float] = (0.9, 0.95)

    def build(self, named_parameters: Any) -> Any:
        return named_parameters


@attrs.frozen(kw_only=True)
class Screen:
    """A logger."""

    every: int = attrs.field(default=1, validator=ge(1))

    def build(self, context: Any) -> Any:
        return context


@attrs.frozen(kw_only=True)
class Shape:
    """A base of several forms, told apart by ``type``."""

    kinds: ClassVar[Mapping[str, type[Shape]]] = {}
    size: int = attrs.field(default=1, validator=ge(1))


@attrs.frozen(kw_only=True)
class Round(Shape):
    """One form."""

    radius: float


@attrs.frozen(kw_only=True)
class Square(Shape):
    """Another."""

    objective: Objective | str = "clip"
    optimizer: Optimizer | str | None = None


Shape.kinds = {"round": Round, "square": Square}


@attrs.frozen(kw_only=True)
class Everything:
    """A field of every sort."""

    count: int = attrs.field(default=3, validator=ge(0))
    rate: float = 0.5
    flag: bool = False
    name: str = "x"
    maybe: int | None = attrs.field(default=None, validator=optional(ge(1)))
    either: int | str = "auto"
    choice: Literal["one", "two"] = "one"
    pair: tuple[int, float] = (1, 2.0)
    many: tuple[int, ...] = ()
    nested: tuple[tuple[int, ...], ...] | None = None
    table: dict[str, float] = attrs.field(factory=dict)
    inner: Inner = attrs.field(factory=Inner)
    shapes: dict[str, Shape] = attrs.field(factory=dict)
    loggers: tuple[Logger | str, ...] = ("screen",)
    file: Path | None = None
    bound: float = math.inf


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = Registry()
    classes = {
        ("objective", "clip"): Clip,
        ("objective", "plain"): Plain,
        ("optimizer", "adam"): Adam,
        ("logger", "screen"): Screen,
    }
    registry.add(
        [Registration(kind=kind, name=name, target=c) for (kind, name), c in classes.items()]
    )
    return registry


def told(data: Any, registry: Registry, cls: type = Everything) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        structure(data, cls, registry)
    return [str(mistake) for mistake in caught.value.mistakes]


@attrs.frozen(kw_only=True)
class Sorted:
    """A class with a field that is named as the forms of a base are."""

    kinds: int = 2


def test_a_field_may_be_named_as_the_forms_of_a_base_are():
    assert structure({"kinds": 3}, Sorted, Registry()) == Sorted(kinds=3)


def test_reads_every_sort_of_field(registry: Registry) -> None:
    value = structure(
        {
            "count": 4,
            "rate": 2,
            "flag": True,
            "maybe": 7,
            "either": 5,
            "choice": "two",
            "pair": [3, 4],
            "many": [1, 2],
            "nested": [[1], [2, 3]],
            "table": {"a": 1},
            "inner": {"low": 1, "high": 2},
            "shapes": {"r": {"type": "round", "radius": 2}, "s": {"type": "square"}},
            "loggers": ["screen", {"type": "screen", "every": 2}, Screen(every=3)],
            "file": "a/b.txt",
        },
        Everything,
        registry,
    )
    assert value == Everything(
        count=4,
        rate=2.0,
        flag=True,
        maybe=7,
        either=5,
        choice="two",
        pair=(3, 4.0),
        many=(1, 2),
        nested=((1,), (2, 3)),
        table={"a": 1.0},
        inner=Inner(low=1.0, high=2.0),
        shapes={"r": Round(radius=2.0), "s": Square(objective=Clip())},
        loggers=(Screen(), Screen(every=2), Screen(every=3)),
        file=Path("a/b.txt"),
    )
    assert isinstance(value.rate, float)
    assert isinstance(value.table["a"], float)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"count": 7.5}, "count: expected int, got float 7.5"),
        ({"count": 3.0}, "count: expected int, got float 3.0"),
        ({"count": True}, "count: expected int, got bool True"),
        ({"count": "64"}, "count: expected int, got str '64'"),
        ({"count": None}, "count: expected int, got None"),
        ({"count": [1]}, "count: expected int, got an array"),
        ({"count": {"a": 1}}, "count: expected int, got a table"),
        ({"count": -1}, "count: must be >= 0, got -1"),
        ({"flag": "false"}, "flag: expected bool, got str 'false'"),
        ({"flag": 1}, "flag: expected bool, got int 1"),
        ({"rate": "0.5"}, "rate: expected float, got str '0.5'"),
        ({"rate": False}, "rate: expected float, got bool False"),
        ({"rate": math.inf}, "rate: must be finite, got inf"),
        ({"rate": math.nan}, "rate: must be finite, got nan"),
        ({"rate": 10**400}, "rate: the number is too large for a float"),
        ({"name": 3}, "name: expected str, got int 3"),
        ({"maybe": 0}, "maybe: must be >= 1, got 0"),
        ({"maybe": "x"}, "maybe: expected int, got str 'x'"),
        ({"either": 1.5}, "either: expected int or str, got float 1.5"),
        ({"either": True}, "either: expected int or str, got bool True"),
        ({"choice": "tow"}, "choice: must be one of 'one', 'two', got 'tow'; did you mean 'two'?"),
        ({"pair": [1]}, "pair: expected an array of 2 values, got 1"),
        ({"pair": [1.5, 2]}, "pair[0]: expected int, got float 1.5"),
        ({"many": 3}, "many: expected an array, got int 3"),
        ({"nested": [[1], ["x"]]}, "nested[1][0]: expected int, got str 'x'"),
        ({"table": [1]}, "table: expected a table, got an array"),
        ({"table": {"a b": "x"}}, "table.\"a b\": expected float, got str 'x'"),
        ({"table": {"a": math.nan}}, "table.a: must be finite, got nan"),
        ({"inner": 3}, "inner: expected a table (Inner), got int 3"),
        ({"inner": {"lwo": 3}}, "inner.lwo: unknown key; did you mean 'low'?"),
        ({"inner": {"low": 3}}, "inner.high: must be at least 'low' (3.0), got 1.0"),
        ({"shapes": {"a": 3}}, "shapes.a: expected a table (Shape), got int 3"),
        ({"shapes": {"a": {}}}, "shapes.a.type: missing; one of 'round', 'square'"),
        ({"shapes": {"a": {"type": "round"}}}, "shapes.a.radius: missing"),
        (
            {"shapes": {"a": {"type": "rond"}}},
            "shapes.a.type: must be one of 'round', 'square', got 'rond'; did you mean 'round'?",
        ),
        ({"loggers": ["scren"]}, "loggers[0]: unknown logger 'scren'; did you mean 'screen'?"),
        ({"loggers": "screen"}, "loggers: expected an array, got str 'screen'"),
        ({"loggers": [{"every": 2}]}, "loggers[0]: a logger needs a 'type'; one of 'screen'"),
        ({"loggers": [{"type": 2}]}, "loggers[0].type: expected str, got int 2"),
        ({"loggers": [{"type": "screen", "every": 0}]}, "loggers[0].every: must be >= 1, got 0"),
        (
            {"loggers": [Clip()]},
            "loggers[0]: expected a logger, got Clip",
        ),
        (
            {"loggers": ["clip"]},
            "loggers[0]: 'clip' is an objective, not a logger; one of 'screen'",
        ),
        (
            {"loggers": [7]},
            "loggers[0]: expected a logger (a name, or a table with 'type'), got int 7",
        ),
        (
            {"loggers": [Inner()]},
            "loggers[0]: Inner is not registered as a logger by any plugin",
        ),
        ({"file": 3}, "file: expected a path, got int 3"),
        ({"nmae": "x"}, "nmae: unknown key; did you mean 'name'?"),
    ],
)
def test_refuses_with_the_path_and_the_reason(
    data: dict[str, Any], message: str, registry: Registry
) -> None:
    assert told(data, registry) == [message]


def test_every_mistake_at_once(registry: Registry) -> None:
    data = {
        "count": "x",
        "ratte": 1,
        "inner": {"low": -1, "hihg": 2, "label": 4},
        "shapes": {"s": {"type": "square", "objective": "clop", "size": 0}, "r": {"type": "round"}},
        "loggers": ["screen", "x"],
    }
    assert sorted(told(data, registry)) == sorted(
        [
            "ratte: unknown key; did you mean 'rate'?",
            "count: expected int, got str 'x'",
            "inner.hihg: unknown key; did you mean 'high'?",
            "inner.label: expected str, got int 4",
            "inner.low: must be >= 0.0, got -1.0",
            "shapes.s.objective: unknown objective 'clop'; did you mean 'clip'?",
            "shapes.s.size: must be >= 1, got 0",
            "shapes.r.radius: missing",
            "loggers[1]: unknown logger 'x'; there are screen",
        ]
    )


def test_a_misspelt_required_key_is_one_mistake(registry: Registry) -> None:
    assert told({"radios": 2.0}, registry, Round) == ["radios: unknown key; did you mean 'radius'?"]


def test_infinity_where_the_default_says_it_means_something(registry: Registry) -> None:
    assert structure({}, Everything, registry).bound == math.inf
    assert structure({"bound": math.inf}, Everything, registry).bound == math.inf
    assert told({"bound": "x"}, registry) == ["bound: expected float, got str 'x'"]


def test_a_value_is_checked_and_resolved_like_its_table(registry: Registry) -> None:
    value = Square(objective="plain", optimizer=Adam(lr=2.0))
    assert structure(value, Square, registry) == Square(objective=Plain(), optimizer=Adam(lr=2.0))
    with attrs.validators.disabled():
        wrong = Square(objective=Clip(delta=-1.0), size=0)
    assert told(wrong, registry, Shape) == [
        "objective.delta: must be > 0.0, got -1.0",
        "size: must be >= 1, got 0",
    ]
    assert told({"shapes": {"a": Inner()}}, registry) == [
        "shapes.a: expected a table (Shape), got Inner"
    ]


def test_places_come_from_locate(registry: Registry) -> None:
    with pytest.raises(SettingsError) as caught:
        structure(
            {"count": "x", "inner": {"low": -1}},
            Everything,
            registry,
            locate=lambda path: Place("f.toml", {("count",): 9, ("inner", "low"): 4}[path]),
        )
    assert str(caught.value).splitlines() == [
        "f.toml:4: inner.low: must be >= 0.0, got -1.0",
        "f.toml:9: count: expected int, got str 'x'",
    ]


def test_unstructure_writes_every_field(registry: Registry) -> None:
    assert unstructure(Square(objective=Clip(), size=2), registry) == {
        "type": "square",
        "size": 2,
        "objective": {"type": "clip", "delta": 0.2, "inner": {"low": 0.0, "high": 1.0}},
    }
    written = unstructure(Everything(file=Path("a"), many=(1,)), registry)
    assert set(written) == {f.name for f in attrs.fields(Everything)} - {"maybe", "nested"}
    assert written["file"] == "a"
    assert written["many"] == [1]


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
INNERS = st.builds(
    lambda low, more, label: Inner(low=low, high=low + more, label=label),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.none() | st.text(),
)
CLIPS = st.builds(Clip, delta=st.floats(0, 1e9, exclude_min=True), inner=INNERS)
ADAMS = st.builds(
    Adam, lr=st.floats(0, 1, exclude_min=True), betas=st.tuples(st.floats(0, 1), st.floats(0, 1))
)
SQUARES = st.builds(
    Square,
    objective=CLIPS | st.just(Plain()),
    optimizer=st.none() | ADAMS,
    size=st.integers(1, 9),
)
VALUES = st.builds(
    Everything,
    count=st.integers(0),
    rate=NUMBERS,
    flag=st.booleans(),
    name=st.text(),
    maybe=st.none() | st.integers(1),
    either=st.integers() | st.text(),
    choice=st.sampled_from(["one", "two"]),
    pair=st.tuples(st.integers(), NUMBERS),
    many=st.lists(st.integers()).map(tuple),
    nested=st.none() | st.lists(st.lists(st.integers()).map(tuple)).map(tuple),
    table=st.dictionaries(st.text(), NUMBERS),
    inner=INNERS,
    shapes=st.dictionaries(st.text(), SQUARES | st.builds(Round, radius=NUMBERS)),
    loggers=st.lists(st.builds(Screen, every=st.integers(1))).map(tuple),
    bound=st.floats(allow_nan=False),
)


@given(value=VALUES)
def test_reading_what_was_written_gives_the_value_back(value: Everything) -> None:
    registry = Registry()
    for kind, name, cls in (
        ("objective", "clip", Clip),
        ("objective", "plain", Plain),
        ("optimizer", "adam", Adam),
        ("logger", "screen", Screen),
    ):
        registry.add([Registration(kind=kind, name=name, target=cls)])
    data = unstructure(value, registry)
    assert structure(data, Everything, registry) == value
