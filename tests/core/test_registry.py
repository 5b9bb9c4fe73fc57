"""Names, what they stand for, and what is said when they stand for nothing."""

from __future__ import annotations

import string
import sys
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.hookspecs import NAME, Registrar, Registration
from limite.core.kinds import KINDS
from limite.core.registry import Registry, unfit
from limite.core.sources import first_doc_line, missing_target


@attrs.frozen(kw_only=True)
class Constant:
    """The same multiplier for ever.

    A second paragraph.
    """

    value: float = 1.0

    def __call__(self, step: int, total_steps: int, /) -> float:
        return self.value


@attrs.frozen(kw_only=True)
class Half(Constant):
    """Half of it."""


def registrations(**names: Any) -> list[Registration]:
    registrar = Registrar()
    for name, target in names.items():
        registrar.lr_schedule(name.replace("_", "-"), target)
    return list(registrar.registrations)


def registry(**distributions: dict[str, Any]) -> Registry:
    made = Registry()
    for name, components in distributions.items():
        made.add(registrations(**components), distribution=name, version="1.0")
    return made


def test_every_kind_has_a_method() -> None:
    registrar = Registrar()
    for kind in KINDS:
        getattr(registrar, kind)("some-name", f"package.{kind}:Class")
    assert [entry.kind for entry in registrar.registrations] == list(KINDS)


@pytest.mark.parametrize("name", ["Upper", "under_score", "", "-x", "x-", "a--b", "a/b", "a b"])
def test_a_name_is_lower_case_with_hyphens(name: str) -> None:
    with pytest.raises(LimiteError, match="joined by hyphens"):
        Registrar().objective(name, "package:Class")


@given(st.text(string.ascii_lowercase + "-_/:. A1", max_size=8))
def test_registered_names_can_always_be_looked_up(name: str) -> None:
    registrar = Registrar()
    if NAME.fullmatch(name):
        registrar.lr_schedule(name, Constant)
        made = Registry()
        made.add(registrar.registrations, distribution="limite-a")
        for asked in (name, f"limite-a/{name}", f"Limite_A/{name}"):
            assert made.get("lr_schedule", asked).load() is Constant
    else:
        with pytest.raises(LimiteError):
            registrar.lr_schedule(name, Constant)


@pytest.mark.parametrize("target", ["package", "package.Class", ":Class", "a:b:c", "a b:C", 3])
def test_a_target_is_a_class_or_an_address(target: Any) -> None:
    with pytest.raises(LimiteError, match=r"package\.module:Class"):
        Registrar().objective("x", target)


def test_one_class_has_one_name() -> None:
    registrar = Registrar()
    registrar.lr_schedule("constant", Constant)
    with pytest.raises(LimiteError, match="already lr_schedule 'constant'; one class has one name"):
        registrar.lr_schedule("flat", Constant)
    with pytest.raises(LimiteError, match="registered twice"):
        registrar.lr_schedule("constant", Half)


def test_one_class_has_one_name_across_plugins_and_spellings() -> None:
    made = registry(limite={"constant": f"{__name__}:Constant"})
    with pytest.raises(LimiteError, match="its class is already lr_schedule 'limite/constant'"):
        made.add(registrations(flat=Constant), distribution="limite-a")
    assert made.names("lr_schedule") == ("constant",)


def test_a_built_in_keeps_its_plain_name() -> None:
    made = registry(limite_a={"constant": Half}, limite={"constant": Constant})
    assert made.get("lr_schedule", "constant").load() is Constant
    assert made.get("lr_schedule", "limite-a/constant").load() is Half
    assert made.names("lr_schedule") == ("constant", "limite-a/constant")
    assert [made.status(entry) for entry in made.entries()] == ["ok", "shadowed"]
    assert made.name_of(Half) == "limite-a/constant"
    assert made.name_of(Constant) == "constant"


