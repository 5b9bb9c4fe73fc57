"""The command line, called in this process as a shell would call it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from limite.core.cli.main import main


@attrs.frozen
class Ended:
    """How a command ended: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def limite(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """``limite("plugins", "--json")`` runs the command; gives code, output and errors."""

    def call(*arguments: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, printed.out, printed.err)

    return call
