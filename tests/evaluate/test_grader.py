"""The hash of a grader follows its source, and the source of what it uses, and nothing else."""

from __future__ import annotations

import importlib
import sys

import pytest

from limite.evaluate.grader import content_hash
from limite.problems.verifiers.exact import Exact


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Writes a package of a verifier and gives its class, read anew each time."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(**changed):
        files = {
            "maths/__init__.py": "",
            "maths/judging/__init__.py": "",
            "maths/judging/verifiers/__init__.py": "",
            "maths/judging/verifiers/own.py": "from maths.judging.reading.text import read\n"
            "class Own: ...\n",
            "maths/judging/reading/__init__.py": "",
            "maths/judging/reading/text.py": "def read(): ...\n",
            "maths/judging/making/other.py": "x = 1\n",
        }
        for name, text in {**files, **changed}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in [each for each in sys.modules if each.partition(".")[0] == "maths"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return content_hash(importlib.import_module("maths.judging.verifiers.own").Own)

    yield make
    for name in [each for each in sys.modules if each.partition(".")[0] == "maths"]:
        del sys.modules[name]


def test_it_follows_what_a_verdict_depends_on(made):
    first = made()
    assert first is not None
    assert len(first) == 64
    assert made() == first
    assert made(**{"maths/judging/reading/text.py": "def read(): return 1\n"}) != first
    assert made(**{"maths/judging/making/other.py": "x = 2\n"}) == first


def test_that_of_limite_is_known_and_that_of_a_prompt_is_not():
    assert content_hash(Exact) == content_hash(Exact)
    assert content_hash(Exact) is not None
    typed = type("Typed", (), {"__module__": "nowhere.to.be.found"})
    assert content_hash(typed) is None
