"""Every family of every area: its laws, its dial and its page."""

from __future__ import annotations

import importlib
import pkgutil
import random

import attrs
import pytest

from limite.core.discover import load_registry
from limite.plugins.conformance.generator import generator_laws
from limite.plugins.conformance.perturbed import perturbed
from limite.problems import procedural
from limite.problems.procedural.areas import AREAS, families
from limite.problems.procedural.family import Family

NAMES = dict(families())


def family(name):
    return load_registry().get("generator", name).load()()


every = pytest.mark.parametrize("name", sorted(NAMES))


@every
def test_laws_hold(name):
    for law in generator_laws(family(name)).values():
        law()


@every
def test_names_and_tags_say_where_a_family_stands(name):
    one = family(name)
    assert isinstance(one, Family)
    assert one.name == name
    area, _, topic = one.tag.partition("/")
    assert NAMES[name].startswith(f"{AREAS[area].__name__}.")
    assert topic
    assert type(one).__doc__


@every
def test_every_wording_brings_the_same_values(name):
    for wordings in family(name).wordings.asks.values():
        assert len({wording.slots for wording in wordings}) == 1


@every
def test_every_question_is_asked_and_has_near_misses(name):
    one, asked, missed = family(name), set(), 0
    rng = random.Random(name)
    for count in range(300):
        drawn = one.draw(rng, count / 299)
        asked.add(drawn.ask)
        if count % 10 == 0:
            missed += bool(perturbed(one.sample(rng, count / 299)))
    assert asked == set(one.wordings.asks)
    assert missed > 20, "answers without a near miss: nothing could show that check refuses"


@every
def test_the_dial_is_named(name):
    fields = attrs.fields(type(family(name)))
    assert fields
    for field in fields:
        assert field.metadata.get("help"), field.name
    low, high = ([getattr(family(name), each.name)[end] for each in fields] for end in (0, 1))
    assert low != high, "nothing changes with difficulty"


def test_no_family_is_forgotten():
    """Every module of an area holds a family that is listed, or is shared by name."""
    listed = {target.partition(":")[0] for target in NAMES.values()}
    found = set()
    for package in AREAS.values():
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            held = vars(importlib.import_module(module.name)).values()
            if any(
                isinstance(each, type)
                and issubclass(each, Family)
                and each is not Family
                and each.__module__ == module.name
                for each in held
            ):
                found.add(module.name)
    assert found == listed
    assert procedural.__name__ == "limite.problems.procedural"
