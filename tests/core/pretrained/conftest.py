"""Safetensors files made by hand, so that they can be wrong."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Forge = Callable[..., Path]
FailAt = Callable[[int], contextlib.AbstractContextManager[list[str]]]


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """``forge(header, data)`` writes a file of that header (JSON, or its bytes) and data."""

    def write(
        header: Any, data: bytes = b"", *, length: int | None = None, name: str = "x.safetensors"
    ) -> Path:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        start = (len(text) if length is None else length).to_bytes(8, "little")
        path = tmp_path / name
        path.write_bytes(start + text + data)
        return path

    return write


@pytest.fixture
def fail_at(monkeypatch: pytest.MonkeyPatch) -> FailAt:
    """``with fail_at(n) as calls``: the n-th call that changes the disk finds it full."""

    @contextlib.contextmanager
    def failing(number: int) -> Iterator[list[str]]:
        calls: list[str] = []

        def wrap(name: str, really: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **more: Any) -> Any:
                calls.append(name)
                if len(calls) - 1 == number:
                    if name == "write" and len(arguments[1]) > 1:
                        # A full disk takes what still fits.
                        really(arguments[0], arguments[1][: len(arguments[1]) // 2])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return really(*arguments, **more)

            return call

        with monkeypatch.context() as patch:
            for name in ("write", "fsync", "replace", "mkdir"):
                patch.setattr(os, name, wrap(name, getattr(os, name)))
            yield calls

    return failing