def test_two_plugins_with_one_name_need_the_qualified_one() -> None:
    made = registry(limite_a={"flat": Half}, other={"flat": Constant, "own": "some.where:Own"})
    with pytest.raises(LimiteError, match="say 'limite-a/flat' or 'other/flat'"):
        made.get("lr_schedule", "flat")
    assert made.get("lr_schedule", "other/flat").load() is Constant
    assert made.name_of(Half) == "limite-a/flat"
    assert made.get("lr_schedule", "own").distribution == "other"


CLASSES = [
    attrs.make_class(f"Made{number}", {}, bases=(Constant,), frozen=True, kw_only=True)
    for number in range(6)
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["limite", "a", "b-c"]), st.sampled_from(["x", "y"]), st.booleans()
        ),
        max_size=len(CLASSES),
        unique_by=lambda component: component[:2],
    )
)
def test_every_working_component_is_reached_by_its_usable_name(
    components: list[tuple[str, str, bool]],
) -> None:
    made = Registry()
    for (distribution, name, works), component in zip(components, CLASSES, strict=False):
        made.add(
            registrations(**{name: component}),
            distribution=distribution,
            broken=None if works else "no reason",
        )
    working = [entry for entry in made.entries() if entry.broken is None]
    for entry in working:
        assert made.get("lr_schedule", made.usable_name(entry)) is entry
        assert made.get("lr_schedule", entry.qualified_name) is entry
        assert made.name_of(entry.load()) == made.usable_name(entry)
    assert len(set(made.names("lr_schedule"))) == len(working)
    for entry in set(made.entries()) - set(working):
        with pytest.raises(LimiteError, match="broken: no reason"):
            made.get("lr_schedule", entry.qualified_name)


def test_unknown_names_get_a_suggestion() -> None:
    made = registry(limite={"constant": Constant, "half": Half})
    with pytest.raises(LimiteError, match="'constnt'; did you mean 'constant'"):
        made.get("lr_schedule", "constnt")
    with pytest.raises(LimiteError, match="'zzz'; there are constant, half"):
        made.get("lr_schedule", "zzz")
    with pytest.raises(LimiteError, match="unknown kind 'objektive'; did you mean 'objective'"):
        made.get("objektive", "dppo")
    with pytest.raises(LimiteError, match="unknown kind 'zzz'; there are objective, advantage"):
        made.names("zzz")
    with pytest.raises(LimiteError, match="'limit/constant'; did you mean 'limite/constant'"):
        made.get("lr_schedule", "limit/constant")


def test_name_of_an_unregistered_class() -> None:
    with pytest.raises(LimiteError, match=r"test_registry:Half is not a registered component"):
        registry(limite={"constant": Constant}).name_of(Half)


def test_name_of_a_class_shown_elsewhere(install: Any) -> None:
    # The class lives in a private module and is registered where the package shows it.
    install(
        "limite-a",
        "from limite_a_private import Own",
        limite_a_private="""
            import attrs

            @attrs.frozen(kw_only=True)
            class Own:
                def __call__(self, step, total_steps, /):
                    return 1.0
        """,
    )
    made = registry(limite_a={"own": "limite_a:Own", "gone": "limite_nowhere:Own"})
    own = made.get("lr_schedule", "own").load()
    assert own.__module__ == "limite_a_private"
    assert made.name_of(own) == "own"


def not_a_class() -> None: ...


@attrs.define(kw_only=True)
class NotFrozen:
    def __call__(self, step: int, total_steps: int, /) -> float:
        return 1.0


@attrs.frozen
class ByPosition:
    value: float = 1.0

    def __call__(self, step: int, total_steps: int, /) -> float:
        return self.value


@attrs.frozen(kw_only=True)
class NotCalled:
    value: float = 1.0


@attrs.frozen(kw_only=True)
class TakesTooLittle:
    def __call__(self, step: int, /) -> float:
        return 1.0


