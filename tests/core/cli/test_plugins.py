"""``limite plugins``: the list, the page of one component, and the laws."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any, ClassVar, Literal

import attrs
import pytest

from limite.core.hookspecs import Registrar
from limite.core.registry import BrokenPlugin, Registry
from limite.core.validators import option


@attrs.frozen(kw_only=True)
class Soft:
    """A smooth gate.

    What it does at length.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"logp", "advantage"})
    paired_advantage: ClassVar[dict[str, str]] = {"type": "group", "scale": "none"}
    requires_of_advantage: ClassVar[dict[str, str]] = {"scale": "none"}
    temperature: float = attrs.field(
        default=1.0, metadata={"unit": "nats", "help": "width of the gate"}
    )
    names: list[str] = attrs.field(factory=list)
    how: str = attrs.field(
        default="mean", validator=option("mean", "sum"), metadata={"help": "how it sums up"}
    )
    which: Literal["a", "b"] = "a"
    limit: int

    def __call__(self, batch: Any, /) -> Any:
        return batch


@attrs.frozen(kw_only=True)
class Bare:
    """Nothing to set."""

    def __call__(self, batch: Any, /) -> Any:
        return batch


@attrs.frozen(kw_only=True)
class Rival(Bare):
    """The same name as another."""


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry()
    for distribution, name, target in (
        ("limite", "bare", Bare),
        ("limite-a", "soft", Soft),
        ("limite-b", "bare", Rival),
    ):
        registrar = Registrar()
        registrar.objective(name, target)
        if distribution == "limite-a":
            registrar.lr_schedule("gone", "limite_nowhere:Gone")
        made.add(registrar.registrations, distribution=distribution, version="1.5")
    made.add_broken(
        BrokenPlugin(plugin="bad", distribution="limite-bad", version="0.1", reason="no reason")
    )
    monkeypatch.setattr("limite.core.cli.plugins.load_registry", lambda: made)
    return made


def test_the_list_in_plain_lines(limite: Any, registry: Registry) -> None:
    ended = limite("plugins")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "KIND         NAME           DISTRIBUTION  VERSION  WHAT IT IS",
        "objective    bare           limite        1.5      Nothing to set.",
        "objective    limite-b/bare  limite-b      1.5      [shadowed] The same name as another.",
        "objective    soft           limite-a      1.5      A smooth gate.",
        "lr_schedule  gone           limite-a      1.5      "
        "[broken: there is no module 'limite_nowhere']",
        "kernel: limite's own run every operation: reference, cpu, interpret, triton; "
        "native runs some",
        "broken: limite-bad 0.1 (bad): no reason",
    ]


def test_a_crowd_of_one_kind_is_one_row(limite: Any, registry: Registry) -> None:
    for number in range(41):
        registrar = Registrar()
        registrar.objective(f"many-{number}", type(f"Many{number}", (Bare,), {}))
        registry.add(registrar.registrations, distribution="limite-c", version="2")
    lines = limite("plugins").out.splitlines()
    assert sum("limite-c" in line for line in lines) == 1
    assert any("(41 of them)" in line and "limite plugins objective" in line for line in lines)
    assert sum(" soft " in line for line in lines) == 1
    assert limite("plugins", "objective").out.count("many-") == 41
    assert len(json.loads(limite("plugins", "--json").out)["components"]) == 45
    told = limite("plugins", "objective/zzz").err
    assert "unknown objective 'zzz'; limite plugins objective lists the 44 there are" in told


def test_the_list_as_json(limite: Any, registry: Registry) -> None:
    listed = json.loads(limite("plugins", "--json").out)
    assert listed["broken"] == [
        {"plugin": "bad", "distribution": "limite-bad", "version": "0.1", "reason": "no reason"}
    ]
    assert [row["status"] for row in listed["components"]] == ["ok", "shadowed", "ok", "broken"]
    assert listed["components"][2] == {
        "kind": "objective",
        "name": "soft",
        "qualified_name": "limite-a/soft",
        "distribution": "limite-a",
        "version": "1.5",
        "summary": "A smooth gate.",
        "status": "ok",
        "reason": None,
    }


def test_one_kind(limite: Any, registry: Registry) -> None:
    for spelling in ("lr_schedule", "lr-schedule", "lr-schedule/"):
        listed = json.loads(limite("plugins", spelling, "--json").out)
        assert [row["name"] for row in listed["components"]] == ["gone"]
    ended = limite("plugins", "objectiv")
    assert ended.code == 2
    assert "did you mean 'objective'?" in ended.err


def test_kernels_are_listed_with_their_operations(limite: Any, registry: Registry) -> None:
    assert "operations:" not in limite("plugins").out
    assert limite("plugins", "objective").out.count("kernel") == 0
    lines = limite("plugins", "kernel").out.splitlines()
    assert lines[0].endswith(": reference, cpu, interpret, triton; native runs some")
    assert lines[1].startswith("operations: rms_norm, add_rms_norm, ")
    assert lines[1].endswith(", linear_scan")
    assert lines[2].startswith("of native: rms_norm, add_rms_norm, ")
    listed = json.loads(limite("plugins", "kernel", "--json").out)
    assert listed["kernels"]["backends"] == ["reference", "cpu", "native", "interpret", "triton"]
    assert "attention_decode" in listed["kernels"]["operations"]
    assert "linear_scan" not in listed["kernels"]["native_operations"]


