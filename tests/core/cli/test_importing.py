"""Importing leaves the collection of garbage as it was, but for what there was by then."""

from __future__ import annotations

import gc
import sys

import pytest
import torch

from limite.core.cli.importing import importing


@pytest.fixture(autouse=True)
def thawed():
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("collecting", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "again"])
def test_collection_is_as_before_and_what_there_is_stays(collecting, first, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch)
    if first:
        monkeypatch.delitem(sys.modules, "torch")
    if not collecting:
        gc.disable()
    before = gc.get_freeze_count()
    with importing():
        assert not gc.isenabled()
    assert gc.isenabled() == collecting
    assert (gc.get_freeze_count() > before) == first
    with pytest.raises(KeyError), importing():
        raise KeyError
    assert gc.isenabled() == collecting