class Plain:
    def __call__(self, step: int, total_steps: int, /) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("not_a_class", "is not a class"),
        ("Plain", "Plain is not a frozen attrs class"),
        ("NotFrozen", "NotFrozen is not a frozen attrs class"),
        ("ByPosition", "ByPosition.value can be given by position"),
        (
            "NotCalled",
            r"NotCalled has no __call__\(step, total_steps\), which every lr_schedule needs",
        ),
        (
            "TakesTooLittle",
            r"TakesTooLittle.__call__ must take \(step, total_steps\): too many positional",
        ),
        ("Missing", "AttributeError: .*Missing"),
    ],
)
def test_what_is_no_component_is_broken_with_its_reason(name: str, reason: str) -> None:
    made = registry(limite={"x": f"{__name__}:{name}"})
    with pytest.raises(LimiteError, match=f"lr_schedule 'x' of limite is broken: .*{reason}"):
        made.get("lr_schedule", "x").load()


def test_optional_further_arguments_are_fine() -> None:
    @attrs.frozen(kw_only=True)
    class More:
        def __call__(self, step: int, total_steps: int, warmup: int = 3) -> float:
            return 1.0

    assert unfit("lr_schedule", More) is None


def test_summaries_come_from_the_source_without_an_import(install: Any) -> None:
    install(
        "limite-a",
        "import limite_a_heavy_that_does_not_exist\n\n"
        "class Own:\n"
        '    """What it is.\n\nMore, at the left margin.\n"""\n\n'
        "class Bare:\n"
        "    value = 1\n",
    )
    assert first_doc_line("limite_a:Own") == "What it is."
    assert first_doc_line("limite_a:Bare") == ""
    assert missing_target("limite_a:Own") is None
    assert missing_target("limite_a:Other") == "the module 'limite_a' has no 'Other'"
    assert missing_target("limite_a.below:Own") == "there is no module 'limite_a.below'"
    assert (
        missing_target("limite_nowhere.at.all:Own") == "there is no module 'limite_nowhere.at.all'"
    )
    assert "limite_a" not in sys.modules
    assert registry(limite={"constant": Constant}).entries()[0].summary == (
        "The same multiplier for ever."
    )


def test_a_component_whose_module_is_gone_is_listed_as_broken() -> None:
    made = registry(limite_a={"gone": "limite_nowhere:Own", "constant": Constant})
    assert {entry.name: made.status(entry) for entry in made.entries()} == {
        "gone": "broken",
        "constant": "ok",
    }


def test_a_component_whose_package_is_lacking_says_what_to_install() -> None:
    registrar = Registrar()
    registrar.absent("objective", "soft", "needs acme: pip install 'limite-soft[acme]'")
    registry = Registry()
    registry.add_absent(registrar.absences)
    with pytest.raises(LimiteError) as told:
        registry.get("objective", "soft")
    assert str(told.value) == "objective 'soft' needs acme: pip install 'limite-soft[acme]'"
    assert registry.names("objective") == ()
    with pytest.raises(LimiteError, match="unknown objective 'sort'"):
        registry.get("objective", "sort")


def test_an_absent_component_has_a_kind_and_a_name() -> None:
    with pytest.raises(LimiteError, match="unknown kind 'objectives'; did you mean 'objective'"):
        Registrar().absent("objectives", "soft", "needs acme")
    with pytest.raises(LimiteError, match="lower-case words"):
        Registrar().absent("objective", "Soft", "needs acme")


def test_problems_of_a_package_that_is_lacking_say_what_to_install() -> None:
    from limite.core.discover import load_registry
    from limite.problems import gym

    registry = load_registry()
    if gym.installed():
        assert registry.get("generator", "gym-gcd").load().__name__ == "GymGcd"
    else:
        with pytest.raises(LimiteError, match=r"needs reasoning-gym: pip install 'limite\["):
            registry.get("generator", "gym-gcd")
