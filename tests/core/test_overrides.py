"""``--set``: what it reads, where it puts it, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import pytest
from attrs.validators import gt

from limite.core.config import read
from limite.core.config_faults import dotted
from limite.core.errors import LimiteError
from limite.core.hookspecs import Registration
from limite.core.kinds import Optimizer
from limite.core.overrides import apply_overrides, culprit, parse_override
from limite.core.registry import Registry


@attrs.frozen(kw_only=True)
class Adam:
    """An optimizer."""

    lr: float = attrs.field(default=1e-3, validator=gt(0.0))
    betas: tuple[float, float] = (0.9, 0.95)

    def build(self, named_parameters: Any) -> Any:
        return named_parameters


@attrs.frozen(kw_only=True)
class Sgd:
    """Another."""

    momentum: float = 0.9

    def build(self, named_parameters: Any) -> Any:
        return named_parameters


@attrs.frozen(kw_only=True)
class Part:
    """A stage."""

    kinds: ClassVar[Mapping[str, type[Part]]] = {}
    steps: int = 3


@attrs.frozen(kw_only=True)
class Train(Part):
    """A stage with an optimizer."""

    optimizer: Optimizer | str = "adam"
    other: Optimizer | str | None = None
    weights: dict[str, float] = attrs.field(factory=dict)


Part.kinds = {"part": Part, "train": Train}


@attrs.frozen(kw_only=True)
class Whole:
    """A recipe."""

    seed: int = 1
    name: str = "x"
    stages: dict[str, Part] = attrs.field(factory=dict)
    optimizers: tuple[Optimizer | str, ...] = ("adam", "sgd")


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = Registry()
    named = {"adam": Adam, "sgd": Sgd}
    registry.add(
        [Registration(kind="optimizer", name=name, target=cls) for name, cls in named.items()]
    )
    return registry


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("seed=3", ("seed",), 3),
        ("a.b-c.d_1=2e-5", ("a", "b-c", "d_1"), 2e-5),
        ("a = true", ("a",), True),
        ("a=[0.2, 0.8]", ("a",), [0.2, 0.8]),
        ('a={type="x", lr=1}', ("a",), {"type": "x", "lr": 1}),
        ("a=muon", ("a",), "muon"),
        ('a="7"', ("a",), "7"),
        ("a='x=y'", ("a",), "x=y"),
        ("a=x=y", ("a",), "x=y"),
        ("a=", ("a",), ""),
        ("a=2024-01-01", ("a",), "2024-01-01"),
        ("a=1\nb=2", ("a",), "1\nb=2"),
        ('a."b.c".d=1', ("a", "b.c", "d"), 1),
        ("a.'b c'=1", ("a", "b c"), 1),
        ("loggers[0].every=2", ("loggers", 0, "every"), 2),
        ("sources.limite-x/gcd=2", ("sources", "limite-x/gcd"), 2),
    ],
)
def test_parses_paths_and_values(text: str, path: tuple[Any, ...], value: Any) -> None:
    override = parse_override(text)
    assert override.path == path
    assert override.value == value
    assert type(override.value) is type(value)


@pytest.mark.parametrize("text", ["", "seed", "=3", "a..b=3", "a b=3", ".a=3", "a.=3"])
def test_refuses_what_is_no_path_and_value(text: str) -> None:
    with pytest.raises(LimiteError, match="expected PATH=VALUE"):
        parse_override(text)


def put(data: Any, registry: Registry, *texts: str) -> tuple[Any, list[str]]:
    changed, refused = apply_overrides(data, [parse_override(t) for t in texts], Whole, registry)
    return changed, [f"{dotted(fault.path)}: {fault.message}" for _, fault in refused]


PLAIN = {"stages": {"a": {"type": "train", "steps": 5}, "b": {"type": "part"}}}
VALUE = Whole(stages={"a": Train(steps=5), "b": Part()})


@pytest.mark.parametrize("data", [PLAIN, VALUE], ids=["plain", "value"])
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["seed=7"], Whole(seed=7, stages={"a": Train(steps=5), "b": Part()})),
        (
            ["stages.a.steps=6", "stages.b.steps=7"],
            Whole(stages={"a": Train(steps=6), "b": Part(steps=7)}),
        ),
        (
            ["stages.a.optimizer.lr=0.5"],
            Whole(stages={"a": Train(steps=5, optimizer=Adam(lr=0.5)), "b": Part()}),
        ),
        (
            ["stages.a.optimizer=sgd", "stages.a.optimizer.momentum=0.5"],
            Whole(stages={"a": Train(steps=5, optimizer=Sgd(momentum=0.5)), "b": Part()}),
        ),
        (
            ["stages.a.optimizer.lr=0.5", "stages.a.optimizer.type=sgd"],
            Whole(stages={"a": Train(steps=5, optimizer=Sgd()), "b": Part()}),
        ),
        (
            ["stages.a.other=adam", "stages.a.other.betas[1]=0.5"],
            Whole(stages={"a": Train(steps=5, other=Adam(betas=(0.9, 0.5))), "b": Part()}),
        ),
        (
            ["stages.a.weights.new=2"],
            Whole(stages={"a": Train(steps=5, weights={"new": 2.0}), "b": Part()}),
        ),
        (
            ["optimizers[1].momentum=0", "optimizers.0=sgd"],
            Whole(stages={"a": Train(steps=5), "b": Part()}, optimizers=(Sgd(), Sgd(momentum=0))),
        ),
        (["stages.a.type=part"], Whole(stages={"a": Part(steps=5), "b": Part()})),
    ],
)
def test_sets_the_same_in_plain_data_and_in_values(
    data: Any, texts: list[str], expected: Whole, registry: Registry
) -> None:
    if texts == ["stages.a.type=part"] and data is VALUE:
        data = {"stages": {"a": {"type": "train", "steps": 5}, "b": Part()}}
    changed, refused = put(data, registry, *texts)
    assert refused == []
    assert read(changed, Whole, registry) == read(expected, Whole, registry)


@pytest.mark.parametrize("data", [PLAIN, VALUE], ids=["plain", "value"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sede=1", "sede: unknown key; did you mean 'seed'?"),
        ("zzz=1", "zzz: unknown key; there are 'seed', 'name', 'stages', 'optimizers'"),
        ("seed.x=1", "seed.x: there are no settings below this one"),
        ("stages.c.steps=1", "stages.c: unknown key; there are 'a', 'b'"),
        ("stages.a.stpes=1", "stages.a.stpes: unknown key; did you mean 'steps'?"),
        (
            "stages.a.optimizer.rate=1",
            "stages.a.optimizer.rate: unknown key; there are 'lr', 'betas', 'type'",
        ),
        (
            "stages.a.other.lr=1",
            "stages.a.other: no optimizer is chosen yet; set it to one of 'adam', 'sgd'",
        ),
        ("optimizers[5]=adam", "optimizers[5]: no such place in the array; there are 0 to 1"),
        ("optimizers.x=adam", "optimizers.x: no such place in the array; there are 0 to 1"),
    ],
)
def test_names_what_does_not_exist(data: Any, text: str, message: str, registry: Registry) -> None:
    _, refused = put(data, registry, text)
    assert refused == [message]


def test_what_is_wrong_already_stays_for_the_reader_to_tell(registry: Registry) -> None:
    for data, text in (
        ({"stages": 3}, "stages.a.steps=1"),
        ({"stages": {"a": 3}}, "stages.a.steps=1"),
        ({"stages": {"a": {"type": "trian"}}}, "stages.a.steps=1"),
        ({"optimizers": ["adma"]}, "optimizers[0].lr=1"),
        ({"optimizers": "adam"}, "optimizers[0].lr=1"),
    ):
        assert put(data, registry, text) == (data, [])


def test_the_option_a_mistake_comes_from() -> None:
    a, b, c = (parse_override(text) for text in ("m.kv_heads=5", "m.width=9", "m=3"))
    assert culprit(("m", "width"), [a, b]) is b
    assert culprit(("m", "width", 0), [a, b, c]) is c
    assert culprit(("m", "heads"), [a, b]) is None
    message = "'heads' (2) must be a multiple of 'kv_heads' (5)"
    assert culprit(("m", "heads"), [a, b], message=message) is a
    assert culprit(("other",), [a, b], message="wrong") is None