def test_the_page_of_a_kernel_names_its_operation(limite: Any, registry: Registry) -> None:
    @attrs.frozen(kw_only=True)
    class Scan:
        """A scan."""

        op: ClassVar[str] = "linear_scan"

        def __call__(self, a: Any, b: Any, *, reverse: bool, carry: Any) -> Any:
            return b

    registrar = Registrar()
    registrar.kernel("scan", Scan)
    registry.add(registrar.registrations, distribution="limite-a", version="1.5")
    assert limite("plugins", "kernel").out.splitlines()[1].split()[:2] == ["kernel", "scan"]
    assert limite("plugins", "kernel/scan").out.splitlines()[-1] == "op: linear_scan"
    assert json.loads(limite("plugins", "kernel/scan", "--json").out)["op"] == "linear_scan"


def test_the_page_of_a_component(limite: Any, registry: Registry) -> None:
    ended = limite("plugins", "objective/soft")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "objective/soft  limite-a 1.5",
        f"{__name__}:Soft",
        "",
        "A smooth gate.",
        "",
        "What it does at length.",
        "",
        "SETTING      TYPE       DEFAULT     UNIT  HELP",
        "temperature  float      1.0         nats  width of the gate",
        "names        list[str]  []",
        "how          str        'mean'            how it sums up; one of mean, sum",
        "which        str        'a'               one of a, b",
        "limit        int        (required)",
        "",
        "needs: advantage, logp",
        'paired_advantage: {"type": "group", "scale": "none"}',
        'requires_of_advantage: {"scale": "none"}',
    ]
    assert "no settings" in limite("plugins", "objective/bare").out
    assert "same name as another" in limite("plugins", "objective/limite-b/bare").out


def test_the_page_as_json(limite: Any, registry: Registry) -> None:
    page = json.loads(limite("plugins", "objective/soft", "--json").out)
    assert page["needs"] == ["advantage", "logp"]
    assert page["paired_advantage"] == {"type": "group", "scale": "none"}
    assert page["fields"][0] == {
        "name": "temperature",
        "type": "float",
        "default": "1.0",
        "unit": "nats",
        "help": "width of the gate",
        "choices": [],
    }


def test_the_page_of_what_is_not_there(limite: Any, registry: Registry) -> None:
    ended = limite("plugins", "objective/sft")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean 'soft'?" in ended.err
    assert "limite-bad is broken: no reason" in ended.err
    assert "No module named 'limite_nowhere'" in limite("plugins", "lr-schedule/gone").err


@pytest.fixture
def laws(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds() -> None: ...

    def fails() -> None:
        error = AssertionError("the loss moved")
        error.add_note("Falsifying example: tokens=3")
        raise error

    module = ModuleType("limite.plugins.conformance")
    module.laws_for = lambda kind, component: (  # type: ignore[attr-defined]
        {"finite": holds} if type(component) is Bare else {"finite": holds, "adds_up": fails}
    )
    monkeypatch.setitem(sys.modules, "limite.plugins.conformance", module)


@pytest.mark.usefixtures("registry", "laws")
def test_laws_that_hold(limite: Any) -> None:
    ended = limite("plugins", "--laws", "limite")
    assert (ended.code, ended.out) == (0, "objective/bare  finite  ok\n")


@pytest.mark.usefixtures("registry", "laws")
def test_laws_that_fail_say_why(limite: Any) -> None:
    ended = limite("plugins", "--laws", "Limite_B")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "objective/bare  finite  ok",
        "objective/bare  adds_up  failed: AssertionError: the loss moved",
        "    Falsifying example: tokens=3",
    ]
    assert "1 of 2 laws failed" in ended.err
    results = json.loads(limite("plugins", "--laws", "limite-b", "--json").out)
    assert [result["ok"] for result in results] == [True, False]


@pytest.mark.usefixtures("registry", "laws")
def test_components_that_cannot_be_judged_fail(limite: Any) -> None:
    ended = limite("plugins", "--laws", "limite-a")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "objective/soft  has defaults  failed: cannot be used by its name alone: "
        "Soft.__init__() missing 1 required keyword-only argument: 'limit'",
        "lr_schedule/gone  loads  failed: lr_schedule 'gone' of limite-a is broken: "
        "ModuleNotFoundError: No module named 'limite_nowhere'",
    ]
    assert "2 of 2 laws failed" in ended.err


@pytest.mark.usefixtures("registry", "laws")
def test_laws_of_what_is_not_there(limite: Any) -> None:
    ended = limite("plugins", "--laws", "limte")
    assert (ended.code, "did you mean 'limite'?" in ended.err) == (2, True)
    ended = limite("plugins", "--laws", "limite-bad")
    assert (ended.code, "is broken: no reason" in ended.err) == (1, True)
    assert limite("plugins", "objective", "--laws", "limite").code == 2


@attrs.frozen(kw_only=True)
class Refused(Bare):
    """Its own default is out of bounds."""

    size: int = attrs.field(default=0, validator=attrs.validators.ge(1))


@pytest.mark.usefixtures("laws")
def test_a_default_that_its_own_validator_refuses_is_a_failed_law(
    limite: Any, registry: Registry
) -> None:
    registrar = Registrar()
    registrar.objective("refused", Refused)
    registry.add(registrar.registrations, distribution="limite-c", version="1")
    ended = limite("plugins", "--laws", "limite-c")
    assert ended.code == 1
    assert ended.out == (
        "objective/refused  has defaults  failed: cannot be used by its name alone: "
        "'size' must be >= 1: 0\n"
    )


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("soft", "'soft' is not a kind but a component; did you mean 'objective/soft'?"),
        ("bare", "did you mean 'objective/bare' or 'objective/limite-b/bare'?"),
        ("objectiv", "unknown kind 'objectiv'; did you mean 'objective'?"),
    ],
)
def test_a_name_where_a_kind_is_wanted(limite: Any, word: str, told: str) -> None:
    ended = limite("plugins", word)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
