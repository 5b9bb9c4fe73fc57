"""``limite-gen``, called in this process as a shell would call it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from limite.problems.gen.main import main


@attrs.frozen
class Ended:
    """How a command ended: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def gen(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """``gen("list", "--json")`` runs the command; gives code, output and errors."""

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, printed.out, printed.err)

    return call
